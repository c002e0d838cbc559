"""The list of references at the end of a response, and footnotes: no part of the answer, they say what marks mean."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ragtriage.citations.hidden import Span
from ragtriage.citations.marks import Mark
from ragtriage.judges.embedded.decompose import split_claims

CLOSING = 6
"""How many lines at the end are looked at for a greeting behind the list of references."""

_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^?([^\[\]\n]{1,60})\]:[ \t]*(.*(?:\n(?:[ \t]{2,}|\t)\S.*)*)$", re.MULTILINE)
_NAMES = (
    r"(?:sources?|references?|citations?|footnotes?|bibliography|works cited|sources? (?:used|cited|consulted)|"
    r"quellen(?:angaben)?|références|bibliographie|fuentes|referencias|fonti|fontes|bronnen)"
)
_TITLE = re.compile(rf"[ \t>#*_]*{_NAMES}[ \t*_]*:?[ \t*_]*\r?$", re.IGNORECASE)
_IN_LINE = re.compile(rf"[ \t>#*_-]*{_NAMES}[ \t*_]*:[ \t*_]*", re.IGNORECASE)
_ENTRY = re.compile(r"[ \t>]*(?:[-*+•][ \t]+)?(?:(\d{1,3})[.)][ \t]+)?")
_TITLE_LINE = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_LINE = re.compile(r"[^\n]+")


@dataclass(slots=True)
class References:
    """What was found."""

    spans: list[Span] = field(default_factory=list)
    """Where they stand: disjoint, in no order."""
    meanings: dict[str, str] = field(default_factory=dict)
    """Label → what stands there beside it."""


def find_references(text: str, marks: Sequence[Mark]) -> References:
    """Footnotes (`[^1]: …`), and the list at the end under a title like "Sources:", or in a paragraph of its own.

    Behind the list nothing may stand but remarks ("let me know if you need more"). Footnotes that are all that a
    response says are none. A line that ends with a mark says something and cites it, so a list that holds such a line
    is none of references.

    Args:
        text: a response.
        marks: all its marks, also those that stand in references.
    """
    found = References()
    for m in _DEFINITION.finditer(text):
        found.spans.append(m.span())
        found.meanings.setdefault(m[1].strip(), m[2].strip())
    lines = [m.span() for m in _LINE.finditer(text) if m[0].strip() and not _within(m.span(), found.spans)]
    if not any(any(c.isalnum() for c in text[a:b]) and not _TITLE_LINE.match(text, a, b) for a, b in lines):
        return References()  # what looks like footnotes is all that the response says
    for last in _lasts(text, lines):
        first = _listed(text, lines[:last], marks)
        if first is not None:
            start, end = lines[first][0], lines[last - 1][1]
            found.spans = [span for span in found.spans if not start <= span[0] < end] + [(start, end)]
            for line in lines[first:last]:
                _explain(text, *line, marks, found)
            break
    return found


def _lasts(text: str, lines: Sequence[Span]) -> Iterator[int]:
    """Where a list of references may end: with the last line, or before closing lines that claim nothing."""
    for last in range(len(lines), max(0, len(lines) - CLOSING), -1):
        yield last
        said = text[slice(*lines[last - 1])]
        if any(not c.remark for c in split_claims(said)):
            return


def _listed(text: str, lines: Sequence[Span], marks: Sequence[Mark]) -> int | None:
    """The first line of the list at the end, its title included; None if there is none."""
    at = len(lines)
    while at and _is_entry(text, lines[at - 1], marks):
        at -= 1
    if at and at < len(lines) and _TITLE.match(text[slice(*lines[at - 1])]):
        return at - 1
    if at and _is_bare(text, lines[-1], marks):
        return len(lines) - 1
    alone = len(lines)
    while alone and _explains(text, lines[alone - 1], marks):
        alone -= 1
    begins = alone and alone < len(lines) and text[lines[alone - 1][1] : lines[alone][0]].count("\n") > 1
    cited = {name for mark in marks if mark.end <= lines[alone][0] for name in mark.names} if begins else set()
    return alone if begins and all(_first(text, line, marks) in cited for line in lines[alone:]) else None


def _is_entry(text: str, line: Span, marks: Sequence[Mark]) -> bool:
    """Whether a line could stand in a list of references: an item or a marked line, without a mark behind its text."""
    said = text[slice(*line)]
    lead = _ENTRY.match(said)
    begins = bool(lead and lead.end() and lead[0].strip()) or _first(text, line, marks) is not None
    return (begins or "://" in said) and len(_of(line, marks)) <= (_first(text, line, marks) is not None)


def _explains(text: str, line: Span, marks: Sequence[Mark]) -> bool:
    """Whether a line is a mark and what it stands for, and no sentence: "[1] Handbook, section 3"."""
    own = _of(line, marks)
    said = text[slice(*line)].rstrip()
    return len(own) == 1 and _first(text, line, marks) is not None and said[-1:] not in ".!?…:;]】"


def _is_bare(text: str, line: Span, marks: Sequence[Mark]) -> bool:
    """Whether a line is a title with nothing but marks behind it: "Sources: [1], [2]"."""
    title = _IN_LINE.match(text, *line)
    own = _of(line, marks)
    if title is None or not own or own[0].start < title.end():
        return False
    rest = text[title.end() : line[1]]
    for mark in own:
        rest = rest.replace(text[mark.start : mark.end], "")
    return not any(c.isalnum() for c in rest)


def _first(text: str, line: Span, marks: Sequence[Mark]) -> str | None:
    """The name of the mark that a line begins with."""
    lead = _ENTRY.match(text, *line)
    at = lead.end() if lead else line[0]
    return next((mark.names[0] for mark in marks if mark.start == at and mark.label), None)


def _of(line: Span, marks: Sequence[Mark]) -> list[Mark]:
    return [mark for mark in marks if line[0] <= mark.start < line[1]]


def _explain(text: str, start: int, end: int, marks: Sequence[Mark], found: References) -> None:
    """Note what a line of the list says about its label."""
    name = _first(text, (start, end), marks)
    lead = _ENTRY.match(text, start, end)
    number = lead[1] if lead else None
    label = name or number
    if label:
        own = _of((start, end), marks)
        behind = own[0].end if own else lead.end() if lead else start
        found.meanings.setdefault(label, text[behind:end].strip(" \t:.-–"))


def _within(line: Span, spans: Sequence[Span]) -> bool:
    return any(start <= line[0] and line[1] <= end for start, end in spans)
