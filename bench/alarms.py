"""How often detectors alarm without a reason, and how soon after a fall: simulated scores, the package's own detector.

    nice -n 19 python bench/alarms.py [--series 400] [--cases 20000]

A score is the share of supported ones among 4 claims, where the quality of a case is drawn from a beta distribution, so
that scores pile up at 1: mean .83, standard deviation .23. The mean from which on nothing has changed is .81. Of the
share of unchanged series that alarm, with all nine detectors moved by unchanged scores of their own, the bar is 2 %.
"""

import argparse
from collections.abc import Callable

import numpy as np

from ragtriage.core.statistics import Numbers
from ragtriage.monitor.baseline import moved, stakes

MEAN, TOLERANCE, PROMISED, DETECTORS = 0.83, 0.02, 10_000, 9
LEAST = MEAN - TOLERANCE
Draw = Callable[[tuple[int, ...]], Numbers]


def scores(mean: float, random: np.random.Generator) -> Draw:
    """Shares of 4 claims, of cases whose quality differs."""
    a, b = 5 * mean, 5 * (1 - mean)
    return lambda shape: random.binomial(4, random.beta(a, b, shape)) / 4


def first_alarms(before: Draw, after: Draw, fall: int, cases: int, shape: tuple[int, ...], threshold: float) -> Numbers:
    """The case with which each series alarms, from 1, inf where none does: shape (series,).

    `shape` is (series,), or (detectors, series) where a series alarms with any of its detectors.
    """
    staked = stakes(LEAST).reshape(-1, *(1 for _ in shape))
    values = np.zeros((len(staked), *shape))
    found = np.full(shape[-1], np.inf)
    for case in range(1, cases + 1):
        values = moved(values, staked, LEAST, (before if case <= fall else after)(shape))
        high = values.mean(0) >= threshold
        found[(high.any(0) if len(shape) > 1 else high) & np.isinf(found)] = case
        if not np.isinf(found).any():
            break
    return found


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=400)
    parser.add_argument("--cases", type=int, default=20_000)
    given = parser.parse_args()
    random = np.random.default_rng(1)
    unchanged = scores(MEAN, random)
    sample = unchanged((200_000,))
    print(f"scores: mean {sample.mean():.3f}, standard deviation {sample.std():.3f}; unchanged from {LEAST:.2f} on")
    threshold = DETECTORS * PROMISED
    for names, shape in (("one score", (given.series,)), ("nine scores", (DETECTORS, given.series))):
        alarms = first_alarms(unchanged, unchanged, 0, given.cases, shape, threshold)
        share = np.isfinite(alarms).mean()
        print(f"{names} of each series unchanged, threshold {threshold:,}: {share:.2%} of {given.series} series of "
              f"{given.cases:,} cases alarm")  # fmt: skip
    for mean in (0.73, 0.70, 0.65, 0.55):
        late = first_alarms(unchanged, scores(mean, random), 1000, given.cases, (given.series,), threshold) - 1000
        true = late[np.isfinite(late) & (late > 0)]
        print(f"a fall to {mean:.2f} after 1,000 cases, threshold {threshold:,}: alarm after a median of "
              f"{np.median(true):.0f} cases, 90 % within {np.percentile(true, 90):.0f}; {len(late) - len(true)} of "
              f"{len(late)} none, or before it")  # fmt: skip


if __name__ == "__main__":
    main()
