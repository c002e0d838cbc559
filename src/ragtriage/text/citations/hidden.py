"""Where no citation mark stands, whatever it looks like: code, links, checkboxes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from ragtriage.text.blocks import blocks
from ragtriage.text.brackets import INLINE_CODE

Span = tuple[int, int]

LINK = re.compile(
    r"!?\[(?:[^\[\]\n]|\\?\[[^\[\]\n]{0,200}\]){0,300}\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)"
)
_NUMBER = re.compile(r"\[\[[^\[\]\n]*\]\]\(")
_TASK = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(\[[ xX]\])(?=[ \t])", re.MULTILINE)


def code_blocks(text: str) -> Iterator[Span]:
    """Code in fences, or indented by four spaces."""
    if "```" in text or "~~~" in text or "\n    " in text or "\n\t" in text:
        yield from ((b.start, b.end) for b in blocks(text) if b.shape == "code")


def code_spans(text: str) -> list[Span]:
    """All code, in blocks and in lines."""
    return [*code_blocks(text), *(m.span() for m in INLINE_CODE.finditer(text))]


def hidden_spans(text: str, *, own: bool = False) -> list[Span]:
    """Where no mark stands. A pattern of the user's own (`own`) says what a mark is, and may mean links or inline code.

    A link that is nothing but a number in brackets, `[[2]](https://…)`, is a mark and not hidden.
    """
    found = [*code_blocks(text), *(m.span(1) for m in _TASK.finditer(text))]
    if not own:
        found += [m.span() for m in INLINE_CODE.finditer(text)]
        found += [m.span() for m in LINK.finditer(text) if _NUMBER.match(m[0]) is None]
    return found


def covered(start: int, end: int, spans: Collection[Span]) -> bool:
    """Whether `[start, end)` lies in one of these, or across its border."""
    return any(a < end and start < b for a, b in spans)
