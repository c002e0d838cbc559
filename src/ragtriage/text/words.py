"""Words of a text in the form in which they are compared, also with their places, and lists of English words."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.core.verdicts import Span
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.numbers import IN_FIGURES, normalize_number

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
_SMALL = STOP | DETAILS.words("small")


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
        return fold(self.text) not in _SMALL and not NEGATION.fullmatch(self.text)


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
