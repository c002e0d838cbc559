"""The e-detector: the worked example, what it promises, and that its state comes back bit for bit."""

import json
from pathlib import Path

import numpy as np
import pytest

from ragtriage.monitor.baseline import AT_START, STEPS, Baseline, Detector, interval, moved, stakes

WORKED = json.loads((Path(__file__).parents[1] / "worked" / "detector.json").read_text("utf-8"))
BASELINE = Baseline(0.83, 0.83, 0.85, 500)


def taken(detector: Detector, scores: list[float], run: int = 1) -> Detector:
    for i, score in enumerate(scores):
        detector.take(score, f"c{i}", f"2026-01-0{run}T{i // 60:02}:{i % 60:02}:00+00:00", "retriever", run)
    return detector


def test_the_worked_example():
    detector, found = Detector(BASELINE, WORKED["least"]), []
    for score in WORKED["scores"]:
        taken(detector, [score])
        found.append(round(detector.value, 4))
    assert found == WORKED["values"]
    scores, values = [1, 0.75, 0.5, 0, 0.25, 0.9], np.zeros((len(STEPS), 3))
    for score in scores:  # the function for many series is the detector's own
        values = moved(values, stakes(0.81)[:, None], 0.81, np.full(3, score))
    assert values[:, 1].tolist() == taken(Detector(BASELINE, 0.81), scores).values


def test_no_stake_takes_all_with_one_case():
    for least in (0.05, 0.3, 0.6, 0.81, 0.99):
        assert (1 + stakes(least) * (least - 1) >= 0.05 - 1e-12).all()
    assert stakes(0.1).tolist() == [0.1, 0.2, 0.4, 0.8, pytest.approx(0.95 / 0.9)]
    assert stakes(1.0).tolist() == list(STEPS)


def test_at_the_least_mean_the_value_minus_the_cases_stays_at_zero_on_average():
    random, least = np.random.default_rng(3), 0.8
    staked = stakes(least)[:, None]
    values = np.zeros((len(STEPS), 40_000))
    for _ in range(20):
        values = moved(values, staked, least, random.binomial(1, least, 40_000).astype(float))
    # the standard error of a mean of the values of 20 cases is below .1 for each stake
    assert values.mean(1) == pytest.approx(20, abs=1.0)


def test_a_state_comes_back_bit_for_bit_and_starts_at_0_when_it_is_acknowledged():
    random = np.random.default_rng(1)
    scores = [float(one) for one in random.beta(4, 1, 300)]
    whole = taken(Detector(BASELINE, 0.81), scores)
    detector = Detector(BASELINE, 0.81)
    for score in scores:
        detector = Detector.from_json(json.loads(json.dumps(detector.as_json())))
        detector.take(score, "c", None, "", 1)
    assert (detector.values, detector.evidence, detector.window) == (whole.values, whole.evidence, whole.window)

    used = taken(Detector(BASELINE, 0.81), [0.0] * 10)
    anew = Detector.from_json({**used.as_json(), **AT_START})
    assert (anew.value, anew.since, anew.below, anew.worst, anew.blamed) == (0.0, None, 0, [], {})
    assert (anew.baseline, anew.least, anew.cases) == (used.baseline, used.least, 10)


def test_since_when_is_where_the_fall_began_though_the_value_was_above_1_before():
    random = np.random.default_rng(2)
    good = [float(one) for one in random.binomial(4, random.beta(4.15, 0.85, 800)) / 4]
    bad = [float(one) for one in random.binomial(4, random.beta(2.75, 2.25, 60)) / 4]
    before = taken(Detector(BASELINE, 0.81), good)
    assert before.value > 1
    after = taken(before, bad, run=2)
    assert after.since is not None
    assert "2026-01-01T13:09" < after.since < "2026-01-02T00:10"  # the last good one stands at 13:19
    assert 50 <= after.below <= 70
    assert [score for score, _ in after.worst] == sorted(bad)[:3]
    assert after.blamed == {"retriever": after.below}


def test_an_interval_is_students_but_wilsons_for_shares_and_where_nothing_differs():
    found = interval([0.5, 0.75, 1.0, 0.75])
    assert (found.value, found.n) == (0.75, 4)
    assert found.low == pytest.approx(0.75 - 3.182 * 0.2041 / 2, abs=0.002)
    same = interval([1.0] * 50)
    assert same.low == pytest.approx(0.9287, abs=0.0001)
    share = interval([1.0, 0.0, 1.0, 1.0], share=True)
    assert (share.low, share.high) == (pytest.approx(0.3006, abs=0.0001), pytest.approx(0.9544, abs=0.0001))
    assert interval([]).value is None
