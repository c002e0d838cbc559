"""Places that end a segment, though Markdown or the rules for sentences would run it on."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence

from ragtriage.text.blocks import Block, blocks
from ragtriage.text.citations.marks import Mark
from ragtriage.text.citations.unmarked import Bare

_BEHIND = re.compile(r"[.,;:!?…)\"”’»*_]*[ \t]*\r?(?=\n)")
_LETTER = re.compile(r"([.!?])(?=[ \t]+[A-Z])")
_ALONE = re.compile(r"(?:^|[\s(°])[A-Za-z]$")
_LEAD = re.compile(r"\n[ \t>]*(?:[-*+•][ \t]+)?$")
_NEXT = re.compile(r"\r?\n[ \t>]*([^\s])")
_REST = re.compile(r"[ \t:]*[^\s\[]")


def line_breaks(bare: Bare, marks: Sequence[Mark]) -> list[int]:
    """The line ends of the original behind a mark, before one that begins a line, and before lines led by a sign.

    A sign is one like ✅. Also the stops behind a letter alone and its mark, which else would pass for an initial:
    "vitamin C[1]. Plan B[2]."
    A line behind a mark that goes on in lower case goes on with the sentence, if the paragraph didn't begin so.

    Args:
        bare: the text without its marks, not yet broken.
        marks: in their order.
    """
    text = bare.original
    found = {
        m.end(1) for mark in marks if (m := _LETTER.match(text, mark.end)) and _ALONE.search(text[: mark.start][-3:])
    }
    if "\n" not in text:
        return sorted(found)
    running = [(b, bare.origin(b.start)) for b in blocks(bare.text) if b.shape in {"paragraph", "item"}]
    starts = [block.start for block, _ in running]
    for mark in marks:
        place = bare.place(mark.start)
        at = max(0, bisect_right(starts, place + 1) - 1)
        if not running or not running[at][0].start - 1 <= place <= running[at][0].end + 1:
            continue
        behind = _BEHIND.match(text, mark.end)
        if behind and not _goes_on(text, behind.end(), text[running[at][1]]):
            found.add(behind.end())
        lead = _LEAD.search(text, max(0, mark.start - 20), mark.start)
        if lead and _REST.match(text, mark.end):
            found.add(lead.start())
    for block, _ in running:
        found.update(_led_by_signs(bare, block))
    return sorted(at - 1 if at and text[at - 1] == "\r" else at for at in found)


def _goes_on(text: str, at: int, first: str) -> bool:
    """Whether the line behind the line end at `at` goes on with the sentence before it."""
    following = _NEXT.match(text, at)
    return following is not None and following[1].islower() and not first.islower()


def _led_by_signs(bare: Bare, block: Block) -> list[int]:
    """The line ends before lines of a block that begin with a sign."""
    lines = _NEXT.finditer(bare.text, block.start, block.end)
    return [bare.origin(m.start()) for m in lines if unicodedata.category(m[1]) == "So"]
