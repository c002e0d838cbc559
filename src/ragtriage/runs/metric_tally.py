"""One metric, or one kind of finding, over many cases: its mean or expected number with an interval."""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ragtriage.core.case import LEAST_WEIGHT, MOST_WEIGHT, counted_weight
from ragtriage.core.display import SAME, settled
from ragtriage.core.metric import Better, Metric
from ragtriage.core.statistics import ExactSum, Numbers, Z, percentile_interval, ranked, resamples_of
from ragtriage.core.verdicts import Outcome, Score, Undefined
from ragtriage.diagnosis.rules import score_spread

BETWEEN_DOMAINS = 0.45
"""By how much log odds differ between domains beyond chance: the standard deviation over the natural cases of eight
domains, of which nothing was fitted on two (`training/calibrate.py` prints what each is off by). Of means over cases of
domains that it wasn't estimated on it lies between .29 and .42 (`bench/domains.py`)."""


@dataclass(frozen=True, slots=True)
class ExpectedCount:
    """A number of cases as a sum of probabilities."""

    value: float
    low: float
    """Ends of the 95 % interval: whether each case has it, and by how much the texts may differ from those that the
    chances were calibrated on (`BETWEEN_DOMAINS`)."""
    high: float

    @classmethod
    def of(cls, value: float, spread: float, cases: int) -> ExpectedCount:
        """From Σp, the variance Σp(1 − p), and how many cases there are.

        A step in the log odds of all probabilities moves their sum by that same variance.
        """
        reach = Z * math.hypot(math.sqrt(spread), BETWEEN_DOMAINS * spread)
        return cls(settled(value), settled(max(0.0, value - reach)), settled(min(float(cases), value + reach)))

    @property
    def told(self) -> bool:
        """Whether it says more than a count, in whole cases."""
        return round(self.low) < round(self.high)

    def __str__(self) -> str:
        return f"about {self.value:.0f} ({self.low:.0f} to {self.high:.0f})"


def interval_of_mean(
    mean: float, sampling: tuple[float, float], doubt: float, moved: float, between: float = BETWEEN_DOMAINS
) -> tuple[float, float]:
    """The 95 % interval of a mean of expected shares: which cases, which verdicts are right, and which texts.

    Three errors that don't depend on each other, so that their squares add up on either side.

    `sampling` is the interval by the choice of cases alone; `doubt` the variance if every verdict is right with its
    chance; `moved` how far a step in all log odds moves the mean, whose standard deviation between domains is
    `between`.
    """
    down, up = (math.hypot(end - mean, Z * math.sqrt(doubt), Z * between * moved) for end in sampling)
    return mean - down, mean + up


BINS = 10


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric over many cases."""

    name: str
    title: str
    better: Better
    mean: float | None
    """Weighted by the cases' weights; None if no case has the score."""
    low: float | None
    """Lower end of the 95 % interval: of which cases there are, and where verdicts have chances, of which of them are
    right and of texts unlike those that the chances were calibrated on; see `interval_of_mean`."""
    high: float | None
    n: int
    undefined: Mapping[str, int]
    failed: int
    """On how many cases the judge, or the metric, failed; not part of `undefined`."""
    unknown: int
    """How many components were left out as unknown, over all cases."""
    bins: tuple[int, ...]
    """How many cases fall into each of ten equal parts of the range, the ends included."""
    range: tuple[float, float] = (0.0, 1.0)
    about: str = ""
    cause: str = ""
    """Why most of the failed ones failed; empty if none did."""
    sampling: tuple[float, float] | None = None
    """The ends of the 95 % interval over cases, as if every verdict were right; None where no verdict has a chance, so
    that it is the interval above."""
    normal: bool = False
    """Whether the interval over cases is the normal approximation instead of a percentile bootstrap, as there are too
    many cases to draw from them."""


@dataclass
class MetricTally:
    """Counts one metric's outcomes, of which it holds one number a case."""

    metric: Metric
    values: array[float] = field(default_factory=lambda: array("d"))
    weights: array[float] = field(default_factory=lambda: array("d"))
    undefined: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    unknown: int = 0
    doubt: ExactSum = field(default_factory=ExactSum)
    """Σ w² · variance of the score, see `score_spread`."""
    moved: ExactSum = field(default_factory=ExactSum)
    """Σ w · how far a step in all log odds moves the score."""
    moments: Moments | None = None
    """In the place of single scores that were too many to be held."""

    def add(self, outcome: Outcome | None, weight: float) -> None:
        """Count the outcome of one case."""
        match outcome:
            case Score(value=value, unknown=unknown) as score:
                weight = counted_weight(weight)
                self.values.append(value)
                self.weights.append(weight)
                self.unknown += unknown
                doubt, moved = score_spread(score, self.metric.better)
                if moved:
                    self.doubt.add(weight * weight * doubt)
                    self.moved.add(weight * moved)
            case Undefined(reason=reason, failed=True):
                self.failed[reason] += 1
            case Undefined(reason=reason):
                self.undefined[reason] += 1
            case None:
                self.undefined["not computed"] += 1

    def add_scores(self, values: Numbers, weights: Numbers) -> None:
        """Add single scores with the weights of their cases."""
        self.values.frombytes(np.ascontiguousarray(values, np.float64).tobytes())
        counted = np.clip(weights, LEAST_WEIGHT, MOST_WEIGHT)
        self.weights.frombytes(np.ascontiguousarray(counted, np.float64).tobytes())

    def counts(self) -> dict[str, Any]:
        """What was counted, the scores as their sums; of JSON's types."""
        moments = self._summed()
        told = {"undefined": dict(self.undefined), "failed": dict(self.failed), "unknown": self.unknown}
        return told | {"moments": moments.as_json(), "doubt": self.doubt.parts, "moved": self.moved.parts}

    def take(self, counts: Mapping[str, Any], *, moments: bool) -> None:
        """Add what another tally of the metric counted; its scores only by their sums, if `moments`."""
        self.undefined.update(counts["undefined"])
        self.failed.update(counts["failed"])
        self.unknown += counts["unknown"]
        self.doubt.add(*counts["doubt"])
        self.moved.add(*counts["moved"])
        if moments:
            self.moments = self.moments or Moments.of(np.empty(0), np.empty(0), self.metric)
            self.moments.take(counts["moments"])

    def sum_up(self) -> None:
        """Count the single scores by their sums from now on, and hold them no longer."""
        self.moments = self._summed()
        self.values, self.weights = array("d"), array("d")

    def _summed(self) -> Moments:
        found = Moments.of(*self._arrays(), self.metric)
        if self.moments:
            found.take(self.moments.as_json())
        return found

    def summary(self) -> MetricSummary:
        """The numbers so far."""
        values, weights = self._arrays()
        if self.moments:
            mean, low, high = self.moments.interval()
            bins, n = self.moments.bins, self.moments.n
        else:
            mean, low, high = weighted_interval(values, weights) if len(values) else (None, None, None)
            bins, n = _bins(values, self.metric), len(values)
        m, sampling = self.metric, None
        if self.moved.value and mean is not None and low is not None and high is not None:
            total = self.moments.sums[0].value if self.moments else math.fsum(weights)
            sampling = low, high
            low, high = interval_of_mean(mean, sampling, self.doubt.value / total**2, self.moved.value / total)
            low, high = max(m.range[0], low), min(m.range[1], high)
        return MetricSummary(
            m.name,
            m.title,
            m.better,
            mean,
            low,
            high,
            n,
            ranked(self.undefined),
            self.failed.total(),
            self.unknown,
            tuple(bins),
            m.range,
            m.about,
            next(iter(ranked(self.failed)), ""),
            sampling,
            self.moments is not None,
        )

    def _arrays(self) -> tuple[Numbers, Numbers]:
        values = np.frombuffer(self.values, dtype=np.float64) if self.values else np.empty(0)
        weights = np.frombuffer(self.weights, dtype=np.float64) if self.weights else np.empty(0)
        return values, weights


@dataclass
class Moments:
    """The sums from which a weighted mean and its normal interval follow; exact, so that their order doesn't matter."""

    n: int
    bins: list[int]
    sums: tuple[ExactSum, ...]
    """Of w, w·v, w², w²·v and w²·v²."""

    @classmethod
    def of(cls, values: Numbers, weights: Numbers, metric: Metric) -> Moments:
        """The sums of some scores."""
        squared = weights * weights
        terms = (weights, weights * values, squared, squared * values, squared * values * values)
        return cls(len(values), _bins(values, metric), tuple(ExactSum(map(float, term)) for term in terms))

    def as_json(self) -> list[Any]:
        """For `take`."""
        return [self.n, self.bins, [one.parts for one in self.sums]]

    def take(self, told: Any) -> None:
        """Add the sums of other cases."""
        n, bins, sums = told
        self.n += n
        self.bins = [a + b for a, b in zip(self.bins, bins, strict=True)]
        for own, parts in zip(self.sums, sums, strict=True):
            own.add(*parts)

    def interval(self) -> tuple[float | None, float | None, float | None]:
        """The weighted mean and its 95 % interval, mean ± 1.96 √(Σw²(v − mean)²) / Σw; None without a score."""
        if not self.n:
            return None, None, None
        w, wv, ww, wwv, wwvv = (one.value for one in self.sums)
        mean = wv / w
        half = Z * math.sqrt(max(0.0, wwvv - 2 * mean * wwv + mean * mean * ww)) / w
        return mean, mean - half, mean + half


def _bins(values: Numbers, metric: Metric) -> list[int]:
    return [int(count) for count in np.histogram(np.round(values, SAME), bins=BINS, range=metric.range)[0]]


def weighted_interval(values: Numbers, weights: Numbers) -> tuple[float, float, float]:
    """The weighted mean and its 95 % percentile bootstrap interval over cases (Efron 1979).

    Both have the shape (n,), n ≥ 1, the weights above 0; with one case the interval is that case. The same data gives
    the same numbers, in whatever order it comes.
    """
    order = np.lexsort((weights, np.round(values, SAME)))
    values, weights = values[order], weights[order]
    weights = weights / weights.max()  # only their proportions count, and the sum of very large ones would overflow
    mean = float(np.average(values, weights=weights))
    if len(values) == 1:
        return mean, mean, mean
    weighted = values * weights
    drawn = [weighted[some].sum(1) / weights[some].sum(1) for some in resamples_of(len(values))]
    return mean, *percentile_interval(np.concatenate(drawn))
