"""Has a mean fallen? A Shiryaev-Roberts e-detector, which may be looked at after every case.

Shin, Ramdas and Rinaldo, *E-detectors: a nonparametric framework for sequential change detection*, New England Journal
of Statistics in Data Science, 2024, article 59. It promises how many cases pass on average before a false alarm, for
any distribution on [0, 1], without independence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from ragtriage.core.statistics import IntervalEstimate, Numbers, student_quantile, wilson_interval

STEPS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""How much is staked on a fall, from small lasting ones to large sudden ones."""
_MOST_STAKED = 0.95
"""Of what a detector has, so that no single case takes all of it."""
WORST = 3
"""Cases that an alarm names."""


def stakes(least: float) -> Numbers:
    """λ for a mean that is unchanged from `least` on, in (0, 1]: shape (5,)."""
    steps = np.array(STEPS)
    return steps if least >= 1 else np.minimum(steps, _MOST_STAKED / (1 - least))


def moved(values: Numbers, staked: Numbers, least: float, score: float | Numbers) -> Numbers:
    """The values of a detector, one a stake, after one more score: (M + 1) · (1 + λ (m − x)).

    The stakes are the first axis of `values` and `staked`; several detectors with their own scores may be further axes.
    While the mean of the scores is at least m, the mean of the values minus the number of scores is a supermartingale.
    """
    return (values + 1) * (1 + staked * (least - score))


def interval(values: Sequence[float], *, share: bool = False) -> IntervalEstimate:
    """The mean of scores in [0, 1] with its 95 % interval: Student's, of a share, or without any spread, Wilson's."""
    n = len(values)
    if not n:
        return IntervalEstimate(None)
    mean = math.fsum(values) / n
    spread = math.fsum((value - mean) ** 2 for value in values)
    return IntervalEstimate(mean, *bounds(mean, spread, n, share=share), n)


def bounds(mean: float, spread: float, n: int, *, share: bool = False) -> tuple[float, float]:
    """The 95 % interval of a mean, from the sum of the squared distances to it; see `interval`."""
    if share or n < 2 or not spread > 0:
        return wilson_interval(min(1.0, max(0.0, mean)), n)
    half = student_quantile(n - 1) * math.sqrt(spread / (n - 1) / n)
    return max(0.0, mean - half), min(1.0, mean + half)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a detector compares with: the mean of the same score before. Higher is better, whatever the metric's way."""

    mean: float
    low: float
    """Lower end of the 95 % interval of the mean."""
    high: float
    cases: int


@dataclass(slots=True)
class Detector:
    """One score in one stratum, higher being better. As it is stored: every field is of JSON's types, or holds such."""

    baseline: Baseline
    least: float
    """The mean from which on nothing has changed: the lower end of the baseline's interval minus the tolerance."""
    values: list[float] = field(default_factory=lambda: [0.0] * len(STEPS))
    cases: int = 0
    """That have moved it."""
    evidence: list[float] = field(default_factory=lambda: [0.0] * len(STEPS))
    """Like the values, but of the likeliest beginning of a fall alone: max(W, 1) · (1 + λ (m − x)), a CUSUM."""
    since: str | None = None
    """The time, or the window, of the last case after which there was no evidence of a fall, W ≤ 1 as the mean over the
    stakes; None before the first. M itself doesn't tell: it sums over all beginnings, and seldom gets below 1 again."""
    below: int = 0
    """How many cases came since then."""
    worst: list[tuple[float, str]] = field(default_factory=list)
    """The lowest of their scores, with the ids of their cases, the lowest first."""
    blamed: dict[str, int] = field(default_factory=dict)
    """Component → how many of these cases are counted under it."""
    window: tuple[int, int, float, float] = (0, 0, 0.0, 0.0)
    """The number of the window's run; how many scores it has so far, their mean, and the sum of the squared distances
    to it."""

    @property
    def value(self) -> float:
        """M, the mean over the stakes."""
        return float(np.mean(self.values))

    def take(self, score: float, case: str, when: str | None, component: str, run: int) -> None:
        """Move it by one case, whose score is in [0, 1], higher is better; `component` is empty if none is blamed."""
        staked = stakes(self.least)
        self.values = [float(value) for value in moved(np.array(self.values), staked, self.least, score)]
        # `moved` adds 1 before it multiplies
        likeliest = np.maximum(np.array(self.evidence), 1.0) - 1.0
        self.evidence = [float(value) for value in moved(likeliest, staked, self.least, score)]
        self.cases += 1
        window, n, mean, spread = self.window if self.window[0] == run else (run, 0, 0.0, 0.0)
        n, step = n + 1, score - mean
        mean += step / n
        self.window = (window, n, mean, spread + step * (score - mean))
        if float(np.mean(self.evidence)) <= 1:
            self.since, self.below, self.worst, self.blamed = when, 0, [], {}
            return
        self.below += 1
        self.worst = sorted([*self.worst, (score, case)])[:WORST]
        if component:
            self.blamed[component] = self.blamed.get(component, 0) + 1

    def as_json(self) -> dict[str, Any]:
        """For `from_json`; floats come back bit for bit."""
        return asdict(self)

    @classmethod
    def from_json(cls, state: Mapping[str, Any]) -> Detector:
        """Undo `as_json`."""
        run, n, mean, spread = state["window"]
        worst = [(float(score), str(case)) for score, case in state["worst"]]
        known = {"baseline": Baseline(**state["baseline"]), "window": (run, n, mean, spread), "worst": worst}
        return cls(**{**state, **known})


AT_START: Mapping[str, Any] = {
    "values": [0.0] * len(STEPS), "evidence": [0.0] * len(STEPS), "since": None, "below": 0, "worst": [], "blamed": {},
}  # fmt: skip
"""What the state of a detector has where it starts anew, after its alarm was acknowledged."""
