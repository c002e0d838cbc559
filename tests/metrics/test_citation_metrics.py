"""Citation groundedness, recall and precision: worked examples, what a judge is asked, and what it may fail at."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from examples import examples, rows_of
from ragtriage import Case, FakeJudge, Record, Score, Source, Undefined, Verdict, evaluate_sync
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Cell, Component, Failure, Verdicts
from ragtriage.metrics import CITATIONS, GROUPS, metrics_named
from ragtriage.metrics.citations import FALSE, checked_segments, citation_precision
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.export import ExportedFields, json_row


def case_of(response: str | None, sources: list[str]) -> Case:
    return Case("c", "What about fruit?", tuple(map(Source, sources)), response)


def judge_of(sources: list[str], yes: list[str]) -> FakeJudge:
    """Affirms what is listed: `12: text` against sources 1 and 2, `*: text` against segments of the response."""

    def answer(question: Question) -> Answer:
        numbers = [str(sources.index(text) + 1) for text in question.evidence if text in sources]
        of_segments = len(numbers) < len(question.evidence)
        key = f"{'*' if of_segments else ''.join(sorted(numbers))}: {question.subject}"
        return Verdict("yes" if key in yes else "no", explanation=f"asked of {key}")

    return FakeJudge(answer)


def record_of(response: str | None, sources: list[str], judge: FakeJudge) -> Record:
    (record,) = evaluate_sync([case_of(response, sources)], judge, metrics=CITATIONS)
    return record


@pytest.mark.parametrize("row", examples("../worked/citations"))
def test_worked_examples_come_out(row: dict[str, Any]) -> None:
    record = record_of(row["response"], row["sources"], judge_of(row["sources"], row["yes"]))

    for name, expected in row["expected"].items():
        outcome = record.outcomes[name]
        if isinstance(outcome, Score):
            assert outcome.value == pytest.approx(float(Fraction(expected))), name
        else:
            assert outcome == Undefined(expected)
    first = record.outcomes["citation_groundedness"]
    assert ([part.kind for part in first.parts] if isinstance(first, Score) else None) == row.get("kinds")


def test_every_kind_of_false_segment_occurs_in_the_worked_examples_of_the_group() -> None:
    rows = rows_of(Path(__file__).parents[1] / "worked" / "citations.jsonl")
    assert {kind for row in rows for kind in row.get("kinds", ()) if kind} == set(FALSE)

    assert metrics_named(["citations"]) == CITATIONS == GROUPS["citations"]


@pytest.mark.parametrize("response", [None, " ", "Apples are red.", "I don't know [1].", "Apples are red [9]."])
def test_what_needs_no_judge_is_decided_before_one_is_asked(response: str | None) -> None:
    judge = judge_of([], [])

    record_of(response, [], judge)

    assert judge.asked == []


SOURCES = [f"The text of source {number}." for number in range(1, 6)]
RESPONSE = (
    "Apples are red [1]. Pears are green [2]. Plums are blue [3]. Figs are soft [4]. Nuts are hard [1][5].\n\n"
    "In short, fruit has colours."
)
"""Six segments over five sources: four cite one source, one cites two, one none."""


def rounds(yes: list[str]) -> list[list[str]]:
    """What is asked, round by round."""
    judge = judge_of(SOURCES, yes)
    record_of(RESPONSE, SOURCES, judge)

    def named(question: Question) -> str:
        numbers = [str(SOURCES.index(text) + 1) for text in question.evidence if text in SOURCES]
        return f"{''.join(numbers) or '*'}: {question.subject}"

    return [[named(question) for question in batch] for batch in judge.batches]


def test_a_sound_answer_takes_two_rounds_and_only_false_segments_are_held_against_all_sources() -> None:
    said = [
        "1: Apples are red.",
        "2: Pears are green.",
        "3: Plums are blue.",
        "4: Figs are soft.",
        "15: Nuts are hard.",
    ]
    found = rounds([*said, "1: Nuts are hard.", "*: In short, fruit has colours."])
    assert found == [[*said, "1: Nuts are hard.", "5: Nuts are hard."], ["*: In short, fruit has colours."]]

    found = rounds(["1: Apples are red.", "2: Pears are green.", "15: Nuts are hard."])
    assert found[1:] == [
        ["*: In short, fruit has colours."],
        ["12345: Plums are blue.", "12345: Figs are soft.", "12345: In short, fruit has colours."],
    ]


def test_no_more_is_asked_than_a_metric_needs_nor_of_what_cites_what_does_not_exist() -> None:
    judge = judge_of(SOURCES, [])
    list(evaluate_sync([case_of(RESPONSE, SOURCES)], judge, metrics=metrics_named(["citation_recall"])))
    assert len(judge.asked) == 5

    judge = judge_of(SOURCES, [])
    record_of("Apples are red [9]. Pears are green [1].", SOURCES, judge)
    assert [q.subject for q in judge.asked if len(q.evidence) == 5] == ["Pears are green."]


def test_a_failure_in_round_one_makes_the_score_failed_and_one_elsewhere_only_its_reason_unknown() -> None:
    def answer(question: Question) -> Answer:
        if len(question.evidence) == 5:
            return Failure("the line is down")
        return Verdict("no")

    record = record_of(RESPONSE, SOURCES, FakeJudge(answer))
    score = record.outcomes["citation_groundedness"]
    assert isinstance(score, Score)
    assert [part.kind for part in score.parts] == ["unsupported"] * 5 + ["uncited"]

    failed = record_of(RESPONSE, SOURCES, FakeJudge(lambda _: Failure("the line is down")))
    assert all(isinstance(o, Undefined) and o.failed for o in failed.outcomes.values())


def test_unknown_segments_leave_the_score_and_bear_nothing_out() -> None:
    def answer(question: Question) -> Answer:
        return Verdict("unknown" if question.subject.startswith("Apples") else "yes")

    judge = FakeJudge(answer)
    score = record_of(RESPONSE, SOURCES, judge).outcomes["citation_groundedness"]

    assert isinstance(score, Score)
    assert (score.value, score.judged, score.unknown) == (1.0, 5, 1)
    (second,) = [q for q in judge.asked if q.subject.startswith("In short")]
    assert "Apples are red." not in second.evidence
    assert "Pears are green." in second.evidence


def cell(said: str | None) -> Cell:
    """A verdict, a failure, or None for what wasn't asked."""
    return Failure("no reply") if said == "failed" else said and Verdict(said)  # type: ignore[arg-type, return-value]


@pytest.mark.parametrize("row", examples("citation_metrics", "citations"))
def test_a_citation_counts_if_it_supports_alone_or_is_needed(row: dict[str, Any]) -> None:
    segment = (Component("Nuts are hard."),)
    together, alone, others = ([cell(one) for one in some] for some in ([row["together"]], row["alone"], row["others"]))

    outcome = citation_precision.compute(*(Verdicts(segment, (tuple(some),)) for some in (together, alone, others)))

    assert (outcome.value if isinstance(outcome, Score) else None) == row["score"]


@pytest.mark.parametrize("row", examples("citation_metrics", "quoted words"))
def test_the_source_is_named_in_which_alone_the_quoted_words_stand(row: dict[str, Any]) -> None:
    def answer(question: Question) -> Answer:
        return Verdict("yes", explanation=row["explanation"]) if len(question.evidence) == 5 else Verdict("no")

    record = record_of("Pears are green [5].", SOURCES, FakeJudge(answer))
    (checked,) = checked_segments(record)
    by = row["supported by"]

    assert (checked.kind, checked.supported_by) == ("misattributed", by)
    (segment,) = json.loads(json_row(record, (), ExportedFields(EvaluationConfig((), {}, ()))))["segments"]
    assert segment["checked_against"] == [5]
    assert segment["elsewhere"]["source"] == (None if by is None else by + 1)
