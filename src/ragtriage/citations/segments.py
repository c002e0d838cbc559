"""A response cut where its citation marks stand ("Automating Groundedness Evaluation in RAG Applications", 2025).

A segment ends behind a sentence with marks, or at the end of its paragraph. Headings, tables' headers and the list of
references are none; list items and table rows are paragraphs of their own. Rules do all of it, no judge.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.case import Case
from ragtriage.citations.marks import Mark, Span, find_marks
from ragtriage.citations.names import sources_named
from ragtriage.citations.references import find_references
from ragtriage.judges.embedded.decompose import split_claims
from ragtriage.judges.embedded.decompose.blocks import Block, blocks
from ragtriage.judges.embedded.decompose.sentences import sentences_of
from ragtriage.verdicts import Citation, Component, Components

_EMPTIED = re.compile(r"[ \t]*(?:\([\s,;]*\)|\[[\s,;]*\])")
"""Brackets of which nothing is left without their marks."""


def segments_of(case: Case) -> Components | None:
    """The segments of a case's response, in its order, each with what it cites; None if the response cites nothing.

    A segment's text is what it claims, as a judge is asked about it: without marks, headings and remarks ("here is what
    I found", greetings, questions, what the sources don't say), list items that are no sentence with the words before
    the list. A segment that claims nothing is a remark, and so is a code block without a mark of its own. Items and
    rows without marks cite what the words with a colon before them cite. Spans are disjoint and include the marks.

    Raises:
        ConfigError: the case's `citation_mark` is no regular expression.
    """
    return _segments(case.response or "", tuple(source.id for source in case.sources), case.citation_mark)


@lru_cache(256)  # a case is read by the evaluation, and again where it is rehearsed
def _segments(text: str, ids: tuple[str | None, ...], own: str | None) -> Components | None:
    marks = find_marks(text, frozenset(filter(None, ids)), own)
    references = find_references(text, marks)
    inside = [m for m in marks if not any(start <= m.start < end for start, end in references.spans)]
    named = sources_named(inside, ids, references.meanings)
    # a footnote that explains something, and names no source, is no citation
    cited = [m for m in inside if named[m.names[0]] or m.names[0].isdigit() or m.names[0] not in references.meanings]
    bare = _Bare(text, [*((m.start, m.end) for m in inside), *references.spans])
    drafts = _drafts(bare, cited)
    if not any(draft.marks for draft in drafts):
        return None
    claims = sorted((c.span[0], c.text) for c in split_claims(bare.text) if c.span and not c.remark)
    return tuple(_component(draft, bare, claims, named) for draft in drafts)


class _Bare:
    """A text without some of its stretches and the blanks before them, and where each place of it comes from."""

    def __init__(self, text: str, without: Iterable[Span]) -> None:
        self._starts: list[int] = []
        """Where each kept piece begins in the bare text."""
        self._origins: list[int] = []
        """Where it begins in the original."""
        self._cuts: list[tuple[int, int]] = []
        """(Where a stretch begins in the original, where it would be in the bare text)."""
        pieces, at, length = [], 0, 0
        for start, end in sorted(without):
            kept = text[at:start].rstrip(" \t") if start > at else ""
            if kept:
                self._starts.append(length)
                self._origins.append(at)
                pieces.append(kept)
                length += len(kept)
            self._cuts.append((start, length))
            at = max(at, end)
        self._starts.append(length)
        self._origins.append(at)
        self.original = text
        self.text = "".join([*pieces, text[at:]])

    def place(self, mark: Mark) -> int:
        """Where a stretch that was left out would stand in the bare text."""
        return self._cuts[bisect_right(self._cuts, (mark.start, len(self.original))) - 1][1]

    def origin(self, at: int) -> int:
        """Where a character of the bare text stands in the original."""
        piece = bisect_right(self._starts, at) - 1
        return self._origins[piece] + at - self._starts[piece]


@dataclass(slots=True)
class _Draft:
    """A segment that is being gathered."""

    block: Block
    sentences: list[Span]
    """In the bare text."""
    marks: list[Mark]
    inherited: Sequence[Mark] = ()
    """Those of the words before its list, if it has none of its own."""


def _drafts(bare: _Bare, marks: Sequence[Mark]) -> list[_Draft]:
    """The segments of a text: sentences put together, each with its marks."""
    sentences = [(span, block) for block in _paragraphs(bare.text) for span in sentences_of(bare.text, block)]
    owned = _owners(bare, [span for span, _ in sentences], marks)
    found: list[_Draft] = []
    goes_on = False
    for i, (span, block) in enumerate(sentences):
        if goes_on and found[-1].block is block:
            found[-1].sentences.append(span)
            found[-1].marks += owned[i]
        else:
            found.append(_Draft(block, [span], list(owned[i])))
        goes_on = not found[-1].marks
    _inherit(bare.text, found)
    return found


def _paragraphs(text: str) -> list[Block]:
    return [block for block in blocks(text) if block.shape not in {"heading", "header"}]


def _owners(bare: _Bare, sentences: Sequence[Span], marks: Sequence[Mark]) -> list[list[Mark]]:
    """The marks of each sentence.

    A mark belongs to the sentence in which, or behind which, it stands; one that begins a line to what follows on it.
    Those in a heading belong to none.
    """
    found: list[list[Mark]] = [[] for _ in sentences]
    dropped = [block for block in blocks(bare.text) if block.shape in {"heading", "header"}]
    starts = [start for start, _ in sentences]
    for mark in marks:
        at = bare.place(mark)
        before = bisect_right(starts, at) - 1
        if any(block.start <= at <= block.end for block in dropped) or not sentences:
            continue
        inside = before >= 0 and sentences[before][0] < at <= sentences[before][1]
        following = before if before >= 0 and sentences[before][0] == at else before + 1
        if not inside and following < len(sentences) and _leads(bare, mark, sentences[following][0]):
            found[following].append(mark)
        else:
            found[max(0, before)].append(mark)
    return found


def _leads(bare: _Bare, mark: Mark, start: int) -> bool:
    """Whether a mark begins the line on which the sentence at `start` begins, list markers and other marks apart."""
    text = bare.original
    line = text[text.rfind("\n", 0, mark.start) + 1 : mark.start]
    between = text[mark.end : bare.origin(start)]
    return "\n" not in between and not any(c.isalpha() for c in line)


def _inherit(text: str, drafts: Sequence[_Draft]) -> None:
    """Give items and rows without marks those of the words with a colon before them."""
    lead: Sequence[Mark] = ()
    for draft in drafts:
        if draft.block.shape in {"item", "row"}:
            draft.inherited = () if draft.marks else lead
        elif draft.block.shape != "code":
            start, end = draft.sentences[-1]
            lead = draft.marks if text[start:end].rstrip(" *_").endswith(":") else ()


def _component(
    draft: _Draft, bare: _Bare, claims: Sequence[tuple[int, str]], named: dict[str, tuple[int, ...]]
) -> Component:
    """The segment of a draft; `claims` are those of the whole response, each with its place, in order."""
    start, end = draft.sentences[0][0], draft.sentences[-1][1]
    said = [text for _, text in claims[bisect_left(claims, (start, "")) : bisect_left(claims, (end, ""))]]
    text = _EMPTIED.sub("", " ".join(said)).strip()
    marks = draft.marks or draft.inherited
    claimless = not any(c.isalnum() for c in text) or (draft.block.shape == "code" and not marks)
    shown = text if not claimless else bare.text[start:end]
    first, last = bare.origin(start), bare.origin(end - 1) + 1
    span = min([first, *(m.start for m in draft.marks)]), max([last, *(m.end for m in draft.marks)])
    return Component(shown, span, remark=claimless, citations=tuple(_citations(marks, named)))


def _citations(marks: Sequence[Mark], named: dict[str, tuple[int, ...]]) -> Iterator[Citation]:
    """What the marks cite, each source once and each name that names nothing once."""
    seen: set[object] = set()
    for name in (name for mark in marks for name in mark.names):
        what = named[name] or name
        if what not in seen:
            seen.add(what)
            yield Citation(name, named[name])
