"""Texts read and encoded, remembered, and made ready to be searched: sentence vectors, word places, windows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from ragtriage.judges.embedded.encoder import Encoded, Encoder, Vector
from ragtriage.judges.embedded.readings import Reading, Sentence, read, read_sentence

if TYPE_CHECKING:
    from numpy.typing import NDArray


WINDOW = 3
"""Sentences in the widest window; windows never reach over the end of a text."""


class Passages:
    """Texts that a claim or question is held against, as one list of sentences.

    The order of the texts can't matter: the caller sorts them.

    `encoded` has the vectors of at least all their sentences; `places` are the sentences to search, as (text,
    sentence).
    """

    def __init__(
        self, readings: Sequence[Reading], encoded: Mapping[str, Encoded], places: Sequence[tuple[int, int]]
    ) -> None:
        self.sentences: list[Sentence] = [readings[i].sentences[j] for i, j in places]
        self._encoded = [encoded[s.text] for s in self.sentences]
        self.joined = np.array([a[0] == b[0] and a[1] + 1 == b[1] for a, b in pairwise(places)], bool)
        """(m - 1,), whether a sentence and the next one stand beside each other in one text."""
        self.vectors: Vector = np.stack([e.vector for e in self._encoded])
        self.stems = frozenset[str]().union(*(r.stems for r in readings))
        self.numbers = frozenset[str]().union(*(r.numbers for r in readings))
        self.table = any(r.table for r in readings)
        self.words = sum(s.words for s in self.sentences)

    @cached_property
    def tokens(self) -> Vector:
        """(t, 384): the token vectors of all sentences."""
        return np.concatenate([e.tokens for e in self._encoded]).astype(np.float32)

    def length(self, at: int) -> int:
        """Word pieces of a sentence."""
        return len(self._encoded[at].tokens)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """(m,), where each sentence's tokens begin."""
        lengths = [len(e.tokens) for e in self._encoded]
        return np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)

    @cached_property
    def bigrams(self) -> frozenset[tuple[str, str]]:
        """Neighbouring content words anywhere in the sentences."""
        return frozenset[tuple[str, str]]().union(*(s.bigrams for s in self.sentences))

    @cached_property
    def window_vectors(self) -> tuple[Vector, ...]:
        """(m, 384) for windows of 1, 2 and 3 sentences that begin at each sentence, of length 1.

        Of 1 alone where no two sentences stand beside each other.
        """
        if not self.joined.any():
            return (self.vectors,)
        found = [self.vectors]
        total = self.vectors
        for width in range(2, WINDOW + 1):
            total = total.copy()
            reach = self._reach(width)
            total[: len(reach)] += self.vectors[width - 1 :] * reach[:, None]
            found.append((total / np.linalg.norm(total, axis=1, keepdims=True)).astype(np.float32))
        return tuple(found)

    @cached_property
    def centre(self) -> Vector:
        """(384,), the mean direction of all sentences."""
        total = self.vectors.sum(axis=0)
        return np.asarray(total / max(float(np.linalg.norm(total)), 1e-9), np.float32)

    def _reach(self, width: int) -> NDArray[np.bool_]:
        """(m - width + 1,), whether a window of this width may begin there."""
        count = len(self.sentences) - width + 1
        if count <= 0:
            return np.zeros(0, bool)
        reach = np.ones(count, bool)
        for step in range(width - 1):
            reach &= self.joined[step : step + count]
        return reach

    def widened(self, values: Vector) -> Vector:
        """(k, m) values of single sentences → the highest value within the window of three that begins at each."""
        if not self.joined.any():
            return values
        wide = values.copy()
        for width in range(2, WINDOW + 1):
            reach = self._reach(width)
            part = wide[:, : len(reach)]
            part[:, reach] = np.maximum(part[:, reach], values[:, width - 1 :][:, reach])
        return wide

    def places(self, stems: Sequence[str]) -> Vector:
        """(k, m), 1 where a sentence holds a stem."""
        found = np.zeros((max(1, len(stems)), len(self.sentences)), np.float32)
        for row, stem in enumerate(stems):
            found[row] = [stem in sentence.stemset for sentence in self.sentences]
        return found

    def window(self, at: int) -> tuple[Sentence, ...]:
        """The sentences of the window that begins at a sentence."""
        end = at + 1
        while end < len(self.sentences) and end - at < WINDOW and self.joined[end - 1]:
            end += 1
        return tuple(self.sentences[at:end])


MOST = 240
"""Sentences of one question's evidence that are encoded; of more, those that share most words with the subject."""
REMEMBERED = 1024
"""Texts and sentences that are remembered as they were read."""


class CachedTexts:
    """Reads and encodes texts, and remembers the latest ones."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder
        self.rarity = encoder.rarity
        self.sentence = lru_cache(REMEMBERED)(read_sentence)
        self.read = lru_cache(REMEMBERED)(lambda text: read(text, self.sentence))

    def choose(self, subject: Sentence, readings: Sequence[Reading]) -> list[tuple[int, int]]:
        """The places of the sentences to search: all, or of much evidence those that share most with the subject."""
        places = [(i, j) for i, reading in enumerate(readings) for j in range(len(reading.sentences))]
        if len(places) <= MOST:
            return places
        weight = {stem: self.encoder.rarity(stem) for stem in subject.stems}

        def shared(place: tuple[int, int]) -> float:
            return sum(weight[s] for s in readings[place[0]].sentences[place[1]].stemset & weight.keys())

        return sorted(sorted(places, key=shared, reverse=True)[:MOST])

    def readings(self, texts: Iterable[str]) -> list[Reading]:
        """The distinct texts that hold a word, in an order that doesn't depend on the one given."""
        return [r for r in map(self.read, sorted(set(texts))) if r.sentences]
