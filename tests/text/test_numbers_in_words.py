"""Numbers of several words are read as figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.judges.embedded.readings import read_sentence
from ragtriage.judges.embedded.unsupported_numbers import unsupported_numbers
from ragtriage.text.words import multiword_numbers_as_figures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Twenty-three crews came, four more", "23 crews came, four more"),
        ("one hundred and forty-six rowers", "146 rowers"),
        ("six hundred and eighty euros a month", "680 euros a month"),
        ("a hundred and five", "105"),
        ("two million three hundred thousand", "2300000"),
        ("between twenty and thirty-five", "between twenty and 35"),
        ("five and six hundred", "five and 600"),
        ("two three", "two three"),
        ("nineteen sixty", "nineteen sixty"),
        ("thousand-year-old", "thousand-year-old"),
        ("one or two of the twenty", "one or two of the twenty"),
    ],
)
def test_several_words_that_are_one_number_are_written_in_figures(text: str, expected: str) -> None:
    assert multiword_numbers_as_figures(text) == expected


_UNITS = "zero one two three four five six seven eight nine".split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


@given(st.integers(1, 9), st.integers(2, 9), st.integers(1, 9), st.booleans())
def test_every_number_of_three_figures(hundreds: int, tens: int, units: int, joined: bool) -> None:
    words = f"{_UNITS[hundreds]} hundred {'and ' if joined else ''}{_TENS[tens - 2]}-{_UNITS[units]}"

    said = multiword_numbers_as_figures(f"There are {words} of them.")

    assert said == f"There are {100 * hundreds + 10 * tens + units} of them."


def test_a_claim_and_its_source_may_write_a_number_each_in_their_way() -> None:
    told = "One hundred and forty-six rowers were counted."

    assert unsupported_numbers("146 rowers took part.", (), [told]) == ()
    assert unsupported_numbers("164 rowers took part.", (), [told]) == ("164",)
    assert read_sentence(told).numbers == {"146"}
