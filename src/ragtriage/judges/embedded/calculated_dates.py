"""Dates that a response calculates: a date of the evidence or the query, plus or minus a span of time."""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Collection, Iterator, Sequence
from datetime import date, timedelta
from functools import lru_cache
from itertools import islice

import numpy as np

from ragtriage.judges.embedded.rules import RULES
from ragtriage.text.dates import WEEKDAYS, WrittenDate, without_markup, written_dates

_WORKDAYS = re.compile(r"business|working|banking|week", re.IGNORECASE)
_DAYS = {"day": 1, "week": 7, "fortnight": 14}
_MONTHS_OF = {"month": 1, "year": 12}
_NO_YEAR = (2001, 2004)
"""Years that stand for an unknown one: without and with a leap day."""
_YEARS = range(1996, 2024)
"""All ways in which the days of a week fall on dates."""
_MOST, _IN_ALL = 24, 60
"""Dates, and spans, of a text that are combined; dates of the evidence in all."""


_Span = tuple[int, str]
"""How many of which unit."""


def calculated_dates(claim: str, texts: tuple[str, ...], response: str) -> frozenset[str]:
    """The words of a claim's dates that can be worked out: day, month, year and day of the week, in small letters.

    The last of the `texts` is the query. A date that was worked out in the `response` that the claim was taken from may
    lead to the next.
    """
    own = list(written_dates(claim))
    found: set[str] = set()
    for year, days, months in _reached(texts, response or claim) if own else ():
        for one in own:
            day = one.on(year)
            if day in days:
                found |= {str(one.day), one.month_name, str(day.year)}
                found |= {one.weekday} & ({WEEKDAYS[day.weekday()]} if one.year or year not in _NO_YEAR else set())
            elif one.day is None and (one.year, one.month) in months:
                found |= {one.month_name, str(one.year)}
    return frozenset(found)


@lru_cache(64)
def _reached(texts: tuple[str, ...], response: str) -> tuple[tuple[int, set[date], set[tuple[int, int]]], ...]:
    """Each year that it may be, and what can be worked out in it: dates of the response, and (year, month) pairs."""
    said = list(islice(written_dates(response), _MOST))
    asked = list(islice(written_dates(texts[-1]), _MOST)) if texts else []
    told = {one for text in texts for one in islice(written_dates(text), _MOST)}
    told = {*asked, *sorted(told, key=lambda one: (one.year or 0, one.month or 0, one.day or 0, one.weekday))[:_IN_ALL]}
    at_hand = [*asked, *said]
    own = {span for text in (response, *texts[-1:]) for span in islice(_spans(text), _MOST)}
    spans = {*own, *sorted({span for text in texts for span in islice(_spans(text), _MOST)})[:_MOST]}
    years = {one.year for one in told if one.year} or _fitting(told, {one.year for one in said if one.year})
    return tuple((year, *_grown(year, (list(told), said, at_hand), own, spans)) for year in sorted(years))


def _grown(
    year: int,
    dates: tuple[Sequence[WrittenDate], Sequence[WrittenDate], Sequence[WrittenDate]],
    own: set[_Span],
    spans: set[_Span],
) -> tuple[set[date], set[tuple[int, int]]]:
    """From the dates that are told to those of the response that a span leads to, and on from these.

    Either the date or the span must be the query's or the response's own: evidence is full of both.
    """
    told, said, at_hand = ({day for one in some if (day := one.on(year))} for some in dates)
    known, left = set(told), said - told
    while met := {
        b for b in left if any(_leads(a, b, span) for a in known for span in (spans if a in at_hand else own))
    }:
        known |= met
        left -= met
    months = {month for day in known for span in (spans if day in at_hand else own) for month in _months(day, span)}
    return known - told, months


def _months(day: date, span: _Span) -> Iterator[tuple[int, int]]:
    """The (year, month) that a span before and after a day falls in; a span of working days isn't looked at."""
    number, unit = span
    for sign in (1, -1):
        if unit in _DAYS:
            there = day + sign * timedelta(number * _DAYS[unit])
            yield there.year, there.month
        elif unit in _MONTHS_OF:
            year, month = divmod(day.year * 12 + day.month - 1 + sign * number * _MONTHS_OF[unit], 12)
            yield year, month + 1


def _leads(a: date, b: date, span: _Span) -> bool:
    """Whether two dates are a span apart, the first day counted or not."""
    first, last = min(a, b), max(a, b)
    number, unit = span
    if unit == "workday":
        apart = int(np.busday_count(first, last))
    elif unit in _DAYS:
        apart, number = (last - first).days, number * _DAYS[unit]
    else:
        apart, number = (last - _later(first, number * _MONTHS_OF[unit])).days, 0
    return abs(apart - number) <= 1


def _later(day: date, months: int) -> date:
    """The same day some months later, or the last one of a shorter month."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    return date(year, month + 1, min(day.day, monthrange(year, month + 1)[1]))


def _fitting(told: Collection[WrittenDate], said: Collection[int]) -> Collection[int]:
    """Years in which the days of the week that are named fall on their dates: those that are said, or else any."""
    named = [one for one in told if one.weekday]
    years = [
        y for y in (said or _YEARS) if all((d := one.on(y)) and WEEKDAYS[d.weekday()] == one.weekday for one in named)
    ]
    return years if named or said else _NO_YEAR


def _spans(text: str) -> Iterator[_Span]:
    """How many of which unit: (10, "day"), (4, "workday")."""
    for number, kind, unit in RULES["time_span"].findall(without_markup(text)):
        name = "workday" if _WORKDAYS.match(kind) else unit.lower()
        if name in {"workday", *_DAYS, *_MONTHS_OF}:
            yield (int(number) if number.isdigit() else 1), name
