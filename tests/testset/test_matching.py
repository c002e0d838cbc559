"""The typed match: what can be told from the type of the true answer, and what it leaves open."""

from decimal import Decimal
from typing import Any

import pytest

from ragtriage.testset.correctness import truths_for_judge, typed_match
from ragtriage.text.dates import date_in, moments
from ragtriage.text.words import figures, number_in

YES, NO, OPEN = "yes", "no", "unknown"
WHEN, MANY, WHO, LIST = "When was it issued?", "How many tracks are there?", "Who is the agent?", "Who are the clients?"

DATES = [
    ("2009-01-01 00:00:00", "It was issued on January 1, 2009.", YES),
    ("2009-01-01", "On the 1st of January 2009", YES),
    ("2009-01-01", "on 1/1/2009", YES),
    ("2009-03-04", "on 3/4/2009", OPEN),
    ("2009-03-25", "on 25.3.2009", YES),
    ("2009-03-25", "on 26.3.2009", NO),
    ("2009-03-04", "on 3 March 2009", NO),
    ("2009-03-04", "2009/03/04, 10:00", YES),
    ("25-03-2009", "on 25 March 2009", YES),
    ("25-03-2009", "on 5 June 2009", NO),
    ("2009-03-04", "in March 2009", NO),
    ("March 2009", "on 4 March 2009", YES),
    ("2009-03-04", "ordered on 1 March 2009, issued on 4 March 2009", OPEN),
    ("2009-03-04", "shortly after the flood", OPEN),
    ("1990", "It opened in 1990.", YES),
    ("1990", "It opened in 1991.", NO),
    ("1990", "It opened in the 1990s.", OPEN),
]
NUMBERS = [
    (25, "Twenty-five tracks.", YES),
    (25, "25", YES),
    (25, "There are 24 tracks.", NO),
    (25, "25 or 26", OPEN),
    (25, "25 tracks on 3 discs", OPEN),
    (25, "It isn't 25.", OPEN),
    (25, "many", OPEN),
    (2003, "2004", NO),
    (1234.56, "about 1,235", YES),
    (1234.56, "1.2 thousand", NO),
    (3214556, "3.21 million", YES),
    (3214556, "3 million", NO),
    (312000, "three hundred and twelve thousand", YES),
    ("$12", "12 dollars", YES),
    (0.99, "99 cents", OPEN),
    ("12 %", "13 %", NO),
    ("5,94", "5.94", YES),
    (-5, "−5 degrees", YES),
    (-5, "5 degrees", NO),
]
NAMES = [
    ("Jane Peacock", "The agent is Jane Peacock.", YES),
    ("Jane Peacock", "Peacock, Jane", YES),
    ("São Paulo", "sao paulo", YES),
    ("jane@chinook.com", "Write to jane@chinook.com.", YES),
    ("Jane Peacock", "Margaret Park", OPEN),
    ("Jane Peacock", "Jane Peacock, who reports to Nancy Edwards", OPEN),
    ("Queen", "Queen Latifah", OPEN),
    ("!!!", "!!!", YES),
    ("!!!", "???", OPEN),
    ("Jane Peacock", "Anyone but not Jane Peacock", OPEN),
    ("Jane Peacock", "I don't know.", NO),
    ("Jane Peacock", "The documents do not say who the agent is.", NO),
    ("Jane Peacock", " \n", NO),
]
LISTS = [
    (("Apple", "Meta"), "Meta and Apple.", YES),
    (("Apple", "Meta"), "The clients are Meta, Apple and Google.", OPEN),
    (("Apple", "Meta"), "Meta", OPEN),
    ((1999, 2001), "2001 and 1999", YES),
    ((1999, 2001), "1999, 2001 and 2003", OPEN),
    ((1999, 2001), "1999", NO),
    (("2009-01-01", "2010-01-01"), "1 January 2010, 1 January 2009", YES),
    ((), "Nobody.", YES),
    ((), "The documents don't say.", YES),
    ((), "Apple", NO),
]
YES_NO = [
    (True, "Yes, it is.", YES),
    (True, "No.", NO),
    ("no", "No, it was closed.", YES),
    (False, "It was closed.", OPEN),
    (False, "No, the documents do not mention that.", NO),
]


@pytest.mark.parametrize(
    ("query", "answer", "response", "expected"),
    [
        *((WHEN, *row) for row in DATES),
        *((MANY, *row) for row in NUMBERS),
        *((WHO, *row) for row in NAMES),
        *((LIST, *row) for row in LISTS),
        *(("Is it open?", *row) for row in YES_NO),
    ],
)
def test_a_response_is_held_against_the_true_answer_by_its_type(
    query: str, answer: Any, response: str, expected: str
) -> None:
    verdict = typed_match(query, answer, response)

    assert verdict.value == expected, verdict.explanation
    assert verdict.explanation


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Queen", YES),
        ("Which artist made the album Queen?", NO),
        ("The album Queen was made by an artist.", NO),
        ("It was made by Queen.", OPEN),
    ],
)
def test_an_answer_that_only_repeats_the_question_does_not_count(response: str, expected: str) -> None:
    assert typed_match("Which artist made the album Queen?", "Queen", response).value == expected


def test_numbers_of_the_question_are_no_other_numbers() -> None:
    assert typed_match("What is the total of invoice 7?", 5.94, "The total of invoice 7 is $5.94.").value == YES


def test_the_tolerance_is_for_numbers_that_are_written_less_exactly() -> None:
    assert typed_match(MANY, 1234.56, "1.2 thousand", tolerance=0.05).value == YES
    assert typed_match(MANY, 1234.56, "1,235", tolerance=0.0).value == NO
    assert typed_match(MANY, 1234, "1235", tolerance=0.05).value == NO


def test_a_judge_is_told_the_true_answer_as_one_text() -> None:
    assert truths_for_judge(True) == ("yes",)
    assert truths_for_judge(5.94) == ("5.94",)
    assert truths_for_judge(("Apple", 3)) == ("Apple, 3",)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1,234.50 and .5", ["1234.50", "0.5"]),
        ("from 3-5", ["3", "5"]),
        ("2 bn", ["2E+9"]),
        ("two dozen, one hundred five", ["24", "105"]),
        ("version 1.2.3", ["1.2"]),
        ("someone", []),
    ],
)
def test_numbers_are_read(text: str, expected: list[str]) -> None:
    assert [one.value for one in figures(text)] == [Decimal(value) for value in expected]


def test_a_text_is_a_number_or_a_date_only_as_a_whole() -> None:
    assert number_in("12 %") == number_in("$12") == number_in("twelve") == 12
    assert number_in("12 Angry Men") is None
    assert date_in("1234.56") is None
    assert date_in("The May 1990 issue") is None
    assert date_in("31 February 2001") is None
    assert moments("30/2/2001 at 10:00") == []


AT = "2024-01-01 10:30:00"
TIMES = [
    (AT, "It was placed on 1 January 2024, 23:59.", NO),
    (AT, "On 1 January 2024.", NO),
    (AT, "On 1 January 2024 at 10:30.", YES),
    (AT, "2024-01-01T10:30:00", YES),
    (AT, "On 1 January 2024 at 10.30 am", YES),
    (AT, "At 10:30 in the morning of 1 January 2024", YES),
    (AT, "On 1 January 2024 at 10:30 pm", NO),
    (AT, "On 1 January 2024 at 10:30:15", NO),
    (AT, "On 2 January 2024 at 10:30.", NO),
    (AT, "On 1 January 2024 at half past ten.", OPEN),
    (AT, "On 1 January 2024, 10.30", OPEN),
    (AT, "On 01.01.2024.", NO),
    (AT, "On the evening of 1 January 2024 at 10:30", OPEN),
    (AT, "On 1 January 2024 at 10:30, and it was paid at 18:45.", OPEN),
    (AT, "At 18:45.", NO),
    (AT, "shortly after the flood", OPEN),
    ("2024-01-01 18:45:59", "1 January 2024, 6:45 p.m.", YES),
    ("2024-01-01 18:45:59", "1 January 2024, 6:45", OPEN),
    ("2024-01-01 18:45:59", "1 January 2024, 06:45", NO),
    ("2024-01-01 10:30:00+00:00", "1 January 2024, 10:30 UTC", YES),
    ("2024-01-01 10:30:00+00:00", "1 January 2024, 11:30 CET", OPEN),
    ("2024-01-01 00:00:00", "On 1 January 2024.", YES),
    ("10:30:00", "At 10:30.", YES),
    ("10:30:00", "At 10:30 a.m.", YES),
    ("10:30:00", "At half past ten.", OPEN),
    ("10:30:00", "At 11:45.", NO),
    ("10:30:00", "Between 10:30 and 11:45.", OPEN),
    ("12:00:00", "At noon.", YES),
    ("17:00", "At 5 pm", YES),
    ("17:00", "At 5 o'clock", OPEN),
    (("10:30:00", "11:45:00"), "10:30 and 11:45", YES),
    ((AT, "2024-01-02"), "1 January 2024 and 2 January 2024", NO),
]


@pytest.mark.parametrize(("answer", "response", "expected"), TIMES)
def test_a_time_of_day_must_be_the_true_one(answer: Any, response: str, expected: str) -> None:
    verdict = typed_match("When was the order of Ann placed?", answer, response)

    assert verdict.value == expected, verdict.explanation


@pytest.mark.parametrize(
    ("answer", "kind", "response", "expected"),
    [
        ("01234", None, "Her postal code is 1234.", NO),
        ("01234", "text", "Her postal code is 1234.", NO),
        ("01234", "text", "Her postal code is 01234.", YES),
        ("01234", "text", "Her postal code is 012345.", NO),
        ("01234", "text", "Her postal code is 01235.", NO),
        ("53703", "text", "53703-1234", OPEN),
        ("5550100", "text", "It is 5.55 million.", NO),
        ("5550100", "text", "It is 555-0100.", YES),
        ("5550100", "text", "It is (555) 0100.", YES),
        ("5550100", "text", "It is +1 555-0100.", OPEN),
        ("5550100", "text", "It is 555-0199.", NO),
        ("+1 (403) 262-3443", "text", "14032623443", YES),
        ("+1 (403) 262-3443", "text", "403-262-3443", OPEN),
        ("5550100", None, "It is 5.55 million.", YES),
        ("1200000", "text", "1.2 million", OPEN),
        ("1.10", "text", "version 1.1", OPEN),
        ("3-4", "text", "3-4", YES),
        ("3-4", "text", "34", OPEN),
        ("192.168.1.1", "text", "192.16.81.1", OPEN),
        ("Seven", "text", "Seven", YES),
        ("Seven", "text", "7", OPEN),
        ("2009-01-01", "text", "on 1 January 2009", YES),
        ("01-02-2003", None, "on 1 February 2003", OPEN),
        (1, "yes/no", "Yes, she is.", YES),
    ],
)
def test_digits_that_are_a_text_are_compared_one_by_one(answer: Any, kind: Any, response: str, expected: str) -> None:
    verdict = typed_match("What is it for Ann?", answer, response, kind=kind)

    assert verdict.value == expected, verdict.explanation


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ("Yes and no.", OPEN),
        ("Yes… I mean no", OPEN),
        ("Yes, or rather not.", OPEN),
        ("Yes — no, she left.", OPEN),
        ("No. Well, yes.", OPEN),
        ("True and false.", OPEN),
        ("Yes, no doubt about it.", YES),
        ("Yes, she is, and has no other post.", YES),
        ("No, that is not right.", NO),
        ("No, it isn't true that she is.", NO),
    ],
)
def test_a_yes_that_is_taken_back_tells_nothing(response: str, expected: str) -> None:
    assert typed_match("Is Ann active?", True, response).value == expected
