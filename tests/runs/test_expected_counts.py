"""How many cases have a finding, counted as a sum of probabilities."""

from collections.abc import Mapping, Sequence
from math import hypot, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import Case, Component, Record, Rule, Score, Tally, Undefined, Verdict, thresholds_with
from ragtriage.core.statistics import Z
from ragtriage.core.verdicts import Outcome, with_chance
from ragtriage.diagnosis.rules import COSTS, Costs
from ragtriage.metrics import METRICS
from ragtriage.metrics.aggregate import share
from ragtriage.runs.metric_tally import BETWEEN_DOMAINS, ExpectedCount
from ragtriage.runs.summary import Group, Summary

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


def summary_of(
    cases: Sequence[Mapping[str, Outcome]], rules: Sequence[Rule] = (UNGROUNDED,), costs: Costs = COSTS
) -> Summary:
    tally = Tally(METRICS, thresholds_with({}), rules, costs)
    for i, outcomes in enumerate(cases):
        tally.add(Record(Case(f"c{i}", "What?"), {}, outcomes))
    return tally.summary()


def group_of(*probabilities: float, costs: Costs = COSTS) -> Group:
    (found,) = summary_of([low_with(p) for p in probabilities], costs=costs).groups
    return found


def expected(group: Group) -> ExpectedCount:
    assert group.expected is not None
    return group.expected


def test_cases_below_the_limit_are_expected_though_not_shown() -> None:
    group = group_of(0.9, 0.4, 0.3, 0.2)

    assert group.cases == 1
    assert expected(group).value == pytest.approx(1.8)


def test_the_interval_is_that_of_the_cases_and_of_other_texts() -> None:
    found = expected(group_of(*[0.6] * 50))

    # each case varies by .6 · .4 = .24: 12 in all, to which come .45 · 12 for a shift of all log odds
    reach = Z * hypot(sqrt(12), 5.4)
    assert BETWEEN_DOMAINS == 0.45
    assert (found.value, found.low, found.high) == pytest.approx((30, 30 - reach, 30 + reach), abs=0.01)
    assert str(found) == "about 30 (17 to 43)"


def test_of_several_rules_of_a_group_at_least_one_holds() -> None:
    (group,) = summary_of([low_with(0.6, 0.5)], (UNGROUNDED, UNCOVERED)).groups

    assert expected(group).value == pytest.approx(1 - 0.4 * 0.5)


@given(st.lists(st.sampled_from([0.0, 1.0]), min_size=1, max_size=8), st.booleans())
def test_certain_verdicts_are_counted_and_nothing_is_expected(probabilities: list[float], plain: bool) -> None:
    groups = summary_of([low_with(p, certain=plain) for p in probabilities]).groups

    cases = probabilities.count(1.0)
    assert [(group.cases, group.sure, group.expected) for group in groups] == ([(cases, cases, None)] if cases else [])


@given(
    st.lists(st.floats(0, 1), max_size=8).flatmap(
        lambda some: st.tuples(st.just([0.9, *some]), st.permutations([0.9, *some]))
    )
)
def test_the_order_of_the_cases_does_not_matter(both: tuple[list[float], list[float]]) -> None:
    one, other = (expected(group_of(*probabilities)) for probabilities in both)

    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))


@given(st.lists(st.floats(0, 1), max_size=8))
def test_the_interval_holds_the_count_and_no_more_than_there_are_cases(probabilities: list[float]) -> None:
    found = expected(group_of(0.9, *probabilities))

    assert 0 <= found.low <= found.value <= found.high <= len(probabilities) + 1
    assert found.value == pytest.approx(0.9 + sum(probabilities))


def test_costs_change_what_is_shown_and_not_what_is_expected() -> None:
    shown, averse = (group_of(0.95, 0.6, 0.4, costs=costs) for costs in (COSTS, Costs(4, 1)))

    assert (shown.cases, averse.cases) == (2, 1)
    assert shown.expected == averse.expected


def test_one_case_may_or_may_not_have_it() -> None:
    assert expected(group_of(0.5)) == ExpectedCount(0.5, 0.0, 1.0)


def test_what_is_done_right_is_expected_too() -> None:
    groups = summary_of([low_with(0.2), low_with(0.9)], (UNGROUNDED, FOUND)).groups

    assert {g.kind: round(expected(g).value, 3) for g in groups} == {"failure": 1.1, "right": 0.9}


@pytest.mark.parametrize(
    "outcome", [Undefined("no response was given"), Undefined("time-out", failed=True), Score(0.9, 4)]
)
def test_without_a_low_score_there_is_no_group(outcome: Outcome) -> None:
    assert summary_of([{"groundedness": outcome}, {}]).groups == ()
    assert summary_of([]).groups == ()
