"""Prediction-powered inference: a run's mean, corrected for the judge's errors by some labels, with its interval.

The judge's verdicts are known of every component, the truth of a few that were drawn with known inclusion
probabilities. Per verdict (yes, no, unknown; where there are chances, yes and no in doubt apart) the labels tell how
often the truth is yes; the run tells how often the verdict occurs. Of verdicts with two values this is the power-tuned
estimator of PPI++ (Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference", equation 2 with
the optimal λ). The decision and the formulas stand in `docs/design/trust.md`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.core.errors import InputError
from ragtriage.core.statistics import student_quantile, wilson_interval

Numbers = np.ndarray[Any, np.dtype[Any]]

NO, YES, UNKNOWN = 0, 1, 2
"""How a verdict is written in arrays, as the metric's numerator counts it."""
DOUBTFUL_NO, DOUBTFUL_YES = 3, 4
"""The same of a verdict with a chance that may well be wrong: strata of their own, since they are so more often."""
_LADDER = (NO, DOUBTFUL_NO, DOUBTFUL_YES, YES)
"""From the least to the most likely."""
_SIDES = {YES: (YES, DOUBTFUL_YES), NO: (NO, DOUBTFUL_NO)}
_STRATA = 5
MIN_LABELS = 20
"""Labelled components below which no corrected mean is given: its interval would span most of the range."""
MIN_LABELS_OF_A_VERDICT = 5
"""Labels of one verdict below which it is merged with another one."""


@dataclass(frozen=True, slots=True)
class JudgedComponents:
    """The components that one metric shows of a run, and the labels of some; all arrays have the shape (n,).

    Raises:
        InputError: a label has no inclusion probability in (0, 1].
    """

    case: Numbers
    """The number of its case, from 0."""
    weight: Numbers
    """Its weight in the run's mean: its case's, divided by how many components that case shows."""
    verdict: Numbers
    """NO, YES, UNKNOWN, DOUBTFUL_NO or DOUBTFUL_YES."""
    truth: Numbers
    """What people said, in [0, 1]; NaN without a label."""
    inclusion: Numbers
    """The inclusion probability of a labelled one; any number for the others."""

    def __post_init__(self) -> None:
        known = self.inclusion[~np.isnan(self.truth)]
        if not np.all((known > 0) & (known <= 1)):
            raise InputError("a label has no inclusion probability in (0, 1]: only labels drawn at random can correct")


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A mean corrected for the judge's errors, kept with a run under the names of its fields."""

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


def corrected_mean(components: JudgedComponents, raw: float) -> CorrectedMean | None:
    """The mean that people would have given to the cases of a run, and its 95 % interval; in [0, 1].

    It generalises as the run's own interval does: to cases like these, not to these alone.

    Returns:
        None with fewer than MIN_LABELS labels.

    Args:
        components: the run's, and labels of some.
        raw: the mean as the run has it, to be kept beside.
    """
    labelled = np.flatnonzero(~np.isnan(components.truth))
    if len(labelled) < MIN_LABELS:
        return None
    weight = components.weight / components.weight.sum()
    verdicts = _merged(components.verdict, labelled)
    expansion = weight[labelled] / components.inclusion[labelled]
    group, truth = verdicts[labelled], components.truth[labelled]
    share = np.bincount(verdicts, weight, _STRATA)
    mass = np.bincount(group, expansion, _STRATA)
    # a verdict that no label has occurs in the run at all only where every verdict is of that kind: see _merged
    right = np.bincount(group, expansion * truth, _STRATA) / np.where(mass > 0, mass, 1.0)
    mean = min(1.0, max(0.0, float(share @ right)))

    residuals = share[group] * expansion / mass[group] * (truth - right[group])
    effect = _design_effect(components.case[labelled], residuals)
    below = above = _between_cases(components.case, weight, right[verdicts] - mean, labelled, residuals) ** 2
    for verdict in np.flatnonzero(mass):
        rate = float(right[verdict])
        low, high = wilson_interval(rate, _effective_size(expansion[group == verdict], rate) / effect)
        below += (share[verdict] * (right[verdict] - low)) ** 2
        above += (share[verdict] * (high - right[verdict])) ** 2
    low, high = max(0.0, mean - math.sqrt(below)), min(1.0, mean + math.sqrt(above))
    yes, no = (_right_of(share, right, mass, side) for side in (YES, NO))
    power = 0.0 if yes is None or no is None else yes - no
    return CorrectedMean(raw, mean, low, high, len(labelled), power)


def _right_of(share: Numbers, right: Numbers, mass: Numbers, side: int) -> float | None:
    """How often the truth is yes behind verdicts of yes, or of no, surely and in doubt; None where none is labelled."""
    known = [one for one in _SIDES[side] if mass[one] > 0]
    total = sum(float(share[one]) for one in known)
    return sum(float(share[one] * right[one]) for one in known) / total if total else None


def _merged(verdicts: Numbers, labelled: Numbers) -> Numbers:
    """The verdicts, those with too few labels merged with another; what the labels say decides nothing here.

    A verdict in doubt is merged with a surer one of its kind, unknown with no, and what then is too rare with the next
    likelier one, or else the next less likely one.
    """
    verdicts = verdicts.copy()

    def is_rare(verdict: int) -> bool:
        few = np.count_nonzero(verdicts[labelled] == verdict) < MIN_LABELS_OF_A_VERDICT
        return bool(few and np.any(verdicts == verdict))

    for verdict, other in ((DOUBTFUL_YES, YES), (DOUBTFUL_NO, NO), (UNKNOWN, NO)):
        if is_rare(verdict):
            verdicts[verdicts == verdict] = other
    for verdict in (NO, YES):
        if is_rare(verdict):
            further = [one for one in _LADDER if one != verdict and np.any(verdicts == one)]
            near = further[0] if verdict == NO and further else further[-1] if further else _other(verdict)
            verdicts[verdicts == verdict] = near
    return verdicts


def _other(verdict: int) -> int:
    return YES if verdict == NO else NO


def _between_cases(case: Numbers, weight: Numbers, beyond: Numbers, labelled: Numbers, residuals: Numbers) -> float:
    """Half the interval that comes from the choice of cases.

    A case counts with its expected score beyond the mean, and with how the residuals of its labelled components covary
    with that: where people found more than the verdicts say, in cases that score high anyway, scores lie further apart
    than expected ones. That part can only widen. The quantile is Student's, by the effective number of cases (Kish
    1965).
    """
    count = int(case.max()) + 1
    if count == 1:
        return 0.0
    expected = np.bincount(case, weight * beyond, count)
    found = np.bincount(case[labelled], residuals, count)
    variance = float(expected @ expected) + max(0.0, 2 * float(expected @ found))
    weights = np.bincount(case, weight, count)
    freedom = float(weights.sum() ** 2 / (weights @ weights)) - 1
    return student_quantile(freedom) * math.sqrt(variance * count / (count - 1))


def _design_effect(case: Numbers, residuals: Numbers) -> float:
    """How much wider the interval must be because labels of one case are alike; at least 1."""
    alone = float(residuals @ residuals)
    together = np.bincount(case, residuals)
    return max(1.0, float(together @ together) / alone) if alone > 0 else 1.0


def _effective_size(weights: Numbers, share: float) -> float:
    """How many equally weighted labels these are worth (Kish 1965).

    Near 0 and 1 up to half a label of the largest weight is added: a rare error of a heavy component may not have been
    drawn.
    """
    rare = 0.5 * (2 * share - 1) ** 2
    return float(weights.sum() ** 2 / (weights @ weights + rare * weights.max() ** 2))
