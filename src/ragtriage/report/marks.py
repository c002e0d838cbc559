"""A text cut into pieces where marks begin and end, so that overlapping and nested marks can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, get_args

from ragtriage.core.display import sanitize
from ragtriage.core.verdicts import Span

CONTEXT = 120
"""Characters shown on either side of what matters in a text that is cut."""
LONGEST_MARK = 1200
"""Characters of one marked part that are shown before a cut text is cut inside it."""


def excerpts(length: int, matters: Iterable[Span], most: int) -> tuple[Span, ...]:
    """Which parts of a long text to show: its beginning, and around what matters, until `most` characters are used.

    Args:
        length: of the text.
        matters: spans in the text, the most important first.
        most: characters to show; a text that isn't longer is shown whole.

    Returns:
        Disjoint spans in the order of the text.
    """
    if length <= most:
        return ((0, length),)
    chosen = [(0, min(length, 2 * CONTEXT))]
    left = most - 2 * CONTEXT
    for start, end in matters:
        window = (max(0, start - CONTEXT), min(length, min(end, start + LONGEST_MARK) + CONTEXT))
        cost = _length(merged_spans([*chosen, window])) - _length(chosen)
        if cost <= left:
            chosen = merged_spans([*chosen, window])
            left -= cost
    start, end = chosen[0]
    if len(chosen) == 1:
        chosen = [(start, min(length, end + left))]
    return tuple(chosen)


def merged_spans(spans: Iterable[Span]) -> list[Span]:
    """The same characters as disjoint spans in order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)


Look = Literal[
    "unsupported", "dangling", "uncited", "misattributed", "unattributed", "check",
    "unknown", "extraneous", "supported", "essential", "remark", "plain",
]  # fmt: skip
"""How a part of a text is shown."""
LOOKS: tuple[Look, ...] = get_args(Look)
"""The most pressing first: where marks overlap, it wins."""
MOST_MARKS = 400
"""Marks shown in one text; of more, the most pressing."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One stretch of a text and what is to be said about it."""

    span: Span
    look: Look
    number: int = 0
    """The claim that it stands for, from 1; 0 for none."""
    repeated: bool = False
    """True for a sentence that says again what another says; lies over other marks."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that looks the same all along, or a gap."""

    text: str
    look: Look = "plain"
    numbers: tuple[int, ...] = ()
    """The claims that lie here."""
    ends: tuple[int, ...] = ()
    """Those of them that end here."""
    repeated: bool = False
    repeat_ends: bool = False
    """Whether a sentence that says again what another says ends here."""
    left_out: int = 0
    """Characters that were cut here; the text is empty then."""


def pieces(text: str, marks: Sequence[Mark], most: int) -> tuple[Piece, ...]:
    """Cut a text at the borders of its marks.

    Args:
        text: as it came.
        marks: their spans may overlap or lie in each other; what reaches beyond the text is clipped.
        most: characters to show; a longer text is cut around its most pressing marks.

    Returns:
        Pieces that make up the (harmless) text in order, gaps where it was cut.
    """
    text_length = len(text)
    clipped = [
        Mark((max(0, m.span[0]), min(text_length, m.span[1])), m.look, m.number, m.repeated)
        for m in marks
        if m.span[0] < min(text_length, m.span[1])
    ]
    pressing = sorted(clipped, key=lambda m: (LOOKS.index(m.look), m.span))[:MOST_MARKS]
    shown = excerpts(text_length, (m.span for m in pressing), most)
    found: list[Piece] = []
    at = 0
    for start, end in shown:
        if start > at:
            found.append(Piece("", left_out=start - at))
        found += _cut(text, pressing, start, end)
        at = end
    if at < text_length:
        found.append(Piece("", left_out=text_length - at))
    return tuple(found)


def _cut(text: str, marks: Sequence[Mark], start: int, end: int) -> list[Piece]:
    here = [m for m in marks if m.span[0] < end and m.span[1] > start]
    borders = sorted({start, end, *(b for m in here for b in m.span if start < b < end)})
    found = []
    for a, b in pairwise(borders):
        over = [m for m in here if m.span[0] < b and m.span[1] > a]
        claims = sorted((m for m in over if m.number), key=lambda m: m.number)
        look: Look = min((m.look for m in over), key=LOOKS.index, default="plain")
        found.append(
            Piece(
                sanitize(text[a:b]),
                look,
                tuple(m.number for m in claims),
                tuple(m.number for m in claims if m.span[1] == b or b == end < m.span[1]),
                any(m.repeated for m in over),
                any(m.repeated and m.span[1] == b for m in over),
            )
        )
    return found
