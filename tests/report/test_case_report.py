"""What is shown of a case is read from its record in one place."""

from dataclasses import replace
from pathlib import Path

from shown import CONFIG, Many, case_shown, page_of, summary_of

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.verdicts import Component, Part, Score, Undefined, Verdict, Verdicts
from ragtriage.diagnosis.headline import rank_of
from ragtriage.diagnosis.rules import is_bad
from ragtriage.metrics import metrics_named
from ragtriage.metrics.thelma import ANSWERED_BY_ONE
from ragtriage.report.case_parts import MOST_COLUMNS, coverage_of
from ragtriage.report.case_report import (
    LISTED_SOURCES,
    PartReport,
    case_report,
    legend_of,
    listed_case,
    look_of,
    worst_first,
)
from ragtriage.report.words import title_of
from ragtriage.runs.evaluation_config import EvaluationConfig


def test_every_claim_is_shown_as_what_was_found_out_about_it(rich_record: Record) -> None:
    view = case_report(rich_record, (), CONFIG)

    assert [(c.number, c.look) for c in view.claims] == [
        (1, "supported"),
        (2, "unsupported"),
        (3, "supported"),
        (4, "check"),
        (5, "extraneous"),
        (6, "unknown"),
        (7, "unsupported"),
        (8, "remark"),
    ]
    assert [c.number for c in view.claims if c.repeated] == [3]
    assert [c.number for c in view.claims if c.notable] == [2, 4, 6, 7]
    assert legend_of(view.claims) == ["unsupported", "check", "unknown", "extraneous", "supported", "remark"]
    # nested claims lie over each other in the response
    assert "".join(p.text for p in view.response) == rich_record.case.response
    assert [(p.look, p.numbers) for p in view.response[:3]] == [
        ("supported", (1,)),
        ("unsupported", (1, 2)),
        ("supported", (1,)),
    ]
    first, second = view.sources
    assert (first.name, first.needed.state, first.facts, first.essential) == ("fees-1", "yes", 2, 1)
    assert [p.text for p in first.pieces if p.look == "essential"] == ["The fee is 20 euros."]
    assert (second.name, second.needed.state, second.essential) == ("", "no", 0)


LOOKS = {
    ("no", "yes"): "unsupported",
    ("no", "no"): "unsupported",
    ("check", "no"): "check",
    ("unknown", "yes"): "unknown",
    ("failed", "yes"): "unknown",
    ("yes", "no"): "extraneous",
    ("yes", "not asked"): "supported",
    ("not asked", "no"): "extraneous",
    ("not asked", "not asked"): "plain",
}


def test_red_is_only_for_a_sure_no() -> None:
    assert {said: look_of(*said) for said in LOOKS} == LOOKS  # type: ignore[arg-type]


def test_the_matrix_has_every_state(rich_record: Record) -> None:
    coverage = coverage_of(rich_record)

    assert coverage is not None
    assert coverage.sources == (1, 2)
    assert [[place.state for place in row] for row in coverage.places] == [
        ["yes", "no", "not asked", "yes"],
        ["no", "check", "no", "yes"],
        ["unknown", "no", "failed", "no"],
    ]
    assert coverage.places[2][2].note == "the connection broke"


def test_of_many_sources_those_that_answer_are_shown_first(rich_record: Record) -> None:
    row = tuple(Verdict("yes" if j == 500 else "no") for j in range(1000))
    single = Verdicts((Component("Where?"),), (row,))

    coverage = coverage_of(replace(rich_record, steps={str(ANSWERED_BY_ONE): single}))

    assert coverage is not None
    assert 501 in coverage.sources
    assert len(coverage.sources) == MOST_COLUMNS
    assert coverage.left_out == 1000 - MOST_COLUMNS


def test_ten_thousand_sources_are_counted_and_a_bare_case_shows_why_there_is_nothing() -> None:
    record = Record(Case("a", "Why?", tuple(Source("text " * 500) for _ in range(10_000)), "Because."))
    view = case_report(record, (), CONFIG)
    assert len(view.sources) == LISTED_SOURCES
    assert view.sources_left_out == 10_000 - LISTED_SOURCES
    assert sum(len(p.text) for s in view.sources for p in s.pieces) <= 25_000

    record = Record(Case("a", "Why?"), outcomes={"groundedness": Undefined("no response was given")})
    view = case_report(record, (), CONFIG)
    assert view.response_note == "no response was given"
    assert (view.claims, view.sources, view.coverage) == ((), (), None)
    assert [(s.title, s.value, s.reason) for s in view.scores] == [("Grounded", None, "no response was given")]


def test_names_and_thresholds() -> None:
    assert title_of("groundedness") == "Grounded"
    assert title_of("self_distinctness(threshold=0.9)") == "No repetition (0.9)"
    assert title_of("my_own") == "my_own"
    assert is_bad(0.79, 0.8)
    assert not is_bad(0.8, 0.8)
    assert is_bad(0.3, 0.2, "lower")
    assert not is_bad(None, 0.2)
    assert not is_bad(0.1, None)


def test_the_worst_cases_come_first(many: Many, rich_record: Record) -> None:
    failure = next(f for _, findings in many(40) for f in findings if f.kind == "failure")
    slight = (replace(failure, severity=0.1, sure=True),)
    severe = (replace(failure, severity=0.9, sure=True),)
    unsure = (replace(failure, severity=0.9, sure=False),)
    waste = (replace(failure, kind="waste"),)

    ranks = [rank_of("c", f) for f in (severe, slight, unsure, (), waste)]

    assert sorted(ranks) == [ranks[0], ranks[1], ranks[2], ranks[4], ranks[3]]
    good, bad = listed_case(rich_record, (), CONFIG), listed_case(rich_record, severe, CONFIG)
    assert worst_first([good, bad]) == [bad, good]
    assert (bad.kind, bad.component) == ("failure", failure.component)


def test_what_further_scores_found_is_quoted_once() -> None:
    parts = (
        Part(Component("It was built in 1889."), Verdict("no", explanation="1899 there"), False),
        Part(Component("It is tall."), Verdict("yes"), True),
    )
    same = Score(0.5, 2, 0, parts)
    names = ("groundedness", "hallucination", "answer_recall", "self_consistency", "sample_agreement")
    view = case_report(Record(Case("c", "What?"), {}, dict.fromkeys(names, same)), (), EvaluationConfig((), {}))

    quoted = (PartReport("It was built in 1889.", "1899 there", sure=True),)
    assert [(f.title, f.fault, f.parts) for f in view.faults] == [
        ("Says all of the reference", "not in the response", quoted),
        ("Same answer every time", "another answer than the response", quoted),
    ]


def test_further_scores_stand_in_both_pictures(tmp_path: Path) -> None:
    parts = tuple(Part(Component(f"Claim {i} <b>."), Verdict("no", explanation="not said"), False) for i in range(10))
    record = Record(Case("c", "What?"), {}, {"answer_recall": Score(0.0, 10, 0, parts)})
    shown = case_shown(record, 100)
    page = page_of(tmp_path, [(record, ())], summary_of([record], metrics_named(["answer_recall"]), {}))

    assert "What further scores found\n  Says all of the reference: not in the response\n" in shown
    assert "“Claim 7 <b>.” – not said" in shown
    assert "and 2 more" in shown
    assert '<q dir="auto">Claim 7 &lt;b&gt;.</q>' in page
    assert "and 2 more" in page
