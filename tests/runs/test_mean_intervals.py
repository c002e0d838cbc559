"""The interval of a mean of expected shares: which cases, which verdicts are right, and which texts."""

from collections.abc import Sequence
from math import hypot, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import Case, Component, Record, Score, Tally, Verdict, metrics_named, thresholds_with
from ragtriage.core.statistics import Z
from ragtriage.core.verdicts import Outcome, Undefined, shifted, with_chance
from ragtriage.diagnosis.rules import score_spread
from ragtriage.metrics import METRICS
from ragtriage.metrics.aggregate import share
from ragtriage.runs.metric_tally import BETWEEN_DOMAINS, MetricSummary, interval_of_mean, weighted_interval

CHANCES = st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=4), min_size=1, max_size=6)


def score(chances: Sequence[float]) -> Score:
    verdicts = [with_chance(Verdict("no"), chance) for chance in chances]
    found = share([Component(f"Claim {i}.") for i in range(len(chances))], verdicts)
    assert isinstance(found, Score)
    return found


def summed(outcomes: Sequence[Outcome], weights: Sequence[float] = ()) -> MetricSummary:
    tally = Tally(metrics_named(["groundedness"]), thresholds_with({}))
    for i, outcome in enumerate(outcomes):
        weight = weights[i] if weights else 1.0
        tally.add(Record(Case(f"c{i}", "What?", weight=weight), {}, {"groundedness": outcome}))
    (found,) = tally.summary().metrics
    return found


def test_an_example_worked_out_by_hand() -> None:
    found = summed([score([0.5, 0.5]), score([0.9])], [1.0, 3.0])

    # 1/4 · .5 + 3/4 · .9 = .8; variances .5 / 4 and .09, moved by .5 / 2 and .09
    assert found.mean == pytest.approx(0.8)
    doubt = (0.25**2) * 0.125 + (0.75**2) * 0.09
    moved = 0.25 * 0.25 + 0.75 * 0.09
    assert found.sampling == weighted_interval(np.array([0.5, 0.9]), np.array([1.0, 3.0]))[1:]
    down = hypot(0.8 - found.sampling[0], Z * sqrt(doubt), Z * BETWEEN_DOMAINS * moved)
    assert found.low == pytest.approx(max(0.0, 0.8 - down))
    assert found.high == 1.0


def test_a_step_in_the_log_odds_moves_the_mean_as_told() -> None:
    chances, step = [0.9, 0.6, 0.3], 1e-4
    moved = sum(shifted(chance, step) for chance in chances) / 3 - sum(chances) / 3

    assert score_spread(score(chances), "higher")[1] == pytest.approx(moved / step, rel=1e-3)


@pytest.mark.parametrize("verdicts", [[Verdict("yes"), Verdict("no")], [with_chance(Verdict("no"), 0.0)] * 2])
def test_certain_verdicts_leave_the_interval_of_the_cases(verdicts: list[Verdict]) -> None:
    outcomes = [share([Component("It floats.")], [verdict]) for verdict in verdicts]
    values = np.array([outcome.value for outcome in outcomes if isinstance(outcome, Score)])
    found = summed(outcomes)

    assert found.sampling is None
    assert (found.mean, found.low, found.high) == weighted_interval(values, np.ones(2))


@given(CHANCES)
def test_it_holds_the_mean_and_the_interval_of_the_cases_and_stays_in_range(cases: list[list[float]]) -> None:
    found = summed([score([0.5]), *map(score, cases)])

    assert found.sampling is not None
    assert found.mean is not None
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.sampling[0] + 1e-9
    assert found.sampling[1] - 1e-9 <= found.high <= 1
    assert found.low < found.mean < found.high


@given(CHANCES.flatmap(lambda some: st.tuples(st.just(some), st.permutations(some))))
def test_the_order_of_the_cases_does_not_matter(both: tuple[list[list[float]], list[list[float]]]) -> None:
    there, back = (summed([*map(score, some)]) for some in both)

    assert (there.mean, there.low, there.high) == pytest.approx((back.mean, back.low, back.high))


def test_one_case_is_as_sure_as_its_verdicts() -> None:
    found = summed([score([0.9, 0.9])])

    assert found.sampling == (found.mean, found.mean)
    assert found.low is not None
    assert 0.4 < found.low < 0.6
    assert summed([Undefined("no response was given")]).sampling is None


def test_a_score_that_is_no_share_of_its_verdicts_counts_as_it_is() -> None:
    f1 = Score(0.77, 2, parts=score([0.5, 0.6]).parts)

    assert score_spread(f1, "higher") == (0.0, 0.0)
    assert all(score_spread(Score(0.4, 2), metric.better) == (0.0, 0.0) for metric in METRICS)


def test_it_holds_the_true_mean_of_domains_that_differ() -> None:
    rng = np.random.default_rng(0)
    inside = alone = 0
    for _ in range(200):
        step = rng.normal(0.0, BETWEEN_DOMAINS)
        cases = [np.clip(rng.beta(3, 1, rng.integers(1, 5)), 0.01, 0.99) for _ in range(60)]
        true = np.mean([np.mean([rng.random() < shifted(p, step) for p in chances]) for chances in cases])
        found = summed([score(list(chances)) for chances in cases])
        inside += (found.low or 0) <= true <= (found.high or 0)
        alone += bool(found.sampling and found.sampling[0] <= true <= found.sampling[1])

    assert inside >= 188
    assert alone < 150


def test_without_doubts_nothing_is_added() -> None:
    assert interval_of_mean(0.5, (0.4, 0.7), 0.0, 0.0) == pytest.approx((0.4, 0.7))
