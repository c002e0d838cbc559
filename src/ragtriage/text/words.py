"""Words and numbers of a text in the forms in which they are compared, with their places; lists of English words."""

import re
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from ragtriage.core.verdicts import Span
from ragtriage.text.lexicon import DETAILS, WORDS, blank

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


STOP = WORDS.words("stop")
NEGATIONS = WORDS.words("negations")
STRONG = WORDS.words("strong")
WEAK = WORDS.words("weak")
CONDITIONS = WORDS.words("conditions")
LINKS = WORDS.words("links")
OPENERS = WORDS.words("openers")
WH = WORDS.regex("wh")


INVERTED = WORDS.regex("inverted")
WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)?"
"""A word, as a piece of regular expressions."""
_TOKEN = re.compile(rf"{IN_FIGURES}|{WORD}")
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ations", "at"), ("ation", "at"), ("ing", ""), ("edly", ""),
    ("ed", ""), ("ly", ""), ("es", ""), ("s", ""),
)  # fmt: skip


@lru_cache(maxsize=16384)
def fold(word: str) -> str:
    """Lower case, without accents and possessive."""
    plain = unicodedata.normalize("NFKD", word.lower().replace("’", "'"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return plain.removesuffix("'s")


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A folded word without its commonest English endings; crude on purpose: both sides get the same."""
    if len(word) < 4 or not word.isalpha():
        return word
    for ending, rest in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + rest
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def tokens(text: str) -> list[str]:
    """Words and numbers in their order, as written."""
    return _TOKEN.findall(text)


def token_stem(token: str) -> str:
    """A token as it is compared: a number in one form, a word folded and stemmed."""
    return normalize_number(token) if token[0].isdigit() else stem(fold(token))


NEGATION = re.compile(r"not|never|no|cannot|\w+n['’]t", re.IGNORECASE)
"""What denies the word behind it."""
_PLACED_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ALIKE = 5
"""Letters at the beginning by which two words count as forms of one."""
_SLIGHT = STOP | DETAILS.words("small")


@dataclass(frozen=True, slots=True)
class PlacedWord:
    """A word or number."""

    text: str
    key: str
    """The form in which it is compared."""
    span: Span

    @property
    def counts(self) -> bool:
        """Whether it says something by itself."""
        return fold(self.text) not in _SLIGHT and not NEGATION.fullmatch(self.text)


@lru_cache(512)
def placed_words(text: str) -> tuple[PlacedWord, ...]:
    """All words and numbers."""
    return tuple(PlacedWord(m[0], stem(fold(m[0])), m.span()) for m in _PLACED_TOKEN.finditer(text))


def content_words(text: str, but: Iterable[Span] = ()) -> list[PlacedWord]:
    """The words that say something, without those in some places."""
    spans = tuple(but)
    return [w for w in placed_words(text) if w.counts and not any(a <= w.span[0] < b for a, b in spans)]


def shared_words(own: Sequence[PlacedWord], others: Sequence[PlacedWord]) -> int:
    """How many of some words are among others, in whatever form."""
    there = {word.key for word in others}
    begins = {key[:_ALIKE] for key in there if key.isalpha()}
    return sum(w.key in there or (len(w.key) >= _ALIKE and w.key[:_ALIKE] in begins) for w in own)
