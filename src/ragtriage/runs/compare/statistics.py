"""The statistics of a comparison, on arrays alone: differences with intervals and p-values."""

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal, TypeVar

import numpy as np

from ragtriage.core.statistics import LEVEL, REACH, Numbers, Places, student_quantile

K = TypeVar("K", bound=Hashable)
How = Literal["exact", "drawn", "normal"]
"""How a p-value was had: from all swaps, from 10,000 random ones, or from their normal limit."""

ROUNDING = 1e-6
"""Differences that are no larger come from rounding: a baseline holds six places of a score."""
_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Paired:
    """One number of the same cases on two sides; all arrays have the shape (n,)."""

    base: Numbers
    """NaN where it is undefined."""
    new: Numbers
    weight: Numbers
    """At most 1, above 0."""
    group: Places
    """From 0; cases of one group aren't independent of each other."""

    @property
    def both(self) -> "Paired":
        """The cases that have both numbers, their groups counted anew from 0."""
        there = ~np.isnan(self.base) & ~np.isnan(self.new)
        groups = np.unique(self.group[there], return_inverse=True)[1]
        return Paired(self.base[there], self.new[there], self.weight[there], groups.astype(np.int64))

    @property
    def change(self) -> Numbers:
        """New − base, without what comes from rounding; NaN where one of them is undefined."""
        change = self.new - self.base
        return np.where(np.abs(change) <= ROUNDING, 0.0, change)

    def sums(self) -> Numbers:
        """The weighted change of each group, of cases that have both numbers; shape (groups,)."""
        own = self.both
        return np.bincount(own.group, own.weight * own.change).astype(np.float64)

    def at(self, chosen: np.ndarray[Any, Any]) -> "Paired":
        """Some of the cases, by a mask or by their places."""
        return Paired(self.base[chosen], self.new[chosen], self.weight[chosen], self.group[chosen])


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """The weighted mean of the differences new − base over the cases that have both numbers."""

    cases: int
    groups: int
    base: float
    new: float
    difference: float
    changed: int
    """Cases whose number isn't the same."""
    se_plain: float | None
    """Cluster-robust standard error without the pseudo-cases; None with fewer than two groups."""
    se: float | None
    """The standard error that the interval rests on; None with fewer than two groups, and so are those below."""
    freedom: float | None
    """Degrees of freedom: Kish's effective number of groups, the pseudo-cases among them, less 1."""
    low: float | None
    high: float | None
    sees: float | None
    """The smallest true difference that these pairs find in `POWER` of all repetitions (two-sided, 5 %)."""
    level: float = LEVEL


def difference(pairs: Paired, span: float = 1.0, level: float = LEVEL) -> MeanDifference | None:
    """The difference of one number, with its interval; None if no case has both.

    D = Σ wᵢdᵢ / Σ wᵢ. SE² = G/(G − 1) · Σ_g u_g² with u_g = Σ_{i in g} wᵢ(dᵢ − D) / Σ w: the cluster-robust error of
    paired differences of Miller, "Adding Error Bars to Evals" (2024, arXiv:2411.00640). D ± t · SE, cut to ± span.

    `span` is the width of the number's range: how far a pseudo-case goes where nothing has changed.
    """
    own = pairs.both
    count = len(own.base)
    if not count:
        return None
    change, weight, group = own.change, own.weight, own.group
    whole = float(weight.sum())
    mean = float(weight @ change / whole)
    groups = int(group.max()) + 1
    shown = (
        count,
        groups,
        float(weight @ own.base / whole),
        float(weight @ own.new / whole),
        mean,
        int((np.abs(change) > ROUNDING).sum()),
    )
    if groups < 2:
        return MeanDifference(*shown, None, None, None, None, None, None, level)
    plain = _error(change, weight, group)[0]
    farthest = float(np.abs(change).max())
    far = farthest if farthest > ROUNDING else span
    se, freedom = _error(
        np.append(change, [far, -far]), np.append(weight, [whole / count] * 2), np.append(group, [groups, groups + 1])
    )
    half = student_quantile(freedom, _NORMAL.inv_cdf(0.5 + level / 2)) * se
    low, high = max(-span, mean - half), min(span, mean + half)
    return MeanDifference(*shown, plain, se, freedom, low, high, REACH * se, level)


def _error(change: Numbers, weight: Numbers, group: Places) -> tuple[float, float]:
    """The cluster-robust standard error of a weighted mean, and its degrees of freedom."""
    whole = weight.sum()
    apart = np.bincount(group, weight * (change - weight @ change / whole)) / whole
    heavy = np.bincount(group, weight)
    size = len(heavy)
    freedom = float(heavy.sum() ** 2 / (heavy @ heavy)) - 1
    return math.sqrt(size / (size - 1) * float(apart @ apart)), freedom


def cases_needed(cases: int, se: float, margin: float) -> int | None:
    """How many cases like these would show a difference of `margin` with `POWER`: n · (2.80 · SE / margin)².

    None for a margin of 0, which no number of cases reaches.
    """
    return math.ceil(cases * (REACH * se / margin) ** 2) if margin > 0 else None


def mover(base: tuple[float, float, float], new: tuple[float, float, float]) -> tuple[float, float, float]:
    """The difference new − base of two means of which only the intervals are known: (difference, low, high).

    MOVER of Zou and Donner, "Construction of confidence limits about effect measures: a general approach", Statistics
    in Medicine 27 (2008). It takes the means for independent, which errs wide where the cases are the same.

    Both are (mean, low, high).
    """
    (mean_b, low_b, high_b), (mean_n, low_n, high_n) = base, new
    apart = mean_n - mean_b
    down = math.hypot(mean_n - low_n, high_b - mean_b)
    up = math.hypot(high_n - mean_n, mean_b - low_b)
    return apart, apart - down, apart + up


EXACT = 13
"""Up to so many changed groups all swaps are taken: 2 ** 13 is fewer than FLIPS."""
FLIPS = 10_000
MOST_DRAWN = 5_000
"""Changed groups above which p is the normal limit of the same test: at 3,000 it is .844 where .842 was drawn."""
FEWEST = 6
"""Changed groups that can reach .05: 5 of 5 have p = .0625 (Tarone, "A modified Bonferroni method for discrete data",
Biometrics 46, 1990)."""
_TIE = 1e-9
"""A sum that is no further than this from the observed one is as far off."""
_AT_ONCE = 4_000_000
"""Cells of a matrix of swaps that are held at once."""

P = tuple[float, How]


def swap_ps(sums: Mapping[str, Numbers], seed: int = 0) -> dict[str, P]:
    """The share of all swaps of whole groups for which |Σ ± S| is at least |Σ S|, of several numbers at once.

    Groups that didn't change drop out. If all others changed by the same amount p is binomial, and exact; with up to
    `EXACT` of them all swaps are taken; up to `MOST_DRAWN` random ones, (hits + 1) / (`FLIPS` + 1) as by Phipson and
    Smyth, "Permutation p-values should never be zero" (2010); above that the normal limit 2(1 − Φ(|ΣS| / √ΣS²)). One
    draw serves all numbers. Neither the order of the groups nor swapping the sides altogether makes a difference.

    `sums` are, by name, the weighted change of each group, shape (groups,).
    """
    found: dict[str, P] = {}
    drawn: dict[str, tuple[Numbers, float]] = {}
    for name, all_sums in sums.items():
        changed = all_sums[np.abs(all_sums) > ROUNDING]
        sizes, seen = np.sort(np.abs(changed))[::-1], abs(float(changed.sum()))
        if not len(sizes):
            found[name] = 1.0, "exact"
        elif float(np.ptp(sizes)) <= ROUNDING:
            up = int((changed > 0).sum())
            found[name] = binomial_p(up, len(sizes) - up), "exact"
        elif len(sizes) <= EXACT:
            signs = 1.0 - 2.0 * ((np.arange(2 ** len(sizes))[:, None] >> np.arange(len(sizes))) & 1)
            found[name] = float((np.abs(signs @ sizes) >= seen - _TIE).mean()), "exact"
        elif len(sizes) > MOST_DRAWN:
            found[name] = 2 * (1 - _NORMAL.cdf(seen / math.sqrt(float(sizes @ sizes)))), "normal"
        else:
            drawn[name] = sizes, seen
    return found | _drawn_ps(drawn, seed)


def _drawn_ps(drawn: Mapping[str, tuple[Numbers, float]], seed: int) -> dict[str, P]:
    if not drawn:
        return {}
    width = max(len(sizes) for sizes, _ in drawn.values())
    columns = np.zeros((width, len(drawn)))
    for place, (sizes, _) in enumerate(drawn.values()):
        columns[: len(sizes), place] = sizes
    seen = np.array([far for _, far in drawn.values()])
    hits = np.zeros(len(drawn), np.int64)
    generator = np.random.default_rng(seed)
    rows = max(1, _AT_ONCE // width)
    for start in range(0, FLIPS, rows):
        swaps = generator.integers(0, 2, size=(min(rows, FLIPS - start), width), dtype=np.int8)
        signs = (2 * swaps - 1).astype(np.float64)
        hits += (np.abs(signs @ columns) >= seen - _TIE).sum(axis=0)
    return {name: ((1 + int(count)) / (FLIPS + 1), "drawn") for name, count in zip(drawn, hits, strict=True)}


def binomial_p(one: int, other: int) -> float:
    """The two-sided exact p-value of so many against so many at even chances (McNemar's exact test); 1 for none."""
    count, fewer = one + other, min(one, other)
    if 2 * fewer >= count:
        return 1.0
    # one term from the other, in logarithms: the numbers themselves are too large from a thousand on
    logs = [math.lgamma(count + 1) - math.lgamma(k + 1) - math.lgamma(count - k + 1) for k in range(fewer + 1)]
    return min(1.0, 2 * math.fsum(math.exp(log - count * math.log(2)) for log in logs))


def holm(p_values: Mapping[K, float]) -> dict[K, float]:
    """Holm's step-down adjusted p-values, by what they are of.

    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979). It
    keeps the chance of any false finding among the family at .05, which for families this small costs little.
    """
    adjusted, before = {}, 0.0
    for rank, (name, p) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        before = adjusted[name] = max(before, min(1.0, (len(p_values) - rank) * p))
    return adjusted


def changed_groups(sums: Numbers) -> int:
    """How many groups changed."""
    return int((np.abs(sums) > ROUNDING).sum())
