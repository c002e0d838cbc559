"""What holds for every metric: run over METRICS, so a new one is tested by being listed.

Those that weigh several kinds of things against each other, or rest on no verdict of a judge, have tests of their own.
"""

import inspect
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragtriage import Component, ConfigError, Failure, Metric, Score, Undefined, Verdict, Verdicts
from ragtriage.core.metric import metric
from ragtriage.core.steps import Decompose, Match
from ragtriage.core.verdicts import Cell, Known, Missing, Outcome
from ragtriage.metrics import METRICS
from ragtriage.metrics.generator import query_similarity_of
from ragtriage.metrics.thelma import self_distinctness_at

ALL = (*METRICS, self_distinctness_at(0.9), self_distinctness_at(None), query_similarity_of(5))
APART = {
    "relevant_noise_sensitivity",
    "irrelevant_noise_sensitivity",
    "answer_f1",
    "retrieval_precision",
    "retrieval_recall",
    "retrieval_mrr",
    "retrieval_ndcg",
    "ragas_library_answer_relevance",
    "ragas_context_relevance",
}
ALIKE = tuple(m for m in ALL if m.name not in APART)
"""Those whose every need is one grid with a verdict on each component."""
VALUES = st.lists(st.sampled_from(["yes", "no", "unknown"]), min_size=1, max_size=8)


def steps_of(m: Metric, cells: Sequence[Cell]) -> dict[str, Known]:
    """Every need of the metric answered alike; shape (n, 1)."""
    units = tuple(Component(f"component {i}") for i in range(len(cells)))
    return {str(step): Verdicts(units, tuple((cell,) for cell in cells)) for step in m.needs.values()}


def verdicts(values: Sequence[str]) -> list[Cell]:
    return [Verdict(value, {"yes": 1.0, "no": 0.0, "unknown": None}[value]) for value in values]  # type: ignore[arg-type]


FEW = settings(max_examples=40)
"""There are as many of them again for every metric."""


def value_of(outcome: Outcome) -> float:
    assert isinstance(outcome, Score)
    return outcome.value


@pytest.mark.parametrize("m", ALIKE, ids=lambda m: m.name)
@FEW
@given(values=VALUES)
def test_scores_lie_in_their_range_and_count_what_was_judged(m: Metric, values: list[str]) -> None:
    outcome = m(steps_of(m, verdicts(values)))

    if all(value == "unknown" for value in values):
        assert isinstance(outcome, Undefined)
        assert not outcome.failed
    else:
        assert isinstance(outcome, Score)
        assert m.range[0] <= outcome.value <= m.range[1]
        written = next((step.components.count or 0 for step in m.needs.values() if isinstance(step, Match)), 0)
        unwritten = max(0, written - len(values))
        assert outcome.judged + outcome.unknown == len(values) + unwritten
        assert outcome.unknown == values.count("unknown") + unwritten
        assert len(outcome.parts) == len(values)


@pytest.mark.parametrize("m", ALIKE, ids=lambda m: m.name)
@FEW
@given(values=VALUES, seed=st.randoms())
def test_the_order_of_components_does_not_matter(m: Metric, values: list[str], seed) -> None:
    other = values[:]
    seed.shuffle(other)

    assert str(m(steps_of(m, verdicts(values))))[:12] == str(m(steps_of(m, verdicts(other))))[:12]


@pytest.mark.parametrize("m", ALIKE, ids=lambda m: m.name)
@FEW
@given(values=st.lists(st.sampled_from(["yes", "no"]), min_size=1, max_size=8))
def test_a_better_verdict_never_makes_a_score_worse(m: Metric, values: list[str]) -> None:
    upwards = 1 if m.better == "higher" else -1
    good = "no" if m.name.startswith("self_distinctness") else "yes"
    before = value_of(m(steps_of(m, verdicts(values))))
    for i in range(len(values)):
        better = [*values[:i], good, *values[i + 1 :]]
        assert upwards * value_of(m(steps_of(m, verdicts(better)))) >= upwards * before


@pytest.mark.parametrize("m", ALL, ids=lambda m: m.name)
def test_a_failed_component_makes_the_score_failed_and_a_missing_step_gives_its_reason(m: Metric) -> None:
    missing: dict[str, Known] = {str(step): Missing("no response was given", "response") for step in m.needs.values()}
    assert m(missing) == Undefined("no response was given")

    if m in ALIKE:
        outcome = m(steps_of(m, [Verdict("no", 0.0), Failure("time-out after 30 s")]))
        assert isinstance(outcome, Undefined)
        assert outcome.failed
        assert "time-out after 30 s" in outcome.reason


@pytest.mark.parametrize("m", METRICS, ids=lambda m: m.name)
def test_every_metric_says_what_it_is(m: Metric) -> None:
    doc = inspect.getdoc(m.compute) or ""

    assert "Undefined" in doc
    assert "Source:" in doc
    assert m.about
    assert m.fault
    assert m.title != m.name


def test_a_metric_whose_needs_and_parameters_differ_is_refused() -> None:
    with pytest.raises(ConfigError, match="takes \\['found'\\] but declares \\['support'\\]"):

        @metric(title="Odd", support=Match(Decompose("response", "claims"), "supported", "sources"))
        def odd(found: Verdicts) -> Outcome:
            """Never made."""
            return Undefined(str(found))


def test_self_distinctness_is_one_minus_the_highest_cosine_or_counts_repeats_by_a_threshold() -> None:
    plain, at_half = self_distinctness_at(None), self_distinctness_at(0.5)
    cells: list[Cell] = [Verdict("yes", 0.9), Verdict("yes", 0.9), Verdict("no", -0.2)]

    assert value_of(plain(steps_of(plain, cells))) == pytest.approx((0.1 + 0.1 + 1.0) / 3)
    cells = [Verdict("no", 0.5), Verdict("no", 0.49)]
    assert value_of(at_half(steps_of(at_half, cells))) == 0.5
