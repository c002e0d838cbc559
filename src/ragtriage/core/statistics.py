"""Intervals, resampling and measures of agreement: every formula that several packages need, once.

scipy has most of these and would add 110 MB to the installation, so they are written out here on numpy.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float64]]
Flags = np.ndarray[Any, np.dtype[np.bool_]]
Places = np.ndarray[Any, np.dtype[np.int64]]
Measure = Callable[[Numbers], float]
"""Weights of the rows, shape (n,) → the measure; nan where it is undefined."""

RESAMPLES = 1000
"""Bootstrap resamples behind an interval."""
_AT_ONCE = 100_000
"""Positions that are drawn at once."""
Z = 1.959963984540054
"""Standard errors on either side of a normal mean that hold the truth 95 times of 100."""
LEVEL = 0.95
"""How often the interval of a difference is to hold the truth."""
POWER = 0.8
"""How often a difference of the size that is told under `sees` is found."""
REACH = NormalDist().inv_cdf(0.5 + LEVEL / 2) + NormalDist().inv_cdf(POWER)
"""Standard errors that a true difference must have to be found with this power: about 2.80."""


@dataclass(frozen=True, slots=True)
class IntervalEstimate:
    """A number with its 95 % interval; None where it is undefined, or where no interval can be had."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """How many rows it is taken over; of a share, its denominator."""


class ExactSum:
    """A sum without rounding, so that neither the order nor the grouping of its terms changes it (Shewchuk 1997)."""

    def __init__(self, terms: Iterable[float] = ()) -> None:
        self.parts: list[float] = []
        """Terms that don't overlap and have the same sum; a few, whatever was added."""
        self.add(*terms)

    def add(self, *terms: float) -> None:
        """Add finite numbers."""
        for term in terms:
            kept = 0
            for part in self.parts:
                large, small = (term, part) if abs(term) >= abs(part) else (part, term)
                term = large + small  # noqa: PLW2901  # the recipe
                rest = small - (term - large)
                if rest:
                    self.parts[kept] = rest
                    kept += 1
            self.parts[kept:] = [term]

    @property
    def value(self) -> float:
        """The sum, rounded once."""
        return math.fsum(self.parts)


def ranked(counts: Counter[Any]) -> dict[Any, int]:
    """What was counted, the most frequent first; equal ones by name, so that it doesn't matter which came first."""
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def wilson_interval(share: float, n: float) -> tuple[float, float]:
    """The 95 % score interval of a share of n (Wilson 1927), which also holds near 0 and 1; n needn't be whole."""
    middle = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z / (1 + Z * Z / n) * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


def wilson(hits: int, n: int) -> IntervalEstimate:
    """A share with its Wilson interval."""
    return IntervalEstimate(hits / n, *wilson_interval(hits / n, n), n) if n else IntervalEstimate(None)


def wald(hits: int, n: int) -> IntervalEstimate:
    """A share with Wald's 95 % interval, p ± 1.96 √(p (1 − p) / n), cut to [0, 1]."""
    if not n:
        return IntervalEstimate(None)
    share = hits / n
    half = Z * math.sqrt(share * (1 - share) / n)
    return IntervalEstimate(share, max(0.0, share - half), min(1.0, share + half), n)


def student_quantile(freedom: float, z: float = Z) -> float:
    """A quantile of Student's t, by the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5).

    `z` is the same quantile of the normal distribution. From 2 degrees of freedom on the .975 quantile is right to a
    hundredth; fewer than 1 count as 1.
    """
    n = max(1.0, freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def resamples_of(size: int, *, resamples: int = RESAMPLES, seed: int | Sequence[int] = 0) -> Iterator[Places]:
    """Resamples of `size` units with replacement, many at once: positions of the units drawn, shape (many, size)."""
    generator = np.random.default_rng(seed)
    at_once = max(1, _AT_ONCE // max(1, size))
    for begun in range(0, resamples, at_once):
        yield generator.integers(0, size, (min(at_once, resamples - begun), size))


def bootstrap(
    size: int, statistic: Callable[[Places], float], *, resamples: int = RESAMPLES, seed: int | Sequence[int] = 0
) -> Numbers:
    """A statistic on resamples of `size` units with replacement (Efron 1979), those where it is undefined left out.

    The statistic takes the positions of the units drawn, shape (size,), and gives nan where undefined. The draws are
    the same for the same seed and size.
    """
    drawn = resamples_of(size, resamples=resamples, seed=seed)
    found = np.array([statistic(places) for some in drawn for places in some], dtype=np.float64)
    return found[~np.isnan(found)]


def percentile_interval(draws: Numbers) -> tuple[float, float]:
    """The middle 95 % of a statistic's resamples."""
    low, high = np.quantile(draws, (0.025, 0.975))
    return float(low), float(high)


class ClusterBootstrap:
    """Percentile intervals by drawing whole groups of rows, the same draws for every measure.

    So two judges are compared on the same rows. `groups` has a name for each row; the draws don't depend on the order
    of the rows.
    """

    def __init__(self, groups: Sequence[str]) -> None:
        names = {name: i for i, name in enumerate(sorted(set(groups)))}
        self._group_of = np.array([names[group] for group in groups], dtype=np.intp)
        self.groups = len(names)

    def estimate(self, measure: Measure, n: int | None = None) -> IntervalEstimate:
        """A measure, taken over `n` rows (else all), with its interval; without one where there is one group only."""
        rows = len(self._group_of)
        value = measure(np.ones(rows)) if rows else math.nan
        found = IntervalEstimate(None if math.isnan(value) else float(value), n=rows if n is None else n)
        if found.value is None or self.groups < 2:
            return found

        def of_groups(picks: Places) -> float:
            return measure(np.bincount(picks, minlength=self.groups).astype(np.float64)[self._group_of])

        draws = bootstrap(self.groups, of_groups)
        return IntervalEstimate(found.value, *percentile_interval(draws), found.n) if len(draws) else found


def share(hit: Numbers, of: Numbers | None = None) -> Measure:
    """The share of hits, in [0, 1], among all rows or those of a mask; undefined over nothing."""
    mask = np.ones(len(hit)) if of is None else of

    def measure(w: Numbers) -> float:
        total = float(w @ mask)
        return float(w @ (hit * mask)) / total if total else math.nan

    return measure


def balanced_accuracy(label: Numbers, hit: Numbers) -> Measure:
    """The mean of the shares of hits among rows labelled 1 and among those labelled 0, in [0, 1]."""
    ones, zeros = share(hit, (label == 1).astype(np.float64)), share(hit, (label == 0).astype(np.float64))
    return lambda w: (ones(w) + zeros(w)) / 2


def balanced_accuracy_at(cutoffs: Numbers, label: Numbers, score: Numbers, weight: Numbers) -> Numbers:
    """The balanced accuracy at each cutoff, where a score at or above it means 1; shape of `cutoffs`.

    Of a class that isn't there no row is right.
    """
    order = np.argsort(score, kind="stable")
    below = np.searchsorted(score[order], cutoffs, side="left")
    ones, zeros = (np.append(0.0, np.cumsum((weight * (label == value))[order])) for value in (1, 0))
    return np.asarray(((ones[-1] - ones[below]) / (ones[-1] or 1.0) + zeros[below] / (zeros[-1] or 1.0)) / 2)


def auc(label: Numbers, score: Numbers) -> Measure:
    """The chance that a row labelled 1 scores higher than one labelled 0, ties counting half, in [0, 1].

    The area under the ROC curve, as Mann and Whitney's U divided by the number of pairs.
    """
    order = np.argsort(score, kind="stable")
    ones = label[order] == 1
    starts = np.unique(score[order], return_index=True)[1]

    def measure(w: Numbers) -> float:
        w = w[order]
        positive = np.add.reduceat(np.where(ones, w, 0.0), starts)
        negative = np.add.reduceat(np.where(ones, 0.0, w), starts)
        pairs = positive.sum() * negative.sum()
        return float(positive @ (np.cumsum(negative) - negative / 2) / pairs) if pairs else math.nan

    return measure


def kappa(label: Numbers, verdict: Numbers) -> Measure:
    """Cohen's kappa (1960) of labels 0 and 1 and verdicts 1, 0, or −1 for neither; at most 1, 0 is chance."""

    def measure(w: Numbers) -> float:
        total = w.sum()
        if not total:
            return math.nan
        observed = float(w @ (label == verdict)) / total
        chance = sum(float(w @ (label == value)) * float(w @ (verdict == value)) for value in (0, 1)) / total**2
        return float((observed - chance) / (1 - chance)) if chance < 1 else math.nan

    return measure


def spearman(x: Numbers, y: Numbers) -> Measure:
    """Spearman's rank correlation, ties sharing their mean rank, in [-1, 1]; undefined where one side is constant."""

    def measure(w: Numbers) -> float:
        a, b = _mid_ranks(x, w), _mid_ranks(y, w)
        total = w.sum()
        if not total:
            return math.nan
        a, b = a - w @ a / total, b - w @ b / total
        scale = np.sqrt((w @ (a * a)) * (w @ (b * b)))
        return float(w @ (a * b) / scale) if scale > 0 else math.nan

    return measure


def _mid_ranks(x: Numbers, w: Numbers) -> Numbers:
    """Mid-ranks of every row, as if it stood there as many times as it weighs."""
    _, inverse = np.unique(x, return_inverse=True)
    mass = np.bincount(inverse, weights=w)
    return np.asarray((np.cumsum(mass) - (mass - 1) / 2)[inverse])


def difference(one: Measure, other: Measure) -> Measure:
    """The first minus the second, on the same draws."""
    return lambda w: one(w) - other(w)
