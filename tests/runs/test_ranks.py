"""Rank agreement: numbers worked out by hand, and what holds for any numbers."""

from __future__ import annotations

from itertools import combinations
from math import nan, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.runs.repeats.summary import rank_agreement, tau_b

SCORES = st.sampled_from([0.0, 1 / 3, 0.5, 2 / 3, 1.0])


def tau(first: list[float], second: list[float]) -> float | None:
    return tau_b(np.array(first), np.array(second))


def by_pairs(first: list[float], second: list[float]) -> float | None:
    """The definition, pair by pair."""
    signs = [
        (np.sign(a - b), np.sign(c - d)) for (a, c), (b, d) in combinations(list(zip(first, second, strict=True)), 2)
    ]
    untied = sum(x != 0 for x, _ in signs) * sum(y != 0 for _, y in signs)
    return float(sum(x * y for x, y in signs)) / sqrt(untied) if untied else None


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [1, 2, 3, 4], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3, 4], [1, 2, 4, 3], 4 / 6),
        ([0.5, 0.5, 1], [0.5, 0.5, 1], 1.0),  # ties that both have don't count against them
        ([0, 0, 1, 1], [0, 1, 1, 1], 2 / sqrt(4 * 3)),
        ([1, 2, nan, 3], [1, 2, 0, nan], 1.0),
        ([1, 1, 1], [1, 2, 3], None),
        ([1], [1], None),
        ([], [], None),
        ([nan, 1], [1, nan], None),
    ],
)
def test_examples_worked_out_by_hand(first: list[float], second: list[float], expected: float | None) -> None:
    assert tau(first, second) == (None if expected is None else pytest.approx(expected))


@given(st.lists(st.tuples(SCORES, SCORES), max_size=40))
def test_counting_by_merging_is_counting_pair_by_pair(pairs: list[tuple[float, float]]) -> None:
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    expected = by_pairs(first, second)

    assert tau(first, second) == (None if expected is None else pytest.approx(expected))


def test_a_mean_that_was_summed_in_another_order_is_still_a_tie() -> None:
    assert tau([0.1 + 0.2, 0.3, 1.0], [0.3, 0.3, 1.0]) == 1.0


def test_agreement_is_the_mean_over_pairs_of_trials_that_have_one() -> None:
    trials = np.array([[1.0, 2, 3, 4], [1, 2, 4, 3], [0, 0, 0, 0]]).T

    assert rank_agreement(trials) == pytest.approx(4 / 6)
    assert rank_agreement(trials[:, 2:]) is None


def test_a_hundred_thousand_cases_take_no_time() -> None:
    generator = np.random.default_rng(0)
    truth = generator.random(100_000)

    assert tau_b(truth, truth + generator.normal(0, 1e-6, len(truth))) == pytest.approx(1, abs=0.001)
