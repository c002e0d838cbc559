"""What a repeated evaluation amounts to, as values, and the statistics behind them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from ragtriage.core.metric import Better
from ragtriage.diagnosis.rules import FindingKind
from ragtriage.runs.metric_tally import ExpectedCount

Grid = np.ndarray[Any, np.dtype[np.float64]]
"""Shape (n_cases, n_trials), or one row or column of it; nan where there is no score."""
DIGITS = 9
"""Scores that are the same up to here are tied: a mean of the same verdicts may be summed in another order."""
LEVEL = 0.05
"""How often a difference may be seen where there is none (two-sided)."""
POWER = 0.8
"""How often a difference of this size is to be seen."""
CORRELATION = 0.5
"""How alike the same case's true scores in the two versions are. It can't be known from one version, and
lies in the middle between versions that have nothing in common and such as differ by the same amount everywhere."""

REACH = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)
"""Standard errors that a difference must have: z(1 − level/2) + z(power), about 2.8."""


def rank_agreement(grid: Grid) -> float | None:
    """The mean of Kendall's τ-b over all pairs of trials, in [-1, 1]: 1 if all of them rank the cases alike.

    None if no pair of trials has a τ-b. A case without a score in one of two trials is left out of that pair.
    """
    found = (tau_b(first, second) for first, second in combinations(grid.T, 2))
    there = [tau for tau in found if tau is not None]
    return sum(there) / len(there) if there else None


def tau_b(first: Grid, second: Grid) -> float | None:
    """Kendall's rank correlation with ties, τ-b, in [-1, 1].

    (concordant − discordant pairs) / √((pairs not tied in the first) · (pairs not tied in the second)): Kendall, "The
    treatment of ties in ranking problems", Biometrika 33 (1945). Shares of a few verdicts are tied all the time; τ-b is
    1 for the same ranking also then. Counted in n log n as by Knight, "A computer method for calculating Kendall's tau
    with ungrouped data", Journal of the American Statistical Association 61 (1966).

    Both have the shape (n,), nan where there is no score. None with fewer than two cases that have both scores, or
    where all are tied in one of them.
    """
    both = ~(np.isnan(first) | np.isnan(second))
    a, b = (np.unique(scores[both].round(DIGITS), return_inverse=True)[1] for scores in (first, second))
    pairs = _pairs(len(a))
    tied_a, tied_b = _tied(a), _tied(b)
    if pairs in (tied_a, tied_b):
        return None
    order = np.lexsort((b, a))
    discordant = _inversions(b[order])
    tied_in_both = _tied(a * (int(b.max()) + 1) + b)
    concordant = pairs - tied_a - tied_b + tied_in_both - discordant
    return (concordant - discordant) / sqrt((pairs - tied_a) * (pairs - tied_b))


def _pairs(count: int) -> int:
    return count * (count - 1) // 2


def _tied(ranks: np.ndarray[Any, np.dtype[np.intp]]) -> int:
    return sum(_pairs(int(count)) for count in np.unique(ranks, return_counts=True)[1])


def _inversions(ranks: np.ndarray[Any, np.dtype[np.intp]]) -> int:
    """How many pairs stand in the wrong order, by merging: at each width, between the halves of every block."""
    places = np.arange(len(ranks))
    most = int(ranks.max()) + 1
    count, width = 0, 1
    while width < len(ranks):
        block = places // (2 * width)
        keys = block * most + ranks  # one sorted row in which every block has a stretch of its own
        left = (places // width) % 2 == 0
        lefts = np.sort(keys[left])
        ends = np.searchsorted(lefts, (block[~left] + 1) * most)
        count += int((ends - np.searchsorted(lefts, keys[~left], side="right")).sum())
        width *= 2
    return count


def smallest_difference(grid: Grid, weights: Grid) -> tuple[float, float] | None:
    """The smallest difference of means between two versions, and the least that it could be.

    Both versions answer the same n cases, are evaluated once each, and are compared case by case. A difference δ is
    seen with the stated power where δ = (z(1 − level/2) + z(power)) · √((ω² + σ_A² + σ_B²) / n): the power analysis of
    Miller, "Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations" (2024, arXiv:2411.00640),
    with one sample a case. σ² is the judge's noise: the mean over cases of the variance of a score over trials, taken
    as the same for both versions. ω² is the variance over cases of the difference of the true scores, 2 · (1 − ρ) · s²;
    s² is the variance of true scores over cases, that of a single trial's scores less σ², and ρ is `CORRELATION`.

    It assumes that cases are independent of each other, that the judge's noise on one case is independent of that on
    another, and enough cases for a mean to be normal (some twenty). With weights, n is Kish's (Σw)² / Σw².

    Both are in the metric's unit. The floor is for ω² = 0, a change that moves all cases alike: only the judge's noise
    hides it, and it is 0 for a judge that has none. None unless a case has two scores and a trial two cases, and where
    all scores are the same, so that nothing is known of their variance. The weights are above 0.
    """
    noise = _noise(grid, weights)
    spreads = [found for scores in grid.T if (found := _variance(scores, weights)) is not None]
    if noise is None or not spreads:
        return None
    total, size = (float(np.mean(column)) for column in zip(*spreads, strict=True))
    if total == 0 == noise:
        return None
    between = max(0.0, total - noise)
    apart = 2 * (1 - CORRELATION) * between
    return REACH * sqrt((apart + 2 * noise) / size), REACH * sqrt(2 * noise / size)


def _noise(grid: Grid, weights: Grid) -> float | None:
    """The mean over cases of the variance (n − 1) over trials; None if no case has two scores."""
    several = (~np.isnan(grid)).sum(axis=1) > 1
    if not several.any():
        return None
    return float(np.average(np.nanvar(grid[several], axis=1, ddof=1), weights=weights[several] / weights.max()))


def _variance(scores: Grid, weights: Grid) -> tuple[float, float] | None:
    """The variance (n − 1) of one trial's scores over cases, and their effective number; None with fewer than two."""
    there = ~np.isnan(scores)
    if there.sum() < 2:
        return None
    values, own = scores[there], weights[there] / weights.max()
    effective = float(own.sum() ** 2 / (own**2).sum())
    if effective <= 1:  # all the weight lies on one case
        return None
    spread = float(np.average((values - np.average(values, weights=own)) ** 2, weights=own))
    return spread * effective / (effective - 1), effective


@dataclass(frozen=True, slots=True)
class CaseRepeat:
    """One metric on one case over all trials."""

    case: str
    mean: float
    spread: float
    """Standard deviation over trials (n − 1)."""
    flipped: bool
    """Whether it is low in one trial and high in another."""
    verdict_flips: int
    """How many of its component verdicts differ between trials."""


@dataclass(frozen=True, slots=True)
class MetricRepeat:
    """One metric over many cases and all trials."""

    name: str
    title: str
    better: Better
    mean: float | None
    """Mean over trials of the run's mean, which is weighted by the cases' weights; None without a score."""
    spread: float | None
    """Standard deviation (n − 1) over trials of the run's mean; None unless two trials have scores."""
    case_spread: float | None
    """Mean over cases of the standard deviation (n − 1) over trials; None unless a case has two scores."""
    flips: float | None
    """The share of cases that are low in one trial and high in another, in [0, 1], among those with two scores or more;
    None if there is none, or the metric has no threshold."""
    verdict_flips: float | None
    """The share of component verdicts that aren't the same in all trials, in [0, 1], among those whose component is
    found in all trials; None if there is none."""
    ranks: float | None
    """How far the trials rank the cases alike, in [-1, 1]: see `ragtriage.runs.repeats.summary.rank_agreement`."""
    smallest: float | None
    """The smallest difference between two versions of an application that these cases can show; see
    `ragtriage.runs.repeats.summary.smallest_difference`."""
    floor: float | None
    """The same for a change that moves all cases alike, so that nothing but the judge's noise hides it."""
    cases: int
    undefined: int
    """Scores that are left out because they are undefined: pairs of a case and a trial."""
    failed: int
    worst: tuple[CaseRepeat, ...]
    """The cases that are least alike, the worst first; none that is the same in all trials."""


@dataclass(frozen=True, slots=True)
class KindRepeat:
    """The verdicts on one kind of question, over all cases and trials."""

    kind: str
    """A relation: supported, essential, …"""
    verdicts: int
    """How many can be compared: those that were asked about a component in every trial."""
    flips: float | None
    """The share of them that aren't the same in all trials, in [0, 1]; None if there is none."""


@dataclass(frozen=True, slots=True)
class UnitRepeat:
    """What texts were broken into, over all cases and trials."""

    unit: str
    """A decomposition: claims(response), facts(sources), …"""
    components: int
    """How many different ones were found, in all trials together."""
    kept: float
    """The share of them that every trial found word for word, in [0, 1]."""


@dataclass(frozen=True, slots=True)
class FindingRepeat:
    """The findings of one rule, over all cases and trials."""

    rule: str
    kind: FindingKind
    shown: float
    """In how many cases it is shown, the mean over trials."""
    spread: float
    """Standard deviation (n − 1) over trials of that number."""
    flips: float | None
    """The share of cases on which it is shown in one trial and not in another, in [0, 1], among those that were
    counted in two trials; None if there is none."""
    expected: ExpectedCount | None
    """How many cases have it by its probability, the mean over trials, also where that is too low to be shown; None
    where no verdict has a chance, and of a doubt."""
    expected_spread: float | None
    """Standard deviation (n − 1) over trials of the expected number."""


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """What a repeated evaluation amounts to."""

    trials: int
    cases: int
    metrics: tuple[MetricRepeat, ...]
    kinds: tuple[KindRepeat, ...] = ()
    units: tuple[UnitRepeat, ...] = ()
    same: bool = False
    """Whether two trials or more are there and differ in nothing: no score, no verdict, no component."""
    findings: tuple[FindingRepeat, ...] = ()
    """Of the rules that are shown in a trial, or expected of a case."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: metrics, kinds, units and findings by name."""
        found: dict[str, Any] = {"trials": self.trials, "cases": self.cases, "same": self.same}
        for group, key, some in (
            ("metrics", "name", self.metrics),
            ("kinds", "kind", self.kinds),
            ("units", "unit", self.units),
            ("findings", "rule", self.findings),
        ):
            found[group] = {getattr(one, key): _without(asdict(one), key, "title") for one in some}
        return found


def _without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}
