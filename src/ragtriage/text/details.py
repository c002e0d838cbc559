"""Details of a text that can be held against those of another: amounts, dates, days and times, as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache

from ragtriage.text import words as vocabulary
from ragtriage.text.dates import WEEKDAYS, WrittenDate, placed_dates
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.numbers import Figure, placed_figures
from ragtriage.text.times import Clock, placed_clocks

Span = tuple[int, int]

_WEEKDAY = re.compile(rf"\b({'|'.join(sorted(WEEKDAYS))})s?\b", re.IGNORECASE)
_CURRENCIES = {form: names[0] for names in map(str.split, DETAILS.lines("currencies")) for form in names}
_UNITS = {form: (kind, Decimal(by)) for kind, by, *forms in map(str.split, DETAILS.lines("units")) for form in forms}
_NO_UNITS = DETAILS.words("no_units") | vocabulary.STOP
_BEFORE = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(map(re.escape, _CURRENCIES))})\s?$", re.IGNORECASE)
_BETWEEN = "|".join(sorted(WORDS.words("between_number_and_unit")))
_OF_UNIT = "|".join(sorted(DETAILS.words("of_units")))
_UNIT = re.compile(rf"[\s-]?(?:(?:{_BETWEEN})\s)*(?P<of>(?:{_OF_UNIT})\s)?(?P<unit>[^\W\d_]+|[€$£%])", re.IGNORECASE)
_PER_CENT = re.compile(r"\s?(?:%|per ?cent\b)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_RANGE = re.compile(r"\s?(?:-|–|to|and|or)\s?", re.IGNORECASE)
_CODE = re.compile(r"0\d")


@dataclass(frozen=True, slots=True)
class Detail:
    """One value in a text."""

    kind: str
    """What it is a value of: `date`, `weekday`, `time`, `%`, a currency, a unit or what kind of unit it is."""
    value: Figure | WrittenDate | Clock | int
    text: str
    """As it is written, with its unit."""
    span: Span


@lru_cache(512)
def details(text: str) -> tuple[Detail, ...]:
    """The details of a text, in its order; a number without a unit isn't one."""
    found = [Detail("date", one, text[slice(*span)], span) for one, span in placed_dates(text)]
    rest = _without(text, found)
    found += [Detail("time", one, text[slice(*span)], span) for one, span in placed_clocks(rest)]
    rest = _without(rest, found)
    found += [Detail("weekday", WEEKDAYS.index(m[1].lower()), m[0], m.span()) for m in _WEEKDAY.finditer(rest)]
    found += _amounts(rest)
    return tuple(sorted(found, key=lambda one: one.span))


def _without(text: str, found: Iterable[Detail]) -> str:
    """The text with blanks where these stand."""
    for start, end in (one.span for one in found):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def bare_numbers(text: str) -> frozenset[Decimal]:
    """All numbers of a text, whatever they are of."""
    return frozenset(figure.value for figure, _ in placed_figures(text))


def is_same(one: Detail, other: Detail) -> bool | None:
    """Whether two details say the same, one perhaps less exactly; None where they can't be compared."""
    if one.kind != other.kind:
        return None
    match one.value, other.value:
        case WrittenDate() as a, WrittenDate() as b:
            return _same_date(a, b)
        case Clock() as a, Clock() as b:
            return a.may_be(b) or b.may_be(a)
        case Figure() as a, Figure() as b:
            return abs(a.value - b.value) <= max(a.step, b.step) / 2 if a.value != b.value else True
        case a, b:
            return a == b


def _same_date(a: WrittenDate, b: WrittenDate) -> bool | None:
    both = [
        (x, y) for x, y in ((a.day, b.day), (a.month, b.month), (a.year, b.year)) if x is not None and y is not None
    ]
    return all(x == y for x, y in both) if both else None


def _amounts(text: str) -> Iterator[Detail]:
    """The numbers with a unit; the first of a range has the unit of the second."""
    placed = sorted(placed_figures(text), key=lambda one: one[1])
    read = [_amount(text, figure, span) for figure, span in placed]
    for at, found in enumerate(read):
        if found is None and at + 1 < len(read) and (following := read[at + 1]):
            (start, end), (_, behind) = placed[at][1], following.span
            if _RANGE.fullmatch(text[end : placed[at + 1][1][0]]):
                unit = text[placed[at + 1][1][1] : behind]
                yield replace(
                    following, value=_scaled(placed[at][0], unit), text=text[start:end] + unit, span=(start, end)
                )
        elif found:
            yield found


def _amount(text: str, figure: Figure, span: Span) -> Detail | None:
    start, end = span
    if _ORDINAL.match(text, end) or _CODE.match(text, start):
        return None
    if before := _BEFORE.search(text[max(0, start - 9) : start]):
        first = start - len(before[0])
        return Detail(_CURRENCIES[before[0].strip().lower()], figure, text[first:end], (first, end))
    if match := _PER_CENT.match(text, end):
        return Detail("%", figure, text[start : match.end()], (start, match.end()))
    match = _UNIT.match(text, end)
    word = vocabulary.fold(match["unit"]) if match else ""
    if not match or word in _NO_UNITS:
        return None
    kind = _CURRENCIES.get(word) or _UNITS.get(word, ("",))[0] or vocabulary.stem(word)
    kind = f"{(match['of'] or '').lower()}{kind}"
    whole = text[start : match.end()]
    return Detail(kind, _scaled(figure, word), whole, (start, match.end()))


def _scaled(figure: Figure, unit: str) -> Figure:
    words = unit.lower().split()
    _, by = _UNITS.get(vocabulary.fold(words[-1]) if words else "", ("", Decimal(1)))
    return Figure(figure.value * by, figure.step * by)
