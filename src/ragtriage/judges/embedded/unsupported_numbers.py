"""Numbers of a claim that nothing in its evidence accounts for.

A number is accounted for if the evidence or the query contains it in any notation, rounded or in another unit, or if
one arithmetic step gives it: with a number of the claim itself, or from any two where the claim says that it was
calculated. A number that remains may be made up or may be a count, so it puts the claim in doubt without proving it
wrong.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import combinations

from ragtriage.judges.embedded.calculations import calculated_dates, calculated_numbers, is_small, nearly_equal
from ragtriage.judges.embedded.readings import RULES
from ragtriage.text.words import numbers_as_figures, numbers_in_figures

_LISTED = re.compile(r"^\s*\(?\d{1,2}[.)](?=\s|$)|\n[^\S\n]*\(?\d{1,2}[.)](?=\s|$)")
"""The number of a list's item, also of the next one that was cut off behind a sentence."""
_DECADE = re.compile(r"\b(\d{3}0)['’]?s\b")
_HOURS = re.compile(r"\bhours?\b", re.IGNORECASE)
_CLOCK = re.compile(r"\b\d{1,2}(?::\d\d|\s?[ap]\.?m\b)|\bo['’]clock\b", re.IGNORECASE)
_SCALES = tuple((scale["by"], re.compile(scale["unit"])) for scale in RULES.entries["scales"])
_SPANS = tuple(
    (scale, re.compile(rf"\b{one}s?\b", re.IGNORECASE), re.compile(rf"\b{other}s?\b", re.IGNORECASE))
    for scale, one, other in (
        (12.0, "month", "year"),
        (30.0, "day", "month"),
        (7.0, "day", "week"),
        (24.0, "hour", "day"),
    )
)
"""Lengths of time: how many of the one make one of the other."""
_PARTS = (
    (re.compile(r"\bhal(?:f|ves)\b", re.IGNORECASE), 0.5),
    (re.compile(r"\bquarters?\b", re.IGNORECASE), 0.25),
    (re.compile(r"\b(?:double|twice)\b", re.IGNORECASE), 2.0),
)
_MOST = 200
"""Numbers that are combined with each other; longer evidence is full of numbers that fit by accident."""
_OWN = 8
"""Numbers of the claim itself that are combined."""
_LEFT = 20
"""Numbers of a claim that are looked for; a claim with more is a table."""


def unsupported_numbers(
    claim: str, known: Collection[str], texts: Sequence[str], response: str = ""
) -> tuple[str, ...]:
    """The numbers of a claim that nothing accounts for, as the claim writes them in figures, each once.

    Where `known`, numbers and words of the evidence as `normalize_number` reads them, has all of a claim's, nothing
    else is looked at. `texts` are evidence and query. The `response` is what the claim was taken from: the result of a
    calculation that is written out there, right, and of numbers that are accounted for, is accounted for too.
    """
    decades = _DECADE.findall(claim)
    written = _LISTED.sub(" ", RULES["pointing"].sub(" ", numbers_as_figures(RULES["counted"].sub(" ", claim))))
    stated = dict.fromkeys(numbers_in_figures(written))
    left = [one for one in stated if one not in known]
    if not left:
        return ()
    there = _numbers(*texts)
    told_decades = {found[:3] for found in there if len(found) == 4}
    left = [one for one in left if one not in there and not (one in decades and one[:3] in told_decades)][:_LEFT]
    if not left:
        return ()
    told = calculated_dates(claim, tuple(texts), response)
    left = [one for one in left if one not in told]
    values = {value for found in there for value in _values(found)}
    values |= {value for part, value in _PARTS if any(map(part.search, texts))}
    values |= calculated_numbers(response or claim, frozenset(values))
    own = [value for one in stated for value in _values(one)]
    differs = RULES["differs"].search(claim) is not None
    calculates = RULES["calculates"].search(claim) is not None
    totals = RULES["totals"].search(claim) is not None
    clock = _HOURS.search(claim) is not None and any(map(_CLOCK.search, (claim, *texts)))
    scales = [scale for scale, unit in _SCALES if any(map(unit.search, (claim, *texts)))]
    scales += [scale for scale, *units in _SPANS if _told_in(units, claim, texts)]
    return tuple(
        f"0{one}" if one.startswith(".") else one
        for one in left
        if one in decades
        or not (
            _accounted(one, values, own, scales, calculates=calculates, totals=totals)
            or (differs and _apart(one, values, own, clock=clock))
        )
    )


def is_calculated(claim: str, texts: tuple[str, ...], response: str = "") -> bool:
    """Whether a claim states a date or a number that stands nowhere, and the response works it out rightly.

    `texts` are evidence and query; the claim was taken from `response`.
    """
    if calculated_dates(claim, texts, response):
        return True
    there = _numbers(*texts)
    new = {value for found in _numbers(claim) - there for value in _values(found)}
    known = frozenset(value for found in there for value in _values(found))
    results = calculated_numbers(response or claim, known) if new else ()
    return any(nearly_equal(value, result) for value in new for result in results)


def _numbers(*texts: str) -> set[str]:
    return set().union(*map(_numbers_of, texts))


@lru_cache(128)
def _numbers_of(text: str) -> frozenset[str]:
    """Remembered, since every claim of a response is held against the same sources."""
    return frozenset(numbers_in_figures(numbers_as_figures(text)))


def _told_in(units: Sequence[re.Pattern[str]], claim: str, texts: Sequence[str]) -> bool:
    """Whether the claim tells in one of two units what the evidence tells in the other."""
    one, other = units
    return any(
        mine.search(claim) is not None and any(map(theirs.search, texts))
        for mine, theirs in ((one, other), (other, one))
    )


def _values(found: str) -> Iterator[float]:
    """What a number may mean: 10:30 has an hour, which may be counted to twelve, and minutes."""
    hour, colon, minutes = found.partition(":")
    if colon:
        yield from (float(part) for part in (hour, minutes) if part.isdigit())
        if hour.isdigit() and float(hour) > 12:
            yield float(hour) - 12
        return
    try:
        yield float(found.replace(",", "."))
    except ValueError:
        return


def _accounted(
    found: str,
    values: Collection[float],
    own: Collection[float],
    scales: Sequence[float],
    *,
    calculates: bool,
    totals: bool,
) -> bool:
    wanted = list(_values(found))
    if not wanted:
        return True  # a version or an address: nothing to calculate with, and compared as a word elsewhere
    return all(
        _rounded(value, values)
        or any(
            nearly_equal(value, other * by) or nearly_equal(value * by, other)
            for other in values
            for by in (1.0, *scales)
        )
        or _summed(value, others := [one for one in own if one != value])
        or (totals and _added(value, values))
        or (not is_small(value) and _calculated(value, values, others, freely=calculates))
        for value in wanted
    )


def _apart(found: str, values: Collection[float], own: Collection[float], *, clock: bool) -> bool:
    """Whether it says how far one of the claim's numbers is from another, there or in the evidence.

    On the `clock` also past noon or midnight: from 8 pm to 1 am it is five hours.
    """
    return any(
        nearly_equal(abs(a - b), value) or (clock and value in {(a - b) % 12, (b - a) % 12})
        for value in _values(found)
        for a in own
        if a != value
        for b in (*values, *own)
    )


def _rounded(value: float, values: Collection[float]) -> bool:
    """Whether it is one of the values written less exactly, with at least two figures kept."""
    digits = len(f"{value:f}".rstrip("0").rpartition(".")[2])
    whole = f"{value:.0f}"
    zeros = len(whole) - len(whole.rstrip("0")) if digits == 0 else -digits
    return any(other != value and abs(other) >= 10 and round(other, -zeros) == value for other in values)


def _summed(value: float, own: Sequence[float]) -> bool:
    """Whether the claim itself adds it up from three or more."""
    return any(
        nearly_equal(sum(some), value) for n in range(3, min(len(own), 6) + 1) for some in combinations(own[:_OWN], n)
    )


def _added(value: float, values: Collection[float]) -> bool:
    """Whether it is the sum of two different ones."""
    there = {round(one, 6) for one in values}
    return any(round(value - one, 6) in there and not nearly_equal(value, 2 * one) for one in values)


def _calculated(value: float, values: Collection[float], own: Sequence[float], *, freely: bool) -> bool:
    """Whether one step of arithmetic gives it, with one of the claim's own numbers or, `freely`, with any two."""
    known = sorted({*values, *own})[:_MOST]
    pairs = combinations(known, 2) if freely else (sorted((a, b)) for a in own[:_OWN] for b in known if a != b)
    for a, b in pairs:
        if nearly_equal(a + b, value) or nearly_equal(b - a, value) or nearly_equal(a * b, value):
            return True
        if a and (
            nearly_equal(b / a, value) or nearly_equal((b - a) / a * 100, value) or nearly_equal(a / b * 100, value)
        ):
            return True
        if b and nearly_equal((b - a) / b * 100, value):
            return True
    return False
