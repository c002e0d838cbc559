"""Users' texts made harmless to show.

A text from outside may hold escape sequences that move a terminal's cursor, or characters that turn the reading
direction of what follows. Every such character is replaced one for one, so that spans stay right.
"""

from __future__ import annotations

STAND_IN = "\N{REPLACEMENT CHARACTER}"

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
