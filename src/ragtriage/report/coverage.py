"""Which sub-question is answered by which source, by all of them together, and by the response."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from ragtriage.core.record import Record
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Cell, Component, Failure, Verdict
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_BY_RESPONSE, ANSWERED_TOGETHER
from ragtriage.text.sanitize import one_line

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
