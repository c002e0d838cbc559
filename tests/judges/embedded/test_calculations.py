"""Numbers of a claim that nothing accounts for, and numbers and dates that a response works out."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from examples import examples
from ragtriage.judges.embedded.calculations import calculated_dates, calculated_numbers
from ragtriage.judges.embedded.unsupported_numbers import is_calculated, unsupported_numbers


@pytest.mark.parametrize("row", examples("calculations", "foreign"))
def test_an_altered_number_is_foreign(row: dict[str, Any]) -> None:
    assert unsupported_numbers(row["claim"], (), [row["text"]]) == tuple(row["foreign"])


@pytest.mark.parametrize("row", examples("calculations", "another notation"))
def test_another_way_of_writing_is_accounted_for(row: dict[str, Any]) -> None:
    assert unsupported_numbers(row["claim"], (), [row["text"]]) == ()


@pytest.mark.parametrize("row", examples("calculations", "one step"))
def test_one_step_of_arithmetic_is_accounted_for(row: dict[str, Any]) -> None:
    assert unsupported_numbers(row["claim"], (), [row["text"]]) == ()


@pytest.mark.parametrize("row", examples("calculations", "no number"))
def test_what_counts_or_points_states_no_number(row: dict[str, Any]) -> None:
    assert unsupported_numbers(row["claim"], (), ["The fee is due."]) == ()


def test_what_was_read_before_isnt_looked_for() -> None:
    assert unsupported_numbers("It costs 15 euros.", {"15"}, ["It is free."]) == ()


@pytest.mark.parametrize("row", examples("calculations", "written out"))
def test_a_right_calculation_that_is_written_out_is_accounted_for(row: dict[str, Any]) -> None:
    assert unsupported_numbers(row["claim"], (), [row["text"]], row["response"]) == ()


@pytest.mark.parametrize("row", examples("calculations", "written out wrong"))
def test_a_wrong_one_or_one_of_made_up_numbers_is_not(row: dict[str, Any]) -> None:
    assert unsupported_numbers(row["claim"], (), [row["text"]], row["response"]) == tuple(row["foreign"])


@pytest.mark.parametrize("claim", ["So 1 + 1 = " + "9" * 400 + " days", "9" * 5000 + ":30", "It costs " + "9" * 400])
def test_numbers_of_any_length_are_read(claim: str) -> None:
    assert unsupported_numbers(claim, (), ["It costs 15 euros."])


@pytest.mark.parametrize("row", examples("calculations", "derived"))
def test_what_stands_nowhere_and_is_worked_out_is_derived(row: dict[str, Any]) -> None:
    assert is_calculated(row["claim"], tuple(row["texts"]), row["response"]) is row["value"]


@pytest.mark.parametrize("row", examples("calculations", "number worked out"))
def test_a_right_calculation_accounts_for_its_numbers(row: dict[str, Any]) -> None:
    assert set(row["found"]) <= calculated_numbers(row["response"], frozenset(row["known"]))


@pytest.mark.parametrize("row", examples("calculations", "wrong calculation"))
def test_a_wrong_one_or_one_of_made_up_numbers_accounts_for_nothing(row: dict[str, Any]) -> None:
    assert not calculated_numbers(row["response"], frozenset(row["known"])) - {0, 1, 2, 3}


def test_without_a_calculation_no_sum_is_looked_for() -> None:
    assert calculated_numbers("Breakfast 12, dinner 30, in all 42.", frozenset({12, 30})) == frozenset()


@pytest.mark.parametrize("row", examples("calculations", "date worked out"))
def test_a_date_that_a_span_leads_to_is_worked_out(row: dict[str, Any]) -> None:
    assert set(row["found"]) <= calculated_dates(row["claim"], tuple(row["texts"]), row["response"])


@pytest.mark.parametrize("row", examples("calculations", "another date"))
def test_any_other_date_is_not(row: dict[str, Any]) -> None:
    assert not calculated_dates(row["claim"], tuple(row["texts"]), "")


def test_a_wrong_day_of_the_week_is_not_worked_out() -> None:
    texts = ("Four banking days before pay day.", "Pay day: Thursday 28 November")

    assert "monday" not in calculated_dates("The deadline is Monday 22 November.", texts, "")


def test_what_is_worked_out_is_accounted_for() -> None:
    texts = ("Notice: the tenth day after.", "We gave it on 22 August.")

    assert unsupported_numbers("It can begin on 1 September.", (), texts) == ()


def test_the_order_of_the_sources_and_their_many_dates_dont_matter() -> None:
    many = " ".join(f"{day} June 2020," for day in range(1, 26))
    claim = "The deadline is 11 July 2026."

    one = calculated_dates(claim, (many, "The notice is 1 July 2026.", "10 days"), claim)
    assert one == {"11", "july", "2026"}
    assert one == calculated_dates(claim, ("The notice is 1 July 2026.", many, "10 days"), claim)
    assert calculated_dates(claim, (many, "I got it 1 July 2026; 10 days"), claim) == {"11", "july", "2026"}


@pytest.mark.parametrize(
    "text", ["1 Augu\u017ft 2026", "1 apr\u0131l 2026", "2 fortn\u0131ghts after 1 May", "\u017fix days"]
)
def test_letters_that_only_match_without_regard_to_case_are_no_date(text: str) -> None:
    assert not calculated_dates(text, (text, "It is 1 May 2026."), text)


def repeated(unit: str) -> str:
    """A response of 20,000 letters."""
    return unit * (20_000 // len(unit))


def many_days(month: str) -> str:
    return " ".join(f"{1 + n} {month} {1900 + 8 * n}," for n in range(24))


TOTALS = "In total " + " ".join(f"{n}.123" for n in range(20))
TABLE = " ".join(str(100 + 3 * n) for n in range(3000))
RESULTS = " ".join(f"{n} × 7 = {7 * n}, {n * 1000 + 13} or" for n in range(20, 60))
SPANS = " ".join(f"{30 + n} business days" for n in range(24))
LONG: dict[str, Callable[[], object]] = {
    "numbers over a long table": lambda: unsupported_numbers(TOTALS, (), [TABLE, "q"], "x"),
    "many results among many numbers": lambda: calculated_numbers(RESULTS, frozenset(map(float, range(20, 120)))),
    "many dates": lambda: calculated_dates(
        "It is on 5 May.", ("On 3 April, 10 days, " * 2000,), "On 4 May, 11 days, " * 2000
    ),
    "many dates and spans": lambda: calculated_dates(
        many_days("May"), (many_days("July"), SPANS, "q"), many_days("May") + SPANS
    ),
    **{
        f"a claim beside {unit}": lambda unit=unit: unsupported_numbers(
            "It takes 99 days.", (), ["It takes 25 days."], repeated(unit)
        )
        for unit in ("1", "1,", "1 + ", "1 a-", "(1) ")
    },
    **{
        f"calculations {unit}": lambda unit=unit: calculated_numbers(
            repeated(unit) + "a", frozenset(map(float, range(100)))
        )
        for unit in ("1 + 1 = 2, ", "1 + ", "1 of ", "(1) ", "*", "5 5 = ", "1", "1,", "9.5 × 1.5 = 3\n")
    },
}


@pytest.mark.parametrize("read", LONG)
def test_time_grows_with_the_texts(read: str) -> None:
    begin = time.process_time()
    LONG[read]()

    assert time.process_time() - begin < 20, "a second or two on an idle machine"
