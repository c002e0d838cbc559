"""How likely scores are low and high, from the chances of the verdicts behind them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import floor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage import Component, Score, Verdict, thresholds_with
from ragtriage.core.verdicts import count_distribution, with_chance
from ragtriage.diagnosis.rules import ENUMERATED, Level, Likelihood, level_of, score_interval
from ragtriage.metrics import METRICS
from ragtriage.metrics.aggregate import share, share_of_faults

THRESHOLDS = thresholds_with({})
KNOWN = {m.name: m for m in METRICS}
FOUR = (0.9, 0.8, 0.6, 0.3)
CHANCES = st.lists(st.floats(0, 1), min_size=1, max_size=14)
CERTAIN = st.lists(st.sampled_from([Verdict("yes"), Verdict("no")]), min_size=1, max_size=6)
LEVELS: tuple[Level, ...] = ("low", "high")


def cells_of(chances: Sequence[float]) -> list[Verdict]:
    return [with_chance(Verdict("no"), p) for p in chances]


def score(cells: Sequence[Verdict], *, of_faults: bool = False) -> Score:
    components = [Component(f"Claim {i}.") for i in range(len(cells))]
    found = share_of_faults(components, cells) if of_faults else share(components, cells)
    assert isinstance(found, Score)
    return found


def likelihood(scores: Mapping[str, Score], **thresholds: float) -> Likelihood:
    return Likelihood(scores, THRESHOLDS | thresholds, KNOWN)


def low(chances: Sequence[float], **thresholds: float) -> float:
    return likelihood({"groundedness": score(cells_of(chances))}, **thresholds).of({"groundedness": "low"})


def test_four_claims_are_grounded_only_if_all_are_supported() -> None:
    # three of four are .75 < .8, so it is high if all hold: .9 · .8 · .6 · .3 = .1296
    assert low(FOUR) == pytest.approx(1 - 0.1296)
    # at .75 one may be missed: .1 · .8 · .6 · .3 + .9 · .2 · .6 · .3 + .9 · .8 · .4 · .3 + .9 · .8 · .6 · .7 = .4356
    assert low(FOUR, groundedness=0.75) == pytest.approx(1 - 0.1296 - 0.4356)


@given(CHANCES.flatmap(lambda chances: st.tuples(st.just(chances), st.permutations(chances))))
def test_low_and_high_sum_to_one_in_any_order(both: tuple[list[float], list[float]]) -> None:
    found = likelihood({"groundedness": score(cells_of(both[0]))})

    assert sum(found.of({"groundedness": level}) for level in LEVELS) == pytest.approx(1.0)
    assert low(both[0]) == pytest.approx(low(both[1]), abs=1e-12)


@given(CERTAIN, CERTAIN, st.sampled_from(LEVELS), st.sampled_from(LEVELS))
def test_certain_verdicts_make_it_1_or_0_as_comparing_does(
    claims: list[Verdict], questions: list[Verdict], grounded: Level, covered: Level
) -> None:
    wanted = {"groundedness": grounded, "source_query_coverage": covered}
    given_so = {"groundedness": score(claims), "source_query_coverage": score(questions)}
    holds = all(level_of(given_so[name].value, THRESHOLDS[name]) == level for name, level in wanted.items())
    certain = [[replace(cell, chance=float(cell.value == "yes")) for cell in cells] for cells in (claims, questions)]

    assert likelihood(given_so).of(wanted) == float(holds)
    assert likelihood(dict(zip(given_so, map(score, certain), strict=True))).of(wanted) == float(holds)


@pytest.mark.parametrize(
    "chances", [FOUR, (0.1,), (0.7, 0.2, 1.0, 0.0), (0.9,) * 10, (0.0, 1.0, 1.0), (0.5,), (0.8, 0.6, 0.1)]
)
def test_two_scores_of_the_same_verdicts_count_them_once(chances: Sequence[float]) -> None:
    cells = cells_of(chances)
    found = likelihood({"groundedness": score(cells), "hallucination": score(cells, of_faults=True)})

    one = found.of({"groundedness": "low"})
    assert found.of({"hallucination": "high"}) == pytest.approx(one)
    assert found.of({"groundedness": "low", "hallucination": "high"}) == pytest.approx(one)
    assert found.of({"groundedness": "high", "hallucination": "high"}) == 0.0


def test_scores_that_share_one_verdict_depend_on_each_other_by_that_alone() -> None:
    a, b, c = cells_of((0.9, 0.6, 0.7))
    found = likelihood({"groundedness": score([a, b]), "answer_recall": score([b, c])})

    # both high: a, b and c; each low: 1 − ab and 1 − bc; both low: 1 − ab − bc + abc
    assert found.of({"groundedness": "high", "answer_recall": "high"}) == pytest.approx(0.378)
    assert found.of({"groundedness": "low", "answer_recall": "low"}) == pytest.approx(1 - 0.54 - 0.42 + 0.378)
    # different verdicts are independent
    apart = likelihood({"groundedness": score(cells_of([0.6])), "answer_recall": score(cells_of([0.6]))})
    assert apart.of({"groundedness": "low", "answer_recall": "high"}) == pytest.approx(0.4 * 0.6)


def test_beyond_the_number_that_is_gone_through_outcomes_are_drawn_and_close() -> None:
    chances = [0.55 + 0.02 * i for i in range(20)]
    assert len(chances) > ENUMERATED
    cells = cells_of(chances)
    drawn = likelihood({"groundedness": score(cells), "hallucination": score(cells, of_faults=True)})

    exact = sum(count_distribution(chances)[:16])  # low: fewer than 16 of 20
    assert 0.2 < exact < 0.8
    assert drawn.of({"groundedness": "low", "hallucination": "high"}) == pytest.approx(exact, abs=0.03)


@given(CHANCES)
def test_a_verdict_of_a_half_raises_low_unless_it_allows_one_more_miss(chances: list[float]) -> None:
    before, after = low(chances), low([*chances, 0.5])

    n = len(chances)
    allowed = floor((n + 1) / 5) > floor(n / 5)  # at a threshold of .8
    assert after <= before + 1e-12 if allowed else after >= before - 1e-12


def test_what_is_not_there_is_neither_low_nor_high_and_a_score_without_parts_is_taken_as_it_is() -> None:
    found = likelihood({"groundedness": score(cells_of([0.4])), "own": Score(0.1, 1)})

    assert [found.of({name: level}) for name in ("own", "answer_recall") for level in LEVELS] == [0.0] * 4
    assert found.of({"groundedness": "low", "answer_recall": "low"}) == 0.0
    assert likelihood({}).of({"groundedness": "low"}) == 0.0
    for value, chance in ((0.79, 1.0), (0.81, 0.0)):
        assert likelihood({"groundedness": Score(value, 4)}).of({"groundedness": "low"}) == chance


@given(CHANCES, st.integers(1, 3))
def test_unknown_verdicts_change_nothing(chances: list[float], unknown: int) -> None:
    more = score([*cells_of(chances), *[Verdict("unknown", 0.5)] * unknown])

    assert likelihood({"groundedness": more}).of({"groundedness": "low"}) == pytest.approx(low(chances))


def test_a_score_lies_where_its_verdicts_come_out_in_95_of_100_cases() -> None:
    # none is supported in .0056 of cases, at most one in .0892, at most three in .8704
    assert score_interval(score(cells_of(FOUR)), "higher") == (0.25, 1.0)
    assert score_interval(score(cells_of(FOUR), of_faults=True), "lower") == (0.0, 0.75)
    assert score_interval(score([Verdict("yes"), Verdict("no")]), "higher") is None
