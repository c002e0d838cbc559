"""What was found out about each segment of a response that cites its sources: a pure reading of a record."""

from __future__ import annotations

from dataclasses import dataclass

from ragtriage.metrics.citations import (
    EACH_ALONE,
    ELSEWHERE,
    ROUND_ONE,
    ROUND_TWO,
    WITHOUT_EACH,
    citations_needed,
    kind_of,
)
from ragtriage.metrics.decompositions import SEGMENTS
from ragtriage.record import Record
from ragtriage.steps import Match
from ragtriage.verdicts import Cell, Component, Verdicts, highest


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
    needed: tuple[Cell, ...] = ()
    """On each of its citations, in their order; empty where that wasn't asked."""


def checked_segments(record: Record) -> tuple[CheckedSegment, ...]:
    """The segments of a case in the order of the text, remarks included; empty where the response wasn't cut."""
    listed = record.steps.get(str(SEGMENTS))
    if not isinstance(listed, tuple):
        return ()
    judged = [segment for segment in listed if not segment.remark]
    one, two, elsewhere = (_cells(record, step, len(judged)) for step in (ROUND_ONE, ROUND_TWO, ELSEWHERE))
    needed = _needed(record, len(judged))
    checked = iter(
        CheckedSegment(segment, cell := highest(pair), kind_of(segment, cell, other), other, own)
        for segment, pair, other, own in zip(judged, zip(one, two, strict=True), elsewhere, needed, strict=True)
    )
    return tuple(CheckedSegment(segment) if segment.remark else next(checked) for segment in listed)


def _cells(record: Record, step: Match, count: int) -> tuple[Cell, ...]:
    known = record.steps.get(str(step))
    return known.best() if isinstance(known, Verdicts) else (None,) * count


def _needed(record: Record, count: int) -> tuple[tuple[Cell, ...], ...]:
    found = [record.steps.get(str(step)) for step in (ROUND_ONE, EACH_ALONE, WITHOUT_EACH)]
    verdicts = [known for known in found if isinstance(known, Verdicts)]
    return citations_needed(*verdicts) if len(verdicts) == len(found) else ((),) * count
