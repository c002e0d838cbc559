"""The words of a text with their places, and how many of them another text has too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.text import words as vocabulary
from ragtriage.text.details import Span
from ragtriage.text.lexicon import DETAILS

NEGATION = re.compile(r"not|never|no|cannot|\w+n['’]t", re.IGNORECASE)
"""What denies the word behind it."""
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ALIKE = 5
"""Letters at the beginning by which two words count as forms of one."""
_SMALL = vocabulary.STOP | DETAILS.words("small")


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
        return vocabulary.fold(self.text) not in _SMALL and not NEGATION.fullmatch(self.text)


@lru_cache(512)
def placed_words(text: str) -> tuple[PlacedWord, ...]:
    """All words and numbers."""
    return tuple(PlacedWord(m[0], vocabulary.stem(vocabulary.fold(m[0])), m.span()) for m in _TOKEN.finditer(text))


def content_words(text: str, but: Iterable[Span] = ()) -> list[PlacedWord]:
    """The words that say something, without those in some places."""
    spans = tuple(but)
    return [w for w in placed_words(text) if w.counts and not any(a <= w.span[0] < b for a, b in spans)]


def shared_words(own: Sequence[PlacedWord], others: Sequence[PlacedWord]) -> int:
    """How many of some words are among others, in whatever form."""
    there = {word.key for word in others}
    begins = {key[:_ALIKE] for key in there if key.isalpha()}
    return sum(w.key in there or (len(w.key) >= _ALIKE and w.key[:_ALIKE] in begins) for w in own)
