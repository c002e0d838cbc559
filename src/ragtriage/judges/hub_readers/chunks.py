"""How a long text is divided into chunks that a model can read: whole sentences, put together up to a size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from ragtriage.text.sentences import sentence_spans

Measure = Callable[[str], int]
"""How long a text is, in word pieces or in words."""
Limit = tuple[int, Measure]
"""A size, at least 1, and what it is counted by."""
_LINE = "\n"


def count_words(text: str) -> int:
    """Words between white space."""
    return len(text.split())


def chunks(text: str, size: int, measure: Measure, *also: Limit) -> tuple[str, ...]:
    """The chunks of a text, in its order: whole sentences, as many as fit into `size`; a text that fits is one chunk.

    Lines stay apart (Tang et al. 2024, MiniCheck, `inference.py`). A sentence that is longer by itself is cut between
    words, and a word that is longer by itself between characters, so that no part of a text is left unread and no chunk
    is longer than its limits, unless a single character is. Empty for a blank text.

    Args:
        text: what is divided.
        size: at least 1.
        measure: by which the size is counted.
        also: further limits that a chunk keeps.
    """
    limits = ((size, measure), *also)
    if not text.strip():
        return ()
    if _fits(text, limits):
        return (text.strip(),)
    return tuple(chunk for chunk in _packed(_pieces(text, limits), limits) if chunk)


def groups(texts: Sequence[str], size: int, measure: Measure, *, each: int = 0) -> tuple[tuple[str, ...], ...]:
    """Whole texts, put together in their order up to a size; a text that is longer by itself is divided first.

    At least one group, which is empty where there is no text.

    Args:
        texts: what is put together.
        size: at least 1, beside `each`.
        measure: by which the size is counted.
        each: what stands before every text takes so much of the size.
    """
    found: list[list[str]] = [[]]
    length = 0
    for part in (part for text in texts for part in chunks(text, size - each, measure)):
        own = measure(part) + each
        if found[-1] and length + own > size:
            found.append([])
            length = 0
        found[-1].append(part)
        length += own
    return tuple(map(tuple, found))


def stretches(text: str, size: int, measure: Measure) -> tuple[tuple[int, int], ...]:
    """A text as the spans of neighbouring sentences, as many as fit into `size`; a longer sentence stays whole."""
    starts = [*sentence_starts(text), len(text)]
    found: list[tuple[int, int]] = []
    length = 0
    for start, end in pairwise(starts):
        own = measure(text[start:end])
        if found and length + own <= size:
            found[-1], length = (found[-1][0], end), length + own
        else:
            found.append((start, end))
            length = own
    return tuple(found)


def sentence_starts(text: str) -> Iterator[int]:
    """Where lines and sentences begin: the text falls into them without a rest."""
    at = 0
    for line in text.splitlines(keepends=True):
        yield at
        yield from (start for start, _ in sentence_spans(text, at, at + len(line))[1:])
        at += len(line)


def _fits(text: str, limits: Sequence[Limit]) -> bool:
    return all(measure(text) <= size for size, measure in limits)


def _packed(pieces: Iterable[str], limits: Sequence[Limit]) -> Iterator[str]:
    """Pieces that fit each by itself, put together as long as they do."""
    held: list[str] = []
    lengths = [0] * len(limits)
    for piece in pieces:
        own = [measure(piece) for _, measure in limits]
        while held and any(a + b > size for a, b, (size, _) in zip(lengths, own, limits, strict=True)):
            kept = _kept(held, limits)
            yield _joined(held[:kept])
            held = held[kept:]
            lengths = [sum(map(measure, held)) for _, measure in limits]
        held.append(piece)
        lengths = [a + b for a, b in zip(lengths, own, strict=True)]
    while held:
        kept = _kept(held, limits)
        yield _joined(held[:kept])
        held = held[kept:]


def _kept(held: Sequence[str], limits: Sequence[Limit]) -> int:
    """How many of these pieces fit together: side by side they may be longer than one by one."""
    kept = len(held)
    while kept > 1 and not _fits(_joined(held[:kept]), limits):
        kept -= max(1, kept // 16)
    return kept


def _pieces(text: str, limits: Sequence[Limit]) -> Iterator[str]:
    """Sentences, with a mark where a line ends."""
    for number, line in enumerate(text.splitlines()):
        if number:
            yield _LINE
        starts = [*sentence_starts(line), len(line)]
        for start, end in pairwise(starts):
            if sentence := line[start:end].strip():
                yield from (sentence,) if _fits(sentence, limits) else _packed(_words(sentence, limits), limits)


def _words(sentence: str, limits: Sequence[Limit]) -> Iterator[str]:
    """The words of a sentence; one that is too long by itself in parts."""
    for word in sentence.split():
        at = 0
        while at < len(word):
            end = at + _longest(word, at, limits)
            yield word[at:end]
            at = end


def _longest(word: str, at: int, limits: Sequence[Limit]) -> int:
    """How many characters of a word fit from there on; at least one."""
    left = len(word) - at
    fits, too_long = 1, 64
    while too_long < left and _fits(word[at : at + too_long], limits):
        fits, too_long = too_long, 2 * too_long
    if too_long >= left:
        if _fits(word[at:], limits):
            return left
        too_long = left
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if _fits(word[at : at + middle], limits):
            fits = middle
        else:
            too_long = middle
    return fits


def _joined(pieces: Sequence[str]) -> str:
    return " ".join(pieces).replace(f" {_LINE} ", _LINE).strip()
