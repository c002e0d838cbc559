"""What a case lacks is found before any judge is asked, and what nobody needs then isn't asked."""

from dataclasses import replace
from typing import Any

import pytest

from ragtriage import METRICS, RULES, Case, FakeJudge, Metric, Source, evaluate_sync, metrics_named, needs_of, plan
from ragtriage.core.case import Turn
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Component, Missing, Undefined, Verdict
from ragtriage.metrics import GROUPS
from ragtriage.planning.levels import unmet_requirement

CASE = Case(
    "c",
    "What does it cost?",
    (Source("It costs 5 euros.", "a"),),
    "It costs 5 euros [1].",
    "Five euros.",
    samples=("5 euros.",),
    relevant_ids=("a",),
)


def answer(question: Question) -> Answer:
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("no", 0.5)


def test_a_complete_case_lacks_nothing() -> None:
    whole = plan(METRICS, needs_of(RULES))

    assert {str(step) for step in whole.not_needed(CASE)} == {
        "supported(claims(response), conversation) where supported(claims(response), sources) lacks yes"
    }


@pytest.mark.parametrize(
    ("change", "group", "reason"),
    [
        ({"reference": None}, "reference", "the case has no reference"),
        ({"reference": " \n"}, "reference", "the case has no reference"),
        ({"samples": ()}, "samples", "the case has no samples of the response"),
        ({"relevant_ids": None}, "retrieval", "the case names no relevant sources"),
        ({"response": "It costs 5 euros."}, "citations", "the response cites nothing"),
    ],
)
def test_a_metric_without_what_it_needs_costs_no_question(change: dict[str, Any], group: str, reason: str) -> None:
    judge = FakeJudge(answer)
    case = replace(CASE, history=(Turn("user", "Hello."),), **change)
    (record,) = evaluate_sync([case], judge, metrics=GROUPS[group])

    assert judge.asked == []
    assert set(record.outcomes.values()) == {Undefined(reason)}


def test_where_no_score_can_be_computed_rules_ask_nothing_either() -> None:
    judge = FakeJudge(answer)
    also = needs_of(RULES)

    uncited = replace(CASE, response="It costs 5 euros.")
    list(evaluate_sync([uncited], judge, metrics=GROUPS["citations"], also=also))
    assert judge.asked == []

    list(evaluate_sync([CASE], judge, metrics=GROUPS["citations"], also=also))
    assert "declines" in {question.kind for question in judge.asked}


@pytest.mark.parametrize("m", METRICS, ids=lambda m: m.name)
def test_every_metric_of_a_response_is_undefined_without_asking(m: Metric) -> None:
    judge = FakeJudge(answer)
    (record,) = evaluate_sync([replace(CASE, response=None)], judge, metrics=[m])

    outcome = record.outcomes[m.name]
    if outcome == Undefined("no response was given"):
        assert judge.asked == []
    else:
        assert not any("response" in str(step) for step in m.needs.values())


def test_a_step_that_another_metric_needs_is_asked_all_the_same() -> None:
    judge = FakeJudge(answer)
    both = metrics_named(["answer_precision", "groundedness"])
    (record,) = evaluate_sync([replace(CASE, reference=None)], judge, metrics=both)

    assert [question.kind for question in judge.asked] == ["claims", "supported"]
    assert record.outcomes["answer_precision"] == Undefined("the case has no reference")


def test_of_several_reasons_the_response_comes_first() -> None:
    step = metrics_named(["answer_precision"])[0].needs["correct"]

    assert unmet_requirement(step, replace(CASE, response=None, reference=None)) == Missing(
        "no response was given", "response"
    )
    assert unmet_requirement(step, CASE) is None
