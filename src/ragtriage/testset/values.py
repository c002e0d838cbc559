"""Numbers and dates of a text, each with the exactness in which it is written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from ragtriage.testset.clocks import without_clocks
from ragtriage.text.short_answers import Span, dates, plainly
from ragtriage.text.words import MONTHS

_SMALL = {
    word: value
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen".split()
    )
} | {
    word: 10 * value
    for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), start=2)
}
_SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12, "mn": 6, "bn": 9, "k": 3}
_WORD = "|".join(sorted([*_SMALL, "hundred", "thousand", "million", "billion", "trillion", "dozen"], key=len)[::-1])
_WORDS = re.compile(rf"(?<![\w.])(?:{_WORD})(?:(?:[\s-]+and[\s-]+|[\s-]+)(?:{_WORD}))*\b", re.IGNORECASE)
_FIGURES = re.compile(
    r"(?<![\w.,])(?P<sign>[-−](?=[\d.]))?"
    r"(?P<body>\d{1,3}(?:,\d{3})++(?:\.\d++)?|\d++,\d{1,2}(?![\d,])|\d++(?:\.\d++)?|\.\d++)"
    r"(?!(?<=\d\d\d0)['’]?s\b)"  # a decade is no number
    r"(?:\s?(?P<scale>hundred|thousand|million|billion|trillion|mn|bn|k)\b)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:[$€£¥]|[A-Z]{3} )?\s*(?P<number>.+?)\s*(?:[$€£¥%]| percent| [A-Z]{3})?")
_SLASHED = re.compile(r"(?<![\d/.-])(\d{1,2})([/.-])(\d{1,2})\2(1\d{3}|20\d\d)(?![\d/])")
_YEAR_FIRST = re.compile(r"(?<![\d/.])(1\d{3}|20\d\d)[/.](\d\d)[/.](\d\d)(?![\d/])")
_DATE_WORD = re.compile(rf"\d{{1,4}}(?:st|nd|rd|th)?|of|{'|'.join(f'{m}|{m[:3]}' for m in MONTHS)}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as it is written."""

    value: Decimal
    step: Decimal
    """What its last written digit stands for: .01 in 3.20, 100,000 in 3.2 million, 1 in 3200000."""

    def is_same(self, truth: Decimal, tolerance: float) -> bool:
        """Whether it is the true number, rounded to its own exactness and not farther off than the tolerance.

        So a true 1234.56 is met by 1,235 and by 1.2 thousand only within the tolerance, and a true count, 2003, isn't
        met by 2004.

        Args:
            truth: the true number.
            tolerance: the largest difference, as a share of the true number.
        """
        apart = abs(self.value - truth)
        return apart == 0 or (apart <= self.step / 2 and apart <= Decimal(str(tolerance)) * abs(truth))


Moment = tuple[Span, ...]
"""A date in all its readings: 3/4/2020 has two, others have one."""


def figures(text: str) -> list[Figure]:
    """The numbers of a text, in figures or in English words."""
    found = []
    for match in _FIGURES.finditer(text):
        body = match["body"]
        comma = re.fullmatch(r"\d+,\d{1,2}", body)
        value = Decimal(body.replace(",", "." if comma else ""))
        power = _SCALES[match["scale"].lower()] if match["scale"] else 0
        decimals = -int(value.as_tuple().exponent)
        scaled = value.scaleb(power)
        found.append(Figure(-scaled if match["sign"] else scaled, Decimal(1).scaleb(power - decimals)))
    words = _FIGURES.sub(" ", text)
    return found + [Figure(Decimal(_spoken(match[0])), Decimal(1)) for match in _WORDS.finditer(words)]


def number_in(text: str) -> Decimal | None:
    """The number that a whole text is, a sign of currency or a percent sign aside; None if it is something else.

    Digits with a leading zero are something else: 01234 is a code.
    """
    inner = _NUMBER.fullmatch(text.strip())
    number = inner["number"] if inner else ""
    if re.match(r"0\d", number):
        return None
    if _FIGURES.fullmatch(number) or _WORDS.fullmatch(number):
        return figures(number)[0].value
    return None


def moments(text: str) -> list[Moment]:
    """The dates of a text: days, months, years and decades."""
    readings: list[Moment] = []
    for first, _, second, year in _SLASHED.findall(text):
        both = {_day(year, month, day) for month, day in ((first, second), (second, first))}
        if known := tuple(sorted((day, day) for day in both if day)):
            readings.append(known)
    rest = without_clocks(_YEAR_FIRST.sub(r"\1-\2-\3", _SLASHED.sub(" ", text)))
    return readings + [(span,) for span in dates(plainly(rest))]


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


def _spoken(words: str) -> int:
    """A number in English words: `three hundred and twelve thousand`."""
    total = part = 0
    for word in re.findall(r"[a-z]+", words.lower()):
        match word:
            case "and":
                continue
            case "dozen":
                part = max(1, part) * 12
            case "hundred":
                part = max(1, part) * 100
            case "thousand" | "million" | "billion" | "trillion":
                total, part = total + max(1, part) * 10 ** _SCALES[word], 0
            case _:
                part += _SMALL[word]
    return total + part
