"""What happens while a file is evaluated, as values: a command prints them, a monitor or a viewer can follow them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ragtriage.core.display import plural
from ragtriage.core.record import Record
from ragtriage.diagnosis import Finding
from ragtriage.runs.selection import RowCounts

INTERRUPTED = "interrupted: give the same command again to go on where it stopped"
"""Why a run stopped after Ctrl-C."""


@dataclass(frozen=True, slots=True)
class RowsRead:
    """The file was read once; nothing is judged yet."""

    rows: RowCounts
    history_ignored: bool
    """Whether the judge can't take a conversation before a query into account."""


@dataclass(frozen=True, slots=True)
class RunStarted:
    """A new run begins."""

    number: int
    total: int
    """Cases that the run has."""
    changed: int | None = None
    """Rows that are new or differ from the last finished run of the same file; None if there is none."""
    previous: int | None = None
    """The number of that run."""
    trial: int = 0
    """Which repetition it is, from 0."""

    def __str__(self) -> str:
        if self.changed is None:
            return f"new run {self.number}"
        return f"new run {self.number}: {plural(self.changed, 'row')} changed since run {self.previous}"


@dataclass(frozen=True, slots=True)
class RunResumed:
    """A run that was cut off is continued."""

    number: int
    total: int
    done: int
    """Cases that were evaluated before."""
    trial: int = 0

    def __str__(self) -> str:
        return f"continuing run {self.number}: {self.done} of {self.total}"


@dataclass(frozen=True, slots=True)
class CaseDone:
    """A case was evaluated and stored."""

    record: Record
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class RunStopped:
    """A run ended before all its cases were evaluated; it can be continued."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class RunFinished:
    """All cases of a run were evaluated."""

    number: int


Event = RowsRead | RunStarted | RunResumed | CaseDone | RunStopped | RunFinished
Listener = Callable[[Event], None]
