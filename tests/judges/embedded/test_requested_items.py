"""Claims that are needed for what the query asks for."""

import pytest

from ragtriage.judges.embedded.claimed_text import is_item, is_open_ended, is_step

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


@pytest.mark.parametrize("claim", ["Peelings", "Coffee grounds, including the filter", "Liquids"])
def test_items_of_what_was_asked_for_are_needed(claim: str) -> None:
    assert is_item("what can i put in the food waste bin?", claim, BIN)


@pytest.mark.parametrize("claim", ["The bin is emptied on Mondays.", "It is green", "Eggshells"])
def test_what_stands_elsewhere_is_not(claim: str) -> None:
    assert not is_item("what can i put in the food waste bin?", claim, BIN)


def test_a_list_of_something_else_is_not() -> None:
    assert not is_item("When is the office open?", "Peelings", BIN)


def test_numbered_steps_are_needed_by_whoever_asks_how() -> None:
    response = "1. Open the lid.\n2. Press the knob."

    assert is_step("How do I reset it?", "Press the knob.", response)
    assert not is_step("Where is it?", "Press the knob.", response)


@pytest.mark.parametrize(
    ("query", "opened"),
    [
        ("Summarise the rules on damage.", True),
        ("Hi, could you compare the two memberships?", True),
        ("Tell me the story of the tramway.", True),
        ("I'm new. Give me a short overview of the plans", True),
        ("Write a short email to the teams.", True),
        ("How do I write to the office?", False),
        ("Does the summary describe costs?", False),
        ("When is the draft due?", False),
    ],
)
def test_a_request_for_all_there_is_to_say_is_told_from_a_question(query: str, opened: bool) -> None:
    assert is_open_ended(query) is opened
