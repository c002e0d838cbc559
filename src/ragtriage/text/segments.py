"""Splits a response at its citation marks ("Automating Groundedness Evaluation in RAG Applications", 2025).

A segment ends after a sentence with marks, or at the end of its paragraph. Headings, table headers and the list of
references belong to no segment; list items and table rows are paragraphs of their own. All of it is done by rules.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from ragtriage.core.case import Case
from ragtriage.core.verdicts import Citation, Component, Components, Span
from ragtriage.text.blocks import Block
from ragtriage.text.citation_marks import CitationMark, sources_named, unrecognized
from ragtriage.text.claims import split_claims
from ragtriage.text.prepared import Prepared, prepared
from ragtriage.text.pronouns import AUXILIARY_WORD
from ragtriage.text.sentences import sentences_of
from ragtriage.text.without_marks import TextWithoutMarks

_THERE = re.compile(r"\bthere (?:is|are|was|were)\b", re.IGNORECASE)
_STOPS = frozenset(".!?…。！？")
_LONGEST_TITLE = 8
"""Blanks that the title of a nested list may hold."""

UnsegmentedReason = Literal["", "nothing", "unread", "whole"]
"""Why a response isn't cut; see `unsegmented_reason`."""


def segments_of(case: Case) -> Components | None:
    """The segments of a case's response, in its order, each with what it cites; None if the response cites nothing.

    A segment's text is what it claims, as a judge is asked about it: without marks, headings and remarks ("here is what
    I found", greetings, questions, what the sources don't say), list items that are no sentence with the words before
    the list. A segment that claims nothing is a remark, and so are words that only lead to a list, an item that heads
    deeper ones, and a code block without a mark of its own. Items and rows without marks cite what the heading or the
    words with a colon before them cite; code what the words with a colon before it cite, if these claim nothing alone.
    Spans are disjoint and include the marks.
    """
    return _of(case).segments


def unsegmented_reason(case: Case) -> UnsegmentedReason:
    """Why a case's response isn't cut; empty if it is.

    `nothing`: no mark stands in it. `unread`: none that is known, but numbers in brackets or raised ones, which may
    cite in a way that the user has to tell. `whole`: marks stand in a list at its end, or alone, and nowhere else.
    """
    return _of(case).why


def unrecognized_marks(case: Case) -> tuple[str, ...]:
    """Numbers in brackets or raised in a case's response that weren't read as marks, as they are written."""
    return _of(case).unrecognized


@dataclass(frozen=True, slots=True)
class _Cut:
    segments: Components | None
    why: UnsegmentedReason
    unrecognized: tuple[str, ...]


def _of(case: Case) -> _Cut:
    return _cut(prepared(case), tuple(source.id for source in case.known_sources))


@lru_cache(256)  # a case is read by the evaluation, and again by its estimate
def _cut(response: Prepared, ids: tuple[str | None, ...]) -> _Cut:
    stripped, references = response.marked, response.references
    marks = [mark for mark in response.marks if mark.names]
    inside = [m for m in marks if not any(start <= m.start < end for start, end in references.spans)]
    named = sources_named(inside, ids, references.meanings)
    # a footnote that explains something, and names no source, is no citation
    cited = [m for m in inside if named[m.names[0]] or m.names[0].isdigit() or m.names[0] not in references.meanings]
    drafts = _drafts(stripped, cited)
    left = unrecognized(stripped.original, response.marks)
    if not any(draft.marks or draft.inherited for draft in drafts):
        listed = bool(cited) or (
            len(inside) < len(marks) and any(any(sources_named([mark], ids, {}).values()) for mark in marks)
        )
        return _Cut(None, "whole" if listed else "unread" if left else "nothing", left)
    claims = sorted((c.span[0], c.text) for c in split_claims(stripped.text, marked=False) if c.span and not c.remark)
    components: list[Component] = []
    for draft in drafts:
        found = _component(draft, stripped, claims, named, components[-1] if components else None)
        # marks of a paragraph that begins with several may reach into the segment before them
        end = components[-1].span[1] if components and components[-1].span else 0
        if found.span and found.span[0] < end < found.span[1]:
            found = replace(found, span=(end, found.span[1]))
        components.append(found)
    return _Cut(tuple(replace(c, span=response.span(*c.span)) if c.span else c for c in components), "", left)


@dataclass(slots=True)
class _Draft:
    """A segment that is being gathered."""

    block: Block
    sentences: list[Span]
    """In the text without marks."""
    marks: list[CitationMark]
    inherited: Sequence[CitationMark] = ()
    """Those of the words before its list, if it has none of its own."""
    lead: Span | None = None
    """Its last words, if they only lead to what follows and claim nothing."""


def _drafts(stripped: TextWithoutMarks, marks: Sequence[CitationMark]) -> list[_Draft]:
    """The segments of a text: sentences put together, each with its marks.

    Where marks lead (`[1] Adults pay. [2] Kids pay.`), what has none of its own goes with what stands before it.
    """
    sentences = [(span, block) for block in _paragraphs(stripped) for span in sentences_of(stripped.text, block)]
    leading = _led(stripped, marks)
    owned = _owners(stripped, sentences, marks, leading)
    found: list[_Draft] = []
    goes_on = False
    for i, (span, block) in enumerate(sentences):
        if goes_on and found[-1].block is block and not (block.start in leading and owned[i]):
            found[-1].sentences.append(span)
            found[-1].marks += owned[i]
        else:
            found.append(_Draft(block, [span], list(owned[i])))
        goes_on = block.start in leading or not found[-1].marks
    _inherit(stripped, found, marks)
    _find_leads(stripped, found)
    return found


def _paragraphs(stripped: TextWithoutMarks) -> list[Block]:
    return [block for block in stripped.blocks if block.shape not in {"heading", "header"}]


def _led(stripped: TextWithoutMarks, marks: Sequence[CitationMark]) -> set[int]:
    """Where paragraphs begin in which marks stand before what they belong to: one begins it, and none ends it."""
    places = [stripped.place(mark.start) for mark in marks]
    found = set()
    for block in _paragraphs(stripped):
        first, behind = bisect_left(places, block.start - 1), bisect_right(places, block.end)
        if first == behind or stripped.origins[block.start] < marks[first].end:  # the latter stands for words
            continue
        ends = not any(c.isalnum() for c in stripped.text[places[behind - 1] : block.end])
        if not ends and _leads(stripped, marks[first], block.start):
            found.add(block.start)
    return found


def _owners(
    stripped: TextWithoutMarks,
    blocked: Sequence[tuple[Span, Block]],
    marks: Sequence[CitationMark],
    leading: Collection[int],
) -> list[list[CitationMark]]:
    """The marks of each sentence.

    A mark belongs to the sentence in which, or behind which, it stands; one that begins a line to what follows on it,
    and where marks lead also one behind a stop. Those in a heading belong to none.
    """
    sentences = [span for span, _ in blocked]
    found: list[list[CitationMark]] = [[] for _ in sentences]
    dropped = [block for block in stripped.blocks if block.shape in {"heading", "header"}]
    starts = [start for start, _ in sentences]
    for mark in marks:
        at = stripped.place(mark.start)
        before = bisect_right(starts, at) - 1
        if any(block.start <= at <= block.end for block in dropped) or not sentences:
            continue
        inside = before >= 0 and sentences[before][0] < at <= sentences[before][1]
        following = before if before >= 0 and sentences[before][0] == at else before + 1
        behind_stop = inside and at == sentences[before][1] and following < len(sentences)
        led = behind_stop and blocked[before][1].start in leading and blocked[following][1] is blocked[before][1]
        begins = not inside and following < len(sentences) and _leads(stripped, mark, sentences[following][0])
        found[following if led or begins else max(0, before)].append(mark)
    return found


def _leads(stripped: TextWithoutMarks, mark: CitationMark, start: int) -> bool:
    """Whether a mark begins the line on which the sentence at `start` begins, list markers and other marks apart."""
    text = stripped.original
    line = text[text.rfind("\n", 0, mark.start) + 1 : mark.start]
    between = text[mark.end : stripped.origins[start]]
    return "\n" not in between and not any(c.isalpha() for c in line)


def _inherit(stripped: TextWithoutMarks, drafts: Sequence[_Draft], marks: Sequence[CitationMark]) -> None:
    """Give items, rows and code without marks those of the heading or the words with a colon before them."""
    headed = {
        block.start: [mark for mark in marks if block.start <= stripped.place(mark.start) <= block.end]
        for block in stripped.blocks
        if block.shape == "heading"
    }
    headings = sorted(headed)
    lead: Sequence[CitationMark] = ()
    at = 0
    for draft in drafts:
        before = bisect_left(headings, draft.block.start)
        if before > at:
            lead, at = headed[headings[before - 1]], before
        if draft.block.shape in {"item", "row"}:
            draft.inherited = () if draft.marks else lead
        elif draft.block.shape == "code":
            draft.inherited, lead = () if draft.marks else lead, ()
        else:
            lead = draft.marks if _ends_in_colon(stripped.text, draft) else ()


def _ends_in_colon(text: str, draft: _Draft) -> bool:
    start, end = draft.sentences[-1]
    return text[start:end].rstrip(" *_").endswith(":")


def _find_leads(stripped: TextWithoutMarks, drafts: Sequence[_Draft]) -> None:
    """Mark what only leads to a list: "There are two plans:", and an item that is no sentence above deeper ones."""
    for draft, following in pairwise(drafts):
        if draft.marks or following.block is draft.block or following.block.shape not in {"item", "row"}:
            continue
        start, end = draft.sentences[-1]
        said = stripped.text[start:end]
        if draft.block.shape == "item":
            heads = len(draft.sentences) == 1 and _heads(said, stripped.text[following.block.start])
            if heads and _depth(stripped.text, following.block) > _depth(stripped.text, draft.block):
                draft.lead = (start, end)
        elif _ends_in_colon(stripped.text, draft) and _THERE.search(said):
            draft.lead = (start, end)


def _heads(said: str, following: str) -> bool:
    """Whether an item is a title: no verb, no stop, and what stands below it doesn't go on with it in lower case."""
    words = said.strip(" *_:")
    if said.count(" ") > _LONGEST_TITLE or words[-1:] in _STOPS or AUXILIARY_WORD.search(words):
        return False
    return said[:2] in {"**", "__"} or said.rstrip(" *_").endswith(":") or not following.islower()


def _depth(text: str, block: Block) -> int:
    line = text[text.rfind("\n", 0, block.start) + 1 : block.start].expandtabs(4)
    return len(line) - len(line.lstrip())


def _component(
    draft: _Draft,
    stripped: TextWithoutMarks,
    claims: Sequence[tuple[int, str]],
    named: dict[str, tuple[int, ...]],
    before: Component | None,
) -> Component:
    """The segment of a draft; `claims` are those of the whole response, each with its place, in order.

    Code goes with the segment `before` it that leads to it, if that claims nothing alone: "Use this [1]:".
    """
    start, end = draft.sentences[0][0], draft.sentences[-1][1]
    until = draft.lead[0] if draft.lead else end
    said = [text for _, text in claims[bisect_left(claims, (start, "")) : bisect_left(claims, (until, ""))]]
    text = " ".join(said).strip()
    marks = draft.marks or draft.inherited
    if draft.block.shape == "code" and not draft.marks:
        shows = bool(draft.inherited) and before is not None and before.remark
        text = f"{before.text} {text}" if before and shows else ""
        marks = draft.inherited if shows else ()
    claimless = not any(c.isalnum() for c in text)
    shown = text if not claimless else stripped.text[start:end].strip(" *_" if draft.lead else None)
    first, last = stripped.origins[start], stripped.origins[end - 1] + 1
    span = min([first, *(m.start for m in draft.marks)]), max([last, *(m.end for m in draft.marks)])
    return Component(shown, span, remark=claimless, citations=tuple(_citations(marks, named)))


def _citations(marks: Sequence[CitationMark], named: dict[str, tuple[int, ...]]) -> Iterator[Citation]:
    """What the marks cite, each source once and each name that names nothing once."""
    seen: set[object] = set()
    for name in (name for mark in marks for name in mark.names):
        what = named[name] or name
        if what not in seen:
            seen.add(what)
            yield Citation(name, named[name])
