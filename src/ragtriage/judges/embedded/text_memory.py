"""Texts as they were read, remembered, and made into evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from ragtriage.judges.embedded.encoder import Encoder
from ragtriage.judges.embedded.evidence import Evidence
from ragtriage.judges.embedded.readings import Reading, Sentence, read, read_sentence

MOST = 240
"""Sentences of one question's evidence that are encoded; of more, those that share most words with the subject."""


class Library:
    """What has been read lately.

    Args:
        encoder: gives the vectors, and says how rare a word is.
        sentences: how many sentences are remembered.
        texts: how many whole texts are remembered.
    """

    def __init__(self, encoder: Encoder, sentences: int = 8192, texts: int = 8192) -> None:
        self.encoder = encoder
        self.sentence = lru_cache(sentences)(read_sentence)
        self.read = lru_cache(texts)(self._read)

    def _read(self, text: str) -> Reading:
        return read(text, self.sentence)

    def choose(self, subject: Sentence, readings: Sequence[Reading]) -> list[tuple[int, int]]:
        """The places of the sentences to search: all, or of much evidence those that share most with the subject."""
        places = [(i, j) for i, reading in enumerate(readings) for j in range(len(reading.sentences))]
        if len(places) <= MOST:
            return places
        weight = {stem: self.encoder.rarity(stem) for stem in subject.stems}

        def shared(place: tuple[int, int]) -> float:
            return sum(weight[s] for s in readings[place[0]].sentences[place[1]].stemset & weight.keys())

        return sorted(sorted(places, key=shared, reverse=True)[:MOST])

    def evidence(self, readings: Sequence[Reading], places: Sequence[tuple[int, int]]) -> Evidence:
        """Evidence of these sentences."""
        encoded = self.encoder.encode(readings[i].sentences[j].text for i, j in places)
        return Evidence(readings, encoded, places)

    def readings(self, texts: Iterable[str]) -> list[Reading]:
        """The distinct texts that hold a word, in an order that doesn't depend on the one given."""
        return [r for r in map(self.read, sorted(set(texts))) if r.sentences]
