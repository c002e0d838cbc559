"""Which sub-question is answered by which source, and what each segment of a response cites and was checked against."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

from ragtriage.core.case import Record
from ragtriage.core.display import one_line
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Cell, Component, Failure, Span, Verdict
from ragtriage.metrics.citations import FALSE, CheckedSegment, checked_segments
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_BY_RESPONSE, ANSWERED_TOGETHER
from ragtriage.report.marks import Look
from ragtriage.report.words import SEGMENT_WORDS

State = Literal["yes", "no", "check", "unknown", "failed", "not asked"]
"""A verdict as it is shown; `check` is a no that the judge isn't sure of."""

MOST_COLUMNS = 12
"""Sources that the matrix shows; of more, those that answer something come first."""
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class VerdictReport:
    """A verdict as it is shown."""

    state: State
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


def state_of(cell: Cell) -> State:
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
    needed: State
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
