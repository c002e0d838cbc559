"""How a judge quotes a text in an explanation."""

from __future__ import annotations

LONGEST_QUOTE = 120
"""Characters of a text that are quoted."""


def quoted(text: str) -> str:
    """A text on one line in quotes; a long one is cut at a word."""
    text = " ".join(text.split())
    if len(text) > LONGEST_QUOTE:
        text = text[:LONGEST_QUOTE].rsplit(" ", 1)[0] + " …"
    return f"“{text}”"
