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
    found = with_chance(Verdict("unknown", 0.3, explanation="because", flag="no such quote"), chance)

    assert (found.value, found.chance, found.sure) == (value, chance, sure)
    assert found.confidence == pytest.approx(confidence)
    assert (found.score, found.explanation, found.flag) == (0.3, "because", "no such quote")


def test_only_a_no_can_be_contradicted() -> None:
    wrong = Verdict("no", contradicted=True)

    assert with_chance(wrong, 0.3).contradicted
    assert not with_chance(wrong, 0.7).contradicted


def test_even_odds_that_are_tripled_are_three_in_four() -> None:
    assert shifted(0.5, log(3)) == pytest.approx(0.75)
    assert log_odds(0.75) == pytest.approx(log(3))


@given(CHANCE.filter(lambda p: 1e-6 < p < 1 - 1e-6), st.floats(-5, 5))
def test_a_shift_can_be_undone_and_moves_to_its_own_side(chance: float, by: float) -> None:
    moved = shifted(chance, by)

    assert shifted(moved, -by) == pytest.approx(chance, abs=1e-6)
    assert (moved - chance) * by >= -1e-12


@given(st.sampled_from([0.0, 1.0]), st.floats(-50, 50))
def test_what_is_certain_stays_whatever_moves_it(chance: float, by: float) -> None:
    assert shifted(chance, by) == chance


@given(CHANCES)
def test_counts_are_distributed_as_going_through_all_outcomes_says(chances: list[float]) -> None:
    found = count_distribution(chances)

    assert len(found) == len(chances) + 1
    assert sum(found) == pytest.approx(1.0)
    assert found == pytest.approx(np.array(enumerated(chances)), abs=1e-12)


@given(CHANCES.flatmap(lambda chances: st.tuples(st.just(chances), st.permutations(chances))))
def test_the_order_of_the_chances_does_not_matter(both: tuple[list[float], list[float]]) -> None:
    one, other = map(count_distribution, both)

    assert one == pytest.approx(other, abs=1e-12)


@given(st.lists(st.sampled_from([0.0, 1.0]), max_size=30))
def test_certain_events_have_one_count(chances: list[float]) -> None:
    assert count_distribution(chances)[sum(map(int, chances))] == 1.0


def test_many_events_still_sum_to_one() -> None:
    found = count_distribution([0.3] * 400)

    assert sum(found) == pytest.approx(1.0)
    assert found @ np.arange(401) == pytest.approx(120.0)
