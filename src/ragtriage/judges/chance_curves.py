"""What labels say of a judge's verdicts: the chance of yes behind its probability."""

import hashlib
import math
from bisect import bisect
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

from ragtriage.core.errors import ConfigError
from ragtriage.core.validation import STRICT
from ragtriage.core.verdicts import Verdict, log_odds
from ragtriage.judges.decision_thresholds import LABELS, check_kinds

LOWEST, HIGHEST = 0.005, 0.995
"""Probabilities beyond are taken as these where log odds are needed: a 0 or 1 would stay one whatever labels say."""


@dataclass(frozen=True, slots=True)
class ChanceCurve:
    """The chance of yes behind the probability p that one judge gives for one kind of question.

    Of a verdict without a probability, p is 1 for yes and 0 for no. Either `a` and `b` are given, chance =
    σ(a · logit p + b) with p clipped to [LOWEST, HIGHEST] (Platt 1999), or `points`.
    """

    judge: str
    """What a user types for the judge that it was fitted for."""
    fingerprint: str = ""
    """Of that judge, for this kind of question; empty: of whatever version."""
    a: float | None = None
    """Above 0."""
    b: float | None = None
    points: tuple[tuple[float, float], ...] = ()
    """(p, chance), both rising; linear between them, level beyond."""
    rate: float | None = None
    """The share of yes among the labels, in (0, 1), from which a base rate moves the odds; None if it isn't known."""

    __pydantic_config__: ClassVar[Any] = STRICT

    def at(self, p: float) -> float:
        """The chance of yes behind a probability in [0, 1]."""
        if self.a is not None and self.b is not None:
            return 1.0 / (1.0 + math.exp(-(self.a * log_odds(min(max(p, LOWEST), HIGHEST)) + self.b)))
        after = bisect(self.points, p, key=lambda point: point[0])
        if after in (0, len(self.points)):
            return self.points[min(after, len(self.points) - 1)][1]
        (left, low), (right, high) = self.points[after - 1 : after + 1]
        return low + (high - low) * (p - left) / (right - left)

    def of(self, verdict: Verdict) -> float:
        """The chance of yes behind a verdict of yes or no."""
        return self.at(float(verdict.value == "yes") if verdict.score is None else verdict.score)

    def marked(self, fingerprint: str) -> str:
        """The fingerprint of a judge whose verdicts count by it."""
        told = repr((self.a, self.b, self.points)).encode()
        return f"{fingerprint}{LABELS}{hashlib.blake2b(told, digest_size=6).hexdigest()}"


def check_chance_curves(given: Mapping[str, ChanceCurve], where: str) -> None:
    """Check the tables `[chance_curves.KIND]` of a settings file."""
    check_kinds(given, f"{where}: [chance_curves]")
    for kind, one in given.items():
        place = f"{where}: [chance_curves.{kind}]"
        if (one.a is None) != (one.b is None) or (one.a is None) != bool(one.points):
            raise ConfigError(f"{place}: give a and b, or points")
        if one.a is not None and one.b is not None and not (0 < one.a < math.inf and math.isfinite(one.b)):
            raise ConfigError(
                f"{place}: a is {one.a:g} and b is {one.b:g}: give a above 0; a judge whose probabilities fall where "
                "the truth rises is of no use"
            )
        if one.points and not _rise(one.points):
            raise ConfigError(
                f"{place}: points is {[list(point) for point in one.points]}: give two or more [p, chance] from 0 to "
                "1, for example [[0, 0.1], [1, 0.9]], each p above the one before it and no chance below"
            )
        if one.rate is not None and not 0 < one.rate < 1:
            raise ConfigError(f"{place}: rate is {one.rate:g}: give a share between 0 and 1")


def _rise(points: tuple[tuple[float, float], ...]) -> bool:
    steps = list(pairwise(points))
    inside = all(0 <= number <= 1 for point in points for number in point)
    return bool(steps) and inside and all(p < q and low <= high for (p, low), (q, high) in steps)
