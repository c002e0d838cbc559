"""Two clusters against each other: difference, interval, p-value, and the smallest difference that can be seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ragtriage.core.statistics import percentile_interval
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.groups import TaggedRow
from ragtriage.testset.modular import METRICS, Array, Average, ClusterScores, Counts, Metric, Policy, counts_of, ratios

RESAMPLES = 2000
"""Bootstrap resamples of groups behind an interval."""
FLIPS = 10_000
"""Random sign flips behind a p-value; with few groups all flips are taken."""
_EXACT = 13
"""Up to so many groups all flips are taken: 2 ** 13 is fewer than FLIPS."""
_DETECTABLE = 1.959964 + 0.841621
"""Standard errors of a difference that a test at 5 % (two-sided) finds 80 times of 100."""
_ROUNDING = 1e-12
"""Numbers that are closer than this are the same but for rounding."""
_ALL_ALIKE = "no resample differs from another, so the smallest detectable difference can't be estimated"
_NO_PAIR = "no group has decided rows in both clusters, so there is no p-value"
_NO_PAIR_LEFT = "it is undefined on the groups that have rows in both clusters, so there is no p-value"
_AT_ONCE = 4_000_000
"""Cells of a matrix of resamples or flips that are held at once."""


@dataclass(frozen=True, slots=True)
class Difference:
    """One metric of two clusters."""

    difference: float | None
    """The first cluster's minus the second's, in [-1, 1]; None where one of them is undefined."""
    low: float | None
    """Lower end of the 95 % percentile bootstrap interval over groups."""
    high: float | None
    p: float | None
    """Two-sided, of the paired sign-flip test; None if no group has rows in both clusters."""
    detectable: float | None
    """The smallest true difference that these groups show with a probability of 80 % at p < 0.05; None if no resample
    differs from another."""
    paired_groups: int
    """Groups with rows in both clusters: what the p-value is about."""
    undefined: str | None = None
    """Why a number is missing."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """All metrics of two clusters."""

    first: str
    second: str
    metrics: dict[Metric, Difference]

    def as_json(self) -> dict[str, Any]:
        """Metric → its numbers, with the names of the clusters."""
        return {
            metric: {**asdict(found), "first": self.first, "second": self.second}
            for metric, found in self.metrics.items()
        }


def compare(
    tagged: Sequence[TaggedRow],
    first: ClusterScores,
    second: ClusterScores,
    average: Average = "rows",
    policy: Policy = "correct",
    seed: int = 0,
) -> Comparison:
    """Compare two clusters by what they share: groups.

    The interval comes from drawing groups with replacement, each with its rows of both clusters. The p-value comes from
    swapping the clusters within groups: without an effect a group's rows could as well carry the other name. Only
    groups with decided rows in both take part in it. The smallest detectable difference is (1.96 + 0.84) standard
    errors, the error being the bootstrap's.

    Args:
        tagged: rows of all clusters; the other clusters' are ignored.
        first: the numbers of the first cluster.
        second: those of the second.
        average: over rows or over groups.
        policy: what becomes of answers that are blamed on the language model.
        seed: of draws and flips; rows in another order give the same numbers.
    """
    own = [[one for one in tagged if one.row.cluster == scores.name] for scores in (first, second)]
    groups = sorted({one.row.group for rows in own for one in rows if one.tag != "undecided"})
    one, other = (counts_of(rows, groups) for rows in own)
    pair = (one.parts(average, policy), other.parts(average, policy))
    drawn = _drawn(pair, np.random.default_rng([seed, 1])) if groups else np.empty((0, len(METRICS)))
    p_values, paired = _flipped(one, other, pair, np.random.default_rng([seed, 2]))
    found: dict[Metric, Difference] = {}
    for at, metric in enumerate(METRICS):
        if missing := [f"{s.name}: {s.undefined[metric]}" for s in (first, second) if metric in s.undefined]:
            found[metric] = Difference(*(None,) * 5, paired, "; ".join(missing))
            continue
        values = [scores.values[average][metric] or 0.0 for scores in (first, second)]
        sample = drawn[:, at][~np.isnan(drawn[:, at])]
        low = high = detectable = None
        why = None if p_values[at] is not None else _NO_PAIR if not paired else _NO_PAIR_LEFT
        if len(groups) == 1:
            why = "one group has no interval"
        else:
            low, high = percentile_interval(sample)
            spread = float(np.std(sample, ddof=1))
            detectable = None if spread < _ROUNDING else _DETECTABLE * spread
            why = why or (_ALL_ALIKE if spread < _ROUNDING else None)
        found[metric] = Difference(values[0] - values[1], low, high, p_values[at], detectable, paired, why)
    return Comparison(first.name, second.name, found)


def balanced(rows: Sequence[Row], first: str, second: str, seed: int = 0) -> list[Row]:
    """The rows of two clusters such that every group has equally many of both, in their order.

    Where a group has more rows in one cluster, as many as in the other are drawn from them; a group that only one
    cluster has is left out. The draw depends on the rows' ids, not on their order in the file.
    """
    members: dict[str, dict[str, list[int]]] = defaultdict(lambda: {first: [], second: []})
    for i, row in enumerate(rows):
        if row.cluster in {first, second}:
            members[row.group][row.cluster].append(i)
    generator = np.random.default_rng([seed, 3])
    kept: set[int] = set()
    for group in sorted(members):
        size = min(map(len, members[group].values()))
        for cluster in (first, second):
            places = sorted(members[group][cluster], key=lambda i: (rows[i].id, rows[i].query))
            kept.update(places[i] for i in generator.permutation(len(places))[:size])
    return [rows[i] for i in sorted(kept)]


def _drawn(pair: tuple[Array, Array], generator: np.random.Generator) -> Array:
    """Differences in bootstrap resamples of the groups; shape (RESAMPLES, 4), nan where undefined in one."""
    size = len(pair[0])
    found = []
    for count in _portions(RESAMPLES, size):
        weights = generator.multinomial(size, np.full(size, 1 / size), size=count).astype(np.float64)
        found.append(ratios(_weighted(weights, pair[0])) - ratios(_weighted(weights, pair[1])))
    return np.concatenate(found)


def _flipped(
    one: Counts, other: Counts, pair: tuple[Array, Array], generator: np.random.Generator
) -> tuple[list[float | None], int]:
    """The p-value of every metric, and how many groups have rows in both clusters."""
    both = (one.rows > 0) & (other.rows > 0)
    a, b = pair[0][both], pair[1][both]
    if not len(a):
        return [None] * len(METRICS), 0
    observed = ratios(a.sum(axis=0)) - ratios(b.sum(axis=0))
    unlike = np.flatnonzero((a != b).any(axis=(1, 2)))  # swapping the others changes nothing
    change = (b - a)[unlike]
    as_far, defined = np.zeros(len(METRICS)), np.zeros(len(METRICS))
    for swaps in _flips(len(unlike), generator):
        moved = _weighted(swaps, change)
        differences = ratios(a.sum(axis=0) + moved) - ratios(b.sum(axis=0) - moved)
        as_far += (np.abs(differences) >= np.abs(observed) - _ROUNDING).sum(axis=0)
        defined += (~np.isnan(differences)).sum(axis=0)
    itself = 0 if len(unlike) <= _EXACT else 1  # random flips: the observed one counts as one of them
    return [
        None if np.isnan(seen) else float((far + itself) / (number + itself))
        for seen, far, number in zip(observed, as_far, defined, strict=True)
    ], len(a)


def _flips(groups: int, generator: np.random.Generator) -> Iterator[Array]:
    """All of them where there are few, else random ones."""
    if groups <= _EXACT:
        yield ((np.arange(2**groups)[:, None] >> np.arange(groups)) & 1).astype(np.float64)
        return
    for count in _portions(FLIPS, groups):
        yield generator.integers(0, 2, size=(count, groups)).astype(np.float64)


def _weighted(weights: Array, parts: Array) -> Array:
    """Weighted sums over groups: (n, n_groups) and (n_groups, 4, 2) → (n, 4, 2)."""
    return np.asarray((weights @ parts.reshape(len(parts), 8)).reshape(len(weights), len(METRICS), 2))


def _portions(total: int, width: int) -> Iterator[int]:
    """`total` in portions of at most `_AT_ONCE` cells."""
    most = max(1, _AT_ONCE // max(1, width))
    for start in range(0, total, most):
        yield min(most, total - start)
