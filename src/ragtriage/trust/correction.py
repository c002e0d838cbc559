"""Prediction-powered inference: a run's mean, corrected for the judge's errors by some labels, with its interval.

The judge's verdicts are known of every component, the truth of a few that were drawn with known chances. Per verdict
(yes, no, unknown) the labels tell how often the truth is yes; the run tells how often the verdict occurs. Of verdicts
with two values this is the power-tuned estimator of PPI++ (Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient
Prediction-Powered Inference", equation 2 with the optimal λ). The decision and the formulas stand in
`docs/design/trust.md`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

import numpy as np

from ragtriage.core.errors import InputError

Numbers = np.ndarray[Any, np.dtype[Any]]

NO, YES, UNKNOWN = 0, 1, 2
"""How a verdict is written in arrays, as the metric's numerator counts it."""
FEWEST = 20
"""Labelled components below which no corrected mean is given: its interval would span most of the range."""
FEWEST_OF_A_VERDICT = 5
"""Labels of one verdict below which it isn't told apart from another one."""
_Z = NormalDist().inv_cdf(0.975)


@dataclass(frozen=True, slots=True)
class Sample:
    """The components that one metric shows of a run, and the labels of some; all arrays have the shape (n,).

    Raises:
        InputError: a label has no chance in (0, 1].
    """

    case: Numbers
    """The number of its case, from 0."""
    weight: Numbers
    """Its weight in the run's mean: its case's, divided by how many components that case shows."""
    said: Numbers
    """NO, YES or UNKNOWN."""
    truth: Numbers
    """What people said, in [0, 1]; NaN where nobody did."""
    chance: Numbers
    """The probability with which a labelled one was drawn; any number for the others."""

    def __post_init__(self) -> None:
        drawn = self.chance[~np.isnan(self.truth)]
        if not np.all((drawn > 0) & (drawn <= 1)):
            raise InputError("a label has no chance of being drawn, in (0, 1]: only labels drawn at random can correct")


@dataclass(frozen=True, slots=True)
class Correction:
    """A mean corrected for the judge's errors."""

    raw: float
    """As the run has it."""
    mean: float
    low: float
    """Lower end of the 95 % interval."""
    high: float
    labels: int
    """Labelled components that it rests on."""
    power: float
    """λ of PPI++, in [-1, 1]: how much the verdicts tell; 0 where the labels alone speak."""

    def as_json(self) -> dict[str, Any]:
        """For machines, and to be kept with a run."""
        return asdict(self)

    @classmethod
    def read(cls, kept: Mapping[str, Any]) -> Correction:
        """From `as_json`."""
        numbers = {name: float(kept[name]) for name in ("raw", "mean", "low", "high", "power")}
        return cls(labels=int(kept["labels"]), **numbers)


def corrected(sample: Sample, raw: float) -> Correction | None:
    """The mean that people would have given to the cases of a run, and its 95 % interval; in [0, 1].

    It speaks of the application as the run's own interval does: for cases like these, not for these alone.

    Returns:
        None with fewer than FEWEST labels.

    Args:
        sample: the run's components, and labels of some.
        raw: the mean as the run has it, to be kept beside.
    """
    told = np.flatnonzero(~np.isnan(sample.truth))
    if len(told) < FEWEST:
        return None
    weight = sample.weight / sample.weight.sum()
    said = _grouped(sample.said, told)
    drawn = weight[told] / sample.chance[told]
    group, truth = said[told], sample.truth[told]
    share = np.bincount(said, weight, 3)
    mass = np.bincount(group, drawn, 3)
    # a verdict that no label has occurs in the run at all only where every verdict is of that kind: see _grouped
    right = np.bincount(group, drawn * truth, 3) / np.where(mass > 0, mass, 1.0)
    mean = min(1.0, max(0.0, float(share @ right)))

    errors = share[group] * drawn / mass[group] * (truth - right[group])
    effect = _clustering(sample.case[told], errors)
    below = above = _between_cases(sample.case, weight, right[said] - mean, told, errors) ** 2
    for verdict in np.flatnonzero(mass):
        own = drawn[group == verdict]
        low, high = _wilson(float(right[verdict]), _effective(own, float(right[verdict])) / effect)
        below += (share[verdict] * (right[verdict] - low)) ** 2
        above += (share[verdict] * (high - right[verdict])) ** 2
    low, high = max(0.0, mean - math.sqrt(below)), min(1.0, mean + math.sqrt(above))
    power = float(right[YES] - right[NO]) if mass[YES] > 0 and mass[NO] > 0 else 0.0
    return Correction(raw, mean, low, high, len(told), power)


def _grouped(said: Numbers, told: Numbers) -> Numbers:
    """The verdicts, those with too few labels put together with another; what the labels say decides nothing here."""
    said = said.copy()
    for verdict, other in ((UNKNOWN, NO), (NO, YES), (YES, NO)):
        if np.any(said == verdict) and np.count_nonzero(said[told] == verdict) < FEWEST_OF_A_VERDICT:
            said[said == verdict] = other
    return said


def _between_cases(case: Numbers, weight: Numbers, beyond: Numbers, told: Numbers, errors: Numbers) -> float:
    """Half the interval that comes from the choice of cases.

    A case counts with its expected score beyond the mean, and with how the errors of its labelled components go with
    that: where people found more than the verdicts say, in cases that stand high anyway, scores lie further apart than
    expected ones. That part can only widen. The quantile is Student's, by the effective number of cases (Kish 1965).
    """
    count = int(case.max()) + 1
    if count == 1:
        return 0.0
    expected = np.bincount(case, weight * beyond, count)
    found = np.bincount(case[told], errors, count)
    variance = float(expected @ expected) + max(0.0, 2 * float(expected @ found))
    heavy = np.bincount(case, weight, count)
    freedom = float(heavy.sum() ** 2 / (heavy @ heavy)) - 1
    return _student(freedom) * math.sqrt(variance * count / (count - 1))


def _student(freedom: float) -> float:
    """The .975 quantile of Student's t, by the expansion of Cornish and Fisher (Abramowitz and Stegun 26.7.5).

    From 2 degrees of freedom on it is right to a hundredth; fewer than 1 count as 1.
    """
    z, n = _Z, max(1.0, freedom)
    return (
        z
        + (z**3 + z) / (4 * n)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * n**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * n**3)
        + (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / (92160 * n**4)
    )


def _clustering(case: Numbers, errors: Numbers) -> float:
    """How much wider the interval must be because labels of one case are alike; at least 1 (a design effect)."""
    alone = float(errors @ errors)
    together = np.bincount(case, errors)
    return max(1.0, float(together @ together) / alone) if alone > 0 else 1.0


def _effective(drawn: Numbers, share: float) -> float:
    """How many equally weighted labels these are worth (Kish 1965).

    Near 0 and 1 up to half a label of the largest weight is counted beside: a rare error of a heavy component may not
    have been drawn.
    """
    rare = 0.5 * (2 * share - 1) ** 2
    return float(drawn.sum() ** 2 / (drawn @ drawn + rare * drawn.max() ** 2))


def _wilson(share: float, n: float) -> tuple[float, float]:
    """The interval of a share of n (Wilson 1927); n needn't be whole."""
    z = _Z
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return min(share, middle - half), max(share, middle + half)
