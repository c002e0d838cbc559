"""Short answers in one way of writing: numbers as figures, dates as spans of days, no citation mark glued to them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from datetime import date
from typing import Literal

from ragtriage.text.spelled_numbers import in_figures
from ragtriage.text.words import NUMBER_WORDS

Span = tuple[date, date]
"""The first and the last day."""

_GLUED = re.compile(r"\b(1[5-9]\d\d|20\d\d)\d{1,2}\b")
"""A year with the number of a footnote behind it."""
_JOINED = re.compile(r"(?<=\d)(?=[A-Z][a-z])")
_ORDINALS = {
    "first": "1", "second": "2", "third": "3", "fifth": "5", "eighth": "8", "ninth": "9", "twelfth": "12",
    "twentieth": "20",
    **{f"{word}th": value for word, value in NUMBER_WORDS.items() if value in {"4", "6", "7", "10", "11"}},
    **{f"{word}th": value for word, value in NUMBER_WORDS.items() if word.endswith("teen")},
}  # fmt: skip
_NUMBERS = NUMBER_WORDS | _ORDINALS
_WORDS = re.compile(rf"\b(?:{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})\b", re.IGNORECASE)
_SUFFIX = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")

MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
MONTHS |= {name[:3]: number for name, number in MONTHS.items()}
"""The names of the months, whole and cut to three letters → their numbers."""
_MONTH = rf"({'|'.join(sorted(MONTHS, key=len, reverse=True))})\.?"
_YEAR = r"(1\d{3}|20\d\d)"
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


def plainly(text: str) -> str:
    """The text with its number words and ordinals as figures, and without the marks that are glued to a year."""
    text = in_figures(_JOINED.sub(" ", _GLUED.sub(r"\1", text)))
    text = _WORDS.sub(lambda found: _NUMBERS.get(found[0].lower(), found[0]), text)
    return _SUFFIX.sub(r"\1", text)


def dates(text: str) -> Iterator[Span]:
    """The dates in a text that was written plainly; what is read as one isn't read as another."""
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
        year, number = int(known["y"]), int(month) if month.isdigit() else MONTHS[month.lower()]
        if "d" in known:
            day = date(year, number, int(known["d"]))
            return day, day
        return date(year, number, 1), date(year, number, calendar.monthrange(year, number)[1])
    except ValueError:
        return None
