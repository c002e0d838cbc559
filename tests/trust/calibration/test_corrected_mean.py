"""Corrected means: against the published package, against what must be so, and by simulation."""

import numpy as np
import pytest

from ragtriage.core.validation import as_builtins, validated
from ragtriage.trust.corrected_mean import MIN_LABELS, NO, UNKNOWN, YES, CorrectedMean, JudgedComponents, corrected_mean


def sample(said: list[int], truth: list[float], chance: float = 0.2) -> JudgedComponents:
    """A case for every component, all as heavy."""
    n = len(said)
    return JudgedComponents(np.arange(n), np.ones(n), np.array(said), np.array(truth, float), np.full(n, chance))


def corrected(components: JudgedComponents, raw: float) -> CorrectedMean:
    found = corrected_mean(components, raw)
    assert found is not None
    return found


LABELLED_YES, LABELLED_NO = [1.0] * 10 + [0.0] * 2, [1.0] * 3 + [0.0] * 5
PUBLISHED = sample([YES] * 12 + [NO] * 8 + [YES] * 60 + [NO] * 20, LABELLED_YES + LABELLED_NO + [float("nan")] * 80)
"""20 labelled components and 80 others, each of a case of its own."""


def times(found: JudgedComponents, n: int) -> JudgedComponents:
    """The same data n times over, every component of a case of its own."""
    said, truth, chance = (np.tile(each, n) for each in (found.verdict, found.truth, found.inclusion))
    return JudgedComponents(np.arange(len(said)), np.ones(len(said)), said, truth, chance)


def test_it_is_the_power_tuned_estimate_of_the_published_package() -> None:
    # ppi-python 0.2.3: ppi_mean_pointestimate(Y, Yhat, Yhat_unlabeled, lam=(10/12 - 3/8) / (1 + 20/80)) is 0.705; its λ
    # is divided by 1 + n/N, since it holds the labelled ones apart from the others
    found = corrected(PUBLISHED, 0.72)

    assert found.mean == pytest.approx(0.705)


def test_with_many_labels_the_interval_is_that_of_the_published_package() -> None:
    # ppi_mean_ci of the same data ten times over, with the same lam: 0.6453 to 0.7647
    found = corrected(times(PUBLISHED, 10), 0.72)

    assert (found.low, found.high) == pytest.approx((0.6453, 0.7647), abs=0.01)


def test_with_every_component_labelled_it_is_what_people_said() -> None:
    truth = [1.0] * 25 + [0.0] * 15
    found = corrected(sample([YES] * 20 + [NO] * 20, truth, chance=1.0), 0.5)

    assert found.mean == pytest.approx(25 / 40)


def test_it_weighs_components_as_the_mean_does() -> None:
    # twenty cases of one component, all of it right, and one case of twenty components, all of it wrong
    case = np.array([*range(20), *[20] * 20])
    weight = np.array([1.0] * 20 + [1 / 20] * 20)
    all_labelled = JudgedComponents(case, weight, np.full(40, YES), np.array([1.0] * 20 + [0.0] * 20), np.ones(40))
    found = corrected(all_labelled, 1.0)

    assert found.mean == pytest.approx(20 / 21)


def test_an_unlikely_draw_counts_for_those_that_were_not_drawn() -> None:
    # of 60 yes every one is labelled, of 40 no every fourth
    said = np.array([YES] * 60 + [NO] * 40)
    truth = np.array([1.0] * 60 + ([0.0] + [np.nan] * 3) * 10)
    chance = np.array([1.0] * 60 + [0.25] * 40)
    found = corrected(JudgedComponents(np.arange(100), np.ones(100), said, truth, chance), 0.6)

    assert found.mean == pytest.approx(0.6)


def test_few_labels_give_no_number() -> None:
    said, truth = [YES] * 50, [1.0] * (MIN_LABELS - 1) + [float("nan")] * (51 - MIN_LABELS)

    assert corrected_mean(sample(said, truth), 1.0) is None


def test_where_no_error_was_seen_the_interval_still_has_room_for_some() -> None:
    found = corrected(sample([YES] * 200, [1.0] * 50 + [float("nan")] * 150, 0.25), 1.0)

    assert found.mean == found.high == 1.0
    assert 0.9 < found.low < 0.95


def test_labels_of_one_case_that_are_alike_make_it_wider() -> None:
    truth = np.array(([1.0] * 5 + [0.0] * 5) * 10)
    said = np.full(100, YES)
    alone = corrected(JudgedComponents(np.arange(100), np.ones(100), said, truth, np.ones(100)), 1.0)
    together = corrected(JudgedComponents(np.repeat(np.arange(20), 5), np.ones(100), said, truth, np.ones(100)), 1.0)

    assert together.high - together.low > 1.5 * (alone.high - alone.low)


def test_an_unknown_that_few_labelled_counts_with_the_noes() -> None:
    said = [YES] * 30 + [NO] * 20 + [UNKNOWN] * 2
    truth = [1.0] * 20 + [float("nan")] * 10 + [0.0] * 15 + [float("nan")] * 5 + [1.0, float("nan")]
    found = corrected(sample(said, truth, 0.5), 0.6)

    assert found.mean == pytest.approx((30 * 1.0 + 22 * 1 / 16) / 52)


def test_it_is_kept_and_read_back() -> None:
    found = corrected(PUBLISHED, 0.72)

    assert validated(CorrectedMean, as_builtins(found)) == found


@pytest.mark.parametrize("truth", [0.05, 0.5, 0.9])
def test_intervals_hold_the_truth(truth: float) -> None:
    # the full simulation is bench/calibration.py; with 500 repetitions the share has a standard error of .01
    random = np.random.default_rng(7)
    held = 0
    for _ in range(500):
        sizes = random.integers(1, 6, 120)
        case = np.repeat(np.arange(120), sizes)
        each = random.beta(truth * 4, (1 - truth) * 4, 120)
        is_so = random.random(len(case)) < each[case]
        said = np.where(random.random(len(case)) < np.where(is_so, 0.9, 0.3), YES, NO)
        told = np.full(len(case), np.nan)
        drawn = random.choice(len(case), 60, replace=False)
        told[drawn] = is_so[drawn]
        found = corrected_mean(
            JudgedComponents(case, (1 / sizes)[case], said, told, np.full(len(case), 60 / len(case))), 0.0
        )
        held += found is not None and found.low <= truth <= found.high

    assert 0.92 <= held / 500 <= 0.985


@pytest.mark.parametrize("truth", [0.3, 0.7])
def test_intervals_hold_the_truth_of_few_cases_that_are_mostly_labelled(truth: float) -> None:
    # the choice of cases is nearly all that is unsure here; without what labels say of the cases it would be .92
    random = np.random.default_rng(7)
    held = 0
    for _ in range(2000):
        case = np.repeat(np.arange(30), 6)
        is_so = random.random(180) < random.beta(truth * 4, (1 - truth) * 4, 30)[case]
        said = np.where(random.random(180) < np.where(is_so, 0.85, 0.2), YES, NO)
        told = np.full(180, np.nan)
        drawn = random.choice(180, 150, replace=False)
        told[drawn] = is_so[drawn]
        found = corrected_mean(JudgedComponents(case, np.full(180, 1 / 6), said, told, np.full(180, 150 / 180)), 0.0)
        held += found is not None and found.low <= truth <= found.high

    assert 0.93 <= held / 2000 <= 0.97


def test_few_cases_make_it_wider_than_many_that_lie_as_far_apart() -> None:
    def width(cases: int) -> float:
        size = 800 // cases  # three quarters of every second case are right, of the others one quarter
        high, low = [*[YES] * (3 * size // 4), *[NO] * (size // 4)], [*[NO] * (3 * size // 4), *[YES] * (size // 4)]
        said = np.array((high + low) * (cases // 2))
        found = corrected(
            JudgedComponents(np.repeat(np.arange(cases), size), np.ones(800), said, said * 1.0, np.ones(800)), 0.5
        )
        return found.high - found.low

    # half a width is the quantile of Student's t with n - 1 degrees of freedom, times .25 / sqrt(n - 1)
    assert width(4) == pytest.approx(2 * 3.182 * 0.25 / 3**0.5, rel=0.01)
    assert width(200) == pytest.approx(2 * 1.972 * 0.25 / 199**0.5, rel=0.05)
