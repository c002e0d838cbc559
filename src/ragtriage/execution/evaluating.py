"""Cases are evaluated into a writer: the one loop that every command, test session and process runs.

And what is told meanwhile: what happens, as values (a command prints them, a monitor or a viewer can follow them).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from ragtriage.core.case import Case, Record
from ragtriage.core.display import plural
from ragtriage.core.errors import StoreError
from ragtriage.diagnosis.findings import Finding
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.build import BuiltJudge
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.selection import RowCounts
from ragtriage.runs.tally import SlicedTally
from ragtriage.store import RunWriter
from ragtriage.store.folder_writer import FolderWriter

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


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What cases are evaluated by, and where their records go.

    `on_failure` is called where a record can't be kept: nothing more should be asked then.
    """

    judge: BuiltJudge
    config: EvaluationConfig
    writer: RunWriter | FolderWriter
    tally: SlicedTally
    on_failure: Callable[[StoreError], None] = lambda _: None
    _found: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    """Of the records that were kept and not yet told, by the ids of their cases."""

    def run(self, cases: Iterable[Case], done: Callable[[Record, tuple[Finding, ...]], None]) -> None:
        """Evaluate cases; they are read lazily. `done` is called with every record that was kept, and its findings."""
        records = evaluate_sync(
            cases,
            self.judge.judge,
            metrics=self.config.metrics,
            also=self.config.diagnosis_steps,
            sink=self,
            window=self.judge.window,
        )
        with _frozen_garbage_collector(), closing(records):  # type: ignore[type-var]  # a generator
            for record in records:
                done(record, self._found.pop(record.case.id))

    def keep(self, record: Record) -> None:
        """See `ragtriage.core.case.Sink`."""
        assessed = self.config.assess(record)
        try:
            self.writer.keep(record, self.config.heading(record, assessed))
        except StoreError as error:
            self.on_failure(error)
            raise
        self._found[record.case.id] = self.tally.add(record, assessed)


@contextmanager
def _frozen_garbage_collector() -> Iterator[None]:
    """Keep the garbage collector from going through all loaded packages again and again.

    That took a twentieth of the processor time of an evaluation by a language model, a sixth of a second at a time.
    Objects that the caller has frozen stay frozen.
    """
    own = gc.get_freeze_count() == 0
    if own:
        gc.freeze()
    try:
        yield
    finally:
        if own:
            gc.unfreeze()
