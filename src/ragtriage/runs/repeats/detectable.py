"""The smallest difference between two versions of an application that a data set can show."""

from __future__ import annotations

from math import sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float64]]

LEVEL = 0.05
"""How often a difference may be seen where there is none (two-sided)."""
POWER = 0.8
"""How often a difference of this size is to be seen."""
CORRELATION = 0.5
"""How alike the same case's true scores in the two versions are. It can't be known from one version, and
lies in the middle between versions that have nothing in common and such as differ by the same amount everywhere."""

REACH = NormalDist().inv_cdf(1 - LEVEL / 2) + NormalDist().inv_cdf(POWER)
"""Standard errors that a difference must have: z(1 − level/2) + z(power), about 2.8."""


def smallest_difference(grid: Numbers, weights: Numbers) -> tuple[float, float] | None:
    """The smallest difference of means between two versions, and the least that it could be.

    Both versions answer the same n cases, are evaluated once each, and are compared case by case. A difference δ is
    seen with the stated power where δ = (z(1 − level/2) + z(power)) · √((ω² + σ_A² + σ_B²) / n): the power analysis of
    Miller, "Adding Error Bars to Evals: A Statistical Approach to Language Model Evaluations" (2024, arXiv:2411.00640),
    with one sample a case. σ² is the judge's noise: the mean over cases of the variance of a score over trials, taken
    as the same for both versions. ω² is the variance over cases of the difference of the true scores, 2 · (1 − ρ) · s²;
    s² is the variance of true scores over cases, that of a single trial's scores less σ², and ρ is `CORRELATION`.

    It assumes that cases are independent of each other, that the judge's noise on one case is independent of that on
    another, and enough cases for a mean to be normal (some twenty). With weights, n is Kish's (Σw)² / Σw².

    Args:
        grid: shape (n_cases, n_trials); nan where there is no score.
        weights: shape (n_cases,), above 0.

    Returns:
        (smallest, floor) in the metric's unit. The floor is for ω² = 0, a change that moves all cases alike: only the
        judge's noise hides it, and it is 0 for a judge that has none. None unless a case has two scores and a trial two
        cases, and where all scores are the same, so that nothing is known of their variance.
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


def _noise(grid: Numbers, weights: Numbers) -> float | None:
    """The mean over cases of the variance (n − 1) over trials; None if no case has two scores."""
    several = (~np.isnan(grid)).sum(axis=1) > 1
    if not several.any():
        return None
    return float(np.average(np.nanvar(grid[several], axis=1, ddof=1), weights=weights[several] / weights.max()))


def _variance(scores: Numbers, weights: Numbers) -> tuple[float, float] | None:
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
