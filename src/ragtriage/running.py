"""A file of cases becomes a stored run: one pass to know the file, then the evaluation, continued if it was cut off."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from ragtriage.assessment import Assessment, Criteria
from ragtriage.case import Case
from ragtriage.diagnosis import RULES, Rule, needs_of
from ragtriage.errors import InputError
from ragtriage.evaluation import evaluate_sync
from ragtriage.judges.protocol import Judge
from ragtriage.judges.questions import KINDS
from ragtriage.judges.wrappers import Cached
from ragtriage.metric import Metric
from ragtriage.metrics import METRICS, metrics_named
from ragtriage.readers import CaseFile, Rejected
from ragtriage.record import Record
from ragtriage.store import RunIdentity, RunInfo, Store
from ragtriage.verdicts import Undefined

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
    cut_off: bool = False
    """Whether the file couldn't be read to its end."""

    @property
    def incomplete(self) -> bool:
        """Whether so many rows are unusable, or unread, that the numbers don't stand for the file."""
        return self.cut_off or self.rejected > TOO_MANY_REJECTED * (self.selected + self.rejected)

    def reject(self, row: Rejected) -> None:
        """Count an unusable row."""
        self.rejected += 1
        self.cut_off = self.cut_off or row.ends
        if len(self.first_rejected) < REMEMBERED:
            self.first_rejected.append(row)


class FileRun:
    """One evaluation of one file in a store; use it as a context manager.

    Opening it reads the file once without judging anything, and begins a run or goes on with the one that was cut off.

    Raises:
        InputError: no row can be used.
        StoreError: the store can't be written.
    """

    def __init__(
        self, file: CaseFile, judge: Judge, store: Store, criteria: Criteria, selection: Selection, name: str
    ) -> None:
        self._file, self._judge, self._store = file, judge, store
        self._criteria, self._selection = criteria, selection
        self._chosen = _sampled(file, selection)
        self._exit = ExitStack()
        self.survey = Survey()
        rows = store.survey(name)
        for case in self._cases(self.survey.reject):
            rows.add(case)
            self.survey.selected += 1
            self.survey.conversations += bool(case.history)
        if not self.survey.selected:
            first = f"; the first: {self.survey.first_rejected[0]}" if self.survey.first_rejected else ""
            raise InputError(f"{name}: none of its {self.survey.rejected} rows can be used{first}")
        fingerprints: dict[str, str] = {kind: judge.fingerprint(kind) for kind in KINDS}
        # which languages are judged changes no answer, but which scores are undefined
        fingerprints["any language"] = str(judge.can("supported", UNKNOWN_LANGUAGE) is None)
        names = tuple(m.name for m in criteria.metrics)
        identity = RunIdentity(rows.hexdigest(), names, fingerprints)
        unfinished = store.unfinished(identity)
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
                identity, input=name, rows=self.survey.selected, judge=judge.name(), configuration=settings
            )
            self.run = self._exit.enter_context(begun)
            changed = rows.changed_since_last()
            many = "1 row" if changed == 1 else f"{changed} rows"
            news = "" if changed is None else f": {many} changed since run {rows.last_run}"
            self.announcement = f"new run {self.run.number}{news}"

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
        answers = self._store.answers()
        cases = self.run.todo(self._cases(self.run.reject))
        names = {m.name for m in self._criteria.metrics}
        also = needs_of(rule for rule in self._criteria.rules if names >= set(rule.when))
        judge = Cached(self._judge, answers)
        for record in evaluate_sync(cases, judge, metrics=self._criteria.metrics, also=also, sink=self.run):
            assessment.add(record)
            yield record
        answers.flush()
        self.run.finish()

    def _cases(self, reject: Callable[[Rejected], None]) -> Iterator[Case]:
        """The selected cases, streamed; rows that can't be used are handed to `reject` as they come."""
        count = 0
        for row in self._file.rows():
            if isinstance(row, Rejected):
                reject(row)
            elif self._chosen is None or _lot(row, self._selection.seed) in self._chosen:
                yield row
                count += 1
                if count == self._selection.limit:
                    return


def configuration_of(criteria: Criteria, selection: Selection, mapping: Mapping[str, str]) -> dict[str, Any]:
    """What is stored with a run so that it can be shown as it was judged."""
    own = [asdict(rule) for rule in criteria.rules if rule.origin == "yours"]
    return {
        "thresholds": dict(criteria.thresholds),
        "rules": own,
        "selection": asdict(selection),
        "mapping": dict(mapping),
    }


def criteria_of(info: RunInfo, thresholds: Mapping[str, float]) -> Criteria:
    """The criteria that a stored run was judged by, with thresholds of one's own instead where they are given."""
    known = {m.name for m in METRICS}
    metrics: Sequence[Metric] = metrics_named(n for n in info.metrics if n in known or "(" in n)
    own = tuple(Rule(**rule) for rule in info.configuration.get("rules", ()))
    stored = info.configuration.get("thresholds", {})
    return Criteria(tuple(metrics), {**stored, **thresholds}, RULES + own)


def _sampled(file: CaseFile, selection: Selection) -> frozenset[bytes] | None:
    """The lots of the sampled cases: the smallest, so that the rows' order doesn't matter; None if all are wanted."""
    if selection.sample is None:
        return None
    cases = (row for row in file.rows() if isinstance(row, Case))
    return frozenset(heapq.nsmallest(selection.sample, (_lot(case, selection.seed) for case in cases)))


def _lot(case: Case, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{case.id}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
