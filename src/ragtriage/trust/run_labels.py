"""Labels joined with the run that they are about: which components a metric shows, and what people said of some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ragtriage.core.metric import Metric
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Part, Score, Verdict
from ragtriage.trust.correction import NO, UNKNOWN, YES, Correction, Numbers, Sample, corrected
from ragtriage.trust.labels import Label

PICKED = "picked on purpose, not drawn at random: they would bias an estimate"
SKIPPED = "skipped by whoever labelled"
OTHER_RUN = "about another run"
NO_METRIC = "of a metric that the run doesn't have"
CHANGED = "of a component that the run doesn't have like this: its text or verdict is another"
_NEAR = 1e-9


@dataclass(frozen=True, slots=True)
class Labelled:
    """One metric's components in a run, with labels; arrays have the shape (n,), cases are numbered from 0."""

    metric: Metric
    cases: tuple[str, ...]
    """Their ids."""
    case: Numbers
    weight: Numbers
    """The case's weight divided by how many components it shows."""
    said: Numbers
    """NO, YES or UNKNOWN, as the metric counts it and people label it: yes speaks for the answer."""
    score: Numbers
    """The judge's probability of that yes; NaN where it gave none, or where its no is what speaks for the answer."""
    truth: Numbers
    """What people said, the mean of several; NaN where nobody did."""
    chance: Numbers
    """With which a labelled component was drawn; NaN for the others."""
    value: Numbers
    """Shape (cases,): the score as the run has it."""
    case_weight: Numbers
    """Shape (cases,)."""
    counts: str
    """Which answer the score is the share of, `yes` or `no`; empty where it isn't such a share."""

    @property
    def labels(self) -> int:
        """How many components are labelled."""
        return int(np.count_nonzero(~np.isnan(self.truth)))

    @property
    def raw(self) -> float:
        """The mean as the run has it."""
        return float(np.average(self.value, weights=self.case_weight))

    def correction(self) -> Correction | None:
        """The corrected mean; None with too few labels, or if the score isn't a share of its components."""
        if not self.counts:
            return None
        said, truth = self.said, self.truth
        if self.counts == "no":
            said = np.select([said == YES, said == NO], [NO, YES], UNKNOWN)
            truth = 1.0 - truth
        return corrected(Sample(self.case, self.weight, said, truth, self.chance), self.raw)

    def true_values(self) -> Numbers:
        """Shape (cases,): the score by people's labels; NaN where not all of a case's components are labelled."""
        truth = 1.0 - self.truth if self.counts == "no" else self.truth
        sizes = np.bincount(self.case, minlength=len(self.cases))
        sums: Numbers = np.bincount(self.case, truth, len(self.cases))  # NaN where one is
        return sums / sizes


@dataclass(frozen=True, slots=True)
class Joined:
    """The labels of one run."""

    metrics: tuple[Labelled, ...]
    """Those that have labels, in the order of the run."""
    unused: Mapping[str, int] = field(default_factory=dict)
    """Reason → how many labels weren't used."""


def join(run: Iterable[str], metrics: Sequence[Metric], records: Iterable[Record], labels: Sequence[Label]) -> Joined:
    """Find every label's component in a run.

    Args:
        run: what labels call this run.
        metrics: the run's.
        records: its cases, read once.
        labels: of this run or others.
    """
    names = frozenset(run)
    unused: Counter[str] = Counter()
    wanted: dict[tuple[str, str, int], list[Label]] = {}
    computed = {metric.name for metric in metrics}
    for label in labels:
        if reason := _refused(label, names, computed):
            unused[reason] += 1
        else:
            wanted.setdefault((label.metric, label.case, label.component), []).append(label)
    labelled = {metric for metric, _, _ in wanted}
    columns = {metric.name: _Column(metric) for metric in metrics if metric.name in labelled}
    for record in records:
        for column in columns.values():
            column.add(record, wanted)
    for column in columns.values():
        unused[CHANGED] += column.changed
    unused[CHANGED] += sum(len(left) for left in wanted.values())  # what no case has taken
    found = tuple(column.joined() for column in columns.values() if column.truth)
    return Joined(found, {reason: count for reason, count in unused.items() if count})


def _refused(label: Label, run: frozenset[str], metrics: set[str]) -> str:
    if label.run not in run:
        return OTHER_RUN
    if label.metric not in metrics:
        return NO_METRIC
    if label.label is None:
        return SKIPPED
    return PICKED if label.chance is None or label.pick != "random" else ""


class _Column:
    """One metric, gathered case by case."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.changed = 0
        self.cases: list[str] = []
        self.case: list[int] = []
        self.weight: list[float] = []
        self.said: list[int] = []
        self.score: list[float] = []
        self.truth: dict[int, float] = {}
        self.chance: dict[int, float] = {}
        self.value: list[float] = []
        self.case_weight: list[float] = []
        self._counts = {"yes", "no"}

    def add(self, record: Record, wanted: dict[tuple[str, str, int], list[Label]]) -> None:
        """Take one case, and its labels out of those that are wanted."""
        outcome = record.outcomes.get(self.metric.name)
        if not isinstance(outcome, Score):
            return
        # what wasn't asked is neither in the score nor can it be drawn
        parts = [(place, part, part.cell) for place, part in enumerate(outcome.parts) if isinstance(part.cell, Verdict)]
        self._counts &= _shares(outcome)
        for place, part, cell in parts:
            given = wanted.pop((self.metric.name, record.case.id, place), [])
            fitting = [label for label in given if _same(label, part)]
            self.changed += len(given) - len(fitting)
            if fitting:
                self.truth[len(self.case)] = sum(bool(label.label) for label in fitting) / len(fitting)
                self.chance[len(self.case)] = max(label.chance or 0.0 for label in fitting)
            straight = part.good is None or part.good == (cell.value == "yes")
            self.case.append(len(self.cases))
            self.weight.append(record.case.weight / len(parts))
            self.said.append(UNKNOWN if part.good is None else YES if part.good else NO)
            self.score.append(cell.score if straight and cell.score is not None else np.nan)
        if parts:
            self.cases.append(record.case.id)
            self.value.append(outcome.value)
            self.case_weight.append(record.case.weight)

    def joined(self) -> Labelled:
        """All of it as arrays."""
        truth, chance = (np.full(len(self.case), np.nan) for _ in range(2))
        for column, found in ((truth, self.truth), (chance, self.chance)):
            column[list(found)] = list(found.values())
        # where every score is a half it is a share of either
        usual = "yes" if self.metric.better == "higher" else "no"
        counts = usual if usual in self._counts else next(iter(self._counts), "")
        return Labelled(
            self.metric,
            tuple(self.cases),
            np.asarray(self.case),
            np.asarray(self.weight),
            np.asarray(self.said),
            np.asarray(self.score),
            truth,
            chance,
            np.asarray(self.value),
            np.asarray(self.case_weight),
            counts,
        )


def _same(label: Label, part: Part) -> bool:
    said = "unknown" if part.good is None else "yes" if part.good else "no"
    return label.text == part.component.text and label.verdict == said


def _shares(score: Score) -> set[str]:
    """Whether a score is the share of what speaks for the answer (yes) or against it (no), of both or of neither."""
    known = [part.good for part in score.parts if part.good is not None]
    if not known:
        return set()
    shares = {"yes": sum(known) / len(known), "no": 1 - sum(known) / len(known)}
    return {answer for answer, share in shares.items() if abs(share - score.value) < _NEAR}
