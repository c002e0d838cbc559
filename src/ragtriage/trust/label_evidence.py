"""What a person who labels a component holds it against, the nearest passages first."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ragtriage.core.case import Record
from ragtriage.text.blocks import blocks
from ragtriage.text.sentences import split_sentences
from ragtriage.trust.baselines import words
from ragtriage.trust.label_files import PROMPTS, Item


class EvidenceText(NamedTuple):
    """A text that a component is held against."""

    name: str
    """What a person calls it: `Source 2`."""
    text: str


class Passage(NamedTuple):
    """A sentence of such a text, or a row of a table in it."""

    name: str
    """The text's."""
    columns: str
    """The names of the table's columns; empty of a sentence."""
    text: str


def texts_against(item: Item, record: Record) -> list[EvidenceText]:
    """All that a component is held against; nothing where it is the question alone."""
    case, prompt = record.case, PROMPTS[item.metric]
    if prompt.against == "sources":
        return [EvidenceText(f"Source {i}", source.text) for i, source in enumerate(case.known_sources, 1)]
    if prompt.against == "reference":
        return [EvidenceText("True answer", case.reference or "")]
    # of a claim that is held against the query its response is shown
    shown = prompt.against == "response" or ("Claim" in prompt.component and case.response)
    return [EvidenceText("Response", case.response or "")] if shown else []


def nearest_passages(item: Item, texts: Sequence[EvidenceText]) -> list[Passage]:
    """All passages, those that share most with the component first.

    By rare words alone, and never by what the judge has found: a passage that the judge chose would give it away.
    """
    passages = [passage for one in texts for passage in _passages(one)]
    counts = Counter(word for one in passages for word in set(words(one.text)))
    wanted = set(words(item.text))

    def shared(text: str) -> float:
        return sum(math.log(1 + len(passages) / counts[word]) for word in wanted & set(words(text)))

    return sorted(passages, key=lambda one: -shared(one.text))


def _passages(given: EvidenceText) -> Iterator[Passage]:
    rows = [block for block in blocks(given.text) if block.shape == "row" and any(block.header)]
    for one in split_sentences(given.text):
        at = one.span[0] if one.span else -1
        columns = next((row.header for row in rows if row.start <= at < row.end), ())
        yield Passage(given.name, " | ".join(columns), one.text)
