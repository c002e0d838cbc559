"""Where to cut a number so that yes and no come apart as people tell them apart, and how sure that is.

Every label counts by 1 / the chance with which it was drawn. Cuts are compared by *balanced accuracy*, the mean of the
shares of yes and of no that come out right, since where nearly all is yes a cut that says yes to all is right nearly
always and finds nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ragtriage.trust.correction import NO, UNKNOWN, YES, Numbers

FEWEST_EACH = 10
"""Labels of yes, and of no, below which a cut would be noise."""
FEWEST_DECIDED = 20
"""Labels on one side of a band below which nothing can be said of it."""
FOLDS = 5
DRAWS = 500
RIGHT_NO = 0.7
"""How often a no must be right: what is shown in red must mostly be so."""
RIGHT_DECIDED = 0.9
LOST = 0.1
"""The demands on a cascade's band: see `ragtriage.judges.decision_thresholds.BANDS`."""
NEVER_NO, NEVER_YES = -1.0, 2.0


@dataclass(frozen=True, slots=True)
class Points:
    """Labelled numbers; arrays have the shape (n,)."""

    score: Numbers
    truth: Numbers
    """Above a half: yes."""
    weight: Numbers
    case: Numbers
    """Labels of one case are drawn, and left out, together."""
    said: Numbers
    """NO, YES or UNKNOWN: what is said of each as things are."""

    def part(self, keep: Numbers) -> Points:
        """Some of them, by places or by true and false."""
        return Points(*(each[keep] for each in (self.score, self.truth, self.weight, self.case, self.said)))

    @property
    def is_yes(self) -> Numbers:
        """What is so, shape (n,)."""
        found: Numbers = self.truth > 0.5
        return found


@dataclass(frozen=True, slots=True)
class FittedCut:
    """A cut, and how sure it is."""

    yes: float
    no: float
    """Below it no; equal to `yes` where nothing lies between."""
    low: float
    """Lower end of the 95 % interval of `yes`, by bootstrap over cases."""
    high: float
    fitted: float
    """Balanced accuracy on the labels that it was fitted on."""
    held_out: float
    """The same on cases that it wasn't fitted on, in five folds."""
    now: float
    """Balanced accuracy of what is said as things are; an unknown counts as half right."""
    gain_low: float
    """Lower end of the 95 % interval of `held_out` − `now`, by bootstrap over cases."""
    gain_high: float
    labels: int

    @property
    def better(self) -> bool:
        """Whether it surely does better on cases that it wasn't fitted on than what is said as things are."""
        return self.gain_low > 0


@dataclass(frozen=True, slots=True)
class FittedSide:
    """One end of a band."""

    at: float
    """NEVER_NO or NEVER_YES where nothing may be decided."""
    right: float
    """How often what is decided is right; 0 where nothing is."""
    right_low: float
    """Lower end of its 95 % interval, by bootstrap over cases."""
    decided: int
    """Labels on this side."""
    enough: bool
    """Whether there were labels enough to tell; else the side is closed only because nothing is known."""


def too_few(points: Points) -> str:
    """Why nothing can be fitted; "" if it can."""
    yes = int(np.count_nonzero(points.is_yes))
    no = len(points.truth) - yes
    if min(yes, no) >= FEWEST_EACH:
        return ""
    return f"too few labels: {yes} yes and {no} no, and it takes {FEWEST_EACH} of each"


def fit_cut(points: Points, *, between: bool = True) -> FittedCut:
    """The cut of the highest balanced accuracy, among equals the one nearest to a half.

    Args:
        points: at least FEWEST_EACH of yes and of no.
        between: whether what lies just below the cut may become unknown, where too many a no would be wrong.
    """
    yes = _best(points)
    held_out = _held_out(points)
    now = np.select([points.said == YES, points.said == UNKNOWN], [1.0, 0.5], 0.0)
    ends = _resampled(points, lambda place: _best(points.part(place)))
    gains = _resampled(
        points, lambda place: _balanced(points.part(place), held_out[place]) - _balanced(points.part(place), now[place])
    )
    low, high = np.quantile(ends, (0.025, 0.975))
    gain_low, gain_high = np.quantile(gains, (0.025, 0.975))
    return FittedCut(
        yes,
        _no_below(points, yes) if between else yes,
        float(low),
        float(high),
        _balanced(points, points.score >= yes),
        _balanced(points, held_out),
        _balanced(points, now),
        float(gain_low),
        float(gain_high),
        len(points.truth),
    )


def fit_side(points: Points, answer: int) -> FittedSide:
    """The end of a band on the side of NO or YES that decides most of what may be decided.

    What is decided is right nine times in ten, and of all that deserves the other answer at most a tenth is decided
    wrongly: the demands that the shipped bands were chosen by.
    """
    ends = np.unique(points.score[points.said == answer])
    enough = int(np.count_nonzero(points.said == answer)) >= FEWEST_DECIDED
    for at in ends if answer == YES else ends[::-1]:
        decided = _decided(points, float(at), answer)
        if np.count_nonzero(decided) < FEWEST_DECIDED:
            break
        right, lost = _right(points, decided, answer)
        if right >= RIGHT_DECIDED and lost <= LOST:
            edge = float(np.ceil(at * 1000) / 1000) if answer == YES else float(np.floor(at * 1000) / 1000)
            found = _decided(points, edge, answer)
            drawn = _resampled(points, lambda place, keep=found: _right(points.part(place), keep[place], answer)[0])  # type: ignore[misc]
            return FittedSide(edge, right, float(np.quantile(drawn, 0.025)), int(np.count_nonzero(found)), enough=True)
    return FittedSide(NEVER_YES if answer == YES else NEVER_NO, 0.0, 0.0, 0, enough=enough)


def _best(points: Points) -> float:
    """The cut between two neighbouring scores, in thousandths."""
    values = np.unique(points.score)
    between = np.round((values[1:] + values[:-1]) / 2, 3) if len(values) > 1 else np.round(values, 3)
    ends = np.unique(between)
    said = points.score[None, :] >= ends[:, None]
    yes = points.weight * points.is_yes
    no = points.weight * ~points.is_yes
    accuracy = (said @ yes / yes.sum() + (~said) @ no / no.sum()) / 2
    best = ends[accuracy >= accuracy.max() - 1e-9]
    return float(best[np.argmin(np.abs(best - 0.5))])


def _no_below(points: Points, yes: float) -> float:
    """Below which a no is right often enough; the cut itself if it is there, or nowhere."""
    for at in [yes, *np.unique(np.round(points.score[points.score < yes], 3))[::-1]]:
        decided = points.score < at
        if np.count_nonzero(decided) < FEWEST_EACH:
            break
        if _right(points, decided, NO)[0] >= RIGHT_NO:
            return float(at)
    return yes


def _held_out(points: Points) -> Numbers:
    """What cuts say, 1 or 0, that were fitted on other cases; shape (n,)."""
    cases = np.unique(points.case)
    fold = dict(zip(cases, np.random.default_rng(0).permutation(len(cases)) % FOLDS, strict=True))
    folds = np.array([fold[case] for case in points.case])
    said = np.zeros(len(points.score))
    for one in range(FOLDS):
        rest = points.part(folds != one)
        if np.any(rest.is_yes) and not np.all(rest.is_yes):
            said[folds == one] = points.score[folds == one] >= _best(rest)
        else:
            said[folds == one] = 0.5
    return said


def _balanced(points: Points, said: Numbers) -> float:
    """The mean of the shares of yes and of no that come out right; `said` in [0, 1], 0.5 half right."""
    yes, no = points.weight * points.is_yes, points.weight * ~points.is_yes
    return float((said @ yes / yes.sum() + (1 - said) @ no / no.sum()) / 2)


def _decided(points: Points, at: float, answer: int) -> Numbers:
    beyond = points.score >= at if answer == YES else points.score <= at
    found: Numbers = beyond & (points.said == answer)
    return found


def _right(points: Points, decided: Numbers, answer: int) -> tuple[float, float]:
    """(How often what is decided is right, which share of what deserves the other answer it takes)."""
    agrees = points.is_yes if answer == YES else ~points.is_yes
    whole, other = points.weight[decided].sum(), points.weight[~agrees].sum()
    wrong = points.weight[decided & ~agrees].sum()
    return float(1 - wrong / whole) if whole else 0.0, float(wrong / other) if other else 0.0


def _resampled(points: Points, figure: Callable[[Numbers], float]) -> Numbers:
    """A figure of the places of cases drawn with replacement, for every draw that has both answers."""
    random = np.random.default_rng(0)
    cases, number = np.unique(points.case, return_inverse=True)
    members: list[Any] = [np.flatnonzero(number == one) for one in range(len(cases))]
    found = []
    for _ in range(DRAWS):
        places = np.concatenate([members[one] for one in random.integers(0, len(cases), len(cases))])
        if np.any(points.is_yes[places]) and not np.all(points.is_yes[places]):
            found.append(figure(places))
    return np.asarray(found)
