"""What leaves a text with its citation marks, so that a judge is asked about what is said and nothing else.

The commas between marks, a "see" or "cf." before them and the parentheses around them go too. A mark that stands for
words stays as words: "According to [1], the ferry leaves" becomes "According to source 1, the ferry leaves".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.citations.marks import Mark

_BETWEEN = re.compile(r"(?:[ \t]*[,;&/+][ \t]*(?:and[ \t]+|&[ \t]*)?|[ \t]+(?:and|&)[ \t]+|[ \t]*[-–][ \t]*|[ \t]*)")
_SEE = (
    r"(?:(?:see(?:[ \t]+also)?|cf\.?|compare|from|in|e\.g\.,?|refs?\.?|sources?|references?|citations?)[ \t]*:?[ \t]*)"
)
_OPENED = re.compile(rf"[ \t]*[(\[][ \t]*{_SEE}{{0,2}}$", re.IGNORECASE)
_POINTED = re.compile(
    r"[ \t]*,?[ \t]*\b(?:(?:see(?:[ \t]+also)?|cf\.?)[ \t]*:?|(?:sources?|references?|citations?|refs?)[ \t]*:)[ \t]*$",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"[ \t]*[)\]]")
_OVER = re.compile(r"[ \t]*(?:[.!?;:,)*_]|\r?\n|$)")
_ENDED = re.compile(r"(?:^|[.!?…\n])[ \t]*$")
_STOP = re.compile(r"[ \t]*\.(?=\s|$)")
_SAYS = re.compile(
    r"[ \t]+(?:(?:also|only|clearly|explicitly|both|all) )?(?:says?|states?|notes?|shows?|reports?|explains?|gives?|"
    r"lists?|names?|mentions?|confirms?|adds?|suggests?|indicates?|describes?|does|do|doesn['’]t|don['’]t|is|are|has|have|"
    r"agrees?|disagrees?|contradicts?|covers?|puts?|claims?|tells?|makes?|points?|recommends?|warns?|defines?)\b"
)
"""Behind a mark that does something, and so stands for its source."""
_JOINS = re.compile(
    r"\b(?:as|than|both|while|whereas|and|or|but|that|if|because|since|although|though|where|only)[ \t]+$",
    re.IGNORECASE,
)
_OF = re.compile(
    r"\b(?:according to|as per|per|unlike|(?:stated|described|shown|found|listed|given|stands?|reported|confirmed|"
    r"mentioned|explained|noted|said|taken|comes|written|set out|defined|quoted|cited|table|section|page|chapter|"
    r"(?:table|section|page|chapter) \d{1,3}) (?:in|from|by|of))[ \t]+$",
    re.IGNORECASE,
)
_IN = re.compile(r"(?:^|[.!?…][\"”’)]?[ \t]+|\n)(?:As |Also )?(?:in|from|by|like)[ \t]+$", re.IGNORECASE)
_POINTS = re.compile(r"\b(?:see(?: also)?|cf\.?|compare)[ \t]+$", re.IGNORECASE)
_WORD = re.compile(r"[ \t]+(?!and\b|or\b)\w")
_COMMA = re.compile(r"[ \t]*,")
_BEGINS = re.compile(r"(?:^|[.!?…][\"”’)]?[ \t]+|\n)[ \t>]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?$")
_COLON = re.compile(r"[ \t]*:(?=[ \t])")


@dataclass(frozen=True, slots=True)
class Cut:
    """A stretch, `[start, end)`, and what stands in its place."""

    start: int
    end: int
    instead: str = ""


def cuts_of(text: str, marks: Sequence[Mark]) -> list[Cut]:
    """What is to be cut for these marks, in order and apart.

    Args:
        text: a response.
        marks: in its order.
    """
    found: list[Cut] = []
    for run in _runs(text, marks):
        least = found[-1].end if found else 0
        words = _as_words(text, run, least)
        found += words or [_grown(text, run[0].start, run[-1].end, least)]
    return found


def _runs(text: str, marks: Sequence[Mark]) -> list[list[Mark]]:
    """Marks with nothing but commas and the like between them go together."""
    runs: list[list[Mark]] = []
    for mark in marks:
        if runs and _BETWEEN.fullmatch(text, runs[-1][-1].end, mark.start):
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return runs


def _as_words(text: str, run: Sequence[Mark], least: int) -> list[Cut]:
    """The cuts of marks that stand for words in their sentence; empty if they only cite."""
    first, last = run[0], run[-1]
    if first.start and not (text[first.start - 1].isspace() or text[first.start - 1] == "("):
        return []
    before, behind = text[max(least, first.start - 40) : first.start], text[last.end : last.end + 40]
    says = _SAYS.match(behind) is not None
    subject = says and _BEGINS.search(before) is not None
    part = _OF.search(before) or (_IN.search(before) and _COMMA.match(behind)) or (says and _JOINS.search(before))
    part = part or (_POINTS.search(before) and _WORD.match(behind))
    if not subject and not part:
        return []
    return [
        Cut(mark.start, mark.end, f"{'Source' if subject and not at else 'source'} {' and '.join(mark.names)}")
        for at, mark in enumerate(run)
    ]


def _grown(text: str, start: int, end: int, least: int) -> Cut:
    """The stretch with what makes no sense without it."""
    opened = _OPENED.search(text, max(least, start - 40), start)
    closed = _CLOSED.match(text, end)
    if opened and closed:
        start, end = opened.start(), closed.end()
    else:
        pointed = _POINTED.search(text, max(least, start - 40), start)
        if pointed and _OVER.match(text, end):
            start = pointed.start()
            if _ENDED.search(text, max(0, start - 3), start):
                stop = _STOP.match(text, end)
                end = stop.end() if stop else end
        colon = _COLON.match(text, end)
        if colon and not any(c.isalnum() for c in text[text.rfind("\n", 0, start) + 1 : start]):
            end = colon.end()
    return Cut(start, end)
