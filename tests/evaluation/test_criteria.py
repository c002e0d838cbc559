"""Metrics of one's own in an evaluation: criteria of their own, and what goes wrong with them alone."""

import re
from typing import Any

import pytest

from ragtriage import ConfigError, EmbeddedJudge, FakeJudge, Outcome, evaluate_sync, metrics_named, share
from ragtriage.core.case import Case, Source
from ragtriage.core.metric import Metric, metric
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.steps import Decompose, Match
from ragtriage.core.verdicts import Answer, Component, Score, Undefined, Verdict, Verdicts

CLAIMS = Decompose("response", "claims")


def agreeable(question: Question) -> Answer:
    """Every text is one component, and everything holds."""
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("yes", 0.9, 0.9)


def case(i: int) -> Case:
    return Case(f"c{i}", f"What does number {i} cost?", (Source("It costs 5 euros."),), f"Number {i} costs 5 euros.")


@pytest.mark.parametrize(
    ("gives", "told"),
    [
        (lambda _: 0.5, r"the metric odd gave 0\.5: return a Score or Undefined"),
        (lambda _: None, "the metric odd gave None: return a Score or Undefined"),
        (lambda _: Score(1.5, 1), r"the metric odd gave 1\.5, which is not in its range of 0 to 1"),
        (lambda _: Score(float("nan"), 1), "the metric odd gave nan, which is not in its range"),
        (lambda support: 1 / (len(support.components) - 1), r"the metric odd failed \(test_criteria\.py, line \d+\): "),
    ],
)
def test_a_metric_that_gives_no_score_or_raises_fails_itself_alone(gives: Any, told: str) -> None:
    @metric(title="Odd", support=Match(CLAIMS, "supported", "sources"))
    def odd(support: Verdicts) -> Outcome:  # whatever it is given
        """Give what no metric should."""
        return gives(support)  # type: ignore[no-any-return]  # that is the point

    chosen = (*metrics_named(["groundedness"]), odd)
    (record,) = evaluate_sync([case(0)], FakeJudge(agreeable), metrics=chosen)
    outcome = record.outcomes["odd"]

    assert isinstance(outcome, Undefined)
    assert outcome.failed
    assert re.search(told, outcome.reason)
    assert isinstance(record.outcomes["groundedness"], Score)


def criterion_of(unit: Decompose) -> Match:
    return Match(unit, "holds", "criterion", criterion="It is polite.")


def polite_by(unit: Decompose) -> Metric:
    """A metric by a criterion of one's own."""

    @metric(title="Polite", polite=criterion_of(unit))
    def polite(polite: Verdicts) -> Outcome:
        """The share that is polite."""
        return share(polite.components, polite.best())

    return polite


@pytest.mark.parametrize(
    ("unit", "asked"),
    [
        (Decompose("response", "whole"), [("It is polite.", ("It opened in 1896.",), "When did it open?")]),
        (Decompose("sources", "sources"), [("It is polite.", ("The tower opened in 1896.",), "")]),
    ],
)
def test_a_criterion_is_asked_of_the_response_or_a_source(unit: Decompose, asked: list[tuple]) -> None:
    one = Case("c", "When did it open?", (Source("The tower opened in 1896."),), "It opened in 1896.")
    judge = FakeJudge.from_table(default="yes")
    (record,) = evaluate_sync([one], judge, metrics=[polite_by(unit)])

    assert [(q.subject, q.evidence, q.query) for q in judge.asked if q.kind == "holds"] == asked
    assert [q.kind for q in judge.asked] == ["holds"]
    assert record.outcomes["polite"] == Score(1.0, 1, 0, record.outcomes["polite"].parts)
    assert f"holds({unit}, “It is polite.”)" in record.steps


def test_a_judge_that_knows_no_criteria_makes_the_score_undefined_with_that_reason() -> None:
    reason = EmbeddedJudge().unsupported_reason("holds", "en")
    judge = FakeJudge(agreeable, cannot={"holds": reason})
    (record,) = evaluate_sync([case(0)], judge, metrics=[polite_by(Decompose("response", "whole"))])

    assert record.outcomes["polite"] == Undefined("the embedded judge can't judge by criteria of your own")


@pytest.mark.parametrize(
    "given",
    [
        {"relation": "holds", "against": "criterion"},
        {"relation": "holds", "against": "criterion", "criterion": "  "},
        {"relation": "holds", "against": "query", "criterion": "It is polite."},
        {"relation": "supported", "against": "sources", "criterion": "It is polite."},
        {"relation": "supported", "against": "criterion"},
    ],
)
def test_a_criterion_comes_with_its_relation_and_target(given: dict) -> None:
    with pytest.raises(ConfigError, match='"holds" is asked against "criterion"'):
        Match(CLAIMS, **given)
    with pytest.raises(ConfigError, match="of the response or the sources, not of the query"):
        criterion_of(Decompose("query", "questions"))
