"""Several trials or runs of one side: one number a case, and the judge's own part of the error.

The number of cases stays what it is: trials aren't cases. The judge's part is shown beside the standard error, which
holds it already, and isn't added to it.
"""

from __future__ import annotations

import math

import numpy as np

from ragtriage.runs.compare.difference import Numbers


def mean_over_trials(grid: Numbers) -> Numbers:
    """Each case's mean of its defined scores; shape (n, trials) → (n,), NaN where none is defined."""
    there = ~np.isnan(grid)
    count = there.sum(axis=1)
    total = np.where(there, grid, 0.0).sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def noise_variance(grid: Numbers) -> float | None:
    """The mean over cases of the variance (n − 1) over trials: σ². Shape (n, trials); None if no case has two."""
    several = (~np.isnan(grid)).sum(axis=1) > 1
    return float(np.mean(np.nanvar(grid[several], axis=1, ddof=1))) if several.any() else None


def noise_error(
    weights: Numbers, total: float, base: tuple[float | None, int], new: tuple[float | None, int]
) -> float | None:
    """The standard error that the judge alone makes: √(Σ wᵢ² (σ_b²/R_b + σ_n²/R_n)) / Σ w.

    Args:
        weights: of the pairs whose judged inputs changed; the others get their remembered answers.
        total: the weight of all pairs.
        base: σ² and the number of trials R; a side without a σ² takes the other's.
        new: the same.

    Returns:
        None if neither side has a σ².
    """
    (one, trials_b), (other, trials_n) = base, new
    one, other = (one if one is not None else other), (other if other is not None else one)
    if one is None or other is None or not total:
        return None
    return math.sqrt(float(weights @ weights) * (one / trials_b + other / trials_n)) / total
