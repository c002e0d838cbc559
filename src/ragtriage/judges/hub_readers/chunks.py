"""How a long text is divided into chunks that a model can read: whole sentences, put together up to a size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragtriage.text.sentences import sentence_spans

Measure = Callable[[str], int]
"""How long a text is, in word pieces or in words."""
_LINE = "\n"


def count_words(text: str) -> int:
    """Words between white space."""
    return len(text.split())


def chunks(text: str, size: int, measure: Measure) -> tuple[str, ...]:
    """The chunks of a text, in its order: whole sentences, as many as fit into `size`; a text that fits is one chunk.

    Lines stay apart (Tang et al. 2024, MiniCheck, `inference.py`). A sentence that is longer by itself is cut between
    words, so that no part of a text is left unread. Empty for a blank text.

    Args:
        text: what is divided.
        size: at least 1.
        measure: by which the size is counted.
    """
    if not text.strip():
        return ()
    if measure(text) <= size:
        return (text.strip(),)
    found: list[str] = []
    held: list[str] = []
    length = 0
    for piece in _pieces(text, size, measure):
        own = 0 if piece == _LINE else measure(piece)
        if held and length + own > size:
            found.append(_joined(held))
            held, length = [], 0
        held.append(piece)
        length += own
    found.append(_joined(held))
    return tuple(chunk for chunk in found if chunk)


def groups(texts: Sequence[str], size: int, measure: Measure) -> tuple[tuple[str, ...], ...]:
    """Whole texts, put together in their order up to a size; a text that is longer by itself is divided first.

    At least one group, which is empty where there is no text.
    """
    found: list[list[str]] = [[]]
    length = 0
    for part in (part for text in texts for part in chunks(text, size, measure)):
        own = measure(part)
        if found[-1] and length + own > size:
            found.append([])
            length = 0
        found[-1].append(part)
        length += own
    return tuple(map(tuple, found))


def _pieces(text: str, size: int, measure: Measure) -> Iterator[str]:
    """Sentences, with a mark where a line ends."""
    for number, line in enumerate(text.splitlines()):
        if number:
            yield _LINE
        for start, end in sentence_spans(line, 0, len(line)):
            sentence = line[start:end].strip()
            if sentence:
                yield from _cut(sentence, size, measure) if measure(sentence) > size else (sentence,)


def _cut(sentence: str, size: int, measure: Measure) -> Iterator[str]:
    """A sentence that is too long, between words; a word that is too long by itself stays whole."""
    held: list[str] = []
    length = 0
    for word in sentence.split():
        own = measure(word)
        if held and length + own > size:
            yield " ".join(held)
            held, length = [], 0
        held.append(word)
        length += own
    yield " ".join(held)


def _joined(pieces: Sequence[str]) -> str:
    return " ".join(pieces).replace(f" {_LINE} ", _LINE).strip()
