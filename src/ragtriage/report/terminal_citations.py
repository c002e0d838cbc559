"""The segments of one case in the terminal, each with what it was checked against."""

from __future__ import annotations

from collections.abc import Iterator

from rich.text import Text

from ragtriage.report.citations import CitationView, SegmentView
from ragtriage.report.terminal_style import LOOK_STYLE
from ragtriage.report.view import CaseView
from ragtriage.report.words import Signs, plural


def segment_lines(view: CaseView, signs: Signs) -> Iterator[Text]:
    """One segment after another, as they stand in the response."""
    for segment in view.segments:
        style = LOOK_STYLE[segment.look]
        line = Text(f"{signs.looks[segment.look] or ' '}{segment.number} ", style=style)
        line.append(segment.text, style=style if segment.look == "remark" else "")
        for citation in segment.citations:
            line.append(f" [{_cited(citation, signs)}]", style="dim")
        line.append(f" {signs.dash} ", style="dim")
        line.append(segment.said, style=style)
        if segment.look != "remark":
            line.append(_told(segment), style="dim")
        yield line
    if view.segments_left_out:
        yield Text(f"{plural(view.segments_left_out, 'more segment')} not listed", style="dim")
    if view.unread:
        yield Text(f"not read as citation marks: {view.unread}", style="dim")


def _cited(citation: CitationView, signs: Signs) -> str:
    """A mark, with the source that it names where that isn't what it says, and a sign where it can be spared."""
    numbers = ", ".join(map(str, citation.sources))
    said = citation.name if numbers in ("", citation.name) else f"{citation.name}: source {numbers}"
    return said + (f" {signs.states['no']} not needed" if citation.needed == "no" and citation.sources else "")


def _told(segment: SegmentView) -> str:
    """What it was checked against, and what was said of it."""
    said = f"; checked against {segment.against}" if segment.against else ""
    said += f": {segment.note}" if segment.note else ""
    if not segment.elsewhere and segment.supported_by is None:
        return said
    told = "against all sources" if segment.supported_by is None else f"source {segment.supported_by} supports it"
    return f"{said}; {told}: {segment.elsewhere}" if segment.elsewhere else f"{said}; {told}"
