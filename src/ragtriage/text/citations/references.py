"""The list of references at the end of a response, and footnotes: they explain marks and are no part of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ragtriage.core.verdicts import Span
from ragtriage.text import split_claims
from ragtriage.text.citations.marks import Mark
from ragtriage.text.lexicon import CITATIONS
from ragtriage.text.pronouns import AUXILIARY_WORD

CLOSING = 6
"""How many lines at the end are looked at for a greeting behind the list of references."""

_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^?([^\[\]\n]{1,60})\]:[ \t]*(.*(?:\n(?:[ \t]{2,}|\t)\S.*)*)$", re.MULTILINE)
_STOPS = re.compile(r"[.!?。][ \t*_]*\r?$|[.!?][ \t]+(?=[A-Z])")
_LONG = 120
"""Characters that the name of a source rarely has."""
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

    A title and its list may stand in one line: "Sources: [1] fares.pdf, [2] leaflet.pdf". Behind the list nothing may
    stand but remarks ("let me know if you need more"), or behind a title and marked lines what cites nothing. Footnotes
    that are all that a response says are none. A line that ends with a mark says something and cites it, unless it is
    no sentence and stands under a title.
    """
    found = References()
    for m in _DEFINITION.finditer(text):
        found.spans.append(m.span())
        found.meanings.setdefault(m[1].strip(), m[2].strip())
    lines = [m.span() for m in _LINE.finditer(text) if m[0].strip() and not _within(m.span(), found.spans)]
    if not any(any(c.isalnum() for c in text[a:b]) and not _TITLE_LINE.match(text, a, b) for a, b in lines):
        return References()  # what looks like footnotes is all that the response says
    for last, sure in _lasts(text, lines, marks):
        first = _listed(text, lines[:last], marks) if not sure else _titled(text, lines[:last], marks)
        if first is not None:
            start, end = lines[first][0], lines[last - 1][1]
            found.spans = [span for span in found.spans if not start <= span[0] < end] + [(start, end)]
            for line in lines[first:last]:
                _explain(text, *line, marks, found)
            break
    return found


def _lasts(text: str, lines: Sequence[Span], marks: Sequence[Mark]) -> Iterator[tuple[int, bool]]:
    """Where a list of references may end: with the last line, or before closing lines that claim or cite nothing.

    With each whether something that may be a claim stands behind it.
    """
    sure = False
    for last in range(len(lines), max(0, len(lines) - CLOSING), -1):
        yield last, sure
        line = lines[last - 1]
        if _of(line, marks):
            return
        sure = sure or any(not c.remark for c in split_claims(text[slice(*line)]))


def _titled(text: str, lines: Sequence[Span], marks: Sequence[Mark]) -> int | None:
    """The title of a list that can be nothing else: every line begins with a mark, or all stands in one line."""
    at = len(lines)
    while at and _first(text, lines[at - 1], marks) is not None and _is_entry(text, lines[at - 1], marks):
        at -= 1
    if 0 < at < len(lines) and CITATIONS["title"].match(text[slice(*lines[at - 1])]):
        return at - 1
    return len(lines) - 1 if len(lines) > 1 and _is_line(text, lines[-1], marks) else None


def _listed(text: str, lines: Sequence[Span], marks: Sequence[Mark]) -> int | None:
    """The first line of the list at the end, its title included; None if there is none."""
    for is_one in (_is_entry, _is_name):
        at = len(lines)
        while at and is_one(text, lines[at - 1], marks):
            at -= 1
        if at and at < len(lines) and CITATIONS["title"].match(text[slice(*lines[at - 1])]):
            return at - 1
    if lines and _is_line(text, lines[-1], marks, alone=len(lines) == 1):
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


def _is_name(text: str, line: Span, marks: Sequence[Mark]) -> bool:
    """Whether a line is an item with the name of a source and its mark behind it: "- Fare table [1]"."""
    own = _of(line, marks)
    lead = _ENTRY.match(text, *line)
    if len(own) != 1 or lead is None or not lead[0].strip():
        return False
    said, behind = text[lead.end() : own[0].start], text[own[0].end : line[1]]
    return _is_short(said) and any(c.isalnum() for c in said) and not behind.strip(" \t\r*_")


def _is_line(text: str, line: Span, marks: Sequence[Mark], *, alone: bool = False) -> bool:
    """Whether a line is a title with marks and names behind it: "Sources: [1], [2]", "Source: fares.pdf [1]".

    Where it is all that there is (`alone`) it may be an answer, unless nothing but marks stand behind the title.
    """
    title = CITATIONS["title_in_line"].match(text, *line)
    own = _of(line, marks)
    if title is None or not own or own[0].start < title.end():
        return False
    ends = [title.end(), *(mark.end for mark in own)]
    names = [text[a:b] for a, b in zip(ends, [*(mark.start for mark in own), line[1]], strict=True)]
    stop = names[-1].rstrip(" \t\r*_")[-1:] in {".", "!", "?", "。"}
    led = not any(c.isalnum() for c in names[0])
    if (stop and not led) or (alone and any(any(map(str.isalnum, name)) for name in names)):
        return False
    return all(_is_short(name.rstrip(" \t\r*_.")) for name in names)


def _is_short(said: str) -> bool:
    """Whether it may be the name of a source and is no sentence."""
    return len(said) <= _LONG and AUXILIARY_WORD.search(said) is None and _STOPS.search(said) is None


def _first(text: str, line: Span, marks: Sequence[Mark]) -> str | None:
    """The name of the mark that a line begins with."""
    lead = _ENTRY.match(text, *line)
    at = lead.end() if lead else line[0]
    return next((mark.names[0] for mark in marks if mark.start == at and mark.label), None)


def _of(line: Span, marks: Sequence[Mark]) -> list[Mark]:
    return [mark for mark in marks if line[0] <= mark.start < line[1]]


def _explain(text: str, start: int, end: int, marks: Sequence[Mark], found: References) -> None:
    """Note what a line of the list says about its labels."""
    own = _of((start, end), marks)
    title = CITATIONS["title_in_line"].match(text, start, end)
    if title and own:
        led = own[0].start == title.end()
        borders = [title.end(), *(mark.start if led else mark.end for mark in own[led:]), end]
        pieces = [text[a:b] for a, b in pairwise(borders)]
        for mark, piece in zip(own, pieces, strict=False):
            if mark.label:
                said = piece.replace(text[mark.start : mark.end], "")
                found.meanings.setdefault(mark.names[0], said.strip(" \t\r:,;.-–*_"))
        return
    lead = _ENTRY.match(text, start, end)
    label = _first(text, (start, end), marks) or (lead[1] if lead else None)
    if label:
        behind = own[0].end if own else lead.end() if lead else start
        found.meanings.setdefault(label, text[behind:end].strip(" \t:.-–"))
    elif len(own) == 1 and own[0].label:
        found.meanings.setdefault(own[0].names[0], text[lead.end() if lead else start : own[0].start].strip())


def _within(line: Span, spans: Sequence[Span]) -> bool:
    return any(start <= line[0] and line[1] <= end for start, end in spans)


def sources_named(
    marks: Sequence[Mark], ids: Sequence[str | None], meanings: Mapping[str, str]
) -> dict[str, tuple[int, ...]]:
    """Every name of the marks → the sources that it names, by position from 0; () where it names none.

    Names are ids, if every name of the response is one; else numbers are positions, counted from 1. A response in which
    no number is a position, but some are ids, is read by ids all the same: one wrong id must not make all others wrong.
    An id in other letters, `[Doc-1]`, names the one source whose id differs in nothing else.
    A label whose footnote names one source by its id stands for that one.

    Args:
        marks: all marks of a response.
        ids: of the case's sources, in their order.
        meanings: label → what its footnote, or its line in the list of references, says.
    """
    by_id: dict[str, tuple[int, ...]] = {}
    for at, name in enumerate(ids):
        if name:
            by_id[name] = (*by_id.get(name, ()), at)
    names = list(dict.fromkeys(name for mark in marks for name in mark.names))
    alike = {name: [known for known in by_id if known.casefold() == name.casefold()] for name in names}
    by_id |= {name: by_id[known[0]] for name, known in alike.items() if name not in by_id and len(known) == 1}
    explained = {name: named for name in names if (named := _explained(meanings.get(name, ""), by_id))}
    left = [name for name in names if name not in explained]
    positions = {name: _position(name, len(ids)) for name in left}
    known = [name for name in left if name in by_id]
    if len(known) == len(left) or (known and not any(positions.values())):
        return explained | {name: by_id.get(name, ()) for name in left}
    return explained | {name: positions[name] if name.isdigit() else by_id.get(name, ()) for name in left}


def _position(name: str, count: int) -> tuple[int, ...]:
    return (int(name) - 1,) if re.fullmatch(r"[0-9]{1,6}", name) and 1 <= int(name) <= count else ()


def _explained(meaning: str, by_id: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The one source that a footnote names by its id; a number alone says too little."""
    if not meaning:
        return ()
    named = [
        at
        for name, at in by_id.items()
        if len(name) > 1 and not name.isdigit() and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", meaning)
    ]
    return named[0] if len(named) == 1 else ()
