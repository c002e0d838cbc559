"""Values in texts, however they are written: numbers, dates and amounts, and whether two of them say the same."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from ragtriage.judges.embedded.readings import read_sentence
from ragtriage.judges.embedded.unsupported_numbers import unsupported_numbers
from ragtriage.text.dates import WrittenDate, dates_agree, moments, placed_dates, written_dates
from ragtriage.text.value_relations import relation
from ragtriage.text.values import values
from ragtriage.text.words import multiword_numbers_as_figures, numbers_as_figures

UNITS = "zero one two three four five six seven eight nine".split()
TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def related(claimed: str, told: str) -> str:
    """The nearest relation that a claimed value has to those that are told."""
    found = {relation(one, other) for one in values(claimed) for other in values(told)}
    return next(name for name in ("same", "within", "unsure", "other", "") if name in found)


@pytest.mark.parametrize("row", examples("values", "relations"))
def test_how_a_claimed_value_relates_to_one_that_is_told(row: dict[str, Any]) -> None:
    assert related(row["claimed"], row["told"]) == row["relation"]


@pytest.mark.parametrize("row", examples("values", "found"))
def test_what_is_a_value(row: dict[str, Any]) -> None:
    assert [one.text for one in values(row["text"])] == row["found"]


@pytest.mark.parametrize("dose", ["5 µg", "5 \N{GREEK SMALL LETTER MU}g", "5 ΜG"])  # people type all three
def test_a_unit_is_known_by_each_way_of_writing_its_letters(dose: str) -> None:
    (one,) = values(f"Take {dose} a day.")

    assert (one.kind, one.readings[0].value) == ("mass", Decimal("0.000005"))


@pytest.mark.parametrize("row", examples("values", "numbers in words"))
def test_several_words_that_are_one_number_are_written_in_figures(row: dict[str, Any]) -> None:
    assert multiword_numbers_as_figures(row["text"]) == row["expected"]


@given(st.integers(1, 9), st.integers(2, 9), st.integers(1, 9), st.booleans())
def test_every_number_of_three_figures(hundreds: int, tens: int, units: int, joined: bool) -> None:
    words = f"{UNITS[hundreds]} hundred {'and ' if joined else ''}{TENS[tens - 2]}-{UNITS[units]}"

    said = multiword_numbers_as_figures(f"There are {words} of them.")

    assert said == f"There are {100 * hundreds + 10 * tens + units} of them."


def test_a_claim_and_its_source_may_write_a_number_each_in_their_way() -> None:
    told = "One hundred and forty-six rowers were counted."

    assert unsupported_numbers("146 rowers took part.", (), [told]) == ()
    assert unsupported_numbers("164 rowers took part.", (), [told]) == ("164",)
    assert read_sentence(told).numbers == {"146"}


@pytest.mark.parametrize("row", examples("values", "figures"))
def test_numbers_are_figures_and_footnotes_are_cut_off(row: dict[str, Any]) -> None:
    assert numbers_as_figures(row["text"]) == row["expected"]


@pytest.mark.parametrize("row", examples("values", "dates that agree"))
def test_dates_agree_if_one_lies_within_the_other(row: dict[str, Any]) -> None:
    assert dates_agree(row["truth"], row["response"]) == row["expected"]
    assert dates_agree(row["response"], row["truth"]) == row["expected"]


@pytest.mark.parametrize("row", examples("values", "places of dates"))
def test_dates_are_found_with_their_places_however_little_is_written(row: dict[str, Any]) -> None:
    placed = placed_dates(row["text"])

    assert {row["text"][slice(*span)]: (one.day, one.month, one.year) for (one, *_), span in placed} == {
        text: tuple(date) for text, date in row["found"].items()
    }


def test_a_date_that_stands_in_markup_keeps_its_day_of_the_week() -> None:
    assert list(written_dates("on **Monday, 3 May**")) == [WrittenDate(3, 5, None, "monday")]


def test_a_month_in_odd_letters_is_none() -> None:
    text = "3 Auguſt 2020"

    assert placed_dates(text) == list(written_dates(text)) == moments(text) == []
