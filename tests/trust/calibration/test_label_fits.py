"""Curves, thresholds and bands fitted to labels: found where the labels put them, and not where there is nothing."""

import numpy as np
import pytest
from numpy.typing import ArrayLike

from ragtriage.trust.chance_fits import FittedCurve, fit_curve, too_few_for_a_curve
from ragtriage.trust.corrected_mean import AnyArray
from ragtriage.trust.label_fits import NEVER_NO, NO, YES, LabelledScores, fit_band_end, fit_threshold, folds_of, too_few

JUDGES = {
    "right": (1.0, 0.0),
    "too sure": (3.0, 0.0),
    "not sure enough": (0.4, 0.0),
    "too kind": (1.0, 2.0),
    "too sure and too strict": (2.5, -1.5),
    "not sure enough and too strict": (0.5, -1.0),
}
"""How each turns the true log odds into those that it states: times the first, plus the second."""


def judged(n: int, seed: int, of: str = "right") -> LabelledScores:
    """Labels of a judge, eight in ten around yes, each with its true chance; yes from a half on."""
    random = np.random.default_rng(seed)
    times, plus = JUDGES[of]
    odds = random.normal(np.log(4.0), 2.0, n)
    p = 1 / (1 + np.exp(-(times * odds + plus)))
    truth = random.random(n) < 1 / (1 + np.exp(-odds))
    return labelled(p, truth)


def labelled(p: ArrayLike, truth: ArrayLike, weight: AnyArray | None = None) -> LabelledScores:
    """Every label in a case of its own; what is said is yes from a half on."""
    score = np.asarray(p, float)
    n = len(score)
    weights = np.ones(n) if weight is None else weight
    return LabelledScores(score, np.array(truth, float), weights, np.arange(n), np.where(score >= 0.5, YES, NO))


def fitted(labels: LabelledScores, chance: AnyArray | None = None) -> FittedCurve:
    """With verdicts that count as 1 or 0, if nothing else is said."""
    counts = (labels.verdict == YES).astype(float) if chance is None else chance
    return fit_curve(labels, counts, "m", "m-1")


def error(found: FittedCurve | None, of: str) -> float:
    """The calibration error on 5,000 further components, in 15 bins of equal size; of the judge itself with None."""
    fresh = judged(5000, 99, of)
    chance = fresh.score if found is None else np.array([found.curve.at(p) for p in fresh.score])
    bins = np.array_split(np.argsort(chance), 15)
    return float(sum(abs(chance[at].mean() - fresh.truth[at].mean()) * len(at) for at in bins) / len(chance))


@pytest.mark.parametrize("of", JUDGES)
def test_with_200_labels_the_calibration_error_of_further_cases_is_at_most_a_twentieth(of: str) -> None:
    found = [fitted(judged(200, seed, of)) for seed in range(8)]

    assert np.mean([error(one, of) for one in found]) <= 0.05
    assert all(one.better for one in found)
    if of != "right":
        assert error(None, of) > 0.1


@pytest.mark.parametrize(("of", "a", "b"), [("right", 1, 0), ("not sure enough", 2.5, 0), ("too kind", 1, -2)])
def test_many_labels_give_back_what_the_judge_did(of: str, a: float, b: float) -> None:
    several = [  # of too few labels for an isotonic curve
        fitted(judged(480, seed, of)).curve for seed in range(6)
    ]

    assert np.mean([one.a for one in several]) == pytest.approx(a, rel=0.15)
    assert np.mean([one.b for one in several]) == pytest.approx(b, abs=0.2)
    assert several[0].rate == pytest.approx(judged(480, 0, of).truth.mean(), abs=0.0006)
    assert (several[0].judge, several[0].fingerprint) == ("m", "m-1")


def test_ten_labels_that_say_what_the_judge_says_hold_a_curve_back() -> None:
    # 50 labels at p = .5, all but ten of which are yes: with ten halves 45 of 60 are, log odds 1.0986
    labels = labelled(np.full(50, 0.5), np.arange(50) >= 10)

    found = fitted(labels).curve

    assert found.b == pytest.approx(1.099, abs=0.001)
    assert found.at(0.5) == pytest.approx(0.75, abs=0.001)


def test_a_label_that_was_unlikely_to_be_drawn_counts_for_more() -> None:
    # at p = .5 half is yes; a no was drawn a third as often, so a quarter is. Unequal weights: 80 labels count as 64
    truth = np.arange(80) % 2 == 0
    labels = labelled(np.full(80, 0.5), truth, np.where(truth, 1.0, 3.0))

    assert fitted(labels).curve.at(0.5) == pytest.approx((64 * 0.25 + 10 * 0.5) / 74, abs=0.001)
    assert fitted(labels).curve.rate == 0.25


def test_500_labels_may_give_an_isotonic_curve_and_do_where_platts_does_not_fit() -> None:
    random = np.random.default_rng(0)

    def steps(n: int) -> LabelledScores:
        p = random.random(n)
        return labelled(p, random.random(n) < np.where(p < 0.8, 0.4, 0.95))

    found, few = fitted(steps(500)), fitted(steps(499))

    assert few.curve.points == ()
    assert found.curve.a is None
    assert found.curve.at(0.3) == pytest.approx(0.4, abs=0.1)
    assert found.curve.at(0.95) == pytest.approx(0.95, abs=0.06)
    chances = [chance for _, chance in found.curve.points]
    assert chances == sorted(chances)
    assert 0.005 <= chances[0] < chances[-1] <= 0.995
    assert fitted(judged(600, 1, "too kind")).curve.a is not None


def test_nothing_is_better_where_verdicts_count_as_well_as_a_curve_would() -> None:
    labels = judged(200, 3)

    assert not fitted(labels, labels.score).better  # its chances are right as they are
    always = labelled(np.where(np.arange(60) < 30, 0.95, 0.05), np.arange(60) < 30)
    assert not fitted(always).better  # it is never wrong


def test_labels_of_one_case_are_left_out_together() -> None:
    labels = judged(200, 4)
    of_cases = LabelledScores(labels.score, labels.truth, labels.weight, labels.case // 4, labels.verdict)
    folds = folds_of(of_cases)

    assert all(len(set(folds[of_cases.case == case])) == 1 for case in range(50))
    assert sorted(set(folds)) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("yes", "no"), [(30, 19), (41, 9), (9, 50)])
def test_it_takes_50_labels_and_10_of_each(yes: int, no: int) -> None:
    labels = labelled(np.full(yes + no, 0.5), np.arange(yes + no) < yes)

    assert too_few_for_a_curve(labels).startswith("too few labels: ")
    assert too_few_for_a_curve(labelled(np.full(50, 0.5), np.arange(50) < 40)) == ""


def noisy(at: float, n: int = 200, noise: float = 0.05) -> LabelledScores:
    """Scores from 0 to 1 of which those from `at` on are yes, but for some."""
    random = np.random.default_rng(3)
    score = random.random(n)
    return labelled(score, ((score >= at) != (random.random(n) < noise)))


def test_a_cut_is_found_and_does_better() -> None:
    threshold = fit_threshold(noisy(0.8))

    assert threshold.yes == pytest.approx(0.8, abs=0.03)
    assert threshold.low <= threshold.yes <= threshold.high
    assert threshold.held_out > 0.88
    assert threshold.now < 0.85
    assert threshold.better


def test_where_the_judge_cuts_well_nothing_does_better() -> None:
    assert not fit_threshold(noisy(0.5)).better


def test_where_scores_say_nothing_cases_left_out_show_it() -> None:
    random = np.random.default_rng(0)
    found = fit_threshold(labelled(random.random(60), (random.random(60) < 0.5)))

    assert found.fitted > 0.55
    assert found.held_out < 0.6
    assert not found.better


def test_what_lies_just_below_a_cut_becomes_unknown_where_a_no_would_be_wrong() -> None:
    # below .6 half is no, below .2 nearly all
    truth = [False] * 19 + [True] + [False] * 15 + [True] * 25 + [True] * 60
    every = labelled([0.1] * 20 + [0.4] * 40 + [0.9] * 60, truth)
    threshold = fit_threshold(every)

    assert threshold.yes == pytest.approx(0.65)
    assert threshold.no == pytest.approx(0.4)
    assert fit_threshold(every, between=False).no == threshold.yes


def test_a_cut_heeds_how_likely_a_label_was_drawn() -> None:
    # at .4 one label in three is no; drawn a tenth as often as the others, those noes are most of what is there
    score = np.array([0.1] * 10 + [0.4] * 30 + [0.9] * 10)
    truth = np.arange(50) >= 20
    weight = np.where((score == 0.4) & ~truth, 10.0, 1.0)

    assert fit_threshold(labelled(score, truth)).yes == pytest.approx(0.25)
    assert fit_threshold(labelled(score, truth, weight)).yes == pytest.approx(0.65)


def test_too_few_labels_are_said_and_enough_are_enough() -> None:
    for yes in (0, 9, 31):
        assert "takes 10 of each" in too_few(labelled([0.5] * 40, [True] * yes + [False] * (40 - yes)))
    assert too_few(labelled([0.5] * 20, [True] * 10 + [False] * 10)) == ""


def test_a_side_of_a_band_decides_what_is_right_often_enough() -> None:
    side = fit_band_end(noisy(0.7, 400, 0.02), YES)

    assert side
    assert 0.55 < side.at < 0.75
    assert side.right >= 0.9
    assert side.right_low <= side.right
    assert side.decided >= 20


def test_a_side_that_is_right_too_seldom_stays_closed() -> None:
    random = np.random.default_rng(1)
    score = random.random(200)
    side = fit_band_end(labelled(score, (random.random(200) < 0.7)), NO)

    assert side
    assert (side.at, side.decided) == (NEVER_NO, 0)


def test_a_side_with_few_labels_is_not_judged() -> None:
    assert fit_band_end(labelled([0.9] * 60 + [0.1] * 12, [True] * 60 + [False] * 12), NO) is None
