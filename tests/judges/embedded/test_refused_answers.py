"""Refusals beside other answers, by the embedded judge."""

import asyncio

import pytest

from ragtriage import EmbeddedJudge, Verdict
from ragtriage.core import questions as ask
from ragtriage.judges.embedded.verdict import verdict_on_refusals
from ragtriage.text.claims import Marks

QUERY = "How tall is the tower?"
REFUSALS = ("I don't know.", "The documents don't say how tall the tower is.")
ANSWER = "It is 38 metres tall."


def marker(query: str, text: str) -> Marks:
    """A refusal is marked as one, and nothing else is marked."""
    return Marks(kinds=((0, len(text), "declines"),)) if text in REFUSALS else Marks()


@pytest.mark.parametrize("one", REFUSALS)
@pytest.mark.parametrize("other", REFUSALS)
def test_refusals_agree_but_are_never_the_true_answer(one: str, other: str) -> None:
    agree, true = (
        verdict_on_refusals(ask.same_answer(QUERY, (one,), other, drawn=True), marker),
        verdict_on_refusals(ask.same_answer(QUERY, (one,), other), marker),
    )
    assert agree is not None
    assert true is not None
    assert (agree.value, true.value) == ("yes", "no")


def test_an_answer_is_left_to_the_model() -> None:
    assert verdict_on_refusals(ask.same_answer(QUERY, REFUSALS, ANSWER), marker) is None
    assert verdict_on_refusals(ask.same_answer(QUERY, (ANSWER,), REFUSALS[0], drawn=True), marker) is None
    assert verdict_on_refusals(ask.declines(QUERY, REFUSALS[0]), marker) is None


@pytest.mark.parametrize(
    ("truth", "said", "drawn", "expected"),
    [
        (REFUSALS[0], REFUSALS[1], True, "yes"),
        (REFUSALS[0], REFUSALS[1], False, "no"),
        (ANSWER, REFUSALS[0], False, "no"),
        (ANSWER, REFUSALS[0], True, "no"),
        (REFUSALS[0], ANSWER, True, "no"),
    ],
)
def test_the_judge_tells_refusals_from_answers(truth: str, said: str, drawn: bool, expected: str) -> None:
    async def told() -> list[object]:
        question = ask.same_answer(QUERY, (truth,), said, drawn=drawn)
        return [answer async for _, answer in EmbeddedJudge().ask([question])]

    (verdict,) = asyncio.run(told())
    assert isinstance(verdict, Verdict)
    assert verdict.value == expected
