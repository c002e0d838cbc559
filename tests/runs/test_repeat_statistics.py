"""The smallest difference: found again by simulating versions of an application, a judge with noise, and a test."""

from math import sqrt

import numpy as np
import pytest

from ragtriage.core.statistics import LEVEL, POWER, REACH
from ragtriage.runs.repeats import CORRELATION, smallest_difference

CASES = 300
TRIALS = 5
EXPERIMENTS = 3000


def normal(generator: np.random.Generator, shift: float, size: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """True scores of two versions: as alike as is assumed, the second one better by `shift`."""
    common, *own = (generator.normal(0, 1, size) for _ in range(3))
    a, b = (sqrt(CORRELATION) * common + sqrt(1 - CORRELATION) * one for one in own)
    return 0.6 + 0.2 * a, 0.6 + 0.2 * b + shift


def judged(generator: np.random.Generator, truth: np.ndarray, noise: float) -> np.ndarray:
    return truth + generator.normal(0, noise, truth.shape)


def seen_in(differences: np.ndarray) -> float:
    """In how many of the experiments a paired test at the stated level sees a difference."""
    errors = differences.std(axis=1, ddof=1) / sqrt(CASES)
    return float(np.mean(np.abs(differences.mean(axis=1)) > 1.96 * errors))


def seen(generator: np.random.Generator, shift: float, noise: float) -> float:
    """How often a difference of this size is seen."""
    a, b = normal(generator, shift, (EXPERIMENTS, CASES))
    return seen_in(judged(generator, b, noise) - judged(generator, a, noise))


@pytest.mark.parametrize("noise", [0.0, 0.1, 0.3])
def test_a_difference_of_this_size_is_seen_as_often_as_is_stated(noise: float) -> None:
    generator = np.random.default_rng(7)
    found = []
    for _ in range(30):  # data sets: that of a single one is an estimate itself, and a few per cent off
        truth, _ = normal(generator, 0.0, (CASES,))
        grid = np.stack([judged(generator, truth, noise) for _ in range(TRIALS)], axis=1)
        found.append(smallest_difference(grid, np.ones(CASES)) or 0.0)
    smallest = float(np.mean(found))

    assert seen(generator, smallest, noise) == pytest.approx(POWER, abs=0.03)
    assert seen(generator, 0.0, noise) == pytest.approx(1 - LEVEL, abs=0.015)
    assert seen(generator, smallest / 2, noise) < 0.5


def test_an_example_worked_out_by_hand() -> None:
    # variance over cases 1/3 in each trial, no noise: ω² is 1/3
    grid = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])

    assert smallest_difference(grid, np.ones(4)) == pytest.approx(REACH * sqrt(1 / 3 / 4))
    assert pytest.approx(1.95996 + 0.84162, abs=1e-4) == REACH  # the usual 2.8


@pytest.mark.parametrize(
    "grid",
    [
        [[0.1], [0.9]],  # one trial: nothing is known of the noise
        [[0.1, 0.2]],  # one case
        [[0.5, 0.5], [0.5, 0.5]],  # nothing differs, so nothing is known of how scores vary
        [[np.nan, np.nan], [0.1, 0.2]],
    ],
)
def test_what_can_not_be_known_is_none(grid: list[list[float]]) -> None:
    assert smallest_difference(np.array(grid), np.ones(len(grid))) is None


def test_more_cases_and_less_noise_see_more() -> None:
    generator = np.random.default_rng(3)
    truth, _ = normal(generator, 0.0, (1000,))
    quiet, loud = (np.stack([judged(generator, truth, noise) for _ in range(3)], axis=1) for noise in (0.01, 0.3))
    few, many = (smallest_difference(quiet[:n], np.ones(n)) or 0.0 for n in (100, 1000))
    noisy = smallest_difference(loud, np.ones(1000)) or 0.0

    assert many < few
    assert many < noisy
