"""A text without its citation marks: what goes with a mark, and where paragraphs end that only marks parted."""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragtriage.text.blocks import blocks
from ragtriage.text.citation_marks import CitationMark
from ragtriage.text.lexicon import CITATIONS

_BETWEEN = re.compile(r"(?:[ \t]*[,;&/+][ \t]*(?:and[ \t]+|&[ \t]*)?|[ \t]+(?:and|&)[ \t]+|[ \t]*[-–][ \t]*|[ \t]*)")
_CLOSED = re.compile(r"[ \t]*[)\]]")
_OVER = re.compile(r"[ \t]*(?:[.!?;:,)*_]|\r?\n|$)")
_ENDED = re.compile(r"(?:^|[.!?…\n])[ \t]*\Z")
_STOP = re.compile(r"[ \t]*\.(?=\s|$)")
_BEGIN = CITATIONS.regex("begin")
_WORD = re.compile(r"[ \t]+(?!(?:and|or|und|oder)\b)\w")
_COMMA = re.compile(r"[ \t]*,")
_BEGINS = re.compile(rf"{_BEGIN}\Z")
_COLON = re.compile(r"[ \t]*:(?=[ \t])")


BEFORE = 120
"""Characters before a mark in which it is looked for what it stands for."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A stretch, `[start, end)`, and what stands in its place."""

    start: int
    end: int
    instead: str = ""


def removals(text: str, marks: Sequence[CitationMark]) -> list[Removal]:
    """What is to be cut for these marks, in order and apart."""
    found: list[Removal] = []
    for run in _runs(text, marks):
        least = found[-1].end if found else 0
        words = _as_words(text, run, least)
        found += words or [_grown(text, run[0].start, run[-1].end, least)]
    return found


def _runs(text: str, marks: Sequence[CitationMark]) -> list[list[CitationMark]]:
    """Marks with nothing but commas and the like between them go together."""
    runs: list[list[CitationMark]] = []
    for mark in marks:
        if runs and _BETWEEN.fullmatch(text, runs[-1][-1].end, mark.start):
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return runs


def _as_words(text: str, run: Sequence[CitationMark], least: int) -> list[Removal]:
    """The cuts of marks that stand for words in their sentence; empty if they only cite."""
    first, last = run[0], run[-1]
    if first.start and not (text[first.start - 1].isspace() or text[first.start - 1] == "("):
        return []
    before, behind = text[max(least, first.start - BEFORE) : first.start], text[last.end : last.end + 40]
    says = CITATIONS["says"].match(behind) is not None
    if _is_numbered(before, behind, says=says):
        return [Removal(mark.start, mark.end, " and ".join(mark.names)) for mark in run]
    subject = says and _BEGINS.search(before) is not None
    if not subject and not _is_object(before, behind, says=says):
        return []
    german = CITATIONS["german"].search(before) or CITATIONS["sagt"].match(behind)
    noun = "Quelle" if german else "source"
    if any(not mark.names for mark in run):
        return [Removal(mark.start, mark.end, text[mark.start + 1 : mark.end - 1]) for mark in run]
    return [
        Removal(mark.start, mark.end, f"{noun.title() if subject and not at else noun} {' and '.join(mark.names)}")
        for at, mark in enumerate(run)
    ]


def _is_numbered(before: str, behind: str, *, says: bool) -> bool:
    """Whether marks are the numbers of sources that the sentence speaks of: "Document [1] states", "in source [2]"."""
    if CITATIONS["pointed"].search(before) and _OVER.match(behind) and not CITATIONS["pointer"].search(before):
        return False
    if (CITATIONS["noun"].search(before) or CITATIONS["titled"].search(before)) and not CITATIONS["opened"].search(
        before
    ):
        return True
    return says and CITATIONS["named"].search(before) is not None


def _is_object(before: str, behind: str, *, says: bool) -> bool:
    """Whether words before marks would have no object without them."""
    if CITATIONS["of"].search(before) or CITATIONS["in"].search(before) or CITATIONS["pointer"].search(before):
        return True
    if says and CITATIONS["joins"].search(before):
        return True
    follows = _WORD.match(behind) is not None
    return bool(
        (CITATIONS["from"].search(before) and (follows or _COMMA.match(behind)))
        or (CITATIONS["points"].search(before) and follows)
    )


def _grown(text: str, start: int, end: int, least: int) -> Removal:
    """The stretch with what makes no sense without it."""
    opened = CITATIONS["opened"].search(text, max(least, start - 40), start)
    closed = _CLOSED.match(text, end)
    if opened and closed:
        start, end = opened.start(), closed.end()
    else:
        pointed = CITATIONS["pointed"].search(text, max(least, start - 40), start)
        if pointed and _OVER.match(text, end):
            start = pointed.start()
            if _ENDED.search(text, max(0, start - 3), start):
                stop = _STOP.match(text, end)
                end = stop.end() if stop else end
        colon = _COLON.match(text, end)
        if colon and not any(c.isalnum() for c in text[text.rfind("\n", 0, start) + 1 : start]):
            end = colon.end()
    return Removal(start, end)


class TextWithoutMarks:
    """A text without some of its stretches and the blanks before them.

    A cut that begins inside an earlier one begins behind it; `breaks` are places of the original where a paragraph
    ends.
    """

    def __init__(self, text: str, cuts: Iterable[Removal], breaks: Iterable[int] = ()) -> None:
        self.original = text
        self.origins: list[int] = []
        """Where each character of the text without marks stands in the original."""
        self._cuts: list[tuple[int, int]] = []
        """(Where a stretch begins in the original, where it would be in the text without marks)."""
        pieces: list[str] = []

        def add(piece: str, start: int, end: int) -> None:
            pieces.append(piece)
            self.origins += (min(start + i, max(start, end - 1)) for i in range(len(piece)))

        at = 0
        for cut in sorted(
            [*cuts, *(Removal(place, place, "\n\n") for place in breaks)], key=lambda c: (c.start, c.end)
        ):
            kept = text[at : cut.start]
            add(kept if cut.instead else kept.rstrip(" \t"), at, max(at, cut.start))
            self._cuts.append((cut.start, len(self.origins)))
            add(cut.instead, cut.start, cut.end)
            at = max(at, cut.end)
        add(text[at:], at, len(text))
        self.text = "".join(pieces)
        self.blocks = blocks(self.text)

    def place(self, at: int) -> int:
        """Where a stretch that was left out, and begins at or before `at`, would stand in the text without marks."""
        return self._cuts[bisect_right(self._cuts, (at + 1,)) - 1][1]


_BEHIND = re.compile(r"[.,;:!?…)\"”’»*_]*[ \t]*\r?(?=\n)")
_LETTER = re.compile(r"([.!?])(?=[ \t]+[A-Z])")
_ALONE = re.compile(r"(?:^|[\s(°])[A-Za-z]$")
_MARK_LEAD = re.compile(r"\n[ \t>]*(?:[-*+•][ \t]+)?$")
_NEXT = re.compile(r"\r?\n[ \t>]*([^\s])")
_REST = re.compile(r"[ \t:]*[^\s\[]")


def line_breaks(stripped: TextWithoutMarks, marks: Sequence[CitationMark]) -> list[int]:
    """The line ends of the original behind a mark, before one that begins a line, and before lines led by a sign.

    A sign is one like ✅. Also the stops behind a letter alone and its mark, which else would pass for an initial:
    "vitamin C[1]. Plan B[2]."
    A line behind a mark that goes on in lower case goes on with the sentence, if the paragraph didn't begin so.
    """
    text = stripped.original
    found = {
        m.end(1) for mark in marks if (m := _LETTER.match(text, mark.end)) and _ALONE.search(text[: mark.start][-3:])
    }
    if "\n" not in text:
        return sorted(found)
    running = [b for b in stripped.blocks if b.shape in {"paragraph", "item"}]
    starts = [block.start for block in running]
    for mark in marks:
        place = stripped.place(mark.start)
        at = max(0, bisect_right(starts, place + 1) - 1)
        if not running or not running[at].start - 1 <= place <= running[at].end + 1:
            continue
        behind = _BEHIND.match(text, mark.end)
        if behind and not _goes_on(text, behind.end(), text[stripped.origins[starts[at]]]):
            found.add(behind.end())
        lead = _MARK_LEAD.search(text, max(0, mark.start - 20), mark.start)
        if lead and _REST.match(text, mark.end):
            found.add(lead.start())
    for block in running:
        lines = _NEXT.finditer(stripped.text, block.start, block.end)
        found.update(stripped.origins[m.start()] for m in lines if unicodedata.category(m[1]) == "So")
    return sorted(at - 1 if at and text[at - 1] == "\r" else at for at in found)


def _goes_on(text: str, at: int, first: str) -> bool:
    """Whether the line behind the line end at `at` goes on with the sentence before it."""
    following = _NEXT.match(text, at)
    return following is not None and following[1].islower() and not first.islower()
