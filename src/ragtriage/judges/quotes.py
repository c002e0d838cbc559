"""How a judge shortens and quotes a text in an explanation or a message."""

from __future__ import annotations

LONGEST_QUOTE = 120
"""Characters of a text that are quoted."""


def quoted(text: str) -> str:
    """A text on one line in quotes; a long one is cut at a word."""
    return f"“{shortened(text, LONGEST_QUOTE)}”"


def shortened(text: str, most: int) -> str:
    """A text on one line; one of more than `most` characters is cut at a word."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[:most].rsplit(" ", 1)[0] + " …"
