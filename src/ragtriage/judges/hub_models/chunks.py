"""How a long text is divided into chunks that a model can read: whole sentences, put together up to a size."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from ragtriage.text.sentences import sentence_spans

Measure = Callable[[str], int]
"""How long a text is, in word pieces."""
_LINE = "\n"


def chunks(text: str, size: int, measure: Measure) -> tuple[str, ...]:
    """The chunks of a text, in its order: whole sentences, as many as fit into `size`; a text that fits is one chunk.

    A sentence that is longer by itself is cut between words, and a word that is longer by itself between characters,
    so that no part of a text is left unread and no chunk is longer than `size`, unless a single character is. Empty for
    a blank text.
    """
    if not text.strip():
        return ()
    if measure(text) <= size:
        return (text.strip(),)
    return tuple(chunk for chunk in _packed(_pieces(text, size, measure), size, measure) if chunk)


def _packed(pieces: Iterable[str], size: int, measure: Measure) -> Iterator[str]:
    """Pieces that fit each by itself, put together as long as they do."""
    held: list[str] = []
    length = 0
    for piece in pieces:
        own = measure(piece)
        while held and length + own > size:
            kept = _kept(held, size, measure)
            yield _joined(held[:kept])
            held = held[kept:]
            length = sum(map(measure, held))
        held.append(piece)
        length += own
    while held:
        kept = _kept(held, size, measure)
        yield _joined(held[:kept])
        held = held[kept:]


def _kept(held: Sequence[str], size: int, measure: Measure) -> int:
    """How many of these pieces fit together: side by side they may be longer than one by one."""
    kept = len(held)
    while kept > 1 and measure(_joined(held[:kept])) > size:
        kept -= max(1, kept // 16)
    return kept


def _pieces(text: str, size: int, measure: Measure) -> Iterator[str]:
    """Sentences, with a mark where a line ends."""
    for number, line in enumerate(text.splitlines()):
        if number:
            yield _LINE
        starts = [0, *(start for start, _ in sentence_spans(line, 0, len(line))[1:]), len(line)]
        for start, end in pairwise(starts):
            if sentence := line[start:end].strip():
                fits = measure(sentence) <= size
                yield from (sentence,) if fits else _packed(_words(sentence, size, measure), size, measure)


def _words(sentence: str, size: int, measure: Measure) -> Iterator[str]:
    """The words of a sentence; one that is too long by itself in parts."""
    for word in sentence.split():
        at = 0
        while at < len(word):
            end = at + _longest(word[at:], size, measure)
            yield word[at:end]
            at = end


def _longest(word: str, size: int, measure: Measure) -> int:
    """How many characters of a word fit; at least one."""
    fits, too_long = 1, 64
    while too_long < len(word) and measure(word[:too_long]) <= size:
        fits, too_long = too_long, 2 * too_long
    if too_long >= len(word):
        if measure(word) <= size:
            return len(word)
        too_long = len(word)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if measure(word[:middle]) <= size:
            fits = middle
        else:
            too_long = middle
    return fits


def _joined(pieces: Sequence[str]) -> str:
    return " ".join(pieces).replace(f" {_LINE} ", _LINE).strip()
