"""Which likely findings are shown: by their probability, by what errors cost, and only with something firm to check."""

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import RULES, Case, Component, Record, Score, Undefined, Verdict, Verdicts, thresholds_with
from ragtriage.core.verdicts import Known, Outcome, with_chance
from ragtriage.diagnosis.findings import Assessment, assess
from ragtriage.diagnosis.rules import COSTS, Costs
from ragtriage.metrics.aggregate import share
from ragtriage.metrics.thelma import DECLINES

THRESHOLDS = thresholds_with({})
RULE = {rule.name: rule for rule in RULES}
COVERED: dict[str, Outcome] = {"source_query_coverage": Score(1.0, 1), "response_query_coverage": Score(1.0, 1)}
AVERSE = Costs(blame=4.0, miss=1.0)
EAGER = Costs(blame=1.0, miss=4.0)
SCORES = st.lists(st.sampled_from([Verdict("yes"), Verdict("no"), Verdict("unknown")]), min_size=1, max_size=5)


def decided(*chances: float, contradicted: bool = False) -> list[Verdict]:
    return [with_chance(Verdict("no", contradicted=contradicted), p) for p in chances]


def scored(cells: Sequence[Verdict]) -> Outcome:
    return share([Component(f"Component {i}.") for i in range(len(cells))], cells)


def claiming(*chances: float, costs: Costs = COSTS, contradicted: bool = False) -> Assessment:
    """What is said of a case with claims of these chances whose sources answer the question."""
    outcomes = COVERED | {"groundedness": scored(decided(*chances, contradicted=contradicted))}
    return assess(Record(Case("c", "What?"), {}, outcomes), THRESHOLDS, costs=costs)


def refusing(chance: float, costs: Costs = COSTS) -> list[str]:
    """The rules that are shown where a response declines though the sources answer with this chance."""
    steps: dict[str, Known] = {str(DECLINES): Verdicts((Component("I can't say."),), ((Verdict("yes"),),))}
    record = Record(Case("c", "What?"), steps, {"source_query_coverage": scored(decided(chance))})
    return rules(assess(record, THRESHOLDS, costs=costs))


def rules(found: Assessment) -> list[str]:
    return [finding.rule for finding in found.findings]


def test_only_the_proportion_of_the_costs_decides_from_where_a_fault_is_shown() -> None:
    assert COSTS.shown_from == Costs(20, 10).shown_from == 0.5
    assert AVERSE.shown_from == pytest.approx(2 / 3)
    assert EAGER.shown_from == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("name", "probability", "costs", "shown"),
    [
        ("unsupported_claims", 0.5, COSTS, True),
        ("unsupported_claims", 0.49, COSTS, False),
        ("unsupported_claims", 0.66, AVERSE, False),
        ("unsupported_claims", 0.67, AVERSE, True),
        ("unsupported_claims", 1.0, COSTS, True),
        ("loose_sources", 0.5, AVERSE, True),  # it blames nothing
        ("loose_sources", 0.49, EAGER, False),
        ("unclear_refusal", 0.7, COSTS, False),  # no longer unclear
    ],
)
def test_a_rule_is_shown_from_its_limit_on(name: str, probability: float, costs: Costs, shown: bool) -> None:
    assert RULE[name].shown(probability, costs) == shown


@pytest.mark.parametrize("probability", [0.0, 0.39, 0.4, 0.6, 1.0])
def test_costs_do_not_move_a_rule_with_limits_of_its_own(probability: float) -> None:
    rule = replace(RULE["unsupported_claims"], likely=(0.4, inf))

    assert {rule.shown(probability, costs) for costs in (COSTS, AVERSE, EAGER)} == {probability >= 0.4}


@pytest.mark.parametrize("costs", [COSTS, AVERSE, EAGER])
def test_a_refusal_is_blamed_from_seven_in_ten_on_whatever_errors_cost(costs: Costs) -> None:
    assert refusing(0.75, costs) == ["needless_refusal"]
    assert refusing(0.6, costs) == ["unclear_refusal"]
    assert refusing(0.3, costs) == ["right_refusal"]


def test_a_likely_fault_is_shown_as_not_sure_and_costs_may_hide_it() -> None:
    # five claims may miss one; the first surely does, and one of the others with 1 − .9 · .9 · .9 · .8 = .4168
    found = claiming(0.0, 0.9, 0.9, 0.9, 0.8, costs=EAGER)

    (finding,) = [one for one in found.findings if one.rule == "unsupported_claims"]
    assert finding.probability == found.probabilities["unsupported_claims"] == pytest.approx(0.4168)
    assert (finding.sure, finding.doubt) == (False, "42% likely")
    assert "unsupported_claims" not in rules(claiming(0.0, 0.9, 0.9, 0.9, 0.8))
    # it is sure from nine in ten on
    assert [f.sure for chance in (0.1, 0.11) for f in claiming(chance).findings] == [True, False]
    undefined = dict.fromkeys([*COVERED, "groundedness"], Undefined("no response was given"))
    for outcomes in ({}, undefined):
        assert assess(Record(Case("c", "What?"), {}, outcomes), THRESHOLDS) == Assessment((), {})


@pytest.mark.parametrize("chances", [(0.3, 0.3, 0.3), (0.21, 0.5, 0.6), (0.5,) * 4, (0.7,) * 4])
def test_doubts_that_add_up_are_counted_and_blame_nobody(chances: Sequence[float]) -> None:
    found = claiming(*chances)

    assert found.probabilities["unsupported_claims"] > 0.7
    assert found.findings == ()
    assert rules(claiming(*chances, 0.16)) == ["unsupported_claims"]  # this one can be checked


@given(st.lists(st.floats(0.17, 1), min_size=1, max_size=8), st.integers(1, 4))
def test_verdicts_of_a_half_alone_bring_up_no_blame(chances: list[float], halves: int) -> None:
    assert claiming(*chances, *[0.5] * halves).findings == ()


def test_a_verdict_of_a_half_makes_a_contradiction_no_surer() -> None:
    before, after = (claiming(*chances, contradicted=True) for chances in ((0.3,), (0.3, 0.5)))

    assert before.probabilities["contradicted_claims"] == pytest.approx(0.7)
    assert after.probabilities["contradicted_claims"] == before.probabilities["contradicted_claims"]


@given(st.tuples(SCORES, SCORES, SCORES))
def test_certain_chances_say_what_verdicts_without_any_say(cells: tuple[list[Verdict], ...]) -> None:
    def said(*, certain: bool) -> Assessment:
        told = [
            [replace(c, chance=float(c.value == "yes")) if certain and c.value != "unknown" else c for c in some]
            for some in cells
        ]
        outcomes = dict(zip([*COVERED, "groundedness"], map(scored, told), strict=True))
        return assess(Record(Case("c", "What?"), {}, outcomes), THRESHOLDS)

    assert said(certain=True) == said(certain=False)
    assert {*said(certain=True).probabilities.values()} <= {1.0}
