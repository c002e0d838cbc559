"""Labels joined with their run: the components that each metric shows, and the labels of some."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, nan

import numpy as np

from ragtriage.core.case import Record
from ragtriage.core.metric import Metric
from ragtriage.core.verdicts import NOT_SUPPORTED, Part, Score, Verdict, chance_of
from ragtriage.trust.calibration.corrected_mean import (
    DOUBTFUL_NO,
    DOUBTFUL_YES,
    NO,
    UNKNOWN,
    YES,
    CorrectedMean,
    JudgedComponents,
    Numbers,
    corrected_mean,
)
from ragtriage.trust.labels.label_files import Label
from ragtriage.trust.labels.sampling import verdict_of

PICKED = "picked on purpose, not drawn at random: they would bias an estimate"
SKIPPED = "skipped by the person who labelled"
OTHER_RUN = "about another run"
NO_METRIC = "of a metric that the run doesn't have"
CHANGED = "of a component that the run doesn't have like this: its text or verdict is another"
_CODES = {"yes": YES, "no": NO, "unknown": UNKNOWN}
_OPPOSITE = np.array([YES, NO, UNKNOWN, DOUBTFUL_YES, DOUBTFUL_NO])
"""By the code of a verdict that of the opposite one."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LabelledMetric:
    """One metric's components in a run, with labels; arrays have the shape (n,), cases are numbered from 0."""

    metric: Metric
    cases: tuple[str, ...]
    """Their ids."""
    case: Numbers
    weight: Numbers
    """The case's weight divided by how many components it shows."""
    verdict: Numbers
    """NO, YES or UNKNOWN, as the metric counts it and people label it: yes speaks for the answer."""
    score: Numbers
    """The judge's probability of that yes; NaN where it gave none, or where its no is what speaks for the answer."""
    truth: Numbers
    """What people said, the mean of several; NaN without a label."""
    inclusion: Numbers
    """The inclusion probability of a labelled component; NaN for the others."""
    value: Numbers
    """Shape (cases,): the score as the run has it."""
    case_weight: Numbers
    """Shape (cases,)."""
    chance: Numbers
    """The chance of that yes that scores count with; NaN where there is none."""
    share_of: str
    """Which answer the score is the share of, `yes` or `no`; empty where it isn't such a share."""

    @property
    def labels(self) -> int:
        """How many components are labelled."""
        return int(np.count_nonzero(~np.isnan(self.truth)))

    @property
    def raw(self) -> float:
        """The mean as the run has it."""
        return float(np.average(self.value, weights=self.case_weight))

    def correction(self) -> CorrectedMean | None:
        """The corrected mean; None with too few labels, or if the score isn't a share of its components."""
        if not self.share_of:
            return None
        verdict, truth = self.strata, self.truth
        if self.share_of == "no":
            verdict, truth = _OPPOSITE[verdict], 1.0 - truth
        return corrected_mean(JudgedComponents(self.case, self.weight, verdict, truth, self.inclusion), self.raw)

    @property
    def strata(self) -> Numbers:
        """The verdicts, those apart whose chance says that they may well be wrong; shape (n,)."""
        doubtful = np.minimum(self.chance, 1.0 - self.chance) > NOT_SUPPORTED  # False where there is none
        in_doubt = np.select([self.verdict == YES, self.verdict == NO], [DOUBTFUL_YES, DOUBTFUL_NO], UNKNOWN)
        return np.where(doubtful, in_doubt, self.verdict)

    def true_values(self) -> Numbers:
        """Shape (cases,): the score by people's labels; NaN where not all of a case's components are labelled."""
        truth = 1.0 - self.truth if self.share_of == "no" else self.truth
        sums: Numbers = np.bincount(self.case, truth, len(self.cases))  # NaN where one is
        return sums / np.bincount(self.case, minlength=len(self.cases))


@dataclass(frozen=True, slots=True)
class RunLabels:
    """The labels of one run."""

    metrics: tuple[LabelledMetric, ...]
    """Those that have labels, in the order of the run."""
    unused: Mapping[str, int] = field(default_factory=dict)
    """Reason → how many labels weren't used."""


def join_labels(
    run: Iterable[str], metrics: Sequence[Metric], records: Iterable[Record], labels: Sequence[Label]
) -> RunLabels:
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
        if reason := _unusable(label, names, computed):
            unused[reason] += 1
        else:
            wanted.setdefault((label.metric, label.case, label.component), []).append(label)
    labelled = {metric for metric, _, _ in wanted}
    columns = [_Column(metric) for metric in metrics if metric.name in labelled]
    for record in records:
        for column in columns:
            unused[CHANGED] += column.add(record, wanted)
    unused[CHANGED] += sum(len(left) for left in wanted.values())  # what no case has
    found = [column.joined() for column in columns]
    return RunLabels(tuple(one for one in found if one.labels), dict(+unused))


def _unusable(label: Label, run: frozenset[str], metrics: set[str]) -> str:
    """Why a label can't be used; "" if it can."""
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
        self._metric = metric
        self._components: list[tuple[int, float, int, float, float, float, float]] = []
        self._cases: list[tuple[str, float, float]] = []
        self._shares = {"yes", "no"}

    def add(self, record: Record, wanted: dict[tuple[str, str, int], list[Label]]) -> int:
        """Take one case, and its labels out of those that are wanted; returns how many of these don't fit."""
        outcome, weight = record.outcomes.get(self._metric.name), record.case.weight
        if not isinstance(outcome, Score):
            return 0
        # what wasn't asked is neither in the score nor can it be drawn
        parts = [(place, part, part.cell) for place, part in enumerate(outcome.parts) if isinstance(part.cell, Verdict)]
        self._shares &= _shares(outcome)
        changed = 0
        for place, part, cell in parts:
            given = wanted.pop((self._metric.name, record.case.id, place), [])
            verdict = verdict_of(part)
            fitting = [one for one in given if (one.text, one.verdict) == (part.component.text, verdict)]
            changed += len(given) - len(fitting)
            truth = sum(bool(one.label) for one in fitting) / len(fitting) if fitting else nan
            inclusion = max((one.chance or 0.0 for one in fitting), default=nan)
            direct = part.good is None or part.good == (cell.value == "yes")
            score = cell.score if direct and cell.score is not None else nan
            chance = nan if cell.chance is None or (known := _good_chance(part)) is None else known
            row = (len(self._cases), weight / len(parts), _CODES[verdict], score, truth, inclusion, chance)
            self._components.append(row)
        if parts:
            self._cases.append((record.case.id, outcome.value, weight))
        return changed

    def joined(self) -> LabelledMetric:
        """All of it as arrays."""
        case, weight, verdict, score, truth, inclusion, chance = map(
            np.asarray, zip(*self._components, strict=True) if self._components else [()] * 7
        )
        ids, values, weights = zip(*self._cases, strict=True) if self._cases else ((), (), ())
        # where every score is a half it is a share of either
        usual = "yes" if self._metric.better == "higher" else "no"
        share_of = usual if usual in self._shares else next(iter(self._shares), "")
        return LabelledMetric(
            self._metric, ids, case, weight, verdict, score, truth, inclusion,
            np.asarray(values), np.asarray(weights), chance, share_of,
        )  # fmt: skip


def _shares(score: Score) -> set[str]:
    """Whether a score is the share of what speaks for the answer (yes) or against it (no), of both or of neither."""
    known = [chance for part in score.parts if (chance := _good_chance(part)) is not None]
    if not known:
        return set()
    shares = {"yes": fsum(known) / len(known), "no": 1 - fsum(known) / len(known)}
    return {answer for answer, share in shares.items() if abs(share - score.value) < _ROUNDING}


def _good_chance(part: Part) -> float | None:
    """That a component speaks for the answer; None where nobody can tell."""
    chance = chance_of(part.cell)
    if part.good is None or chance is None or not isinstance(part.cell, Verdict):
        return None
    return chance if part.good == (part.cell.value == "yes") else 1.0 - chance
