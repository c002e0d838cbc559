"""Thresholds and bands: found where the labels put them, and not where there is nothing to find."""

import numpy as np
import pytest

from ragtriage.trust.label_fits import NEVER_NO, NO, YES, LabelledScores, fit_band_end, fit_threshold, too_few


def points(score: list[float], truth: list[bool], said: list[int] | None = None) -> LabelledScores:
    """A case for every label, all as likely to be drawn; what is said is yes from a half on."""
    scores = np.array(score)
    told = np.where(scores >= 0.5, YES, NO) if said is None else np.array(said)
    return LabelledScores(scores, np.array(truth, float), np.ones(len(score)), np.arange(len(score)), told)


def noisy(at: float, n: int = 200, noise: float = 0.05) -> LabelledScores:
    """Scores from 0 to 1 of which those from `at` on are yes, but for some."""
    random = np.random.default_rng(3)
    score = random.random(n)
    return points(score.tolist(), ((score >= at) != (random.random(n) < noise)).tolist())


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
    found = fit_threshold(points(random.random(60).tolist(), (random.random(60) < 0.5).tolist()))

    assert found.fitted > 0.55
    assert found.held_out < 0.6
    assert not found.better


def test_what_lies_just_below_a_cut_becomes_unknown_where_a_no_would_be_wrong() -> None:
    # below .6 half is no, below .2 nearly all
    low = points([0.1] * 20, [False] * 19 + [True])
    middle = points([0.4] * 40, [False] * 15 + [True] * 25)
    high = points([0.9] * 60, [True] * 60)
    parts = [low, middle, high]
    every = points(
        [x for part in parts for x in part.score.tolist()], [x > 0.5 for part in parts for x in part.truth.tolist()]
    )
    threshold = fit_threshold(every)

    assert threshold.yes == pytest.approx(0.65)
    assert threshold.no == pytest.approx(0.4)
    assert fit_threshold(every, between=False).no == threshold.yes


def test_a_label_that_was_unlikely_to_be_drawn_counts_for_more() -> None:
    # at .4 one label in three is no; drawn a tenth as often as the others, those noes are most of what is there
    score, truth = [0.1] * 10 + [0.4] * 30 + [0.9] * 10, [False] * 20 + [True] * 30
    even = points(score, truth)
    weight = np.where((even.score == 0.4) & ~even.is_yes, 10.0, 1.0)

    assert fit_threshold(even).yes == pytest.approx(0.25)
    assert fit_threshold(LabelledScores(even.score, even.truth, weight, even.case, even.verdict)).yes == pytest.approx(
        0.65
    )


@pytest.mark.parametrize("yes", [0, 9, 31])
def test_too_few_labels_are_said(yes: int) -> None:
    assert "takes 10 of each" in too_few(points([0.5] * 40, [True] * yes + [False] * (40 - yes)))


def test_enough_labels_are_enough() -> None:
    assert too_few(points([0.5] * 20, [True] * 10 + [False] * 10)) == ""


def test_a_side_of_a_band_decides_what_is_right_often_enough() -> None:
    side = fit_band_end(noisy(0.7, 400, 0.02), YES)

    assert 0.55 < side.at < 0.75
    assert side.right >= 0.9
    assert side.right_low <= side.right
    assert side.decided >= 20


def test_a_side_that_is_right_too_seldom_stays_closed() -> None:
    random = np.random.default_rng(1)
    score = random.random(200)
    side = fit_band_end(points(score.tolist(), (random.random(200) < 0.7).tolist()), NO)

    assert (side.at, side.decided, side.enough) == (NEVER_NO, 0, True)


def test_a_side_with_few_labels_is_not_judged() -> None:
    side = fit_band_end(points([0.9] * 60 + [0.1] * 12, [True] * 60 + [False] * 12), NO)

    assert not side.enough
