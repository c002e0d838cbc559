"""Curves fitted to labels: the chance of yes behind a judge's probability."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ragtriage.core.statistics import percentile_interval, wilson_interval
from ragtriage.judges.decision_thresholds import HIGHEST, LOWEST, ChanceCurve
from ragtriage.trust.corrected_mean import UNKNOWN, AnyArray, LabelledMetric
from ragtriage.trust.label_fits import FOLDS, LabelledScores, folds_of, resampled, too_few

MIN_LABELS = 50
"""Labels below which no curve is fitted."""
MIN_ISOTONIC = 500
"""Labels below which no isotonic curve is tried: it would follow their noise."""
HELD_BACK = 10
"""Labels that are added and say what the judge says, so that a small sample moves its probabilities only in part."""
_STEPS = 50
_CLOSE = 1e-9

Fit = Callable[[LabelledScores], ChanceCurve]


@dataclass(frozen=True, slots=True)
class FittedCurve:
    """A curve, and how sure it is."""

    curve: ChanceCurve
    loss: float
    """Log loss on cases that it wasn't fitted on, in five folds."""
    now: float
    """Log loss of the verdicts as they count at present; a 1 or 0 is taken as .995 or .005."""
    gain_low: float
    """Lower end of the 95 % interval of `now` − `loss`, by bootstrap over cases."""
    gain_high: float
    labels: int

    @property
    def better(self) -> bool:
        """Whether it surely does better on held-out cases than the present verdicts."""
        return self.gain_low > 0


def too_few_for_a_curve(labels: LabelledScores) -> str:
    """Why no curve can be fitted; "" if one can."""
    if len(labels.truth) < MIN_LABELS:
        return f"too few labels: {len(labels.truth)}, and a curve takes {MIN_LABELS}"
    return too_few(labels)


def fit_curve(labels: LabelledScores, chance: AnyArray, judge: str, fingerprint: str) -> FittedCurve:
    """Platt's curve, or with MIN_ISOTONIC labels the isotonic one if it does better on held-out cases.

    Every label counts by its weight. `chance`, shape (n,), is that of each verdict as it counts at present, in [0, 1].
    """
    share = float(np.average(labels.truth, weights=labels.weight))

    def platt(some: LabelledScores) -> ChanceCurve:
        a, b = _platt(some)
        return ChanceCurve(judge, fingerprint, round(a, 3), round(b, 3), rate=round(share, 3))

    def isotonic(some: LabelledScores) -> ChanceCurve:
        points = _isotonic(some)
        if len(points) < 2:
            return platt(some)
        return ChanceCurve(judge, fingerprint, points=points, rate=round(share, 3))

    forms: list[Fit] = [platt, isotonic] if len(labels.truth) >= MIN_ISOTONIC else [platt]
    losses = [_log_losses(labels.truth, _held_out(labels, fit)) for fit in forms]
    means = [_mean(labels, loss) for loss in losses]
    best = int(np.argmin(means))
    now = _log_losses(labels.truth, chance)
    gains = resampled(labels, lambda at: _mean(labels.part(at), (now - losses[best])[at]))
    return FittedCurve(
        forms[best](labels), means[best], _mean(labels, now), *percentile_interval(gains), len(labels.truth)
    )


def _platt(labels: LabelledScores) -> tuple[float, float]:
    """The numbers a and b, by Newton's method.

    HELD_BACK labels are spread over the same probabilities and say what the judge says, which a = 1 and b = 0 fits;
    unequal weights count as fewer labels (Kish 1965).
    """
    p = np.clip(labels.score, LOWEST, HIGHEST)
    share = labels.weight / labels.weight.sum()
    n = 1.0 / float(share @ share)
    weight = share * (n + HELD_BACK)
    target = (n * labels.truth + HELD_BACK * p) / (n + HELD_BACK)
    x = np.column_stack([np.log(p / (1.0 - p)), np.ones(len(p))])

    def loss(at: AnyArray) -> float:
        z = x @ at
        return float(weight @ (np.logaddexp(0.0, z) - target * z))

    found = np.array([1.0, 0.0])
    for _ in range(_STEPS):
        said = 1.0 / (1.0 + np.exp(-(x @ found)))
        slope = x.T @ (weight * (said - target))
        # the pseudo-inverse: where all probabilities are alike, a can't be told from b
        step = np.linalg.pinv((x * (weight * said * (1.0 - said))[:, None]).T @ x) @ slope
        while loss(found - step) > loss(found) and np.abs(step).max() > _CLOSE:
            step = step / 2.0
        found = found - step
        if np.abs(step).max() <= _CLOSE:
            break
    return float(found[0]), float(found[1])


def _isotonic(labels: LabelledScores) -> tuple[tuple[float, float], ...]:
    """The points (mean p, share of yes) of the blocks in which the share never falls (pool adjacent violators)."""
    p, place = np.unique(np.round(labels.score, 4), return_inverse=True)
    weights = np.bincount(place, labels.weight)
    yes = np.bincount(place, labels.weight * labels.truth)
    blocks: list[tuple[float, float, float]] = []
    """(weight, its sum of p, its sum of yes)."""
    for one in zip(weights, weights * p, yes, strict=True):
        block = tuple(map(float, one))
        while blocks and block[2] / block[0] <= blocks[-1][2] / blocks[-1][0]:
            last = blocks.pop()
            block = tuple(a + b for a, b in zip(last, block, strict=True))
        blocks.append(block)  # type: ignore[arg-type]  # three numbers
    found = {
        round(of_p / weight, 4): float(np.clip(of_yes / weight, LOWEST, HIGHEST)) for weight, of_p, of_yes in blocks
    }
    return tuple((at, round(chance, 4)) for at, chance in found.items())


def _held_out(labels: LabelledScores, fit: Fit) -> AnyArray:
    """The chances by curves that were fitted on other cases, shape (n,)."""
    folds = folds_of(labels)
    found = np.empty(len(labels.score))
    for one in range(FOLDS):
        left_out = folds == one
        if np.any(left_out):
            curve = fit(labels.part(~left_out))
            found[left_out] = [curve.at(p) for p in labels.score[left_out]]
    return found


def _log_losses(truth: AnyArray, chance: AnyArray) -> AnyArray:
    """−(y ln q + (1 − y) ln(1 − q)) of each, shape (n,), q clipped to [LOWEST, HIGHEST]."""
    q = np.clip(chance, LOWEST, HIGHEST)
    return np.asarray(-(truth * np.log(q) + (1.0 - truth) * np.log1p(-q)))


def _mean(labels: LabelledScores, values: AnyArray) -> float:
    return float(np.average(values, weights=labels.weight))


FEWEST_LABELS = 20
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
    """The points of a metric's curve from the least to the most likely; none with fewer than FEWEST_LABELS labels.

    By the chances that scores count with, or the judge's own probabilities where it has no chances; a yes speaks for
    the answer. What the judge couldn't tell is left out. Labels count by 1 / their inclusion probability.
    """
    chance = found.score if np.all(np.isnan(found.chance)) else found.chance
    known = np.flatnonzero(~np.isnan(found.truth) & ~np.isnan(chance) & (found.verdict != UNKNOWN))
    if len(known) < FEWEST_LABELS:
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
