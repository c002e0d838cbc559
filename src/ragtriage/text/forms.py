"""Several ways of writing one thing, as regular expressions: what is read by one isn't read by another."""

from __future__ import annotations

import re
from collections.abc import Iterator

Forms = tuple[re.Pattern[str], ...]
"""Ways of writing something, the most exact first."""


def forms(*written: str) -> Forms:
    """Compile the forms of something; capital letters may stand for small ones."""
    return tuple(re.compile(form, re.IGNORECASE) for form in written)


def read_by(some: Forms, text: str) -> Iterator[re.Match[str]]:
    """What a text has in any of these forms: the first form takes what it finds from the next, and so on."""
    for form in some:
        yield from form.finditer(text)
        text = form.sub(blank, text)


def blank(match: re.Match[str]) -> str:
    """As many blanks as what was read has characters, so that all else keeps its place."""
    return " " * len(match[0])
