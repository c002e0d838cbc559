"""How far scores and verdicts agree with people, in numbers, with intervals from drawing whole groups again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ragtriage.runs.summary import RESAMPLES

Array = np.ndarray[Any, np.dtype[np.float64]]
Measure = Callable[[Array], float]
"""Weights of the rows, whole numbers, shape (n,) → the measure; nan where it is undefined."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its 95 % interval; None where it is undefined, or where no interval can be had."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """How many rows it is taken over; of a share, its denominator."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        return asdict(self)


class Resamples:
    """The same draws of groups for every measure, so that two judges are compared on the same rows.

    Args:
        groups: one name a row; rows of one group are drawn together (Efron 1979, percentile bootstrap).
        seed: of the draws, which don't depend on the order of the rows.
    """

    def __init__(self, groups: Sequence[str], seed: int = 0) -> None:
        names = {name: i for i, name in enumerate(sorted(set(groups)))}
        self._index = np.array([names[group] for group in groups], dtype=np.intp)
        self._count = len(names)
        self._seed = seed

    @property
    def groups(self) -> int:
        """How many there are."""
        return self._count

    def of(self, measure: Measure, n: int | None = None) -> Measured:
        """A measure with its interval; without one where there is one group only."""
        whole = np.ones(len(self._index))
        value = measure(whole) if len(whole) else float("nan")
        n = len(whole) if n is None else n
        if np.isnan(value):
            return Measured(None, n=n)
        drawn = self._drawn(measure) if self._count > 1 else np.empty(0)
        if not len(drawn):
            return Measured(float(value), n=n)
        low, high = np.quantile(drawn, (0.025, 0.975))
        return Measured(float(value), float(low), float(high), n)

    def _drawn(self, measure: Measure) -> Array:
        generator = np.random.default_rng(self._seed)
        found = np.empty(RESAMPLES)
        for i in range(RESAMPLES):
            picks = generator.integers(0, self._count, self._count)
            found[i] = measure(np.bincount(picks, minlength=self._count).astype(np.float64)[self._index])
        return found[~np.isnan(found)]


def share(hit: Array, of: Array | None = None) -> Measure:
    """The share of hits, in [0, 1], among all rows or those of a mask; undefined over nothing."""
    mask = np.ones(len(hit)) if of is None else of

    def measure(w: Array) -> float:
        total = float(w @ mask)
        return float(w @ (hit * mask)) / total if total else float("nan")

    return measure


def balanced_accuracy(label: Array, hit: Array) -> Measure:
    """The mean of the shares of hits among rows labelled 1 and among those labelled 0, in [0, 1]."""
    ones, zeros = share(hit, (label == 1).astype(np.float64)), share(hit, (label == 0).astype(np.float64))
    return lambda w: (ones(w) + zeros(w)) / 2


def auc(label: Array, score: Array) -> Measure:
    """The chance that a row labelled 1 scores higher than one labelled 0, ties counting half, in [0, 1].

    The area under the ROC curve, as Mann and Whitney's U divided by the number of pairs.
    """
    order = np.argsort(score, kind="stable")
    ones = label[order] == 1
    starts = np.unique(score[order], return_index=True)[1]

    def measure(w: Array) -> float:
        w = w[order]
        positive = np.add.reduceat(np.where(ones, w, 0.0), starts)
        negative = np.add.reduceat(np.where(ones, 0.0, w), starts)
        pairs = positive.sum() * negative.sum()
        return float(positive @ (np.cumsum(negative) - negative / 2) / pairs) if pairs else float("nan")

    return measure


def kappa(label: Array, said: Array) -> Measure:
    """Cohen's kappa (1960) of labels 0 and 1 and what a judge said: 1, 0, or −1 for neither; at most 1, 0 is chance."""

    def measure(w: Array) -> float:
        total = w.sum()
        if not total:
            return float("nan")
        observed = float(w @ (label == said)) / total
        chance = sum(float(w @ (label == value)) * float(w @ (said == value)) for value in (0, 1)) / total**2
        return float((observed - chance) / (1 - chance)) if chance < 1 else float("nan")

    return measure


def spearman(x: Array, y: Array) -> Measure:
    """Spearman's rank correlation, ties sharing their mean rank, in [-1, 1]; undefined where one side is constant."""

    def measure(w: Array) -> float:
        a, b = _ranks(x, w), _ranks(y, w)
        total = w.sum()
        if not total:
            return float("nan")
        a, b = a - w @ a / total, b - w @ b / total
        scale = np.sqrt((w @ (a * a)) * (w @ (b * b)))
        return float(w @ (a * b) / scale) if scale > 0 else float("nan")

    return measure


def _ranks(x: Array, w: Array) -> Array:
    """Mid-ranks of every row, as if it stood there as many times as it weighs."""
    _, inverse = np.unique(x, return_inverse=True)
    mass = np.bincount(inverse, weights=w)
    return np.asarray((np.cumsum(mass) - (mass - 1) / 2)[inverse])


def best_cut(label: Array, score: Array) -> float:
    """The cut between two scores with the highest balanced accuracy; a score at or above it means 1."""
    values = np.unique(score)
    if len(values) < 2:
        return float(values[0]) if len(values) else 0.5
    ones = np.array([np.sum(score[label == 1] >= v) for v in values[1:]]) / max(1, int(np.sum(label == 1)))
    zeros = np.array([np.sum(score[label == 0] < v) for v in values[1:]]) / max(1, int(np.sum(label == 0)))
    best = int(np.argmax(ones + zeros))
    return float((values[best] + values[best + 1]) / 2)


def less(one: Measure, other: Measure) -> Measure:
    """The first minus the second, on the same draws."""
    return lambda w: one(w) - other(w)
