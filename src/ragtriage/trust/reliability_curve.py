"""The judge's reliability curve: how often people said yes where it said how likely a yes is."""

from dataclasses import dataclass

import numpy as np

from ragtriage.core.statistics import wilson_interval
from ragtriage.trust.corrected_mean import UNKNOWN, LabelledMetric

MIN_LABELS = 20
"""Labels with a probability below which there is no curve: it would have one or two points."""
MOST_POINTS = 10
LABELS_A_POINT = 10
"""Labels that a point rests on at least, as far as equal probabilities, which stay together, allow it."""


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """Labels of neighbouring probabilities."""

    said: float
    """The mean of the judge's probabilities of yes, in [0, 1]."""
    true: float
    """The share to which people said yes, in [0, 1]."""
    low: float
    """Lower end of its 95 % interval (Wilson 1927); unequal weights count as fewer labels (Kish 1965)."""
    high: float
    labels: int


def reliability_curve(found: LabelledMetric) -> tuple[CurvePoint, ...]:
    """The points of a metric's curve from the least to the most likely; none with fewer than MIN_LABELS labels.

    By the chances that scores count with, or the judge's own probabilities where it has no chances; a yes speaks for
    the answer. What the judge couldn't tell is left out. Labels count by 1 / their inclusion probability.
    """
    chance = found.score if np.all(np.isnan(found.chance)) else found.chance
    known = np.flatnonzero(~np.isnan(found.truth) & ~np.isnan(chance) & (found.verdict != UNKNOWN))
    if len(known) < MIN_LABELS:
        return ()
    known = known[np.argsort(chance[known], kind="stable")]
    said = chance[known]
    ends = np.linspace(0, len(known), min(MOST_POINTS, len(known) // LABELS_A_POINT) + 1).astype(int)[1:-1]
    starts = np.unique(np.searchsorted(said, said[ends]))  # equal ones stay together
    points = []
    for some in np.split(known, starts[starts > 0]):
        weight = 1.0 / found.inclusion[some]
        true = float(np.average(found.truth[some], weights=weight))
        low, high = wilson_interval(true, float(weight.sum() ** 2 / (weight @ weight)))
        points.append(CurvePoint(float(np.average(chance[some], weights=weight)), true, low, high, len(some)))
    return tuple(points)
