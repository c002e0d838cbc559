"""What is printed of a record, its scores, a finding and a summary: texts to read, no nested values."""

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.verdicts import Component, Part, Score, Undefined, Verdict
from ragtriage.diagnosis.findings import diagnose
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.metrics import metrics_named
from ragtriage.runs.summary import Tally

THRESHOLDS = thresholds_with({})


def part(text: str, good: bool | None) -> Part:
    return Part(Component(text), Verdict("yes" if good else "no", confidence=0.9), good=good)


PARTS = (part("It costs\n12 euros.", True), part("Dogs ride free.", False), part("It floats.", None))
RECORD = Record(
    Case("q2", "What does\nit cost?", (Source("It costs 12 euros."),), "It costs 12 euros. Dogs ride free."),
    outcomes={
        "source_query_coverage": Score(1.0, 1, parts=(part("What does it cost?", True),)),
        "groundedness": Score(0.5, 2, 1, PARTS),
        "answer_recall": Undefined("no reference was given"),
        "made_up": Undefined("the judge failed: time-out", failed=True),
    },
)


def test_a_record_prints_its_scores_with_the_components_behind_them_bad_ones_first() -> None:
    assert str(RECORD).splitlines() == [
        "q2: What does it cost?",
        "  source_query_coverage  1.00  ✓ What does it cost?",
        "  groundedness           0.50  ✗ Dogs ride free.",
        "                               ? It floats.",
        "                               ✓ It costs 12 euros.",
        "  answer_recall             –  undefined: no reference was given",
        "  made_up                   –  failed: the judge failed: time-out",
    ]
    assert str(Record(Case("c", "When?"))) == "c: When?"


def test_long_texts_are_cut_and_many_components_counted() -> None:
    many = tuple(part(f"{number} " + "long " * 40, True) for number in range(9))

    shown = str(Record(Case("c", "When?"), outcomes={"groundedness": Score(1.0, 9, parts=many)})).splitlines()

    assert len(shown) == 6
    assert shown[-1].endswith("and 5 more")
    assert max(map(len, shown)) <= 100


def test_its_repr_is_one_short_line() -> None:
    assert repr(RECORD) == (
        "<Record 'q2': source_query_coverage 1.00, groundedness 0.50, answer_recall undefined, made_up undefined>"
    )
    assert repr(Record(Case("c", "When?"))) == "<Record 'c': no scores>"
    assert repr(RECORD.outcomes["groundedness"]) == "Score(value=0.5, judged=2, unknown=1)"
    assert str(RECORD.outcomes["groundedness"]) == "0.50"


def test_a_finding_prints_the_component_to_repair_its_evidence_and_what_to_try() -> None:
    (finding,) = diagnose(RECORD, THRESHOLDS)

    first, evidence, advice = str(finding).splitlines()
    assert first.startswith("prompt or generator (failure, sure): the sources answer the question, but")
    assert evidence == "  “Dogs ride free.” not supported by the sources"
    assert advice.startswith("  → Ask for claims")
    assert "Evidence(" not in repr(finding)


def test_a_summary_prints_means_and_counts() -> None:
    tally = Tally(metrics_named(["groundedness", "source_query_coverage"]), THRESHOLDS)
    tally.add(RECORD)
    tally.add(
        Record(Case("c", "When?"), outcomes={"groundedness": Score(1.0, 1), "source_query_coverage": Score(1, 1)})
    )
    tally.add(Record(Case("d", "When?"), outcomes={}))

    assert str(tally.summary()).splitlines() == [
        "3 cases",
        "  Sources answer the question  1.00, 95 % 1.00–1.00 (2 cases)",
        "  Grounded                     0.75, 95 % 0.50–1.00 (2 cases)",
        "  1 case: prompt or generator",
        "  1 case: undetermined",
        "  1 case: no fault found",
    ]
