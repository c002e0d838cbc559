"""A file of cases becomes a stored run: one pass to know the file, then the evaluation, continued if it was cut off."""

from __future__ import annotations

import gc
import hashlib
import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.core.options import WINDOW
from ragtriage.core.questions import KINDS
from ragtriage.core.record import Record
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis import RULES, Rule, needs_of
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.build import ConfiguredJudge
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.protocol import Judge
from ragtriage.judges.wrappers import Cached
from ragtriage.metrics import metric_named
from ragtriage.metrics.definitions import definition_of, metric_from, named_only, version_of
from ragtriage.metrics.optional import optional_data_of
from ragtriage.readers import CaseFile, Rejected
from ragtriage.runs.tally import Assessment, Criteria
from ragtriage.store import RunIdentity, RunInfo, Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

UNKNOWN_LANGUAGE = "und"
"""ISO 639-2 for a language that nobody could tell."""

REMEMBERED = 10
"""Rejected rows that are kept to be shown; all are counted and stored."""

TOO_MANY_REJECTED = 0.1
"""Share of unusable rows from which on a run counts as incomplete."""


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of a file's usable rows are evaluated."""

    limit: int | None = None
    """The first so many."""
    sample: int | None = None
    """So many at random, the same ones for the same seed."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Repetition:
    """Which one of several evaluations of the same cases."""

    trial: int = 0
    """From 0; each has answers of its own."""
    times: int = 1
    """How many there are to be."""
    first: int | None = None
    """The number of the first one's run; None in the first."""


class SelectedRows:
    """The rows of a file that are evaluated; read as often as needed, in the file's order.

    Args:
        file: the cases.
        selection: which of them.
    """

    def __init__(self, file: CaseFile, selection: Selection) -> None:
        self._file, self._selection = file, selection
        self._sampled: frozenset[bytes] | None = None
        if selection.sample is not None:
            # the smallest lots, so that the rows' order doesn't matter
            cases = (row for row in file.rows() if isinstance(row, Case))
            self._sampled = frozenset(heapq.nsmallest(selection.sample, map(self._lot, cases)))

    def cases(self, reject: Callable[[Rejected], None]) -> Iterator[Case]:
        """The cases, streamed; rows that can't be used are handed to `reject` as they come."""
        count = 0
        for row in self._file.rows():
            if isinstance(row, Rejected):
                reject(row)
            elif self._sampled is None or self._lot(row) in self._sampled:
                yield row
                count += 1
                if count == self._selection.limit:
                    return

    def _lot(self, case: Case) -> bytes:
        named = f"{self._selection.seed}:{case.id}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(named, digest_size=16).digest()


@dataclass(slots=True)
class Survey:
    """What one pass over the file found out, before anything is judged."""

    selected: int = 0
    """Usable rows that are to be evaluated."""
    rejected: int = 0
    """Rows that can't be used, as far as the file was read."""
    first_rejected: list[Rejected] = field(default_factory=list)
    conversations: int = 0
    """Selected rows with a conversation before the query."""
    carried: Counter[str] = field(default_factory=Counter)
    """What selected rows carry that only some metrics need → how many do; see `ragtriage.metrics.optional`."""
    cut_off: bool = False
    """Whether the file couldn't be read to its end."""

    @property
    def incomplete(self) -> bool:
        """Whether so many rows are unusable, or unread, that the numbers don't stand for the file."""
        return self.cut_off or self.rejected > TOO_MANY_REJECTED * (self.selected + self.rejected)

    def select(self, case: Case) -> None:
        """Count a usable row."""
        self.selected += 1
        self.conversations += bool(case.history)
        self.carried.update(optional_data_of(case))

    def reject(self, row: Rejected) -> None:
        """Count an unusable row."""
        self.rejected += 1
        self.cut_off = self.cut_off or row.ends
        if len(self.first_rejected) < REMEMBERED:
            self.first_rejected.append(row)


class FileRun:
    """One evaluation of one file in a store; use it as a context manager.

    Opening it reads the file once without judging anything, and begins a run or goes on with the one that was cut off.

    Args:
        file: the cases.
        judge: who judges: what a command chose, or any judge, around which a cache is put.
        store: where the run is kept.
        criteria: what to compute, and by what it is read.
        selection: which rows.
        name: the file as the user named it.
        repetition: which one it is, where the same is evaluated several times.

    Raises:
        InputError: no row can be used.
        StoreError: the store can't be written.
    """

    def __init__(
        self,
        file: CaseFile,
        judge: Judge | ConfiguredJudge,
        store: Store,
        criteria: Criteria,
        selection: Selection,
        name: str,
        *,
        repetition: Repetition = Repetition(),
    ) -> None:
        self._file, self._store = file, store
        trial = repetition.trial
        self._chosen_judge = judge if isinstance(judge, ConfiguredJudge) else None
        self.judge: Judge = (
            judge.judge(store.answers(), tickets=store.tickets(), trial=trial)
            if isinstance(judge, ConfiguredJudge)
            else Cached(judge, store.answers(), trial=trial)
        )
        self._criteria, self._selection = criteria, selection
        self._rows = SelectedRows(file, selection)
        self._exit = ExitStack()
        self.survey = Survey()
        rows = store.survey(name)
        for case in self._rows.cases(self.survey.reject):
            rows.add(case)
            self.survey.select(case)
        if not self.survey.selected:
            first = f"; the first: {self.survey.first_rejected[0]}" if self.survey.first_rejected else ""
            raise InputError(f"{name}: none of its {self.survey.rejected} rows can be used{first}")
        fingerprints: dict[str, str] = {kind: self.judge.fingerprint(kind) for kind in KINDS}
        # which languages are judged changes no answer, but which scores are undefined
        fingerprints |= {f"metric {m.name}": version_of(m) for m in criteria.metrics if not metric_named(m.name)}
        fingerprints["any language"] = str(self.judge.unsupported_reason("supported", UNKNOWN_LANGUAGE) is None)
        names = tuple(m.name for m in criteria.metrics)
        identity = RunIdentity(rows.hexdigest(), names, fingerprints, trial)
        unfinished = self._cut_off(identity, repetition)
        self.done = 0
        """How many cases were evaluated before."""
        self.announcement: str
        """What a person is told: whether a run is continued, and how much is new."""
        settings = configuration_of(criteria, selection, file.mapping)
        if unfinished is not None:
            self.run = self._exit.enter_context(store.resume(unfinished, configuration=settings))
            self.done = store.run(unfinished).info.done
            self.announcement = f"continuing run {unfinished}: {self.done} of {self.survey.selected}"
        else:
            begun = store.begin(
                identity,
                input=name,
                rows=self.survey.selected,
                judge=self.judge.name(),
                configuration=settings,
                trial=trial,
                repeats=repetition.first,
            )
            self.run = self._exit.enter_context(begun)
            changed = rows.changed_since_last()
            many = "1 row" if changed == 1 else f"{changed} rows"
            news = "" if changed is None else f": {many} changed since run {rows.last_run}"
            self.announcement = f"new run {self.run.number}{news}"

        self._before = (self.run.cost, self.run.requests, self.run.tokens_in, self.run.tokens_out)
        self._ledger = self._chosen_judge.ledger if self._chosen_judge else Ledger()
        self._ledger.spent_before += self.run.cost
        self._start = (
            self._ledger.cost, self._ledger.requests, self._ledger.tokens_in, self._ledger.tokens_out
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._exit.__exit__(*error)  # type: ignore[arg-type]  # handed on as it came

    def records(self, assessment: Assessment) -> Iterator[Record]:
        """Evaluate what is left, counting every record; those from before are counted first, without being yielded.

        Raises:
            JudgeError: the judge can't work at all.
            StoreError: a record can't be kept. What was kept before stays.
        """
        if self.done:
            for record in self._store.run(self.run.number).records():
                if not any(isinstance(o, Undefined) and o.failed for o in record.outcomes.values()):
                    assessment.add(record)
        flights = self._chosen_judge.window if self._chosen_judge else WINDOW
        answers = self._store.answers()
        if self._chosen_judge and self._chosen_judge.paid:
            answers.beside = self._keep_spending  # a kill must not lose what the answers that are kept have cost
        try:
            with _settled():
                for record in evaluate_sync(
                    self.left(),
                    self.judge,
                    metrics=self._criteria.metrics,
                    also=self.also,
                    sink=self.run,
                    window=flights,
                ):
                    self._count_spending()
                    assessment.add(record)
                    yield record
        finally:
            answers.beside = None
            self._count_spending()
            answers.flush()
            if self._chosen_judge:
                self._chosen_judge.settle()
        self.run.finish()

    @property
    def also(self) -> tuple[Step, ...]:
        """The steps that the diagnosis needs beside the metrics' own."""
        names = {m.name for m in self._criteria.metrics}
        return needs_of(rule for rule in self._criteria.rules if names >= set(rule.when))

    def left(self) -> Iterator[Case]:
        """The cases that aren't evaluated yet, or failed."""
        return self.run.todo(self._rows.cases(self.run.reject))

    def _cut_off(self, identity: RunIdentity, repetition: Repetition) -> int | None:
        """The run to go on with: one that was cut off, or, where a later repetition was, the one that stands for this.

        Raises:
            StoreError: the store can't be read.
        """
        found = self._store.unfinished(identity)
        if found is not None:
            return found
        if repetition.first is not None:
            own = identity.hexdigest()
            runs = (info for info in self._store.runs() if info.repeats == repetition.first)
            return next((info.number for info in runs if info.identity == own), None)
        for trial in range(1, repetition.times):
            later = self._store.unfinished(replace(identity, trial=trial))
            if later is not None:
                return self._store.run(later).info.repeats
        return None

    def _keep_spending(self, connection: Connection) -> None:
        self._count_spending()
        self.run.keep_spending(connection)

    def _count_spending(self) -> None:
        """What this command spent goes on top of what earlier continuations of the run did."""
        run, ledger, before, start = self.run, self._ledger, self._before, self._start
        run.cost = before[0] + ledger.cost - start[0]
        run.requests = before[1] + ledger.requests - start[1]
        run.tokens_in = before[2] + ledger.tokens_in - start[2]
        run.tokens_out = before[3] + ledger.tokens_out - start[3]


@contextmanager
def _settled() -> Iterator[None]:
    """Spare the garbage collector what lives already: it would go through all packages again and again for nothing.

    That took a twentieth of the processor time of an evaluation by a language model, a sixth of a second at a time.
    Whoever has frozen objects of their own keeps them so.
    """
    own = gc.get_freeze_count() == 0
    if own:
        gc.freeze()
    try:
        yield
    finally:
        if own:
            gc.unfreeze()


def configuration_of(criteria: Criteria, selection: Selection, mapping: Mapping[str, str]) -> dict[str, Any]:
    """What is stored with a run so that it can be shown as it was judged."""
    return {
        "thresholds": dict(criteria.thresholds),
        "rules": [asdict(rule) for rule in criteria.rules if rule.origin == "yours"],
        "metrics": [definition_of(m) for m in criteria.metrics if not metric_named(m.name)],
        "selection": asdict(selection),
        "mapping": dict(mapping),
    }


def criteria_of(info: RunInfo, thresholds: Mapping[str, float]) -> Criteria:
    """The criteria that a stored run was judged by, with thresholds of one's own instead where they are given.

    Metrics of one's own are shown as they were defined then; their files aren't loaded.
    """
    mine = {definition["name"]: metric_from(definition) for definition in info.configuration.get("metrics", ())}
    metrics = tuple(metric_named(name) or mine.get(name) or named_only(name) for name in info.metrics)
    own = tuple(Rule(**rule) for rule in info.configuration.get("rules", ()))
    stored = info.configuration.get("thresholds", {})
    return Criteria(metrics, {**stored, **thresholds}, RULES + own)
