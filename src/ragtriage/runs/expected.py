"""Counts and means out of probabilities, with intervals that hold how far the probabilities may be off."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ragtriage.core.statistics import Z

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
        return cls(value, max(0.0, value - reach), min(float(cases), value + reach))

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

    Args:
        mean: over cases.
        sampling: the ends of its interval by the choice of cases alone.
        doubt: its variance if every verdict is right with its chance.
        moved: how far a step in all log odds moves it.
        between: the standard deviation of such a step between domains.
    """
    down, up = (math.hypot(end - mean, Z * math.sqrt(doubt), Z * between * moved) for end in sampling)
    return mean - down, mean + up
