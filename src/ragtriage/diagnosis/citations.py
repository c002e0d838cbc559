"""What was found out about each segment of a response that cites its sources: a pure reading of a record."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragtriage.core.case import Case
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Cell, Component, Verdict, highest
from ragtriage.metrics.aggregate import SEGMENTS
from ragtriage.metrics.citations import (
    EACH_ALONE,
    ELSEWHERE,
    ROUND_ONE,
    ROUND_TWO,
    WITHOUT_EACH,
    citations_needed,
    fault_kind,
)

_QUOTE = re.compile(r"“([^“”]{8,})”")
_ELLIPSIS = re.compile(r"\s*(?:…|\.\.\.)\s*")


@dataclass(frozen=True, slots=True)
class CheckedSegment:
    """One segment with the verdicts on it."""

    segment: Component
    cell: Cell = None
    """Of the round that it was checked in; None for a remark, and where it wasn't asked."""
    kind: str = ""
    """Why it is false, a key of `ragtriage.metrics.citations.FALSE`; empty if it isn't."""
    elsewhere: Cell = None
    """Against all sources together; None where that wasn't asked."""
    supported_by: int | None = None
    """The source, by position from 0, in which alone the words stand that the judge quotes for a yes against all of
    them; None where the quotes don't tell."""
    needed: tuple[Cell, ...] = ()
    """On each of its citations, in their order; empty where that wasn't asked."""


def checked_segments(record: Record) -> tuple[CheckedSegment, ...]:
    """The segments of a case in the order of the text, remarks included; empty where the response wasn't cut."""
    listed = record.components(SEGMENTS) or ()
    judged = [segment for segment in listed if not segment.remark]
    unasked = (None,) * len(judged)
    rounds = [record.verdicts(step) for step in (ROUND_ONE, ROUND_TWO, ELSEWHERE)]
    one, two, elsewhere = (found.best() if found else unasked for found in rounds)
    checks = [found for step in (ROUND_ONE, EACH_ALONE, WITHOUT_EACH) if (found := record.verdicts(step))]
    needed = citations_needed(*checks) if len(checks) == 3 else ((),) * len(judged)
    checked = iter(
        CheckedSegment(
            segment,
            cell := highest(pair),
            fault_kind(segment, cell, other),
            other,
            source_quoted(record.case, other),
            own,
        )
        for segment, pair, other, own in zip(judged, zip(one, two, strict=True), elsewhere, needed, strict=True)
    )
    return tuple(CheckedSegment(segment) if segment.remark else next(checked) for segment in listed)


def source_quoted(case: Case, cell: Cell) -> int | None:
    """The one source, by position from 0, in which stands what a judge quotes for its yes; None where that isn't one.

    Case and spaces apart; a quote of which pieces stand in several sources doesn't tell, and neither do two quotes from
    different ones.
    """
    if not isinstance(cell, Verdict) or cell.value != "yes":
        return None
    texts = [_folded(source.text) for source in case.sources]
    found: set[int] = set()
    for quote in _QUOTE.findall(cell.explanation):
        pieces = [piece for part in _ELLIPSIS.split(quote) if (piece := _folded(part))]
        holding = [at for at, text in enumerate(texts) if pieces and all(piece in text for piece in pieces)]
        if len(holding) == 1:
            found.add(holding[0])
    return found.pop() if len(found) == 1 else None


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
