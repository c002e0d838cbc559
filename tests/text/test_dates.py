"""Short answers: the same number or date, however it is written."""

import pytest

from ragtriage.text.dates import WrittenDate, dates_agree, moments, placed_dates, written_dates
from ragtriage.text.words import numbers_as_figures


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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("on the 3rd of May, 2020.", {"3rd of May, 2020": (3, 5, 2020)}),
        ("On May 3. In June, too.", {"May 3": (3, 5, None), "June": (None, 6, None)}),
        ("Monday, 3 May to Friday, 7 May", {"3 May": (3, 5, None), "7 May": (7, 5, None)}),
        ("2020-05-03, or in Sep. 1850", {"2020-05-03": (3, 5, 2020), "Sep. 1850": (None, 9, 1850)}),
        ("It opened in 1987 and had 1987 guests.", {"1987": (None, None, 1987)}),
        ("in May, 10:30", {"May": (None, 5, None)}),
        ("You may come at 3.", {}),
    ],
)
def test_dates_are_found_with_their_places_however_little_is_written(
    text: str, found: dict[str, tuple[int | None, ...]]
) -> None:
    placed = placed_dates(text)

    assert {text[slice(*span)]: (one.day, one.month, one.year) for (one, *_), span in placed} == found


def test_a_date_that_stands_in_markup_keeps_its_day_of_the_week() -> None:
    assert list(written_dates("on **Monday, 3 May**")) == [WrittenDate(3, 5, None, "monday")]


def test_a_month_in_odd_letters_is_none() -> None:
    text = "3 Auguſt 2020"

    assert placed_dates(text) == list(written_dates(text)) == moments(text) == []
