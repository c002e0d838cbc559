"""Dates that a response works out from those of its evidence and query."""

import time

import pytest

from ragtriage.judges.embedded.calculations import calculated_dates
from ragtriage.judges.embedded.unsupported_numbers import unsupported_numbers


@pytest.mark.parametrize(
    ("claim", "texts", "response", "found"),
    [
        ("The earliest day is 1 September.", ("Notice: the tenth day after.", "We gave it on 22 August."), "",
         {"1", "september"}),
        ("It ends on 22 February.", ("It runs for six months.", "It began on 22 August."), "", {"22", "february"}),
        ("The last day is March 2, 2025.", ("Twelve months from March 3, 2024.",), "", {"2", "march", "2025"}),
        ("You hear by 12 June.", ("Ask six weeks before. They reply within ten days.", "I leave on 14 July."),
         "Ask by 2 June, six weeks before 14 July. You hear by 12 June.", {"12", "june"}),
        ("The cut-off is Friday 22 November.", ("Four banking days before pay day.", "Pay day: Thursday 28 November"),
         "", {"friday", "22", "november"}),
        ("It is covered until September 2026.", ("Bought on 10 September 2023.",), "Three years, until September 2026.",
         {"september", "2026"}),
        ("The last day is 9 June 2025, 25 days after 15 May.",
         ("Up to 25 days after 15 May.", "I apply on Wednesday, 21 May."), "", {"9", "june", "2025"}),
        ("It is due on 29 February 2024.", ("One month after 31 January 2024.",), "", {"29", "february"}),
    ],
)  # fmt: skip
def test_a_date_that_a_span_leads_to_is_worked_out(
    claim: str, texts: tuple[str, ...], response: str, found: set[str]
) -> None:
    assert found <= calculated_dates(claim, texts, response)


@pytest.mark.parametrize(
    ("claim", "texts"),
    [
        ("The earliest day is 11 September.", ("Notice: the tenth day after.", "We gave it on 22 August.")),
        ("It is on 5 May.", ("It was on 3 April.",)),
        ("It is on 31 February.", ("Ten days after 21 January.",)),
        ("It ends in June.", ("It began on 1 May and lasts a month.",)),
        ("It is on 11 May 2020.", ("It was on 1 May 2020. Ten days are enough.", "When is it?")),
    ],
)
def test_any_other_date_is_not(claim: str, texts: tuple[str, ...]) -> None:
    assert not calculated_dates(claim, texts, "")


def test_a_wrong_day_of_the_week_is_not_worked_out() -> None:
    texts = ("Four banking days before pay day.", "Pay day: Thursday 28 November")

    assert "monday" not in calculated_dates("The deadline is Monday 22 November.", texts, "")


def test_what_is_worked_out_is_accounted_for() -> None:
    texts = ("Notice: the tenth day after.", "We gave it on 22 August.")

    assert unsupported_numbers("It can begin on 1 September.", (), texts) == ()


def test_time_grows_with_the_texts() -> None:
    begin = time.process_time()
    calculated_dates("It is on 5 May.", ("On 3 April, 10 days, " * 2000,), "On 4 May, 11 days, " * 2000)

    assert time.process_time() - begin < 20, "less than a second on an idle machine"


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


def test_many_dates_and_spans_take_little_time() -> None:
    days = " ".join(f"{1 + n} May {1900 + 8 * n}," for n in range(24))
    spans = " ".join(f"{30 + n} business days" for n in range(24))
    begin = time.process_time()
    calculated_dates(days, (days.replace("May", "July"), spans, "q"), days + spans)

    assert time.process_time() - begin < 20, "a second or two on an idle machine"
