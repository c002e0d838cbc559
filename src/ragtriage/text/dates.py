"""Dates and times of day of a text: in all their readings and as exactly as they are written."""

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Literal, Self

from ragtriage.text.lexicon import WORDS, blank, forms, read_by
from ragtriage.text.words import ONE_TO_TWELVE, number_in, numbers_as_figures

_HALF = r"(?P<half>[ap]\.?\s?m\b\.?|(?:in|on) the (?:early |late )?(?:morning|afternoon|evening))"
_ZONE = r"(?P<zone>(?-i:Z|[A-Z]{2,4}T|UTC)\b)"
_OFFSET = r"(?P<offset>[+-]\d\d(?::?\d\d)?(?!\d))"
_EXACT = rf"(?::(?P<second>[0-5]\d)(?:\.\d+)?{_OFFSET}?)?"
_FORMS = forms(
    rf"(?<![\d:.,])(?P<hour>[01]?\d|2[0-3]):(?P<minute>[0-5]\d){_EXACT}(?![\d:])(?:\s?{_HALF})?(?:\s?{_ZONE})?",
    rf"(?<![\d:.,/])(?<!-\d\d-)(?P<hour>0?[1-9]|1[0-2])(?:\.(?P<minute>[0-5]\d))?\s?{_HALF}(?:\s?{_ZONE})?",
    r"(?<=\bat )(?P<hour>[01]?\d|2[0-3])[.h](?P<minute>[0-5]\d)(?![\d.])",
    r"(?<![\d:.,])(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)\s?(?:h|hrs|hours)\b",
    rf"(?<![\d:.,])(?P<hour>[01]?\d|2[0-3])\s?o['’]?\s?clock\b(?:\s?{_HALF})?",
    r"\b(?P<hour>noon|midday|midnight)\b",
)
"""Ways of writing a time of day."""
_NAMED = {"noon": 12, "midday": 12, "midnight": 0}
_NAMES, _HOUR = "|".join(_NAMED), "|".join(ONE_TO_TWELVE)
_MINUTES = "|".join(WORDS.ordered("spoken_minutes"))
_SPOKEN = re.compile(
    rf"\b(?:{_MINUTES}|\d{{1,2}}) (?:past|to|after) (?:{_HOUR}|\d{{1,2}})\b"
    r"|\bo['’]?\s?clock\b|(?<![\d.,])\d{1,2}(?:\.|\s?h\s?)[0-5]\d\b(?!\.\d)"
    rf"|\b(?:at|around|about) (?:{_HOUR})\b|\b(?:{_HOUR})[\s-]+(?:thirty|fifteen|[ap]\.?m\b|(?:in|on) the )",
    re.IGNORECASE,
)
_PART_OF_DAY = r"(?:,? ?(?P<half>[ap]\.?\s?m\b\.?|in the (?:early |late )?(?:morning|afternoon|evening)|at night))"
_NO_UNIT = r"\s*(?:[.,;!?)]|$|(?:in|on|at|and|or|every|each|sharp|tonight|today|tomorrow|from|to|until)\b)"
_AFTER_NOON = ("p", "in the afternoon", "in the late afternoon", "in the early afternoon", "in the evening",
               "in the early evening", "in the late evening", "at night")  # fmt: skip
_SPOKEN_FORMS = forms(
    rf"\b(?P<part>half|(?:a )?quarter|(?:five|ten|twenty|twenty[ -]five|\d{{1,2}}) minutes) (?P<way>past|to|after) "
    rf"(?P<hour>{_HOUR}|{_NAMES}|1[0-2]|[1-9])(?:\b|(?=[ap]m))(?![:.,]?\d){_PART_OF_DAY}?",
    rf"\b(?P<part>five|ten|twenty|twenty[ -]five) (?P<way>past|to) (?P<hour>{_HOUR}|{_NAMES})\b"
    rf"(?:{_PART_OF_DAY}|(?={_NO_UNIT}))",
    rf"\b(?P<hour>{_HOUR}) o['’]?\s?clock\b{_PART_OF_DAY}?",
    rf"\b(?P<hour>{_HOUR})[ -](?P<part>thirty|fifteen|forty-five)\b{_PART_OF_DAY}?",
    rf"\b(?P<hour>{_HOUR}){_PART_OF_DAY}",
)
"""Ways of telling a time of day in words."""
_LATER = re.compile(r"\b(?:afternoon|evening|night|tonight)\b", re.IGNORECASE)
_SECONDS_A_DAY = 24 * 3600


@dataclass(frozen=True, slots=True)
class Clock:
    """A time of day as it is written."""

    seconds: tuple[int, ...]
    """Since midnight, in every reading: 6:45 has two unless something tells which half of the day it is."""
    step: int
    """Seconds that its last written place stands for: 60 in 10:30, 1 in 10:30:00."""
    zone: str = ""
    """The time zone beside it, empty if there is none."""
    doubtful: bool = False
    """Whether no reading of several goes before the others; else a bare 6:45 is first of all in the morning."""

    def is_same(self, truth: Self) -> bool:
        """Whether it is the true time, as exactly as the less exact of both is written."""
        first_only = not self.doubtful or len(self.seconds) == 1
        return first_only and self._reads(0, truth) and (not truth.zone or self.zone in {"", truth.zone})

    def may_be(self, truth: Self) -> bool:
        """Whether it is the true time in some reading, or might be in another zone."""
        if self.zone and self.zone != truth.zone:
            return True
        return any(self._reads(at, truth) for at in range(len(self.seconds)))

    def _reads(self, at: int, truth: Self) -> bool:
        step = max(self.step, truth.step)
        return self.seconds[at] // step == truth.seconds[0] // step


def clocks(text: str) -> list[Clock]:
    """The times of day of a text, in figures, on a clock of 12 or of 24 hours."""
    return [clock for clock, _ in placed_clocks(text)]


def placed_clocks(text: str) -> list[tuple[Clock, tuple[int, int]]]:
    """The times of day of a text, each with its span."""
    later = bool(_LATER.search(text))
    return [(_clock(match, later=later), match.span()) for match in read_by(_FORMS, text)]


def clock_in(text: str) -> Clock | None:
    """The time of day that a whole text is; None if it is something else."""
    whole = text.strip()
    for form in _FORMS[:2]:
        if match := form.fullmatch(whole):
            return _clock(match, later=False)
    return None


def clock_beside(text: str) -> Clock | None:
    """The time of day in a true date; None if there is none, or only midnight: databases store days so."""
    found = clocks(text)
    return found[0] if len(found) == 1 and found[0].seconds[0] else None


def placed_spoken_clocks(text: str) -> list[tuple[Clock, tuple[int, int]]]:
    """The times of day of a text that are told in words, "half past six", each with its span."""
    return [(_spoken_clock(match), match.span()) for match in read_by(_SPOKEN_FORMS, text)]


def _spoken_clock(match: re.Match[str]) -> Clock:
    parts = match.groupdict()
    named = _NAMED.get(parts["hour"].lower())
    hour = int(_figure(parts["hour"])) % 12 if named is None else named
    said = (parts.get("part") or "").lower().removesuffix(" minutes").removeprefix("a ")
    minutes = {"half": 30, "quarter": 15, "thirty": 30, "fifteen": 15, "forty-five": 45}.get(said)
    if minutes is None:
        minutes = int(_figure(said)) if said else 0
    start = (hour * 60 + (-minutes if parts.get("way") == "to" else minutes)) * 60
    if named is not None:
        return Clock((start % _SECONDS_A_DAY,), 60)
    start %= 12 * 3600
    half = (parts.get("half") or "").lower()
    if half:
        return Clock((start + half.startswith(_AFTER_NOON) * 12 * 3600,), 60)
    return Clock((start, start + 12 * 3600), 60)


def _figure(word: str) -> str:
    return numbers_as_figures(word.lower()) if word.lower() != "one" else "1"


def is_spoken(text: str) -> bool:
    """Whether a text may have a time of day in words, or in figures of another form: half past ten, 10h30."""
    return bool(_SPOKEN.search(text))


def without_clocks(text: str) -> str:
    """The text with a blank for every time of day."""
    text = re.sub(r"(?<=\d)T(?=\d\d:)", " ", text)
    for form in _FORMS:
        text = form.sub(" ", text)
    return text


def _clock(match: re.Match[str], *, later: bool) -> Clock:
    parts = match.groupdict()
    word = parts["hour"].lower()
    hour = _NAMED[word] if word in _NAMED else int(word)
    start = hour * 3600 + int(parts.get("minute") or 0) * 60 + int(parts.get("second") or 0)
    step = 1 if parts.get("second") else 60
    zone = _zone(parts.get("zone") or parts.get("offset") or "")
    half = (parts.get("half") or "").lower()
    if half and 1 <= hour <= 12:
        after_noon = half.startswith("p") or half.endswith(("noon", "evening"))
        return Clock((start % (12 * 3600) + after_noon * 12 * 3600,), step, zone)
    of_24_hours = parts.get("second") or (len(word) == 2 and word.startswith("0")) or not 1 <= hour <= 12
    if word in _NAMED or of_24_hours:
        return Clock((start,), step, zone)
    return Clock((start, (start + 12 * 3600) % _SECONDS_A_DAY), step, zone, doubtful=later)


def _zone(written: str) -> str:
    plain = written.upper().replace(":", "")
    return "UTC" if plain in {"Z", "UTC", "GMT", "+00", "+0000", "-0000", "-00"} else plain


MONTHS = WORDS.ordered("months")
WEEKDAYS = WORDS.ordered("weekdays")
SURE_MONTHS = frozenset(MONTHS) - {"may"}
"""Words that mean nothing but a month."""
DATE_NAMES = SURE_MONTHS.union(WEEKDAYS)
"""Words that mean nothing but a month or a day of the week."""
MONTH_NUMBERS = {form: number for number, name in enumerate(MONTHS, start=1) for form in (name, name[:3])} | {"sept": 9}
"""The names of the months, whole and cut to three letters → their numbers."""

DayRange = tuple[date, date]
"""The first and the last day."""
Moment = tuple[DayRange, ...]
"""A date in all its readings: 3/4/2020 has two, others have one."""

YEAR = r"1\d{3}|20\d\d"
"""A year in figures, as a piece of regular expressions."""
_YEAR = rf"(?P<year>{YEAR})"
_MONTH = rf"(?P<month>{'|'.join(sorted(MONTH_NUMBERS, key=len, reverse=True))})"


def _in_words(year: str, *, whole: bool = False, weekday: str = "", behind_day: str = "") -> tuple[str, str, str, str]:
    """Forms of a day and of a month, as regular expressions with the groups `day`, `month`, `year` and `weekday`.

    Where `whole`, a day has its year; `weekday` may stand before a day in words, `behind_day` behind its number.
    """
    day, year = rf"(?P<day>\d{{1,2}}){behind_day}", rf"(?P<year>{year})"
    of_year = rf"(?:,? {year}\b)" + ("" if whole else "?")
    return (
        rf"\b{weekday}{day}(?: of)? {_MONTH}\b\.?{of_year}",
        rf"\b{weekday}{_MONTH}\.? {day}\b{of_year}",
        rf"\b{year}-(?P<month>\d\d)-(?P<day>\d\d)(?:\b|(?=T\d\d))",
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
_PLACED_SLASHED = re.compile(
    rf"(?<![\d/.-])(?:(?P<first>\d{{1,2}})(?P<sign>[/.-])(?P<second>\d{{1,2}})(?P=sign)(?P<year>{YEAR})"
    rf"|(?P<y>{YEAR})[/.](?P<m>\d\d)[/.](?P<d>\d\d))(?![\d/]|\.\d)"
)
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


def placed_dates(text: str) -> list[tuple[tuple[WrittenDate, ...], tuple[int, int]]]:
    """The dates of a text, however little of one is written, each in its readings with its span.

    Days of the week aren't read.
    """
    found = [(_slashed(match), match.span()) for match in _PLACED_SLASHED.finditer(text)]
    text = _PLACED_SLASHED.sub(blank, text)
    written = ((match, _written(match)) for match in read_by(_PLACED_FORMS, text))
    found += [((one,), (match.start(), match.start() + len(match[0].rstrip(".")))) for match, one in written if one]
    return [(readings, span) for readings, span in found if readings]


def _slashed(match: re.Match[str]) -> tuple[WrittenDate, ...]:
    """The readings of a day in figures: 03/04/2025 has two, 13.04.2025 one, 2025/04/13 one."""
    if match["y"]:
        pairs = [(int(match["m"]), int(match["d"]))]
    else:
        first, second = int(match["first"]), int(match["second"])
        pairs = [(second, first)] if match["sign"] == "." else [(first, second), (second, first)]
    year = int(match["y"] or match["year"])
    days = {(month, day) for month, day in pairs if 1 <= month <= 12 and 1 <= day <= 31}
    return tuple(WrittenDate(day, month, year) for month, day in sorted(days))


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


def dates(text: str) -> Iterator[DayRange]:
    """The dates of a text with `numbers_as_figures` that are named in full, as days."""
    return filter(None, map(_days, read_by(_WHOLE_FORMS, text)))


def dates_agree(truth: str, response: str) -> Literal[-1, 0, 1]:
    """Whether two texts name the same date, one perhaps less exactly: 1 yes, -1 only others, 0 not both name one."""
    wanted, given = list(dates(truth)), list(dates(response))
    if not wanted or not given:
        return 0
    same = any(_within(a, b) or _within(b, a) for a in wanted for b in given)
    return 1 if same else -1


def _within(a: DayRange, b: DayRange) -> bool:
    return b[0] <= a[0] and a[1] <= b[1]


def _days(match: re.Match[str]) -> DayRange | None:
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


def date_in(text: str) -> DayRange | None:
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
