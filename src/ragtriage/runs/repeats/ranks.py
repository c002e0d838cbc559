"""How far several trials rank the same cases alike."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np

Numbers = np.ndarray[Any, np.dtype[np.float64]]
DIGITS = 9
"""Scores that are the same up to here are tied: a mean of the same verdicts may be summed in another order."""


def agreement(grid: Numbers) -> float | None:
    """The mean of Kendall's τ-b over all pairs of trials, in [-1, 1]: 1 if all of them rank the cases alike.

    Args:
        grid: shape (n_cases, n_trials); nan where there is no score.

    Returns:
        None if no pair of trials has a τ-b. A case without a score in one of two trials is left out of that pair.
    """
    found = (tau_b(first, second) for first, second in combinations(grid.T, 2))
    there = [tau for tau in found if tau is not None]
    return sum(there) / len(there) if there else None


def tau_b(first: Numbers, second: Numbers) -> float | None:
    """Kendall's rank correlation with ties, τ-b, in [-1, 1].

    (concordant − discordant pairs) / √((pairs not tied in the first) · (pairs not tied in the second)): Kendall, "The
    treatment of ties in ranking problems", Biometrika 33 (1945). Shares of a few verdicts are tied all the time; τ-b is
    1 for the same ranking also then. Counted in n log n as by Knight, "A computer method for calculating Kendall's tau
    with ungrouped data", Journal of the American Statistical Association 61 (1966).

    Args:
        first: shape (n,); nan where there is no score.
        second: shape (n,).

    Returns:
        None with fewer than two cases that have both scores, or where all cases are tied in one of them.
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
    """How many pairs have the same rank."""
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
