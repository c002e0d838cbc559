"""Is a difference more than chance? Base and new are swapped within whole groups: p is how often that is as far off.

For scores of 0 and 1 without weights and groups this is McNemar's exact test, so that there is one test for scores,
findings and definedness. There is no Wilcoxon test, since it tests no mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from ragtriage.runs.compare.comparison import How
from ragtriage.runs.compare.difference import ROUNDING, Numbers

EXACT = 13
"""Up to so many changed groups all swaps are taken: 2 ** 13 is fewer than FLIPS."""
FLIPS = 10_000
"""Random swaps behind a p-value."""
MOST_DRAWN = 5_000
"""Changed groups above which p is the normal limit of the same test: at 3,000 it is .844 where .842 was drawn."""
FEWEST = 6
"""Changed groups that can reach .05: 5 of 5 have p = .0625 (Tarone, "A modified Bonferroni method for discrete data",
Biometrics 46, 1990)."""
_TIE = 1e-9
"""A sum that is no further than this from the observed one is as far off."""
_AT_ONCE = 4_000_000
"""Cells of a matrix of swaps that are held at once."""
_NORMAL = NormalDist()

P = tuple[float, How]


def swap_p(sums: Numbers, seed: int = 0) -> P:
    """The two-sided p-value of one number's weighted changes by group, and how it was had; see `swap_ps`."""
    return swap_ps({"": sums}, seed)[""]


def swap_ps(sums: Mapping[str, Numbers], seed: int = 0) -> dict[str, P]:
    """The share of all swaps of whole groups for which |Σ ± S| is at least |Σ S|, of several numbers at once.

    Groups that didn't change drop out. If all others changed by the same amount p is binomial, and exact; with up to
    `EXACT` of them all swaps are taken; up to `MOST_DRAWN` random ones, (hits + 1) / (`FLIPS` + 1) as by Phipson and
    Smyth, "Permutation p-values should never be zero" (2010); above that the normal limit 2(1 − Φ(|ΣS| / √ΣS²)). One
    draw serves all numbers. Neither the order of the groups nor swapping the sides altogether makes a difference.

    Args:
        sums: name → the weighted change of each group, shape (groups,).
        seed: of the random swaps.
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


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values, in the order given; None stays None and isn't counted.

    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979). It
    keeps the chance of any false finding among the family at .05, which for families this small costs little.
    """
    known = [(p, place) for place, p in enumerate(p_values) if p is not None]
    adjusted: list[float | None] = [None] * len(p_values)
    before = 0.0
    for rank, (p, place) in enumerate(sorted(known)):
        before = max(before, min(1.0, (len(known) - rank) * p))
        adjusted[place] = before
    return adjusted


def changed_groups(sums: np.ndarray[Any, np.dtype[np.float64]]) -> int:
    """How many groups changed."""
    return int((np.abs(sums) > ROUNDING).sum())
