"""The interval of a mean and of a number of cases: which cases, which verdicts are right, and which texts."""

from collections.abc import Mapping, Sequence
from math import hypot, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import Case, Component, Record, Rule, Score, Tally, Verdict, metrics_named, thresholds_with
from ragtriage.core.statistics import Z
from ragtriage.core.verdicts import Outcome, Undefined, shifted, with_chance
from ragtriage.diagnosis.rules import COSTS, Costs, score_spread
from ragtriage.metrics import METRICS
from ragtriage.metrics.aggregate import share
from ragtriage.runs.metric_tally import (
    BETWEEN_DOMAINS,
    ExpectedCount,
    MetricSummary,
    interval_of_mean,
    weighted_interval,
)
from ragtriage.runs.summary import Group

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


UNGROUNDED = Rule("ungrounded", "failure", {"groundedness": "low"}, "made up", "generator", "Try another.")
UNCOVERED = Rule("uncovered", "failure", {"source_query_coverage": "low"}, "not there", "generator", "Find it.")
FOUND = Rule("found", "right", {"groundedness": "high"}, "all is sound", "nobody", "")


def low_with(*probabilities: float, certain: bool = False) -> Mapping[str, Outcome]:
    """The scores of a case that are low with these probabilities: each rests on one verdict."""
    verdicts = [
        Verdict("no" if p == 1.0 else "yes") if certain else with_chance(Verdict("no"), 1 - p) for p in probabilities
    ]
    names = ("groundedness", "source_query_coverage")
    return {name: share([Component("It floats.")], [one]) for name, one in zip(names, verdicts, strict=False)}


def groups_of(
    *cases: Mapping[str, Outcome], rules: Sequence[Rule] = (UNGROUNDED,), costs: Costs = COSTS
) -> tuple[Group, ...]:
    """What was found in these cases, with the number of cases that is expected to have it."""
    tally = Tally(METRICS, thresholds_with({}), rules, costs)
    for i, outcomes in enumerate(cases):
        tally.add(Record(Case(f"c{i}", "What?"), {}, outcomes))
    return tally.summary().groups


def expected(*probabilities: float) -> ExpectedCount:
    """How many of the cases are expected to be ungrounded, of which each is with such a probability."""
    (group,) = groups_of(*map(low_with, probabilities))
    assert group.expected is not None
    return group.expected


def test_the_interval_of_a_count_is_that_of_the_cases_and_of_other_texts() -> None:
    found = expected(*[0.6] * 50)

    # each case varies by .6 · .4 = .24: 12 in all, to which come .45 · 12 for a shift of all log odds
    reach = Z * hypot(sqrt(12), 5.4)
    assert BETWEEN_DOMAINS == 0.45
    assert (found.value, found.low, found.high) == pytest.approx((30, 30 - reach, 30 + reach), abs=0.01)
    assert str(found) == "about 30 (17 to 43)"
    assert expected(0.5) == ExpectedCount(0.5, 0.0, 1.0)


def test_cases_below_the_limit_are_expected_though_not_shown_whatever_errors_cost() -> None:
    cases = [low_with(p) for p in (0.95, 0.6, 0.4, 0.3)]
    (shown,), (averse,) = (groups_of(*cases, costs=costs) for costs in (COSTS, Costs(4, 1)))

    assert (shown.cases, averse.cases) == (2, 1)
    assert shown.expected == averse.expected
    assert expected(0.9, 0.4, 0.3, 0.2).value == pytest.approx(1.8)


def test_of_several_rules_of_a_group_at_least_one_holds_and_what_is_right_is_expected_too() -> None:
    (group,) = groups_of(low_with(0.6, 0.5), rules=(UNGROUNDED, UNCOVERED))
    assert group.expected is not None
    assert group.expected.value == pytest.approx(1 - 0.4 * 0.5)

    both = groups_of(low_with(0.2), low_with(0.9), rules=(UNGROUNDED, FOUND))
    assert {g.kind: round(g.expected.value, 3) for g in both if g.expected} == {"failure": 1.1, "right": 0.9}


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=8), st.booleans())
def test_certain_verdicts_are_counted_and_nothing_is_expected(probabilities: list[float], plain: bool) -> None:
    groups = groups_of(*(low_with(p, certain=plain) for p in probabilities))

    cases = probabilities.count(1.0)
    assert [(group.cases, group.sure, group.expected) for group in groups] == ([(cases, cases, None)] if cases else [])


@given(
    st.lists(st.floats(0, 1), max_size=8).flatmap(
        lambda some: st.tuples(st.just([0.9, *some]), st.permutations([0.9, *some]))
    )
)
def test_the_interval_holds_the_count_and_no_more_than_there_are_cases_in_any_order(
    both: tuple[list[float], list[float]],
) -> None:
    one, other = (expected(*probabilities) for probabilities in both)

    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
    assert 0 <= one.low <= one.value <= one.high <= len(both[0])
    assert one.value == pytest.approx(sum(both[0]))


@pytest.mark.parametrize(
    "outcome", [Undefined("no response was given"), Undefined("time-out", failed=True), Score(0.9, 4)]
)
def test_without_a_low_score_there_is_no_group(outcome: Outcome) -> None:
    assert groups_of({"groundedness": outcome}, {}) == groups_of() == ()
