"""Measures of agreement: against their definitions written out, and intervals that draw whole groups."""

import math
from collections.abc import Callable
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.statistics import (
    ClusterBootstrap,
    ExactSum,
    IntervalEstimate,
    Measure,
    Numbers,
    auc,
    balanced_accuracy,
    balanced_accuracy_at,
    difference,
    kappa,
    share,
    spearman,
    student_quantile,
)

ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 5), st.integers(0, 3)), min_size=3, max_size=12)


def numbers(*values: float) -> Numbers:
    return np.array(values, dtype=np.float64)


def width(found: IntervalEstimate) -> float:
    assert found.low is not None
    assert found.high is not None
    return found.high - found.low


def test_measures_are_what_their_definitions_say_and_undefined_without_one_of_the_classes() -> None:
    # of pairs in order, ties count half
    label, score = numbers(1, 1, 0, 0), numbers(0.9, 0.5, 0.5, 0.1)
    assert auc(label, score)(np.ones(4)) == (1 + 1 + 0.5 + 1) / 4
    assert np.isnan(auc(numbers(1, 1), numbers(0.1, 0.2))(np.ones(2)))
    # the mean of both classes
    label, hit = numbers(1, 1, 1, 0), numbers(1, 1, 0, 0)
    assert balanced_accuracy(label, hit)(np.ones(4)) == pytest.approx(1 / 3)
    assert np.isnan(balanced_accuracy(numbers(1, 1), numbers(1, 0))(np.ones(2)))
    # the correlation of mid-ranks
    x, y = numbers(1, 2, 2, 4), numbers(10, 20, 30, 40)
    ranks = np.corrcoef(numbers(1, 2.5, 2.5, 4), numbers(1, 2, 3, 4))[0, 1]
    assert spearman(x, y)(np.ones(4)) == pytest.approx(ranks)
    assert np.isnan(spearman(x, numbers(1, 1, 1, 1))(np.ones(4)))
    # a share over its mask
    assert share(numbers(1, 0, 1), numbers(1, 1, 0))(np.ones(3)) == 0.5
    assert np.isnan(share(numbers(1, 0), numbers(0, 0))(np.ones(2)))


def test_kappa_is_cohens() -> None:
    # 20 and 15 of 50 agreed on; marginal shares .5 and .6 of yes: (.7 - .5) / (1 - .5)
    label = np.repeat([1.0, 1.0, 0.0, 0.0], [20, 5, 10, 15])
    said = np.repeat([1.0, 0.0, 1.0, 0.0], [20, 5, 10, 15])

    assert kappa(label, said)(np.ones(50)) == pytest.approx(0.4)
    assert kappa(label, np.full(50, -1.0))(np.ones(50)) == 0
    assert kappa(label, 1 - label)(np.ones(50)) == -1


def test_every_cutoff_has_the_balanced_accuracy_of_what_lies_on_its_sides() -> None:
    generator = np.random.default_rng(1)
    label, score, weight = generator.integers(0, 2, 50).astype(float), generator.random(50).round(1), np.ones(50)
    cutoffs = np.unique(score)

    found = balanced_accuracy_at(cutoffs, label, score, weight)
    expected = [balanced_accuracy(label, ((score >= at) == (label == 1)).astype(float))(weight) for at in cutoffs]

    assert found.tolist() == pytest.approx(expected)


@pytest.mark.parametrize("make", [auc, kappa, spearman, lambda y, s: balanced_accuracy(y, (s > 2).astype(float))])
@given(rows=ROWS)
def test_a_weight_is_a_row_that_stands_there_more_than_once(make: Callable[[Numbers, Numbers], Measure], rows) -> None:
    label, score, weight = (np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
    often = np.repeat(np.arange(len(rows)), weight.astype(int))

    weighted = make(label, score)(weight)
    written_out = make(label[often], score[often])(np.ones(len(often))) if len(often) else float("nan")

    assert weighted == pytest.approx(written_out, nan_ok=True)


def test_intervals_draw_groups_and_not_rows() -> None:
    hit = np.repeat([1.0, 0.0] * 10, 20)
    alone = ClusterBootstrap([str(i) for i in range(400)]).estimate(share(hit))
    grouped = ClusterBootstrap([str(i // 20) for i in range(400)]).estimate(share(hit))

    assert (alone.value, grouped.value) == (0.5, 0.5)
    assert width(alone) < 0.11
    assert width(grouped) > 0.3


def test_intervals_do_not_depend_on_the_order_of_rows() -> None:
    generator = np.random.default_rng(3)
    hit, order = generator.integers(0, 2, 60).astype(float), generator.permutation(60)
    groups = [f"g{i % 17}" for i in range(60)]

    shuffled = ClusterBootstrap([groups[i] for i in order]).estimate(share(hit[order]))
    assert shuffled == ClusterBootstrap(groups).estimate(share(hit))


def test_one_group_has_no_interval_an_undefined_measure_no_value_and_a_difference_the_same_draws() -> None:
    one = ClusterBootstrap(["a", "a"]).estimate(share(numbers(1, 0)))
    none = ClusterBootstrap(["a", "b"]).estimate(share(numbers(1, 0), numbers(0, 0)), 0)
    hit = np.repeat([1.0, 0.0], 20)
    same = ClusterBootstrap([str(i) for i in range(40)]).estimate(difference(share(hit), share(hit)))

    assert (one.value, one.low, one.high, one.n) == (0.5, None, None, 2)
    assert (none.value, none.low, none.n) == (None, None, 0)
    assert (same.value, same.low, same.high) == (0, 0, 0)


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.706), (2, 4.303), (5, 2.571), (30, 2.042), (1e6, 1.95996)])
def test_the_quantile_of_students_t_is_that_of_the_tables(freedom: float, quantile: float) -> None:
    assert student_quantile(freedom) == pytest.approx(quantile, rel=0.01 if freedom > 1 else 0.2)


@given(st.lists(st.floats(-1e12, 1e12), max_size=50), st.integers(0, 50), st.randoms())
def test_an_exact_sum_is_the_same_in_any_order_and_grouping(terms: list[float], at: int, shuffled: Random) -> None:
    one = ExactSum(terms)
    parts = ExactSum(terms[:at])
    parts.add(*ExactSum(terms[at:]).parts)
    again = list(terms)
    shuffled.shuffle(again)

    assert one.value == math.fsum(terms)
    assert parts.value == one.value == ExactSum(again).value
