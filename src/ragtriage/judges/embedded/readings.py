"""What is read from a text before anything is compared: its sentences with their words, numbers and names."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from ragtriage.text import words as vocabulary
from ragtriage.text.blocks import printed_tables
from ragtriage.text.lexicon import Lexicon
from ragtriage.text.markup import visible_text
from ragtriage.text.sentences import split_facts
from ragtriage.text.words import NUMBER_WORDS, multiword_numbers_as_figures, normalize_number

RULES = Lexicon(Path(__file__).with_name("rules.toml"))


LONGEST = 80
"""Words in a piece of a sentence; longer ones (text without stops) are cut, since the encoder reads 256 word pieces."""


@dataclass(frozen=True)
class Sentence:
    """One sentence (or piece of one) with what can be compared about it."""

    text: str
    stems: tuple[str, ...]
    """Distinct content words, numbers among them, in order."""
    bigrams: frozenset[tuple[str, str]]
    numbers: frozenset[str]
    names: frozenset[str]
    """Stems of words written with a capital that doesn't come from beginning a sentence."""
    negated: bool
    strong: bool
    weak: bool
    conditions: frozenset[str]
    links: frozenset[str]
    """Words that give a condition, and words that give a cause."""
    words: int

    @cached_property
    def stemset(self) -> frozenset[str]:
        """The stems without their order."""
        return frozenset(self.stems)


@dataclass(frozen=True)
class Reading:
    """A text as its sentences."""

    text: str
    sentences: tuple[Sentence, ...]
    """At least one, unless the text holds no word."""
    stems: frozenset[str]
    """Of the whole text, headings included."""
    numbers: frozenset[str]
    table: bool
    """Whether much of it is rows or fields instead of sentences."""


def _is_name(word: str, *, first: bool) -> bool:
    """Whether a capital marks a name: not at the beginning of a sentence, unless more than the first letter is one."""
    if not word[0].isupper() or word == "I":
        return False
    return not first or any(c.isupper() for c in word[1:])


def _compared(token: str) -> str:
    """The form in which a word or number is compared; empty for a word that carries no content."""
    if token[0].isdigit():
        return normalize_number(token)
    word = vocabulary.fold(token)
    if word in NUMBER_WORDS:
        return NUMBER_WORDS[word]
    return "" if word in vocabulary.STOP or word in vocabulary.NEGATIONS else vocabulary.stem(word)


def as_written(text: str, stems: Collection[str]) -> tuple[str, ...]:
    """The words and numbers of a text that are compared in these forms, as it writes them first, in its order."""
    found: dict[str, str] = {}
    for token in vocabulary.tokens(multiword_numbers_as_figures(text)):
        if (stem := _compared(token)) in stems:
            found.setdefault(stem, token)
    return tuple(found.values())


def read_sentence(text: str) -> Sentence:
    """Read one sentence."""
    found = vocabulary.tokens(multiword_numbers_as_figures(text))
    stems: list[str] = []
    numbers: set[str] = set()
    names: set[str] = set()
    folded: list[str] = []
    capitals = sum(token[0].isupper() for token in found)
    title = len(found) > 3 and capitals * 10 > len(found) * 7
    for place, token in enumerate(found):
        stem = _compared(token)
        if stem:
            stems.append(stem)
        if token[0].isdigit():
            numbers.add(stem)
            continue
        word = vocabulary.fold(token)
        folded.append(word)
        if word in NUMBER_WORDS:
            numbers.add(stem)
        elif stem and not title and _is_name(token, first=place == 0) and word not in vocabulary.OPENERS:
            names.add(stem)
    seen = set(folded)
    return Sentence(
        text=text,
        stems=tuple(dict.fromkeys(stems)),
        bigrams=frozenset(pairwise(stems)),
        numbers=frozenset(numbers),
        names=frozenset(names),
        negated=not seen.isdisjoint(vocabulary.NEGATIONS),
        strong=not seen.isdisjoint(vocabulary.STRONG),
        weak=not seen.isdisjoint(vocabulary.WEAK),
        conditions=vocabulary.CONDITIONS & seen,
        links=vocabulary.LINKS & seen,
        words=len(found),
    )


def pieces(text: str) -> list[str]:
    """The sentences of a text, none longer than `LONGEST` words; the text itself if it can't be split."""
    found: list[str] = []
    for component in split_facts(text):
        words = component.text.split()
        if len(words) <= LONGEST:
            found.append(component.text)
        else:
            step = LONGEST - 20
            found += [" ".join(words[at : at + LONGEST]) for at in range(0, max(1, len(words) - 20), step)]
    return found or ([text.strip()] if text.strip() else [])


_ROW = re.compile(r"^\s*(?:\||[\w \"'.-]{1,40}\"?\s*[:=]\s*\S|[{}\[\]])", re.MULTILINE)


def read(text: str, sentence: Callable[[str], Sentence] = read_sentence) -> Reading:
    """Read a text, HTML as it is shown and printed tables as tables; `sentence` may remember what it has read."""
    page = printed_tables(visible_text(text))
    whole = sentence(page)
    sentences = tuple(sentence(piece) for piece in pieces(page))
    lines = [line for line in page.splitlines() if line.strip()]
    of_cells = len(lines) > 1 and all(line.startswith("| ") for line in lines)
    rows = len(_ROW.findall(page)) if of_cells or len(lines) > 2 else 0
    return Reading(
        text=text, sentences=sentences, stems=whole.stemset, numbers=whole.numbers, table=rows * 2 > len(lines)
    )
