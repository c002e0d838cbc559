"""Dates of a text: as spans of days, in all their readings, or with what is missing of them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from ragtriage.text.lexicon import WORDS
from ragtriage.text.numbers import number_in, numbers_as_figures
from ragtriage.text.times import without_clocks

MONTHS = WORDS.ordered("months")
WEEKDAYS = WORDS.ordered("weekdays")
SURE_MONTHS = frozenset(MONTHS) - {"may"}
"""Words that mean nothing but a month."""
DATE_NAMES = SURE_MONTHS.union(WEEKDAYS)
"""Words that mean nothing but a month or a day of the week."""
MONTH_NUMBERS = {form: number for number, name in enumerate(MONTHS, start=1) for form in (name, name[:3])}
"""The names of the months, whole and cut to three letters → their numbers."""

Span = tuple[date, date]
"""The first and the last day."""
Moment = tuple[Span, ...]
"""A date in all its readings: 3/4/2020 has two, others have one."""

_MONTH_NAMES = "|".join(sorted(MONTH_NUMBERS, key=len, reverse=True))
_MONTH = rf"({_MONTH_NAMES})\.?"
YEAR = r"1\d{3}|20\d\d"
"""A year in figures, as a piece of regular expressions."""
_YEAR = rf"({YEAR})"
_FORMS = (
    (re.compile(rf"\b(\d{{1,2}})(?: of)? {_MONTH},? {_YEAR}\b", re.IGNORECASE), "dmy"),
    (re.compile(rf"\b{_MONTH} (\d{{1,2}}),? {_YEAR}\b", re.IGNORECASE), "mdy"),
    (re.compile(rf"\b{_YEAR}-(\d\d)-(\d\d)\b"), "ymd"),
    (re.compile(rf"\b{_MONTH},? {_YEAR}\b", re.IGNORECASE), "my"),
    (re.compile(rf"\b{_YEAR} ?[-–] ?(\d\d(?:\d\d)?)\b"), "yy"),
    (re.compile(rf"\b{_YEAR}s\b"), "decade"),
    (re.compile(rf"\b{_YEAR}\b"), "y"),
)
"""Ways of writing a date, the most exact first, and what their groups are: day, month, year."""
_SLASHED = re.compile(rf"(?<![\d/.-])(\d{{1,2}})([/.-])(\d{{1,2}})\2{_YEAR}(?![\d/])")
_YEAR_FIRST = re.compile(rf"(?<![\d/.]){_YEAR}[/.](\d\d)[/.](\d\d)(?![\d/])")
_DATE_WORD = re.compile(
    rf"\d{{1,4}}(?:st|nd|rd|th)?|of|{'|'.join(f'{month}|{month[:3]}' for month in sorted(SURE_MONTHS))}", re.IGNORECASE
)
_DAY = rf"(?:({'|'.join(WEEKDAYS)}),? (?:the )?)?"
_PARTIAL_FORMS = (
    re.compile(
        rf"\b{_DAY}(?P<day>\d{{1,2}})(?: of)? (?P<month>{_MONTH_NAMES})\b\.?(?:,? (?P<year>(?:19|20)\d\d)\b)?",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_DAY}(?P<month>{_MONTH_NAMES})\.? (?P<day>\d{{1,2}})\b(?:,? (?P<year>(?:19|20)\d\d)\b)?", re.IGNORECASE
    ),
    re.compile(r"\b()(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)\b"),
    re.compile(rf"(?<!\d )\b()(?P<month>{_MONTH_NAMES})\b\.?,? (?P<year>(?:19|20)\d\d)\b(?P<day>)", re.IGNORECASE),
)
"""The same with a day of the week before it, or without its year or day."""
_FORMS_OF_NAMES = dict.fromkeys(form for name in (*MONTHS, *WEEKDAYS) for form in (name, name[:3]))
_CUT = "|".join(sorted(_FORMS_OF_NAMES, key=len, reverse=True))
_RANGE = re.compile(
    rf"\b({_CUT})\.?\s*(?:to|until|till|through|–|—|-)\s*(?:the )?"
    rf"(?:(?:end|middle|beginning|mid|\d{{1,2}})[ -](?:of )?)?({_CUT})\b"
)
"""From one month or day to another."""


def dates(text: str) -> Iterator[Span]:
    """The dates of a text with `numbers_as_figures`; what is read as one isn't read as another."""
    for pattern, form in _FORMS:
        for found in pattern.finditer(text):
            span = _span(form, found.groups())
            if span:
                yield span
        text = pattern.sub(" ", text)


def dates_agree(truth: str, response: str) -> Literal[-1, 0, 1]:
    """Whether two texts name the same date, one perhaps less exactly: 1 yes, -1 only others, 0 not both name one."""
    wanted, given = list(dates(truth)), list(dates(response))
    if not wanted or not given:
        return 0
    same = any(_within(a, b) or _within(b, a) for a in wanted for b in given)
    return 1 if same else -1


def _within(a: Span, b: Span) -> bool:
    return b[0] <= a[0] and a[1] <= b[1]


def _span(form: str, parts: tuple[str, ...]) -> Span | None:
    """From the groups of a form to days; None for a date that there isn't."""
    try:
        if form == "y":
            return date(int(parts[0]), 1, 1), date(int(parts[0]), 12, 31)
        if form == "decade":
            return date(int(parts[0]), 1, 1), date(int(parts[0]) + 9, 12, 31)
        if form == "yy":
            last = int(parts[0][: 4 - len(parts[1])] + parts[1])
            return (date(int(parts[0]), 1, 1), date(last, 12, 31)) if last >= int(parts[0]) else None
        known = dict(zip(form, parts, strict=True))
        month = known["m"]
        year, number = int(known["y"]), int(month) if month.isdigit() else MONTH_NUMBERS[month.lower()]
        if "d" in known:
            day = date(year, number, int(known["d"]))
            return day, day
        return date(year, number, 1), date(year, number, calendar.monthrange(year, number)[1])
    except ValueError:
        return None


def moments(text: str) -> list[Moment]:
    """The dates of a text: days, months, years and decades."""
    readings: list[Moment] = []
    for first, _, second, year in _SLASHED.findall(text):
        both = {_day(year, month, day) for month, day in ((first, second), (second, first))}
        if known := tuple(sorted((day, day) for day in both if day)):
            readings.append(known)
    rest = without_clocks(_YEAR_FIRST.sub(r"\1-\2-\3", _SLASHED.sub(" ", text)))
    return readings + [(span,) for span in dates(numbers_as_figures(rest))]


def date_in(text: str) -> Span | None:
    """The date that a whole text is, a time of day aside; None if it is something else or only a year."""
    bare = without_clocks(text.strip()).strip(" ,")
    words = re.findall(r"[^\s,./-]+", bare)
    if len(words) < 2 or number_in(bare) is not None or not all(_DATE_WORD.fullmatch(word) for word in words):
        return None
    found = moments(bare)
    return found[0][0] if len(found) == 1 and len(found[0]) == 1 else None


def _day(year: str, month: str, day: str) -> date | None:
    try:
        return date(int(year), int(month), int(day))
    except ValueError:
        return None


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as a text has it."""

    day: int | None
    """None of "September 2026"."""
    month: int
    year: int | None
    weekday: str
    """In small letters; empty if it isn't named."""

    def on(self, year: int) -> date | None:
        """The day it is, in its own year or, without one, in this; None if there is no such day, or none is named."""
        try:
            return date(self.year or year, self.month, self.day) if self.day else None
        except ValueError:
            return None


@lru_cache(256)
def without_markup(text: str) -> str:
    """The text without emphasis, its numbers as figures."""
    return numbers_as_figures(text.replace("*", "").replace("_", " "))


def written_dates(text: str) -> Iterator[WrittenDate]:
    """The dates of a text that name a month and a day or a year, in any markup."""
    for form in _PARTIAL_FORMS:
        for found in form.finditer(without_markup(text)):
            month = found["month"].lower()
            number = int(month) if month.isdigit() else MONTH_NUMBERS.get(month)
            if number is None:
                continue  # "Auguſt" matches where small and capital letters do
            year = int(found["year"]) if found["year"] else None
            yield WrittenDate(int(found["day"]) if found["day"] else None, number, year, (found[1] or "").lower())


@lru_cache(64)
def names_in_ranges(text: str) -> frozenset[str]:
    """The months and days between those that a text names: "May to September", "Tue–Sun"."""
    found: set[str] = set()
    for ends in _RANGE.findall(text.lower()):
        for order in (WEEKDAYS, MONTHS):
            first, last = (
                next((at for at, name in enumerate(order) if name.startswith(end[:3])), None) for end in ends
            )
            if first is not None and last is not None:
                found.update(order[(first + at) % len(order)] for at in range((last - first) % len(order) + 1))
    return frozenset(found)
