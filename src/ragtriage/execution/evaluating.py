"""Cases are evaluated into a writer: the one loop that every command, test session and process runs."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from ragtriage.core.case import Case
from ragtriage.core.errors import StoreError
from ragtriage.core.record import Record
from ragtriage.diagnosis import Finding
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.build import BuiltJudge
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.place import RecordWriter
from ragtriage.runs.tally import SlicedTally


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What cases are evaluated by, and where their records go.

    Args:
        judge: who judges.
        config: metrics, thresholds and rules.
        writer: keeps the records.
        tally: counts them as they are kept.
        on_failure: called where a record can't be kept: nothing more should be asked then.
    """

    judge: BuiltJudge
    config: EvaluationConfig
    writer: RecordWriter
    tally: SlicedTally
    on_failure: Callable[[StoreError], None] = lambda _: None
    _found: dict[str, tuple[Finding, ...]] = field(default_factory=dict)
    """Of the records that were kept and not yet told, by the ids of their cases."""

    def run(self, cases: Iterable[Case], done: Callable[[Record, tuple[Finding, ...]], None]) -> None:
        """Evaluate cases; they are read lazily.

        Args:
            cases: those that aren't done yet.
            done: called with every record that was kept, and its findings.

        Raises:
            Stopped: the judge may ask nothing more. What was kept before stays, also below.
            JudgeError: the judge can't work at all.
            StoreError: a record, or an answer, can't be kept.
        """
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
        """See `ragtriage.core.record.Sink`."""
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
