"""Dates of a text: as spans of days, in all their readings, or with what is missing of them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal

from ragtriage.text.forms import forms, read_by
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

YEAR = r"1\d{3}|20\d\d"
"""A year in figures, as a piece of regular expressions."""
_YEAR = rf"(?P<year>{YEAR})"
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})"


def _in_words(year: str, *, whole: bool = False, weekday: str = "", behind_day: str = "") -> tuple[str, str, str, str]:
    """Forms of a day and of a month, as regular expressions with the groups `day`, `month`, `year` and `weekday`.

    Args:
        year: what is a year.
        whole: a day has its year.
        weekday: what may stand before a day in words.
        behind_day: what may stand behind its number.
    """
    day, year = rf"(?P<day>\d{{1,2}}){behind_day}", rf"(?P<year>{year})"
    of_year = rf"(?:,? {year}\b)" + ("" if whole else "?")
    return (
        rf"\b{weekday}{day}(?: of)? {_MONTH}\b\.?{of_year}",
        rf"\b{weekday}{_MONTH}\.? {day}\b{of_year}",
        rf"\b{year}-(?P<month>\d\d)-(?P<day>\d\d)\b",
        rf"\b{_MONTH}\.?,? {year}\b",
    )


_WHOLE_FORMS = forms(
    *_in_words(YEAR, whole=True),
    rf"\b{_YEAR} ?[-–] ?(?P<last>\d\d(?:\d\d)?)\b",
    rf"\b{_YEAR}(?P<decade>(?-i:s))\b",
    rf"\b{_YEAR}\b",
)
"""Ways of writing days, months, years and decades that are named in full."""
_WEEKDAY = rf"(?:(?P<weekday>{'|'.join(WEEKDAYS)}),? (?:the )?)?"
*_DAY_FORMS, _MONTH_FORM = _in_words(r"(?:19|20)\d\d", weekday=_WEEKDAY)
_WRITTEN_FORMS = forms(*_DAY_FORMS, rf"(?<!\d ){_MONTH_FORM}")
"""Ways of writing a day, perhaps without its year, or a month of a year."""
_LEADS_YEAR = "|".join(rf"(?<=\b{word} )" for word in WORDS.ordered("before_year"))
_PLACED_FORMS = forms(
    *_in_words(r"(?:1[5-9]|20)\d\d", behind_day="(?:st|nd|rd|th)?(?!:)"),
    rf"\b(?P<month>{'|'.join(sorted(SURE_MONTHS))}|(?-i:(?<=[a-z] )May))\b(?!\s\d)",
    rf"(?:{_LEADS_YEAR})(?P<year>(?:1[5-9]|20)\d\d)\b(?![%/-]|[.,:]\d|\s?(?:€|%|percent\b))",
)
"""Ways of writing a date, however little of it."""
_SLASHED = re.compile(rf"(?<![\d/.-])(\d{{1,2}})([/.-])(\d{{1,2}})\2({YEAR})(?![\d/])")
_YEAR_FIRST = re.compile(rf"(?<![\d/.])({YEAR})[/.](\d\d)[/.](\d\d)(?![\d/])")
_DATE_WORD = re.compile(
    rf"\d{{1,4}}(?:st|nd|rd|th)?|of|{'|'.join(f'{month}|{month[:3]}' for month in sorted(SURE_MONTHS))}", re.IGNORECASE
)
_FORMS_OF_NAMES = dict.fromkeys(form for name in (*MONTHS, *WEEKDAYS) for form in (name, name[:3]))
_CUT = "|".join(sorted(_FORMS_OF_NAMES, key=len, reverse=True))
_RANGE = re.compile(
    rf"\b({_CUT})\.?\s*(?:to|until|till|through|–|—|-)\s*(?:the )?"
    rf"(?:(?:end|middle|beginning|mid|\d{{1,2}})[ -](?:of )?)?({_CUT})\b"
)
"""From one month or day to another."""


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """A date as a text has it; what isn't written is None."""

    day: int | None
    month: int | None
    year: int | None
    weekday: str = ""
    """In small letters; empty if it isn't named."""

    @property
    def month_name(self) -> str:
        """In small letters; empty if there is no month."""
        return MONTHS[self.month - 1] if self.month else ""

    def on(self, year: int) -> date | None:
        """The day it is, in its own year or, without one, in this; None if there is no such day, or none is named."""
        try:
            return date(self.year or year, self.month, self.day) if self.month and self.day else None
        except ValueError:
            return None


def placed_dates(text: str) -> list[tuple[WrittenDate, tuple[int, int]]]:
    """The dates of a text, however little of one is written, each with its span; days of the week aren't read."""
    found = ((match, _written(match)) for match in read_by(_PLACED_FORMS, text))
    return [(one, (match.start(), match.start() + len(match[0].rstrip(".")))) for match, one in found if one]


def written_dates(text: str) -> Iterator[WrittenDate]:
    """The dates of a text that name a month and a day or a year, in any markup; a form takes nothing from another."""
    for form in _WRITTEN_FORMS:
        yield from filter(None, map(_written, form.finditer(without_markup(text))))


def _written(match: re.Match[str]) -> WrittenDate | None:
    """The date that has one of the forms; None for "Auguſt", which is matched where capital letters may be small."""
    parts = match.groupdict()
    day, month, year = (parts.get(name) for name in ("day", "month", "year"))
    number = int(month) if month and month.isdigit() else MONTH_NUMBERS.get((month or "").lower())
    if month and number is None:
        return None
    weekday = (parts.get("weekday") or "").lower()
    return WrittenDate(int(day) if day else None, number, int(year) if year else None, weekday)


@lru_cache(256)
def without_markup(text: str) -> str:
    """The text without emphasis, its numbers as figures."""
    return numbers_as_figures(text.replace("*", "").replace("_", " "))


def dates(text: str) -> Iterator[Span]:
    """The dates of a text with `numbers_as_figures` that are named in full, as days."""
    return filter(None, map(_days, read_by(_WHOLE_FORMS, text)))


def dates_agree(truth: str, response: str) -> Literal[-1, 0, 1]:
    """Whether two texts name the same date, one perhaps less exactly: 1 yes, -1 only others, 0 not both name one."""
    wanted, given = list(dates(truth)), list(dates(response))
    if not wanted or not given:
        return 0
    same = any(_within(a, b) or _within(b, a) for a in wanted for b in given)
    return 1 if same else -1


def _within(a: Span, b: Span) -> bool:
    return b[0] <= a[0] and a[1] <= b[1]


def _days(match: re.Match[str]) -> Span | None:
    """The days of a date that is named in full; None for a date that there isn't."""
    one, parts = _written(match), match.groupdict()
    if one is None or one.year is None:
        return None
    try:
        if one.day is not None:
            day = one.on(one.year)
            return (day, day) if day else None
        if one.month is not None:
            last = calendar.monthrange(one.year, one.month)[1]
            return date(one.year, one.month, 1), date(one.year, one.month, last)
        until = parts.get("last") or ""
        end = one.year + 9 if parts.get("decade") else int(str(one.year)[: 4 - len(until)] + until)
        return (date(one.year, 1, 1), date(end, 12, 31)) if end >= one.year else None
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
