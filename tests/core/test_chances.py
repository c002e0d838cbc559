"""Verdicts as chances: what a verdict says with which probability, and how sums of them are distributed."""

from collections.abc import Sequence
from itertools import product
from math import log, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.verdicts import (
    Cell,
    Component,
    Failure,
    Part,
    Verdict,
    chance_of,
    count_distribution,
    good_chances,
    log_odds,
    shifted,
    with_chance,
)

CHANCE = st.floats(0, 1)
CHANCES = st.lists(CHANCE, max_size=8)


def enumerated(chances: Sequence[float]) -> list[float]:
    """The same distribution, by going through every outcome."""
    found = [0.0] * (len(chances) + 1)
    for outcome in product((0, 1), repeat=len(chances)):
        found[sum(outcome)] += prod(p if hit else 1 - p for p, hit in zip(chances, outcome, strict=True))
    return found


@pytest.mark.parametrize(
    ("verdict", "chance"),
    [(Verdict("yes"), 1.0), (Verdict("no"), 0.0), (Verdict("no", 0.4), 0.0), (Verdict("no", 0.9, chance=0.4), 0.4)],
)
def test_a_verdict_without_a_chance_is_taken_at_its_word(verdict: Verdict, chance: float) -> None:
    assert chance_of(verdict) == chance


@pytest.mark.parametrize("cell", [None, Failure("too long"), Verdict("unknown", 0.4), Verdict("unknown", chance=0.4)])
def test_what_nobody_can_tell_has_no_chance_and_is_left_out(cell: Cell) -> None:
    told = Part(Component("It floats."), Verdict("yes", chance=0.75), good=True)

    assert chance_of(cell) is None
    assert good_chances([Part(Component("It sinks."), cell, good=None), told], "yes") == [0.75]
    assert good_chances([told], "no") == [0.25]


@pytest.mark.parametrize(
    ("chance", "value", "confidence", "sure"),
    [
        (0.0, "no", 1.0, True),
        (0.16, "no", 0.84, True),
        (0.17, "no", 0.83, False),
        (0.49, "no", 0.51, False),
        (0.5, "yes", 0.5, True),
        (1.0, "yes", 1.0, True),
    ],
)
def test_a_chance_decides_the_value_the_confidence_and_whether_a_no_is_sure(
    chance: float, value: str, confidence: float, sure: bool
) -> None:
    told = Verdict("unknown", 0.3, explanation="because", flag="no such quote", contradicted=True)
    found = with_chance(told, chance)

    assert (found.value, found.chance, found.sure) == (value, chance, sure)
    assert found.confidence == pytest.approx(confidence)
    assert (found.score, found.explanation, found.flag) == (0.3, "because", "no such quote")
    assert found.contradicted is (value == "no")  # only a no can be


def test_the_smallest_chance_that_there_is_can_be_moved() -> None:
    assert 0 < shifted(5e-324, -2.0) <= shifted(5e-324, 2.0) < 1e-300


def test_even_odds_that_are_tripled_are_three_in_four() -> None:
    assert shifted(0.5, log(3)) == pytest.approx(0.75)
    assert log_odds(0.75) == pytest.approx(log(3))


@given(CHANCE, st.floats(-5, 5))
def test_a_shift_can_be_undone_and_moves_to_its_own_side_and_what_is_certain_stays(chance: float, by: float) -> None:
    moved = shifted(chance, by)

    if 1e-6 < chance < 1 - 1e-6:
        assert shifted(moved, -by) == pytest.approx(chance, abs=1e-6)
    assert (moved - chance) * by >= -1e-12
    for certain in (0.0, 1.0):
        assert shifted(certain, 10 * by) == certain


@given(CHANCES)
def test_counts_are_distributed_as_going_through_all_outcomes_says(chances: list[float]) -> None:
    found = count_distribution(chances)

    assert len(found) == len(chances) + 1
    assert sum(found) == pytest.approx(1.0)
    assert found == pytest.approx(np.array(enumerated(chances)), abs=1e-12)


def test_many_events_still_sum_to_one_and_certain_ones_have_one_count() -> None:
    found = count_distribution([0.3] * 400)

    assert sum(found) == pytest.approx(1.0)
    assert found @ np.arange(401) == pytest.approx(120.0)
    assert count_distribution([0.0, 1.0, 1.0] * 10)[20] == 1.0
