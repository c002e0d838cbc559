"""What a repeated evaluation amounts to, as values, and the statistics behind them."""

from dataclasses import asdict, dataclass
from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from ragtriage.core.metric import Better
from ragtriage.diagnosis.rules import FindingKind

Grid = np.ndarray[Any, np.dtype[np.float64]]
"""Shape (n_cases, n_trials), or one row or column of it; nan where there is no score."""
LEVEL = 0.05
"""How often a difference may be seen where there is none (two-sided)."""
POWER = 0.8
"""How often a difference of this size is to be seen."""
CORRELATION = 0.5
"""How alike the same case's true scores in the two versions are. It can't be known from one version, and
lies in the middle between versions that have nothing in common and such as differ by the same amount everywhere."""

REACH = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)
"""Standard errors that a difference must have: z(1 − level/2) + z(power), about 2.8."""


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


@dataclass(frozen=True, slots=True)
class RepeatSummary:
    """What a repeated evaluation amounts to."""

    trials: int
    cases: int
    metrics: tuple[MetricRepeat, ...]
    kinds: tuple[KindRepeat, ...] = ()
    same: bool = False
    """Whether two trials or more are there and differ in nothing: no score, no verdict, no component."""
    findings: tuple[FindingRepeat, ...] = ()
    """Of the rules that are shown in a trial."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: metrics, kinds and findings by name."""
        found: dict[str, Any] = {"trials": self.trials, "cases": self.cases, "same": self.same}
        for group, key, some in (
            ("metrics", "name", self.metrics),
            ("kinds", "kind", self.kinds),
            ("findings", "rule", self.findings),
        ):
            found[group] = {getattr(one, key): _without(asdict(one), key, "title") for one in some}
        return found


def _without(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in table.items() if key not in keys}
