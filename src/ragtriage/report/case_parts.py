"""Parts of a case's report: texts with marks, verdicts, which source answers what, and what each segment cites.

A text is cut into pieces where marks begin and end, so that overlapping and nested marks can be shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast, get_args

from ragtriage.core.case import Record
from ragtriage.core.display import one_line, sanitize
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Cell, Component, Failure, Span, Verdict
from ragtriage.metrics.citations import FALSE, CheckedSegment, checked_segments
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_BY_RESPONSE, ANSWERED_TOGETHER
from ragtriage.report.words import SEGMENT_WORDS

CONTEXT = 120
"""Characters shown on either side of what matters in a text that is cut."""
LONGEST_MARK = 1200
"""Characters of one marked part that are shown before a cut text is cut inside it."""


def excerpts(length: int, matters: Iterable[Span], most: int) -> tuple[Span, ...]:
    """Which parts of a long text to show: its beginning, and around what matters, until `most` characters are used.

    The most important spans come first in `matters`; the spans found are disjoint, in the order of the text.
    """
    if length <= most:
        return ((0, length),)
    chosen = [(0, min(length, 2 * CONTEXT))]
    left = most - 2 * CONTEXT
    for start, end in matters:
        window = (max(0, start - CONTEXT), min(length, min(end, start + LONGEST_MARK) + CONTEXT))
        cost = _length(merged_spans([*chosen, window])) - _length(chosen)
        if cost <= left:
            chosen = merged_spans([*chosen, window])
            left -= cost
    start, end = chosen[0]
    if len(chosen) == 1:
        chosen = [(start, min(length, end + left))]
    return tuple(chosen)


def merged_spans(spans: Iterable[Span]) -> list[Span]:
    """The same characters as disjoint spans in order."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], end))
        else:
            joined.append((start, end))
    return joined


def _length(spans: Sequence[Span]) -> int:
    return sum(end - start for start, end in spans)


Look = Literal[
    "unsupported", "dangling", "uncited", "misattributed", "unattributed", "check",
    "unknown", "extraneous", "supported", "essential", "remark", "plain",
]  # fmt: skip
"""How a part of a text is shown."""
LOOKS: tuple[Look, ...] = get_args(Look)
"""The most pressing first: where marks overlap, it wins."""
MOST_MARKS = 400
"""Marks shown in one text; of more, the most pressing."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One stretch of a text and what is to be said about it."""

    span: Span
    look: Look
    number: int = 0
    """The claim that it stands for, from 1; 0 for none."""
    repeated: bool = False
    """True for a sentence that says again what another says; lies over other marks."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text that looks the same all along, or a gap."""

    text: str
    look: Look = "plain"
    numbers: tuple[int, ...] = ()
    """The claims that lie here."""
    ends: tuple[int, ...] = ()
    """Those of them that end here."""
    repeated: bool = False
    repeat_ends: bool = False
    """Whether a sentence that says again what another says ends here."""
    left_out: int = 0
    """Characters that were cut here; the text is empty then."""


def pieces(text: str, marks: Sequence[Mark], most: int) -> tuple[Piece, ...]:
    """Cut a text at the borders of its marks.

    Marks may overlap or lie in each other; what reaches beyond the text is clipped. A text of more than `most`
    characters is cut around its most pressing marks. The pieces make up the (harmless) text in order, with gaps where
    it was cut.
    """
    text_length = len(text)
    clipped = [
        Mark((max(0, m.span[0]), min(text_length, m.span[1])), m.look, m.number, m.repeated)
        for m in marks
        if m.span[0] < min(text_length, m.span[1])
    ]
    pressing = sorted(clipped, key=lambda m: (LOOKS.index(m.look), m.span))[:MOST_MARKS]
    shown = excerpts(text_length, (m.span for m in pressing), most)
    found: list[Piece] = []
    at = 0
    for start, end in shown:
        if start > at:
            found.append(Piece("", left_out=start - at))
        found += _cut(text, pressing, start, end)
        at = end
    if at < text_length:
        found.append(Piece("", left_out=text_length - at))
    return tuple(found)


def _cut(text: str, marks: Sequence[Mark], start: int, end: int) -> list[Piece]:
    here = [m for m in marks if m.span[0] < end and m.span[1] > start]
    borders = sorted({start, end, *(b for m in here for b in m.span if start < b < end)})
    found = []
    for a, b in pairwise(borders):
        over = [m for m in here if m.span[0] < b and m.span[1] > a]
        claims = sorted((m for m in over if m.number), key=lambda m: m.number)
        look: Look = min((m.look for m in over), key=LOOKS.index, default="plain")
        found.append(
            Piece(
                sanitize(text[a:b]),
                look,
                tuple(m.number for m in claims),
                tuple(m.number for m in claims if m.span[1] == b or b == end < m.span[1]),
                any(m.repeated for m in over),
                any(m.repeated and m.span[1] == b for m in over),
            )
        )
    return found


VerdictState = Literal["yes", "no", "check", "unknown", "failed", "not asked"]
"""A verdict as it is shown; `check` is a no that the judge isn't sure of."""

MOST_COLUMNS = 12
"""Sources that the matrix shows; of more, those that answer something come first."""
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class VerdictReport:
    """A verdict as it is shown."""

    state: VerdictState
    note: str = ""
    """The judge's explanation with what a check found against it, or the cause of its failure."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """The matrix."""

    sources: tuple[int, ...]
    """The sources shown, by their number from 1."""
    questions: tuple[str, ...]
    places: tuple[tuple[VerdictReport, ...], ...]
    """One row a question: each shown source, all together, the response."""
    left_out: int = 0
    """Sources that aren't shown."""


def state_of(cell: Cell) -> VerdictState:
    """Which of the states a verdict is shown as."""
    match cell:
        case Verdict(value="no", sure=False):
            return "check"
        case Verdict(value=value):
            return value
        case Failure():
            return "failed"
        case None:
            return "not asked"


def verdict_report(cell: Cell) -> VerdictReport:
    """A verdict with what the judge said about it."""
    match cell:
        case Verdict(explanation=why, flag=flag):
            note = f"{why} ({flag})" if why and flag else why or flag
        case Failure(cause=note):
            pass
        case None:
            note = ""
    return VerdictReport(state_of(cell), one_line(note, 400))


def coverage_of(record: Record) -> Coverage | None:
    """The matrix of a case; None if no sub-question was asked of anything."""
    single, together, response = (
        record.verdicts(step) for step in (ANSWERED_BY_ONE, ANSWERED_TOGETHER, ANSWERED_BY_RESPONSE)
    )
    first = single or together or response
    if first is None:
        return None
    rows = range(min(len(first.components), MOST_ROWS))
    count = max((len(row) for row in single.cells), default=0) if single else 0
    answering = [j for j in range(count) if single and any(state_of(row[j]) == "yes" for row in single.cells)]
    others = [j for j in range(count) if j not in set(answering)]
    shown = sorted([*answering, *others][:MOST_COLUMNS])
    places = tuple(
        (
            *(verdict_report(single.cells[i][j]) for j in shown if single),
            *(verdict_report(whole.best()[i] if whole else None) for whole in (together, response)),
        )
        for i in rows
    )
    questions = tuple(one_line(first.components[i].text, 300) for i in rows)
    return Coverage(tuple(j + 1 for j in shown), questions, places, count - len(shown))


def judged(record: Record, step: Step) -> Iterator[tuple[Component, Cell]]:
    """The components that a match judged, each with what counts of its verdicts; none where it wasn't taken."""
    if found := record.verdicts(step):
        yield from zip(found.components, found.best(), strict=True)


SUPPORTED = "supported by what it cites"
BORNE_OUT = "borne out by what is cited"
TOGETHER = "the parts of the response that are supported by what they cite"


@dataclass(frozen=True, slots=True)
class CitationReport:
    """One citation of a segment."""

    name: str
    """As the mark has it."""
    sources: tuple[int, ...]
    """By number from 1; empty where it names none."""
    needed: VerdictState
    """Whether it supports its segment alone, or is needed beside the others; not told of a segment that isn't true."""


@dataclass(frozen=True, slots=True)
class SegmentReport:
    """One segment, or a remark."""

    number: int
    """From 1, in the order of the text; remarks are numbered along."""
    text: str
    span: Span | None
    look: Look
    said: str
    """What came out, in words."""
    citations: tuple[CitationReport, ...]
    against: str
    """What it was checked against, in words; empty where there was nothing to check it against."""
    note: str
    """The judge's explanation, or why it couldn't be judged."""
    elsewhere: str
    """What the judge said of all sources together, where that tells more; else empty."""
    supported_by: int | None
    """The source that supports it though it isn't cited, by number from 1; None where that isn't known."""
    confidence: float | None

    @property
    def notable(self) -> bool:
        """Whether a reader should look at it."""
        return self.look not in ("supported", "remark", "plain") or any(
            c.needed in ("no", "check") for c in self.citations
        )


def segment_reports(record: Record) -> tuple[SegmentReport, ...]:
    """The segments in the order of the text, empty where the response wasn't cut by its citations."""
    return tuple(_segment(number, checked) for number, checked in enumerate(checked_segments(record), 1))


def _segment(number: int, checked: CheckedSegment) -> SegmentReport:
    segment, cell = checked.segment, checked.cell
    look = _look(checked)
    place, elsewhere = verdict_report(cell), verdict_report(checked.elsewhere)
    return SegmentReport(
        number,
        one_line(segment.text, 600),
        segment.span,
        look,
        _said(checked, look),
        _citations(checked),
        "" if look in ("remark", "plain") else checked_against(checked),
        place.note,
        elsewhere.note if checked.kind in ("misattributed", "unattributed") else "",
        None if checked.supported_by is None or not checked.kind else checked.supported_by + 1,
        cell.confidence if isinstance(cell, Verdict) else None,
    )


def _look(checked: CheckedSegment) -> Look:
    """Red only where the judge is sure; a no that it isn't sure of is *check this*."""
    if checked.segment.remark:
        return "remark"
    match state_of(checked.cell):
        case "yes":
            return "supported"
        case "no":
            return cast("Look", checked.kind)
        case "check":
            return "check"
        case "unknown" | "failed":
            return "unknown"
        case "not asked":
            return "plain"


def _said(checked: CheckedSegment, look: Look) -> str:
    match look:
        case "supported":
            return SUPPORTED if checked.segment.citations else BORNE_OUT
        case "check" if checked.kind == "unattributed":
            return "check this: it cites nothing, and perhaps should: a source supports it"
        case "check":
            return f"check this: perhaps {FALSE[checked.kind]}"
        case "unknown":
            return "the judge could not tell" if isinstance(checked.cell, Verdict) else "the judge failed"
        case _:
            return SEGMENT_WORDS[look]


def _citations(checked: CheckedSegment) -> tuple[CitationReport, ...]:
    cited = checked.segment.citations
    told = state_of(checked.cell) == "yes" and len(checked.needed) == len(cited)
    needed = checked.needed if told else (None,) * len(cited)
    return tuple(
        CitationReport(one_line(c.name, 60), tuple(at + 1 for at in c.sources), state_of(cell))
        for c, cell in zip(cited, needed, strict=True)
    )


def checked_against(checked: CheckedSegment) -> str:
    """What the verdict rests on, in words; a segment of which a mark names nothing wasn't held against anything."""
    cited = checked.segment.citations
    if any(not citation.sources for citation in cited):
        return ""
    numbers = sorted({at + 1 for citation in cited for at in citation.sources})
    if not numbers:
        return TOGETHER
    listed = ", ".join(map(str, numbers))
    return f"source {listed}" if len(numbers) == 1 else f"sources {listed} together"
