"""Metrics of one's own in an evaluation: criteria of their own, and what goes wrong with them alone."""

import pytest

from ragtriage import (
    Case,
    Component,
    ConfigError,
    Decompose,
    EmbeddedJudge,
    FakeJudge,
    Match,
    Outcome,
    Score,
    Source,
    Undefined,
    Verdict,
    Verdicts,
    evaluate_sync,
    metric,
    share,
)
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer

CLAIMS = Decompose("response", "claims")


def agreeable(question: Question) -> Answer:
    """Every text is one component, and everything holds."""
    if question.kind in DECOMPOSITIONS:
        return (Component(question.subject, (0, len(question.subject))),)
    return Verdict("yes", 0.9, 0.9)


def case(i: int) -> Case:
    return Case(f"c{i}", f"What does number {i} cost?", (Source("It costs 5 euros."),), f"Number {i} costs 5 euros.")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (0.5, "the metric odd gave 0.5: return a Score or Undefined"),
        (None, "the metric odd gave None: return a Score or Undefined"),
        (Score(1.5, 1), "the metric odd gave 1.5, which is not in its range of 0 to 1"),
        (Score(float("nan"), 1), "the metric odd gave nan, which is not in its range"),
    ],
)
def test_a_metric_that_gives_no_score_fails_itself_alone(given: object, told: str) -> None:
    @metric(title="Odd", support=Match(CLAIMS, "supported", "sources"))
    def odd(support: Verdicts) -> Outcome:  # whatever it is given
        """Give what no metric should."""
        return given  # type: ignore[return-value]  # that is the point

    (record,) = evaluate_sync([case(0)], FakeJudge(agreeable), metrics=[odd])
    outcome = record.outcomes["odd"]

    assert isinstance(outcome, Undefined)
    assert outcome.failed
    assert told in outcome.reason


def criterion_of(unit: Decompose) -> Match:
    return Match(unit, "holds", "criterion", criterion="It is polite.")


@pytest.mark.parametrize(
    ("unit", "asked"),
    [
        (Decompose("response", "whole"), [("It is polite.", ("It opened in 1896.",), "When did it open?")]),
        (Decompose("sources", "sources"), [("It is polite.", ("The tower opened in 1896.",), "")]),
    ],
)
def test_a_criterion_is_asked_of_the_response_or_a_source(unit: Decompose, asked: list[tuple]) -> None:
    @metric(title="Polite", polite=criterion_of(unit))
    def polite(polite: Verdicts) -> Outcome:
        """The share that is polite."""
        return share(polite.components, polite.best())

    one = Case("c", "When did it open?", (Source("The tower opened in 1896."),), "It opened in 1896.")
    judge = FakeJudge.from_table(default="yes")
    (record,) = evaluate_sync([one], judge, metrics=[polite])

    assert [(q.subject, q.evidence, q.query) for q in judge.asked if q.kind == "holds"] == asked
    assert [q.kind for q in judge.asked] == ["holds"]
    assert record.outcomes["polite"] == Score(1.0, 1, 0, record.outcomes["polite"].parts)
    assert f"holds({unit}, “It is polite.”)" in record.steps


def test_a_judge_that_knows_no_criteria_makes_the_score_undefined_with_that_reason() -> None:
    @metric(title="Polite", polite=criterion_of(Decompose("response", "whole")))
    def polite(polite: Verdicts) -> Outcome:
        """The share that is polite."""
        return share(polite.components, polite.best())

    reason = EmbeddedJudge().unsupported_reason("holds", "en")
    (record,) = evaluate_sync([case(0)], FakeJudge(agreeable, cannot={"holds": reason}), metrics=[polite])

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


def test_a_criterion_is_not_asked_of_a_query() -> None:
    with pytest.raises(ConfigError, match="of the response or the sources, not of the query"):
        criterion_of(Decompose("query", "questions"))
