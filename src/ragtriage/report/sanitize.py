"""Which parts of a text are shown where it is too long."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
