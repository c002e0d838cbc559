"""The segments of a response with what each cites, what it was checked against and what came out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from ragtriage.core.record import Record
from ragtriage.core.verdicts import Span, Verdict
from ragtriage.diagnosis.citations import CheckedSegment, checked_segments
from ragtriage.metrics.citations import FALSE
from ragtriage.report.coverage import State, state_of, verdict_report
from ragtriage.report.marks import Look
from ragtriage.report.words import SEGMENT_WORDS
from ragtriage.text.sanitize import one_line

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
