"""Pair scores: which metric counts, at which value, and what becomes of pairs that can't be scored."""

from typing import Any

import pytest

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Component, Failure, Undefined, Verdict
from ragtriage.judges.fake import FakeJudge
from ragtriage.readers.problems import RowProblem
from ragtriage.trust.agreement import at_even_odds, pair_scores, preference_of

GOOD, BAD, EMPTY = "Ferries run daily.", "Ferries run hourly now.", "No idea."
TRUE = "The ferry sails every day."


def said(question: Question) -> Answer:
    """The good answer holds and is needed, the bad one isn't; the empty one and its like make no claim."""
    if question.kind in {"claims", "questions", "sentences", "facts"}:
        text = question.subject
        return () if text == EMPTY else (Component(text, (0, len(text))),)
    texts = (question.subject, *question.evidence)
    if question.kind == "supported" and EMPTY in texts:
        return Verdict("no", 0.0, 1.0)
    chance = 0.2 if BAD in texts else 0.75
    return Verdict("yes" if chance > 0.5 else "no", chance, max(chance, 1 - chance))


def pair(**fields: Any) -> dict[str, Any]:
    said = {"query": "When do ferries run?", "sources": [TRUE], "reference": None, "a": GOOD, "b": BAD, "human": 1}
    return said | fields


def difference(judge: FakeJudge, **fields: Any) -> float | Undefined:
    return pair_scores([preference_of(pair(**fields))], judge)[0]


def test_without_a_reference_it_is_the_mean_of_three_metrics_at_their_expected_values() -> None:
    asked = FakeJudge(said)

    assert difference(asked) == pytest.approx(0.55)
    assert difference(asked, a=BAD, b=GOOD) == pytest.approx(-0.55)
    assert difference(asked, a=GOOD, b=GOOD) == 0
    assert {q.kind for q in asked.asked} >= {"supported", "essential", "answered"}


@pytest.mark.parametrize("aspect", ["overall", "correctness", "completeness"])
def test_with_a_reference_it_is_the_metric_of_the_aspect(aspect: str) -> None:
    def one_way(question: Question) -> Answer:
        if question.kind == "supported" and question.subject == TRUE:
            return Verdict("yes", 0.9, 0.9)
        return said(question)

    found = difference(FakeJudge(one_way), reference=TRUE, aspect=aspect)

    f1 = [2 * p * 0.9 / (p + 0.9) for p in (0.75, 0.2)]
    assert found == pytest.approx({"overall": f1[0] - f1[1], "correctness": 0.55, "completeness": 0.0}[aspect])


def test_the_embedded_judges_support_is_read_at_even_odds_against_a_reference() -> None:
    assert at_even_odds(0.9, 9) == pytest.approx(0.5)
    assert (at_even_odds(0, 9), at_even_odds(1, 9), at_even_odds(0.3, 1)) == (0, 1, 0.3)
    embedded = FakeJudge(said, name="embedded")

    found = difference(embedded, reference=TRUE, aspect="correctness")
    assert found == pytest.approx(at_even_odds(0.75, 9) - at_even_odds(0.2, 9))


def test_a_claim_counts_by_its_words() -> None:
    long, short = "Ferries run hourly now.", "Yes."

    def two(question: Question) -> Answer:
        if question.kind == "claims" and short in question.subject:
            return Component(long), Component(short)
        if question.kind == "supported":
            return Verdict("yes" if question.subject != long else "no")
        return said(question)

    found = difference(FakeJudge(two), reference=TRUE, a=f"{long} {short}", b=BAD, aspect="correctness")
    assert found == pytest.approx(1 / 5)


def test_an_answer_without_a_claim_is_nothing_against_a_reference_and_nothing_wrong_against_sources() -> None:
    judge = FakeJudge(said)

    assert difference(judge, reference=TRUE, a=GOOD, b=EMPTY, aspect="correctness") == pytest.approx(0.75)
    assert difference(judge, a=EMPTY, b=GOOD) == pytest.approx((1 + 1 + 0.75) / 3 - 0.75)
    assert difference(judge, reference=EMPTY) == difference(judge)  # it counts as none


def test_a_failure_leaves_its_pair_unfinished_and_the_others_as_they_are() -> None:
    def failing(question: Question) -> Answer:
        return Failure("out of order") if question.kind == "supported" and question.subject == BAD else said(question)

    fine = preference_of(pair(b=EMPTY))
    found = pair_scores([preference_of(pair()), fine], FakeJudge(failing))

    assert found[0] == Undefined("out of order", failed=True)
    assert found[1] == pair_scores([fine], FakeJudge(said))[0]


def test_an_answer_of_several_pairs_is_judged_once() -> None:
    told: list[int] = []
    pairs = [preference_of(pair(reference=TRUE, aspect=aspect)) for aspect in ("overall", "correctness")]

    pair_scores(pairs, FakeJudge(said), lambda: told.append(1))

    assert len(told) == 2


@pytest.mark.parametrize(
    "field",
    [
        {"human": "a"},
        {"human": 2},
        {"human": True},
        {"aspect": "style"},
        {"a": None},
        {"sources": [1]},
        {"reference": 3},
    ],
)
def test_a_row_that_cannot_be_used_says_which_field(field: dict[str, Any]) -> None:
    for wrong in (field, {"reference": 3}):
        with pytest.raises(RowProblem) as problem:
            preference_of(pair(**wrong))
        assert next(iter(wrong)) in (problem.value.field or problem.value.reason)


def test_a_query_that_asks_nothing_leaves_groundedness_alone() -> None:
    def silent(question: Question) -> Answer:
        return () if question.kind == "questions" else said(question)

    found = difference(FakeJudge(silent), query="Thank you!")

    assert found == pytest.approx(0.55)
