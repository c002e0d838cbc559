"""A claim as it is judged: without words about the sources, a short reply as what it states, an item as asked for."""

from typing import Any

import pytest

from examples import examples
from ragtriage.judges.embedded.claimed_text import (
    asserted_text,
    is_item,
    is_open_ended,
    is_short_reply,
    is_step,
    without_attribution,
)

BIN = """Great question! Here's what belongs in the food waste bin:

✅ **Yes**
- Peelings
- Coffee grounds, including the filter

❌ **No**
- Liquids

The bin is emptied on Mondays.

Some other points on your bin:
- It is green
"""


@pytest.mark.parametrize("row", examples("claimed_text", "an attribution goes"))
def test_phrases_about_the_sources_are_taken_off(row: dict[str, Any]) -> None:
    assert without_attribution(row["claim"]) == row["left"]


@pytest.mark.parametrize("row", examples("claimed_text", "no attribution"))
def test_everything_else_stays(row: dict[str, Any]) -> None:
    assert without_attribution(row["claim"]) == row["claim"]


@pytest.mark.parametrize("row", examples("claimed_text", "open ended"))
def test_a_request_for_all_there_is_to_say_is_told_from_a_question(row: dict[str, Any]) -> None:
    assert is_open_ended(row["query"]) is row["opened"]


def test_items_of_what_was_asked_for_are_needed_and_what_stands_elsewhere_is_not() -> None:
    query = "what can i put in the food waste bin?"
    needed = ("Peelings", "Coffee grounds, including the filter", "Liquids")
    others = ("The bin is emptied on Mondays.", "It is green", "Eggshells")

    assert [is_item(query, claim, BIN) for claim in (*needed, *others)] == [True] * 3 + [False] * 3
    assert not is_item("When is the office open?", "Peelings", BIN)


def test_numbered_steps_are_needed_by_whoever_asks_how() -> None:
    response = "1. Open the lid.\n2. Press the knob."

    assert is_step("How do I reset it?", "Press the knob.", response)
    assert not is_step("Where is it?", "Press the knob.", response)


@pytest.mark.parametrize("row", examples("claimed_text", "a short reply"))
def test_a_short_reply_answers(row: dict[str, Any]) -> None:
    assert is_short_reply(row["question"], row["question"], row["claims"])


@pytest.mark.parametrize("row", examples("claimed_text", "no short reply"))
def test_what_is_of_another_kind_or_a_sentence_of_its_own_is_left_to_the_models(row: dict[str, Any]) -> None:
    assert not is_short_reply(row["question"], row["question"], row["claims"])


@pytest.mark.parametrize("row", examples("claimed_text", "a bare yes"))
def test_a_bare_yes_asserts_what_was_asked_and_a_bare_no_nothing(row: dict[str, Any]) -> None:
    assert asserted_text("Is parking free?", row["claim"]) == row["said"]


def test_a_bare_yes_to_several_questions_asserts_nothing() -> None:
    assert asserted_text("Is parking free? Is there a lift?", "Yes.") == ""
