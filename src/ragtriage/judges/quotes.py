"""How a judge quotes a text in an explanation."""

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
        return _cut(text)
    start, end = around
    first = max(0, min((start + end - LONGEST_QUOTE) // 2, len(text) - LONGEST_QUOTE, start))
    if first:
        space = text.find(" ", first - 1, start)
        first = space + 1 if space >= 0 else first
    return _cut(text[first:], "… " if first else "")


def _cut(text: str, before: str = "") -> str:
    text = " ".join(text.split())
    if len(text) > LONGEST_QUOTE:
        text = text[:LONGEST_QUOTE].rsplit(" ", 1)[0] + " …"
    return f"“{before}{text}”"
