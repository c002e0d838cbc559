"""Numbers of a text, in figures or English words: in one form, as values, or as exactly as they are written."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal

from ragtriage.text.lexicon import WORDS, blank

_UNITS = {word: value for value, word in enumerate(WORDS.ordered("small_numbers"))}
_TENS = {word: 10 * value for value, word in enumerate(WORDS.ordered("tens"), start=2)}
_SMALL = _UNITS | _TENS
_POWERS, _FURTHER_POWERS = (
    {word: int(power) for word, power in map(str.split, WORDS.lines(name))} for name in ("powers", "further_powers")
)
_MORE_POWERS = _POWERS | _FURTHER_POWERS

# "one" is an article or pronoun as often as a number.
NUMBER_WORDS = {
    word: str(value) for word, value in (_SMALL | {"hundred": 100, "thousand": 1000}).items() if word != "one"
}
"""Numbers of one word → figures."""
ONE_TO_TWELVE = tuple(_UNITS)[1:13]
IN_FIGURES = r"\d+(?:[.,:]\d+)*"
"""A number, a date or a time of day in figures, as one token of a regular expression."""
_IN_FIGURES = re.compile(IN_FIGURES)
_ONE_WORD = NUMBER_WORDS | {word: str(value) for value, word in enumerate(WORDS.ordered("ordinals"), start=1)}


def _any_of(words: Collection[str]) -> str:
    return "|".join(sorted(words, key=len, reverse=True))


_IN_ONE_WORD = re.compile(rf"\b(?:{_any_of(_ONE_WORD)})\b", re.IGNORECASE)
_ORDINAL_ENDING = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_FOOTNOTE_AT_YEAR = re.compile(r"\b(1[5-9]\d\d|20\d\d)\d{1,2}\b")
_WORD_AT_FIGURE = re.compile(r"(?<=\d)(?=[A-Z][a-z])")

_WORD = _any_of([*_SMALL, *_POWERS])
_AND = "".join(rf"|(?<={scale}) and (?:{_WORD})\b" for scale in _POWERS)
_RUN = re.compile(rf"\b(?:a (?=hundred|thousand))?(?:{_WORD})\b(?:[- ](?:{_WORD})\b{_AND})*", re.IGNORECASE)
_SEVERAL_WORDS = re.compile(rf"(?:ty[- ]|\b(?:{'|'.join(_POWERS)})\b)", re.IGNORECASE)

_ANY_WORD = _any_of([*_SMALL, *_POWERS, "trillion", "dozen"])
_SPELLED = re.compile(rf"(?<![\w.])(?:{_ANY_WORD})(?:(?:[\s-]+and[\s-]+|[\s-]+)(?:{_ANY_WORD}))*\b", re.IGNORECASE)
_FIGURES = re.compile(
    r"(?<![\w.,])(?P<sign>[-−](?=[\d.]))?"
    r"(?P<body>\d{1,3}(?:,\d{3})++(?:\.\d++)?|\d{1,3}(?:\.\d{3})++,\d{1,2}(?![\d,])|\d{1,3}(?:\.\d{3}){2,}+(?!\.\d)"
    r"|\d{1,3}(?:[\u00a0\u2009\u202f]\d{3})++(?:[.,]\d{1,2})?(?![\d,])|\d++,\d{1,2}(?![\d,])|\d++(?:\.\d++)?|\.\d++)"
    r"(?!(?<=\d\d\d0)['’]?s\b)"  # a decade is no number
    rf"(?:\s?(?P<scale>{'|'.join(_MORE_POWERS)})\b)?",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"(?:[$€£¥]|[A-Z]{3} )?\s*(?P<number>.+?)\s*(?:[$€£¥%]| percent| [A-Z]{3})?")


def normalize_number(token: str) -> str:
    """A number in one form: "1,896.50" → "1896.5"."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", token):
        token = token.replace(",", "")
    token = token.rstrip(".,:")
    if "." in token and token.replace(".", "", 1).isdigit():
        token = token.rstrip("0").rstrip(".")
    return token.lstrip("0") or "0"


def numbers_in_figures(text: str) -> list[str]:
    """The numbers that a text has in figures, each in one form."""
    return [normalize_number(found) for found in _IN_FIGURES.findall(text)]


def multiword_numbers_as_figures(text: str) -> str:
    """The text with numbers of several words in figures: "one hundred and forty-six" → 146.

    Numbers of one word, and words that are no one number ("two three", "nineteen sixty"), stay.
    """
    return _RUN.sub(_in_figures, text) if _SEVERAL_WORDS.search(text) else text


def _in_figures(found: re.Match[str]) -> str:
    words = re.findall(r"[a-z]+", found[0].lower())
    if len(words) < 2:
        return found[0]
    value = _spelled_value([word for word in words if word not in {"and", "a"}], begun=int(words[0] == "a"))
    return found[0] if value is None else str(value)


def numbers_as_figures(text: str) -> str:
    """The text with its number words and ordinals as figures, and without footnote marks glued to a year."""
    text = multiword_numbers_as_figures(_WORD_AT_FIGURE.sub(" ", _FOOTNOTE_AT_YEAR.sub(r"\1", text)))
    text = _IN_ONE_WORD.sub(lambda found: _ONE_WORD.get(found[0].lower(), found[0]), text)
    return _ORDINAL_ENDING.sub(r"\1", text)


def _spelled_value(words: Sequence[str], *, begun: int = 0, strict: bool = True) -> int | None:
    """What number words amount to; where `strict`, None if they are no one number."""
    total, part, smallest = 0, begun, 12
    for word in words:
        if power := _MORE_POWERS.get(word, 0):
            if strict and (part == 0 or (power == 2 and part > 99) or (power > 2 and power >= smallest)):
                return None
            if power == 2:
                part = max(1, part) * 100
            else:
                total, part, smallest = total + max(1, part) * 10**power, 0, power
        elif word == "dozen":
            part = max(1, part) * 12
        elif strict and not _goes_on(part, _SMALL[word]):
            return None
        else:
            part += _SMALL[word]
    return total + part


def _goes_on(part: int, value: int) -> bool:
    """Whether a number may be followed by this one as its lower digits."""
    if value > 19:
        return part % 100 == 0
    return not (part % 10 or (part % 100 and value > 9) or (part and not value))


@dataclass(frozen=True, slots=True)
class Figure:
    """A number as it is written."""

    value: Decimal
    step: Decimal
    """What its last written digit stands for: .01 in 3.20, 100,000 in 3.2 million, 1 in 3200000."""

    def is_same(self, truth: Decimal, tolerance: float) -> bool:
        """Whether it is the true number, rounded to its own exactness and not farther off than a share of it.

        So a true 1234.56 is met by 1,235 and by 1.2 thousand only within the tolerance, and a true count, 2003, isn't
        met by 2004.
        """
        apart = abs(self.value - truth)
        return apart == 0 or (apart <= self.step / 2 and apart <= Decimal(str(tolerance)) * abs(truth))


def figures(text: str) -> list[Figure]:
    """The numbers of a text, in figures or in English words."""
    return [figure for figure, _ in placed_figures(text)]


def placed_figures(text: str) -> list[tuple[Figure, tuple[int, int]]]:
    """The numbers of a text, each with its span: those in figures, then those in English words."""
    found = []
    for match in _FIGURES.finditer(text):
        body = match["body"]
        value = Decimal(_plain(body))
        power = _MORE_POWERS[match["scale"].lower()] if match["scale"] else 0
        decimals = -int(value.as_tuple().exponent)
        scaled = value.scaleb(power)
        figure = Figure(-scaled if match["sign"] else scaled, Decimal(1).scaleb(power - decimals))
        found.append((figure, match.span()))
    rest = _FIGURES.sub(blank, text)
    return found + [(Figure(Decimal(_read(match[0])), Decimal(1)), match.span()) for match in _SPELLED.finditer(rest)]


def _plain(body: str) -> str:
    """A number in figures without signs between thousands, and with a decimal point: 1.200,50 and 1,200.50."""
    body = re.sub(r"[\u00a0\u2009\u202f]", "", body)
    if re.fullmatch(r"(?:\d+|\d{1,3}(?:\.\d{3})+),\d{1,2}", body) or re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", body):
        return body.replace(".", "").replace(",", ".")
    return body.replace(",", "")


def number_in(text: str) -> Decimal | None:
    """The number that a whole text is, a sign of currency or a percent sign aside; None if it is something else.

    Digits with a leading zero are something else: 01234 is a code.
    """
    inner = _NUMBER.fullmatch(text.strip())
    number = inner["number"] if inner else ""
    if re.match(r"0\d", number):
        return None
    if _FIGURES.fullmatch(number) or _SPELLED.fullmatch(number):
        return figures(number)[0].value
    return None


def _read(words: str) -> int:
    """A number in English words: `three hundred and twelve thousand`."""
    found = [word for word in re.findall(r"[a-z]+", words.lower()) if word != "and"]
    return _spelled_value(found, strict=False) or 0
