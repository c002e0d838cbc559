"""How a judge shortens and quotes a text in an explanation or a message."""

from __future__ import annotations

LONGEST_QUOTE = 120
"""Characters of a text that are quoted."""


def quoted(text: str, around: tuple[int, int] | None = None) -> str:
    """A text on one line in quotes; a long one is cut at words.

    Args:
        text: the text.
        around: the span that must be seen; else the quote is the beginning.
    """
    if around is None or len(text) <= LONGEST_QUOTE:
        return f"“{shortened(text, LONGEST_QUOTE)}”"
    start, end = around
    first = max(0, min((start + end - LONGEST_QUOTE) // 2, len(text) - LONGEST_QUOTE, start))
    if first:
        space = text.find(" ", first - 1, start)
        first = space + 1 if space >= 0 else first
    return f"“{'… ' if first else ''}{shortened(text[first:], LONGEST_QUOTE)}”"


def shortened(text: str, most: int) -> str:
    """A text on one line; one of more than `most` characters is cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"
