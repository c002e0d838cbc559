"""Plans: distinct steps in an order in which they can be taken, and how many questions they come to."""

from __future__ import annotations

from itertools import combinations

import pytest

from ragtriage import (
    METRICS,
    RULES,
    Case,
    Component,
    FakeJudge,
    Source,
    Verdict,
    evaluate_sync,
    metrics_named,
    needs_of,
)
from ragtriage.judges.questions import DECOMPOSITIONS, Question
from ragtriage.metrics.source import ANSWERED_BY_ONE, ANSWERED_TOGETHER
from ragtriage.planning import dependencies, plan
from ragtriage.verdicts import Answer


@pytest.mark.parametrize("size", [1, 2, len(METRICS)])
def test_every_step_stands_behind_those_that_it_depends_on(size: int) -> None:
    for chosen in combinations(METRICS, size):
        planned = plan(chosen, needs_of(RULES))

        assert len(planned.steps) == len(set(planned.steps))
        assert tuple(step for level in planned.levels for step in level) == planned.steps
        for i, step in enumerate(planned.steps):
            assert set(dependencies(step)) <= set(planned.steps[:i])
        for earlier, later in zip(planned.levels, planned.levels[1:], strict=False):
            assert not any(set(dependencies(step)) & set(later) for step in (*earlier, *later))


def test_a_condition_is_taken_behind_its_step() -> None:
    planned = plan(metrics_named(["source_query_coverage"]))

    assert planned.steps.index(ANSWERED_BY_ONE) < planned.steps.index(ANSWERED_TOGETHER)


def test_shared_steps_are_named_with_their_metrics() -> None:
    shared = plan(metrics_named(["groundedness", "response_precision", "response_query_coverage"])).shared()

    assert shared == {
        "claims(response)": ("response_precision", "groundedness"),
        "questions(query)": ("response_precision", "response_query_coverage"),
    }


def test_one_metric_shares_with_nobody() -> None:
    assert plan(metrics_named(["groundedness"])).shared() == {}


@pytest.mark.parametrize(("answered", "bound"), [("yes", 0), ("no", 1)])
def test_the_number_of_questions_lies_between_at_least_and_at_most(answered: str, bound: int) -> None:
    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return tuple(Component(f"{question.subject} {i}") for i in range(2))
        return Verdict(answered)  # type: ignore[arg-type]

    judge = FakeJudge(answer)
    sources = tuple(Source(f"Source {i}.") for i in range(3))
    list(evaluate_sync([Case("c", "What?", sources, "It floats.")], judge, also=needs_of(RULES)))

    limits = plan(METRICS, needs_of(RULES)).questions(3, {"claims": 2, "facts": 6, "questions": 2, "sentences": 2})

    assert limits[0] < limits[1]
    assert len(judge.asked) == limits[bound]
