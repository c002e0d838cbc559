"""From a probability to a verdict, with its reason."""

from typing import Any

import pytest

from examples import examples
from ragtriage.core import questions as ask
from ragtriage.core.display import LONGEST_QUOTE, quoted
from ragtriage.core.questions import Question
from ragtriage.judges.embedded.verdict import NEAR, Scored, verdict_of, verdict_on_refusals
from ragtriage.text.claim_parts import Marks

ANSWERED = ask.answered("When does it open?", ["It opens at nine."])
SUPPORTED = ask.supported("It opens at nine.", ["It opens at ten."])


@pytest.mark.parametrize("question", [ANSWERED, SUPPORTED])
@pytest.mark.parametrize(
    ("probability", "value", "sure"),
    [(0.8, "yes", True), (0.5, "yes", True), (0.49, "no", False), (0.17, "no", False), (0.16, "no", True)],
)
def test_a_verdict_is_its_probability_and_red_is_only_what_is_surely_a_no(
    question: Question, probability: float, value: str, sure: bool
) -> None:
    verdict = verdict_of(question, Scored(probability))

    assert (verdict.value, verdict.sure) == (value, sure)
    assert verdict.score == verdict.chance == probability
    assert verdict.confidence == max(probability, 1 - probability)


@pytest.mark.parametrize(
    ("found", "contradicted"),
    [
        (Scored(0.2, contradicted_by="It opens at ten."), True),
        (Scored(0.2, nearness=NEAR), True),
        (Scored(0.2, nearness=NEAR - 0.01), False),
        (Scored(0.9, contradicted_by="It opens at ten.", nearness=1.0), False),
    ],
    ids=["a sentence says otherwise", "near a sentence", "near nothing", "supported"],
)
def test_an_unsupported_claim_is_contradicted_where_a_sentence_says_otherwise_or_nearly_the_same(
    found: Scored, contradicted: bool
) -> None:
    assert verdict_of(SUPPORTED, found).contradicted is contradicted


def test_what_is_worked_out_is_unknown_and_not_called_unsupported() -> None:
    verdict = verdict_of(SUPPORTED, Scored(0.1, calculated=True, nearness=1.0))
    assert (verdict.value, verdict.score, verdict.chance) == ("unknown", 0.1, None)
    assert not verdict.contradicted
    assert verdict_of(SUPPORTED, Scored(0.7, calculated=True)).value == "yes"


def test_a_number_that_nothing_accounts_for_is_named() -> None:
    verdict = verdict_of(SUPPORTED, Scored(0.2, "It is 12.", ("15", "Ada"), ("15",)))
    assert verdict.explanation == "closest passage: “It is 12.”; nothing there accounts for 15"


def test_only_claims_are_contradicted() -> None:
    assert not verdict_of(ANSWERED, Scored(0.1, contradicted_by="It opens at ten.", nearness=1.0)).contradicted


LONG = (
    "If you cancel within the fourteen-day cooling-off period that follows the day on which you receive your papers, "
    "we refund the premium and charge an administration fee of £35 for each policy that we have issued to you."
)
CENTRED = (
    "“… your papers, we refund the premium and charge an administration fee of £35 for each policy that we have issued "
    "to you.”"
)


@pytest.mark.parametrize("row", examples("quotes"))
def test_a_quote_shows_what_the_claim_says_otherwise(row: dict[str, Any]) -> None:
    texts = {name: value.replace("{long}", LONG) for name, value in row["scored"].items() if isinstance(value, str)}
    found = Scored(**{**row["scored"], **texts})
    told = row["told"].replace("{centred}", CENTRED)

    assert verdict_of(ask.supported(row["claim"], [LONG]), found).explanation == told


@pytest.mark.parametrize("at", range(0, 290, 29))
def test_a_long_quote_is_cut_at_words_around_what_must_be_seen(at: int) -> None:
    text = " ".join(f"word{number:02}" for number in range(44))
    place = (at - at % 7, at - at % 7 + 6)
    shown = quoted(text, place).strip("“”").removeprefix("… ").removesuffix(" …")

    assert text[slice(*place)] in shown
    assert len(shown) <= LONGEST_QUOTE
    assert set(shown.split()) <= set(text.split())


TOWER_QUERY = "How tall is the tower?"
REFUSALS = ("I don't know.", "The documents don't say how tall the tower is.")
HEIGHT = "It is 38 metres tall."


def marker(query: str, text: str) -> Marks:
    """A refusal is marked as one, and nothing else is marked."""
    return Marks(kinds=((0, len(text), "declines"),)) if text in REFUSALS else Marks()


@pytest.mark.parametrize("one", REFUSALS)
@pytest.mark.parametrize("other", REFUSALS)
def test_refusals_agree_but_are_never_the_true_answer(one: str, other: str) -> None:
    agree, true = (
        verdict_on_refusals(ask.same_answer(TOWER_QUERY, (one,), other, drawn=True), marker),
        verdict_on_refusals(ask.same_answer(TOWER_QUERY, (one,), other), marker),
    )
    assert agree is not None
    assert true is not None
    assert (agree.value, true.value) == ("yes", "no")


def test_an_answer_is_left_to_the_model() -> None:
    assert verdict_on_refusals(ask.same_answer(TOWER_QUERY, REFUSALS, HEIGHT), marker) is None
    assert verdict_on_refusals(ask.same_answer(TOWER_QUERY, (HEIGHT,), REFUSALS[0], drawn=True), marker) is None
    assert verdict_on_refusals(ask.declines(TOWER_QUERY, REFUSALS[0]), marker) is None
