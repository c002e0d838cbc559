"""The stored runs of a harness: they are begun by the first row, and finished whenever no row is in flight."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ragtriage.core.case import Case, Record
from ragtriage.diagnosis.findings import Finding
from ragtriage.execution.evaluate_file import fingerprints_of
from ragtriage.execution.evaluating import RunSpending
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import BuiltJudge
from ragtriage.readers import Rejected
from ragtriage.runs.case_row import RowsHash
from ragtriage.runs.evaluation_config import EvaluationConfig, judging_stored, to_stored, told_by
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import MADE_BY, About, commit_in
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.store import Answers, RunWriter, Store


@dataclass(slots=True)
class _Kept:
    """One run, and the rows that it holds."""

    number: int
    rows: RowsHash = field(default_factory=RowsHash)


class HarnessRuns:
    """What is evaluated under another name goes into another run; one of them is open at a time.

    Args:
        store: where they are.
        answers: the judge's memory in it.
        built: the judge.
        config: metrics, thresholds and rules.
        framework: what the runs are called by, before their own name.
        made_by: marks them; see `ragtriage.runs.run.MADE_BY`. None for no mark.
    """

    def __init__(
        self,
        store: Store,
        answers: Answers,
        built: BuiltJudge,
        config: EvaluationConfig,
        framework: str,
        made_by: str | None,
    ) -> None:
        self._store, self._answers, self._built, self._config = store, answers, built, config
        self._framework = framework
        self._made_by = {MADE_BY: made_by} if made_by else {}
        self._ledger = built.ledger or Ledger()
        self._kept: dict[str, _Kept] = {}
        self._left: set[str] = set()
        self._open: tuple[str, RunWriter, RunSpending] | None = None

    def begin(self, name: str, rows: Sequence[Case | Rejected]) -> None:
        """Begin a run of rows that are all known, which it keeps in their order."""
        writer, _ = self._writer(name)
        writer.reject(*(row for row in rows if isinstance(row, Rejected) and (row.field or row.twin_of is None)))
        for _ in writer.todo(row for row in rows if isinstance(row, Case)):
            pass  # each has its place now

    def keep(self, name: str, record: Record) -> tuple[Finding, ...]:
        """Keep a record in the run of this name, and return its findings; raises a StoreError where it can't."""
        writer, spending = self._writer(name)
        assessed = self._config.assess(record)
        writer.keep(record, self._config.heading(record, assessed))
        spending.count(self._ledger.spent)
        self._kept[name].rows.add(record.case)
        return assessed.findings

    def leave(self, name: str) -> None:
        """Not all rows of this run come: it ends as one that was interrupted."""
        self._left.add(name)

    def rest(self) -> None:
        """Commit everything and finish the open run; it is continued if further rows come."""
        self._answers.flush()
        if self._open is None:
            return
        name, writer, spending = self._open
        rows = self._kept[name].rows
        spending.count(self._ledger.spent)
        if name in self._left:
            writer.interrupt()
        else:
            identity = self._identity(rows.hexdigest()).hexdigest()
            writer.finish(rows=rows.rows, rows_hash=rows.hexdigest(), identity=identity)
        self._open = self._answers.payer = None
        for key, value in told_by(self._ledger).items():
            self._store.add_to_configuration(writer.number, key, value)

    def close(self) -> None:
        """Finish the open run, and let go of the store."""
        try:
            self.rest()
        finally:
            self._answers.close()
            self._store.close()

    def number(self, name: str = "") -> int:
        """The number of a run that was begun."""
        return self._kept[name].number

    def _writer(self, name: str) -> tuple[RunWriter, RunSpending]:
        if self._open is None or self._open[0] != name:
            self.rest()
            known = self._kept.get(name)
            writer = self._begun(name) if known is None else self._store.resume(known.number)
            self._kept.setdefault(name, _Kept(writer.number))
            self._open = name, writer, RunSpending(writer, self._ledger.spent)
            if self._built.ledger:
                self._answers.payer = self._open[2]  # a kill must not lose what the answers that are kept have cost
        return self._open[1:]

    def _begun(self, name: str) -> RunWriter:
        about = About(commit=commit_in(Path.cwd())).stored()
        judging = judging_stored(self._config, self._built.counting, self._built.embeddings)
        told = to_stored(self._config, ALL_ROWS, {}) | judging
        return self._store.begin(
            self._identity(secrets.token_hex(16)),  # nobody knows the rows yet
            input=f"{self._framework}: {name}" if name else self._framework,
            rows=0,
            judge=self._built.judge.name(),
            configuration={**told, **about, **self._made_by},
        )

    def _identity(self, rows: str) -> RunIdentity:
        judge = self._built.judge
        return RunIdentity(rows, tuple(m.name for m in self._config.metrics), fingerprints_of(self._config, judge))
