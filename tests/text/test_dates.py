"""Short answers: the same number or date, however it is written."""

from __future__ import annotations

import pytest

from ragtriage.text.dates import dates_agree
from ragtriage.text.numbers import numbers_as_figures


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("the Eighth season", "the 8 season"),
        ("on the 8th floor", "on the 8 floor"),
        ("the fourteenth of twelve", "the 14 of 12"),
        ("It opened in 19723.", "It opened in 1972."),
        ("in 2015The museum", "in 2015 The museum"),
        ("someone often phones", "someone often phones"),
        ("10,000 people and 123456 more", "10,000 people and 123456 more"),
        ("", ""),
    ],
)
def test_numbers_are_figures_and_footnotes_are_cut_off(text: str, expected: str) -> None:
    assert numbers_as_figures(text) == expected


@pytest.mark.parametrize(
    ("truth", "response", "expected"),
    [
        ("4 July 1776", "It was signed on July 4, 1776.", 1),
        ("July 1776", "on 4 July 1776", 1),
        ("1776", "in the 1770s", 1),
        ("2015-03-02", "March 2015", 1),
        ("1914-18", "It broke out in 1916.", 1),
        ("4 July 1776", "on 5 July 1776", -1),
        ("1776", "in 1777, not before", -1),
        ("31 February 2001", "2001", 0),
        ("a hundred", "in 1776", 0),
        ("1776", "long ago", 0),
    ],
)
def test_dates_agree_if_one_lies_within_the_other(truth: str, response: str, expected: int) -> None:
    assert dates_agree(truth, response) == expected
    assert dates_agree(response, truth) == expected
