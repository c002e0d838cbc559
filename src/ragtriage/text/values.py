"""Values of a text with their types: dates, times of day, durations, money, percentages, measures and counts.

Each is read in all its readings ("03/04/2025", "6:30", "1.200") and with its bound ("at least", "up to", "about"), so
that two of them can be compared however they are written. Written here, since libraries read too much into running
text: see `docs/design/decisions.md`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import lru_cache
from typing import Literal

from ragtriage.core.verdicts import Span
from ragtriage.text import words as vocabulary
from ragtriage.text.dates import MONTHS, WEEKDAYS, Clock, WrittenDate, placed_clocks, placed_dates, placed_spoken_clocks
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.words import Figure, placed_figures

Bound = Literal["", "least", "above", "most", "below", "about"]

MONEY = "money"


@dataclass(frozen=True, slots=True)
class Value:
    """One value in a text."""

    kind: str
    """What it is a value of: `date`, `weekday`, `time`, `%`, `money`, a dimension, or the stem of what is counted."""
    readings: tuple[Figure | WrittenDate | Clock | int, ...]
    """What it may mean; a measure in the first unit of its dimension."""
    text: str
    """As it is written, with its unit."""
    span: Span
    unit: str = ""
    """Of money the currency; of durations `calendar` where they are told in months or years."""
    bound: Bound = ""
    whole: Span = (0, 0)
    """Where it stands with the words of its bound."""
    end: tuple[Figure | WrittenDate | Clock | int, ...] = ()
    """The other end of a range, in its readings."""

    @property
    def counted(self) -> bool:
        """Whether it is a number of things, and no measure."""
        return self.kind not in _KINDS

    @property
    def figures(self) -> tuple[Figure, ...]:
        """The readings that are numbers."""
        return tuple(one for one in self.readings if isinstance(one, Figure))


_WEEKDAY = re.compile(rf"\b({'|'.join(sorted(WEEKDAYS))})s?\b", re.IGNORECASE)
_CURRENCIES = {form: names[0] for names in map(str.split, DETAILS.lines("currencies")) for form in names}


@dataclass(frozen=True, slots=True)
class _Unit:
    kind: str
    by: Decimal
    zero: Decimal = Decimal(0)
    unit: str = ""


def _units() -> Iterator[tuple[str, _Unit]]:
    for line in DETAILS.lines("units"):
        kind, by, zero, *rest = line.split(maxsplit=3)
        for form in rest[0].split(","):
            dimension, _, unit = kind.partition(".")
            yield form.strip(), _Unit(dimension, Decimal(by), Decimal(zero), unit)


_UNITS = dict(_units())
_KINDS = {one.kind for one in _UNITS.values()} | {"date", "weekday", "time", "%", MONEY}
_UNIT_FORMS = "|".join(re.escape(form).replace(r"\ ", r"[\s-]") for form in sorted(_UNITS, key=len, reverse=True))
_NO_UNITS = DETAILS.words("no_units") | vocabulary.STOP
_MONEY_SIGN = "|".join(map(re.escape, sorted(_CURRENCIES, key=len, reverse=True)))
_BEFORE = re.compile(rf"(?<![^\W\d_])(?:{_MONEY_SIGN})\s?$", re.IGNORECASE)
_BETWEEN = "|".join(sorted(WORDS.words("between_number_and_unit")))
_OF_UNIT = "|".join(sorted(DETAILS.words("of_units")))
_MEASURED = re.compile(
    rf"(?P<plus>\+)?[\s-]{{0,2}}(?:(?:full|whole|consecutive)\s)?(?:(?P<unit>{_UNIT_FORMS})|(?P<money>{_MONEY_SIGN}))(?![^\W_])",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    rf"(?P<plus>\+)?[\s-]?(?P<between>(?:(?:{_BETWEEN})\s)*)(?P<of>(?:{_OF_UNIT})\s)?(?P<unit>[^\W\d_]+)", re.IGNORECASE
)
_PER_CENT = re.compile(r"\s?(?:%|per ?cent\b|pct\b)(?!\s?(?:age )?points?\b)", re.IGNORECASE)
_SHARE = re.compile(r"\b(?:share|fraction|proportion|rate|probability) of (?:about )?$", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_RANGE = re.compile(r"\s?(?:-|–|—|to|until|till|through)\s?(?:the )?", re.IGNORECASE)
_DAY_BEFORE = re.compile(
    r"(?<![\d:.,/-])(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?\s?(?:-|–|—|to|until|till|and|or)\s?(?:the )?$", re.IGNORECASE
)
_DAY_BEHIND = re.compile(
    r"\s?(?:-|–|—|to|until|till|and|or)\s?(?:the )?(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)?"
    r"(?![\w:/.-]\d|\d|\s?[ap]\.?m\b)(?=\s*(?:[.,;)!?]|$|in\b|and\b|at\b|from\b|20\d\d))",
    re.IGNORECASE,
)
_BETWEEN_TWO = re.compile(r"\bbetween\s(?:the )?$", re.IGNORECASE)
_SPANNED = re.compile(r"\s?(?:-|–|—|to|through|and|or)\s?", re.IGNORECASE)
_OF_YEARS = re.compile(r"\b\d{4}\s?[-–/]\s?$")
_CODE = re.compile(r"0\d")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}\.\d{3}")
_HALVES = {"½": "0.5", "¼": "0.25", "¾": "0.75", "1/2": "0.5", "1/4": "0.25", "3/4": "0.75"}
_AND_PART = re.compile(
    r"\s?(?P<part>½|¼|¾)|(?:\s|-)(?P<slashed>1/2|1/4|3/4)(?!\d)|\s(?P<half>and a half)\b", re.IGNORECASE
)
_PARTS = re.compile(
    r"\b(?P<three>three[ -]quarters of an?|(?:a )?quarter of an?|half(?: of)?(?: an?)?)\s(?=(?P<next>[^\W\d_]+))"
    r"|(?<![\w/.,])(?P<sign>½|¼|¾)",
    re.IGNORECASE,
)
_LARGE = {"dozen": 12, "million": 10**6, "billion": 10**9}
_BLANKS = re.compile(
    rf"(?<![\w.,])(?<!\d )[1-9]\d{{0,2}}(?: \d{{3}})+(?=\s?(?:{_MONEY_SIGN})(?![^\W_]))"
    rf"|(?<=[€$£]\s)[1-9]\d{{0,2}}(?: \d{{3}})+(?![\w,.]\d)|(?<=[€$£])[1-9]\d{{0,2}}(?: \d{{3}})+(?![\w,.]\d)",
    re.IGNORECASE,
)
_SCALE = re.compile(r"\s?(?P<scale>m|bn?|k)\b", re.IGNORECASE)
_POWERS = {"k": 3, "m": 6, "b": 9, "bn": 9}
_MINUS = re.compile(r"(?<!\d)(?<!\d\s)\b(?:minus|negative)\s$", re.IGNORECASE)
_LOOKED_BACK = 60
"""Characters before a value in which it is looked for what it belongs to."""
_A_UNIT = DETAILS["a_unit"]
_POUNDS_OF_MASS = DETAILS["pounds_of_mass"]


_NUMBER_WORDS = "|".join((*WORDS.ordered("small_numbers"), *WORDS.ordered("tens"), *MONTHS))
_MAY_HOLD = re.compile(
    rf"[\d½¼¾]|\b(?:{_NUMBER_WORDS}|(?:{'|'.join(WEEKDAYS)})s?|hundreds?|thousands?|millions?|dozen|half|quarters?|noon"
    r"|midday|midnight|an?)\b",
    re.IGNORECASE,
)
"""What a text with a value has at least."""


@lru_cache(4096)
def values(text: str) -> tuple[Value, ...]:
    """The values of a text, in its order; a number without a unit isn't one."""
    if not _MAY_HOLD.search(text):
        return ()
    found = [Value("date", readings, text[slice(*span)], span) for readings, span in placed_dates(text)]
    found += list(_further_days(found, text))
    rest = _without(text, found)
    for placed in (placed_spoken_clocks, placed_clocks):
        found += [Value("time", (one,), text[a:b], (a, b)) for one, (a, b) in _unstopped(placed(rest), text)]
        rest = _without(rest, found)
    found += [Value("weekday", (WEEKDAYS.index(m[1].lower()),), m[0], m.span()) for m in _WEEKDAY.finditer(rest)]
    found += _amounts(rest)
    return tuple(_with_ranges([_bounded(one, text) for one in sorted(found, key=lambda one: one.span)], text))


def _further_days(found: Sequence[Value], text: str) -> Iterator[Value]:
    """Days whose month stands at another day: "from 1 to 5 March", "March 1–5"."""
    for one in found:
        before, behind = _DAY_BEFORE.search(_before(text, one.span[0])), _DAY_BEHIND.match(text, one.span[1])
        for match in filter(None, (before, behind)):
            days = [replace(r, day=int(match["day"])) for r in one.readings if isinstance(r, WrittenDate) and r.day]
            if days:
                yield Value("date", tuple(days), match["day"], match.span("day"))


def _with_ranges(found: Sequence[Value], text: str) -> Iterator[Value]:
    """Values with their bounds where two of a kind are a range: "from 9 am to 5 pm"."""
    for at, one in enumerate(found):
        before, behind = found[at - 1] if at else None, found[at + 1] if at + 1 < len(found) else None
        if behind and behind.kind == one.kind and _reaches(text, one, behind):
            yield replace(one, bound="least", end=behind.readings)
        elif before and before.kind == one.kind and _reaches(text, before, one):
            yield replace(one, bound="most", end=before.readings)
        else:
            yield one


def _reaches(text: str, one: Value, other: Value) -> bool:
    between = text[one.span[1] : other.span[0]]
    if _RANGE.fullmatch(between):
        return True
    return between.strip().lower() == "and" and _BETWEEN_TWO.search(_before(text, one.span[0])) is not None


def _unstopped(placed: Iterable[tuple[Clock, Span]], text: str) -> Iterator[tuple[Clock, Span]]:
    """Times of day without the full stop behind "pm", which ends the sentence."""
    for one, (start, end) in placed:
        yield one, (start, end - (text[end - 1] == "." and text[end - 3 : end - 2] != "."))


def _without(text: str, found: Iterable[Value]) -> str:
    kept, at = [], 0
    for start, end in sorted(one.span for one in found):
        kept += [text[at:start], " " * (end - max(at, start))]
        at = max(at, end)
    return "".join([*kept, text[at:]])


def _before(text: str, at: int) -> str:
    """What stands before a place, as far back as anything is looked for."""
    return text[max(0, at - _LOOKED_BACK) : at]


def bare_numbers(text: str) -> frozenset[Decimal]:
    """All numbers of a text, whatever they are of."""
    return frozenset(figure.value for figure, _ in placed_figures(text))


def _numbers(text: str) -> list[tuple[Figure, Span]]:
    """Numbers with their places, also those with a half: "1 ½", "two and a half", "half a", "an" before a unit."""
    found = [_with_part(text, *one) for one in _grouped_by_blanks(text)]
    found += [_signed(text, *_with_part(text, *one)) for one in placed_figures(text)]
    found += list(_parts(text))
    found += [(Figure(Decimal(1), Decimal(1)), match.span("a")) for match in _A_UNIT.finditer(text)]
    out: list[tuple[Figure, Span]] = []
    for figure, span in sorted(found, key=lambda one: (one[1][0], -one[1][1])):
        if not out or span[0] >= out[-1][1][1]:
            out.append((figure, span))
    return out


def _signed(text: str, figure: Figure, span: Span) -> tuple[Figure, Span]:
    """A number with the word before it that makes it negative: "minus 5"."""
    word = _MINUS.search(_before(text, span[0]))
    return (Figure(-figure.value, figure.step), (span[0] - len(word[0]), span[1])) if word else (figure, span)


def _grouped_by_blanks(text: str) -> Iterator[tuple[Figure, Span]]:
    for match in _BLANKS.finditer(text):
        yield Figure(Decimal(match[0].replace(" ", "")), Decimal(1)), match.span()


def _with_part(text: str, figure: Figure, span: Span) -> tuple[Figure, Span]:
    behind = _AND_PART.match(text, span[1])
    if not behind:
        return figure, span
    part = Decimal(_HALVES.get(behind["part"] or behind["slashed"] or "", "0.5"))
    return Figure(figure.value + part, Decimal("0.1")), (span[0], behind.end())


def _parts(text: str) -> Iterator[tuple[Figure, Span]]:
    """Halves and quarters of a unit or of a large number."""
    for match in _PARTS.finditer(text):
        word, said = (match["next"] or "").lower(), (match["three"] or "").lower()
        if match["sign"]:
            part, end = Decimal(_HALVES[match["sign"]]), match.end("sign")
        else:
            part = Decimal("0.75" if said.startswith("three") else "0.25" if "quarter" in said else "0.5")
            end = match.end("three")
            if word in _LARGE:
                part, end = part * _LARGE[word], match.end("next")
            elif word not in _UNITS:
                continue
        yield Figure(part, part / 10), (match.start(), end)


def _amounts(text: str) -> list[Value]:
    """The numbers with a unit; the first of a range, or of several, has the unit of the second."""
    placed = _numbers(text)
    found: list[Value] = []
    following: tuple[Value | None, Span] = None, (0, 0)
    for figure, span in reversed(placed):
        one = _amount(text, figure, span) or _with_unit_of(*following, text, figure, span)
        found += [one] if one else []
        following = one, span
    return _joined(found[::-1], text)


def _with_unit_of(following: Value | None, number: Span, text: str, figure: Figure, span: Span) -> Value | None:
    """A number with the unit of the value behind it, whose own number stands in a place."""
    start, end = span
    if following is None or not _SPANNED.fullmatch(text[end : number[0]]):
        return None
    unit = text[number[1] : following.span[1]]
    one = _amount(text[:end] + unit, figure, span)
    return replace(one, text=text[start:end] + unit, span=span) if one else None


_JOINED = re.compile(r"\s?(?:,|and|,\s?and)?\s?", re.IGNORECASE)


def _joined(found: Sequence[Value], text: str) -> list[Value]:
    """Amounts of one dimension that stand beside each other are one: "2 hours and 15 minutes"."""
    out: list[Value] = []
    for one in found:
        last = out[-1] if out else None
        if (
            last
            and last.kind == one.kind in ("duration", "length", "mass")
            and not last.bound
            and not one.bound
            and last.unit == one.unit
            and _JOINED.fullmatch(text[last.span[1] : one.span[0]])
            and 0 < one.figures[0].value < last.figures[0].step
        ):
            total = Figure(last.figures[0].value + one.figures[0].value, one.figures[0].step)
            span = (last.span[0], one.span[1])
            out[-1] = replace(last, readings=(total,), span=span, text=text[slice(*span)])
        else:
            out.append(one)
    return out


_AND_A_HALF = re.compile(r"\s(?:and|&) a (?P<part>half|quarter)\b", re.IGNORECASE)


def _amount(text: str, figure: Figure, span: Span) -> Value | None:
    """A number with its unit, by the first way of writing one that it has."""
    start, end = span
    if _ORDINAL.match(text, end) or _CODE.match(text, start) or _OF_YEARS.search(_before(text, start)):
        return None
    return next(filter(None, (read(text, figure, span) for read in (_money, _per_cent, _measure, _count))), None)


def _money(text: str, figure: Figure, span: Span) -> Value | None:
    """An amount behind a sign of currency."""
    start, end = span
    before = _BEFORE.search(text[max(0, start - 9) : start])
    if not before:
        return None
    first, readings = start - len(before[0]), _grouped(figure, text[start:end])
    if scale := _SCALE.match(text, end):
        readings = (_scaled(figure, Decimal(10) ** _POWERS[scale["scale"].lower()]),)
        end = scale.end()
    return Value(MONEY, readings, text[first:end], (first, end), _CURRENCIES[before[0].strip().lower()])


def _per_cent(text: str, figure: Figure, span: Span) -> Value | None:
    """A percentage, or a share that is called one."""
    start, end = span
    if match := _PER_CENT.match(text, end):
        return Value("%", (figure,), text[start : match.end()], (start, match.end()))
    if 0 < figure.value < 1 and _SHARE.search(_before(text, start)):
        return Value("%", (_scaled(figure, Decimal(100)),), text[start:end], span)
    return None


def _count(text: str, figure: Figure, span: Span) -> Value | None:
    """A number of things."""
    match = _COUNTED.match(text, span[1])
    word = vocabulary.fold(match["unit"]) if match else ""
    if not match or word in _NO_UNITS:
        return None
    kind = f"{match['between'].lower()}{(match['of'] or '').lower()}{vocabulary.stem(word)}"
    bound: Bound = "least" if match["plus"] else ""
    return Value(kind, (figure,), text[span[0] : match.end()], (span[0], match.end()), bound=bound)


def _measure(text: str, figure: Figure, span: Span) -> Value | None:
    """An amount with a unit of measurement, or a currency behind it."""
    match = _MEASURED.match(text, span[1])
    if not match:
        return None
    start, end = span[0], match.end()
    form = re.sub(r"[\s-]+", " ", (match["unit"] or match["money"]).lower())
    if match["unit"] is None or (form in _CURRENCIES and not _POUNDS_OF_MASS.search(text)):
        return Value(MONEY, _grouped(figure, text[slice(*span)]), text[start:end], (start, end), _CURRENCIES[form])
    if form.isalpha() and len(form) == 1 and text[match.start()] == "-":
        return None
    # a regular expression takes the Greek letter for the sign of a millionth, and so does this
    one = _UNITS[form.replace("\N{GREEK SMALL LETTER MU}", "\N{MICRO SIGN}")]
    value = Figure(figure.value * one.by + one.zero, figure.step * one.by)
    if half := _AND_A_HALF.match(text, end):
        part = one.by / (2 if half["part"].lower() == "half" else 4)
        value, end = Figure(value.value + part, part / 10), half.end()
    also = (Figure(value.value * 1000, Decimal(1)),) if _THOUSANDS.fullmatch(text[slice(*span)]) else ()
    bound: Bound = "least" if match["plus"] else ""
    return Value(one.kind, (value, *also), text[start:end], (start, end), one.unit, bound)


def _scaled(figure: Figure, by: Decimal) -> Figure:
    return Figure(figure.value * by, figure.step * by)


def _grouped(figure: Figure, written: str) -> tuple[Figure, ...]:
    """An amount of money: three places behind a stop are thousands."""
    if _THOUSANDS.fullmatch(written):
        return (Figure(figure.value * 1000, Decimal(1)),)
    return (figure,)


def _bounds(names: Mapping[Bound, str]) -> tuple[tuple[Bound, re.Pattern[str]], ...]:
    return tuple((bound, DETAILS[name]) for bound, name in names.items())


_BOUNDS_BEFORE = _bounds({"most": "most_before", "least": "least_before"}) + _bounds(
    {"above": "above_before", "below": "below_before", "about": "about_before"}
)
_BOUNDS_BEHIND = _bounds({"most": "most_behind", "least": "least_behind"})
_MOMENTS_BEFORE = _bounds({"most": "latest_before", "least": "earliest_before"})
_MOMENTS_BEHIND = _bounds({"most": "latest_behind", "least": "earliest_behind"})
MOMENTS = ("date", "time", "weekday")
"""Kinds of values that aren't amounts."""


def _bounded(one: Value, text: str) -> Value:
    """A value with its bound, if words beside it tell one; of dates and times only the latest and the earliest."""
    start, end = one.span
    before, behind = (_MOMENTS_BEFORE, _MOMENTS_BEHIND) if one.kind in MOMENTS else (_BOUNDS_BEFORE, _BOUNDS_BEHIND)
    for bound, pattern in () if one.bound else before:
        match = pattern.search(_before(text, start))
        if match and not _no_bound(one, match[0].strip().lower(), text[end : end + 4]):
            return replace(one, bound=bound, whole=(start - len(match[0]), end))
    for bound, pattern in () if one.bound else behind:
        if match := pattern.match(text, end):
            return replace(one, bound=bound, whole=(start, match.end()))
    return replace(one, whole=one.span)


def _no_bound(one: Value, words: str, behind: str) -> bool:
    """Whether words before a value are no bound: "letters from 20 people", "over five days", "within 2 km of"."""
    return (
        (words == "from" and one.kind != MONEY)
        or (words == "over" and one.kind == "duration")
        or (words == "within" and behind.startswith(" of "))
    )
