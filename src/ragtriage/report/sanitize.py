"""Users' texts made harmless to show, and cut where they are too long.

A text from outside may hold escape sequences that move a terminal's cursor, or characters that turn the reading
direction of what follows. Every such character is replaced one for one, so that spans stay right.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]

STAND_IN = "\N{REPLACEMENT CHARACTER}"
CONTEXT = 120
"""Characters shown on either side of what matters in a text that is cut."""
LONGEST_MARK = 1200
"""Characters of one marked part that are shown before a cut text is cut inside it."""

_CONTROLS = [*range(0x20), *range(0x7F, 0xA0)]
_TURNS = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_OTHERS = [0x2028, 0x2029, 0xFEFF, *range(0xFFF9, 0xFFFC)]
_TABLE = (
    dict.fromkeys([*_CONTROLS, *_TURNS, *_OTHERS], STAND_IN)
    | dict.fromkeys(range(0xD800, 0xE000), STAND_IN)
    | {0x0A: "\n", 0x09: " ", 0x0D: " ", 0x85: " ", 0x2028: " ", 0x2029: " ", 0xFEFF: " "}
)


def sanitize(text: str) -> str:
    """The text without control characters, overrides of direction and lone surrogates; exactly as long as before."""
    return text.translate(_TABLE)


def one_line(text: str, most: int) -> str:
    """The harmless text on one line, at most `most` characters, cut with an ellipsis."""
    line = " ".join(sanitize(text[: 4 * most]).split())
    return line if len(line) <= most and len(text) <= 4 * most else line[: most - 1].rstrip() + "…"


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
