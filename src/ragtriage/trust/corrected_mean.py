"""Prediction-powered inference: a run's mean, corrected for the judge's errors by some labels, with its interval.

The judge's verdicts are known of every component, the truth of a few that were drawn with known inclusion
probabilities. Per verdict (yes, no, unknown) the labels tell how often the truth is yes; the run tells how often the
verdict occurs. Of verdicts with two values this is the power-tuned
estimator of PPI++ (Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference", equation 2 with
the optimal λ): Σ Qᵥ p̂ᵥ over the verdicts, with Qᵥ their share of the weight and p̂ᵥ the labels' mean by 1 / inclusion
probability (Hájek). Wilson intervals of p̂ᵥ and that of the choice of cases are combined by MOVER (Zou and Donner 2008).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import fsum, nan
from typing import Any

import numpy as np

from ragtriage.core.case import Record
from ragtriage.core.metric import Metric
from ragtriage.core.statistics import student_quantile, wilson_interval
from ragtriage.core.verdicts import Part, Score, Verdict, chance_of
from ragtriage.trust.label_files import Label, verdict_of

AnyArray = np.ndarray[Any, np.dtype[Any]]

NO, YES, UNKNOWN = 0, 1, 2
"""How a verdict is written in arrays, as the metric's numerator counts it."""
_VERDICTS = 3
MIN_LABELS = 20
"""Labelled components below which no corrected mean is given: its interval would span most of the range."""
MIN_LABELS_OF_A_VERDICT = 5
"""Labels of one verdict below which it is merged with another one."""


NOT_A_SHARE = "not a share of the components that it shows, so labels of these can't correct it"


@dataclass(frozen=True, slots=True)
class JudgedComponents:
    """The components that one metric shows of a run, and the labels of some; all arrays have the shape (n,)."""

    case: AnyArray
    """The number of its case, from 0."""
    weight: AnyArray
    """Its weight in the run's mean: its case's, divided by how many components that case shows."""
    verdict: AnyArray
    """NO, YES or UNKNOWN."""
    truth: AnyArray
    """What people said, in [0, 1]; NaN without a label."""
    inclusion: AnyArray
    """The inclusion probability of a labelled one, in (0, 1]; any number for the others."""


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean corrected for the judge's errors, kept with a run under the names of its fields."""

    raw: float
    """As the run has it."""
    mean: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    labels: int
    """Labelled components that it rests on."""


def corrected_mean(components: JudgedComponents, raw: float) -> CorrectedMean | None:
    """The mean that people would have given to the cases of a run, and its 95 % interval; in [0, 1].

    It generalises as the run's own interval does: to cases like these, not to these alone.

    Returns:
        None with fewer than MIN_LABELS labels.
    """
    labelled = np.flatnonzero(~np.isnan(components.truth))
    if len(labelled) < MIN_LABELS:
        return None
    weight = components.weight / components.weight.sum()
    verdicts = _merged(components.verdict, labelled)
    expansion = weight[labelled] / components.inclusion[labelled]
    group, truth = verdicts[labelled], components.truth[labelled]
    share = np.bincount(verdicts, weight, _VERDICTS)
    mass = np.bincount(group, expansion, _VERDICTS)
    # a verdict that no label has occurs in the run at all only where every verdict is of that kind: see _merged
    right = np.bincount(group, expansion * truth, _VERDICTS) / np.where(mass > 0, mass, 1.0)
    mean = min(1.0, max(0.0, float(share @ right)))

    residuals = share[group] * expansion / mass[group] * (truth - right[group])
    effect = _design_effect(components.case[labelled], residuals)
    below = above = _between_cases(components.case, weight, right[verdicts] - mean, labelled, residuals) ** 2
    for verdict in np.flatnonzero(mass):
        rate = float(right[verdict])
        low, high = wilson_interval(rate, _effective_size(expansion[group == verdict], rate) / effect)
        below += (share[verdict] * (right[verdict] - low)) ** 2
        above += (share[verdict] * (high - right[verdict])) ** 2
    low, high = max(0.0, mean - math.sqrt(below)), min(1.0, mean + math.sqrt(above))
    return CorrectedMean(raw, mean, low, high, len(labelled))


def _merged(verdicts: AnyArray, labelled: AnyArray) -> AnyArray:
    """The verdicts, those with too few labels merged with another; what the labels say decides nothing here.

    Unknown is merged with no, and of no and yes the one that then is too rare with the other.
    """
    verdicts = verdicts.copy()
    for verdict, other in ((UNKNOWN, NO), (NO, YES), (YES, NO)):
        if np.count_nonzero(verdicts[labelled] == verdict) < MIN_LABELS_OF_A_VERDICT:
            verdicts[verdicts == verdict] = other
    return verdicts


def _between_cases(
    case: AnyArray, weight: AnyArray, beyond: AnyArray, labelled: AnyArray, residuals: AnyArray
) -> float:
    """Half the interval that comes from the choice of cases.

    A case counts with its expected score beyond the mean, and with how the residuals of its labelled components covary
    with that: where people found more than the verdicts say, in cases that score high anyway, scores lie further apart
    than expected ones. That part can only widen. The quantile is Student's, by the effective number of cases (Kish
    1965).
    """
    count = int(case.max()) + 1
    if count == 1:
        return 0.0
    expected = np.bincount(case, weight * beyond, count)
    found = np.bincount(case[labelled], residuals, count)
    variance = float(expected @ expected) + max(0.0, 2 * float(expected @ found))
    weights = np.bincount(case, weight, count)
    freedom = float(weights.sum() ** 2 / (weights @ weights)) - 1
    return student_quantile(freedom) * math.sqrt(variance * count / (count - 1))


def _design_effect(case: AnyArray, residuals: AnyArray) -> float:
    """How much wider the interval must be because labels of one case are alike; at least 1."""
    alone = float(residuals @ residuals)
    together = np.bincount(case, residuals)
    return max(1.0, float(together @ together) / alone) if alone > 0 else 1.0


def _effective_size(weights: AnyArray, share: float) -> float:
    """How many equally weighted labels these are worth (Kish 1965).

    Near 0 and 1 up to half a label of the largest weight is added: a rare error of a heavy component may not have been
    drawn.
    """
    rare = 0.5 * (2 * share - 1) ** 2
    return float(weights.sum() ** 2 / (weights @ weights + rare * weights.max() ** 2))


PICKED = "picked on purpose, not drawn at random: they would bias an estimate"
SKIPPED = "skipped by the person who labelled"
OTHER_RUN = "about another run"
NO_METRIC = "of a metric that the run doesn't have"
CHANGED = "of a component that the run doesn't have like this: its text or verdict is another"
_CODES = {"yes": YES, "no": NO, "unknown": UNKNOWN}
_OPPOSITE = np.array([YES, NO, UNKNOWN])
"""By the code of a verdict that of the opposite one."""
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LabelledMetric:
    """One metric's components in a run, with labels; arrays have the shape (n,), cases are numbered from 0."""

    metric: Metric
    cases: tuple[str, ...]
    """Their ids."""
    case: AnyArray
    weight: AnyArray
    """The case's weight divided by how many components it shows."""
    verdict: AnyArray
    """NO, YES or UNKNOWN, as the metric counts it and people label it: yes speaks for the answer."""
    score: AnyArray
    """The judge's probability of that yes; NaN where it gave none, or where its no is what speaks for the answer."""
    truth: AnyArray
    """What people said, the mean of several; NaN without a label."""
    inclusion: AnyArray
    """The inclusion probability of a labelled component; NaN for the others."""
    value: AnyArray
    """Shape (cases,): the score as the run has it."""
    case_weight: AnyArray
    """Shape (cases,)."""
    chance: AnyArray
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
        verdict, truth = self.verdict, self.truth
        if self.share_of == "no":
            verdict, truth = _OPPOSITE[verdict], 1.0 - truth
        return corrected_mean(JudgedComponents(self.case, self.weight, verdict, truth, self.inclusion), self.raw)

    def true_values(self) -> AnyArray:
        """Shape (cases,): the score by people's labels; NaN where not all of a case's components are labelled."""
        truth = 1.0 - self.truth if self.share_of == "no" else self.truth
        sums: AnyArray = np.bincount(self.case, truth, len(self.cases))  # NaN where one is
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
    """Find every label's component in a run."""
    names = frozenset(run)
    largest: dict[str, float] = {}  # draws of one name are nested: the largest one drew all of their items
    for label in labels:
        if label.run in names and label.draw and label.chance is not None:
            largest[label.draw] = max(label.chance, largest.get(label.draw, 0.0))
    unused: Counter[str] = Counter()
    wanted: dict[tuple[str, str, int], list[Label]] = {}
    computed = {metric.name for metric in metrics}
    for label in labels:
        if reason := _unusable(label, names, computed):
            unused[reason] += 1
        else:
            drawn = replace(label, chance=largest.get(label.draw, label.chance))
            wanted.setdefault((label.metric, label.case, label.component), []).append(drawn)
    labelled = {metric for metric, _, _ in wanted}
    columns = [_Column(metric) for metric in metrics if metric.name in labelled]
    for record in records:
        for column in columns:
            unused[CHANGED] += column.add(record, wanted)
    unused[CHANGED] += sum(len(left) for left in wanted.values())  # what no case has
    found = [column.joined() for column in columns]
    return RunLabels(tuple(one for one in found if one.labels), dict(+unused))


@dataclass(frozen=True, slots=True)
class MetricMean:
    """One metric's mean."""

    metric: str
    title: str
    raw: float
    labels: int
    correction: CorrectedMean | None
    why: str = ""
    """Why there is no correction."""


def corrected_means(labels: RunLabels) -> tuple[MetricMean, ...]:
    """The mean of every labelled metric with its correction, or why there is none."""
    return tuple(map(_mean, labels.metrics))


def _mean(found: LabelledMetric) -> MetricMean:
    correction, why = found.correction(), ""
    if correction is None:
        why = f"too few labels: {found.labels}, and it takes {MIN_LABELS}" if found.share_of else NOT_A_SHARE
    return MetricMean(found.metric.name, found.metric.title, found.raw, found.labels, correction, why)


def _unusable(label: Label, run: frozenset[str], metrics: set[str]) -> str:
    """Why a label can't be used; "" if it can."""
    if label.run not in run:
        return OTHER_RUN
    if label.metric not in metrics:
        return NO_METRIC
    if label.label is None:
        return SKIPPED
    return PICKED if label.chance is None else ""


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
