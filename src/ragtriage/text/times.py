"""Times of day of a text, each with its readings and the exactness in which it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragtriage.text.forms import forms, read_by
from ragtriage.text.lexicon import WORDS
from ragtriage.text.numbers import ONE_TO_TWELVE

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
_HOUR = "|".join(ONE_TO_TWELVE)
_MINUTES = "|".join(WORDS.ordered("spoken_minutes"))
_SPOKEN = re.compile(
    rf"\b(?:{_MINUTES}|\d{{1,2}}) (?:past|to|after) (?:{_HOUR}|\d{{1,2}})\b"
    r"|\bo['’]?\s?clock\b|(?<![\d.,])\d{1,2}(?:\.|\s?h\s?)[0-5]\d\b(?!\.\d)"
    rf"|\b(?:at|around|about) (?:{_HOUR})\b|\b(?:{_HOUR})[\s-]+(?:thirty|fifteen|[ap]\.?m\b|(?:in|on) the )",
    re.IGNORECASE,
)
_LATER = re.compile(r"\b(?:afternoon|evening|night|tonight)\b", re.IGNORECASE)
_MINUTES_A_DAY = 24 * 60


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

    def is_same(self, truth: Clock) -> bool:
        """Whether it is the true time, as exactly as the less exact of both is written."""
        first_only = not self.doubtful or len(self.seconds) == 1
        return first_only and self._reads(0, truth) and (not truth.zone or self.zone in {"", truth.zone})

    def may_be(self, truth: Clock) -> bool:
        """Whether it is the true time in some reading, or might be in another zone."""
        if self.zone and self.zone != truth.zone:
            return True
        return any(self._reads(at, truth) for at in range(len(self.seconds)))

    def _reads(self, at: int, truth: Clock) -> bool:
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
    return Clock((start, (start + 12 * 3600) % (_MINUTES_A_DAY * 60)), step, zone, doubtful=later)


def _zone(written: str) -> str:
    """A zone in one form."""
    plain = written.upper().replace(":", "")
    return "UTC" if plain in {"Z", "UTC", "GMT", "+00", "+0000", "-0000", "-00"} else plain
