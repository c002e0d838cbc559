"""The worked examples of the paper and of the article, and every undefined case of the specification."""

from fractions import Fraction
from typing import Any

import pytest

from examples import examples
from ragtriage import Case, Component, EmbeddedJudge, FakeJudge, Score, Source, Undefined, Verdict, evaluate_sync
from ragtriage.core.questions import DECOMPOSITIONS, Question
from ragtriage.core.verdicts import Answer, Outcome
from ragtriage.metrics import METRICS, metrics_named


def case_of(row: dict[str, Any]) -> Case:
    sources = tuple(Source(**one) if isinstance(one, dict) else Source(one) for one in row["sources"])
    ids = row.get("relevant_ids")
    return Case(
        "c",
        row["query"],
        sources,
        row.get("response"),
        row.get("reference"),
        samples=tuple(row.get("samples", ())),
        relevant_ids=None if ids is None else tuple(ids),
    )


def outcomes(case: Case, judge: FakeJudge | EmbeddedJudge, names: list[str]) -> dict[str, Outcome]:
    (record,) = evaluate_sync([case], judge, metrics=metrics_named(names))
    return dict(record.outcomes)


@pytest.mark.parametrize("row", examples("../worked/thelma_appendix_a"))
def test_appendix_a_comes_out(row: dict[str, Any]) -> None:
    def answer(question: Question) -> Answer:
        if question.kind in DECOMPOSITIONS:
            return tuple(Component(text) for text in row["components"].get(question.subject, [question.subject]))
        return Verdict(row["verdicts"][question.subject])

    outcome = outcomes(case_of(row["case"]), FakeJudge(answer), [row["metric"]])[row["metric"]]

    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(float(Fraction(row["score"])))


@pytest.mark.parametrize("row", examples("../worked/generator_metrics"))
def test_the_articles_examples_come_out(row: dict[str, Any]) -> None:
    components = {f"{kind}: {text}": of for kind, by in row["components"].items() for text, of in by.items()}
    verdicts = {
        (kind, subject, *([] if evidence is None else [evidence])): (
            said if isinstance(said, str) else Verdict("unknown", said)
        )
        for kind, subject, evidence, said in row["verdicts"]
    }
    judge = FakeJudge.from_table(components, verdicts)

    found = outcomes(case_of(row["case"]), judge, [row["metric"]])

    (outcome,) = found.values()
    assert isinstance(outcome, Score)
    assert outcome.value == pytest.approx(float(Fraction(row["score"])))


UNDEFINED = [*examples("../worked/undefined"), *examples("../worked/undefined_further")]


@pytest.mark.parametrize("row", UNDEFINED)
def test_undefined_scores_say_why(row: dict[str, Any]) -> None:
    def answer(question: Question) -> Answer:
        if question.kind == "questions" and question.subject == "Thanks!":
            return ()
        if question.kind in DECOMPOSITIONS:
            remark = question.kind == "claims" and question.subject == "I don't know."
            return (Component(question.subject, (0, len(question.subject)), remark=remark),)
        return Verdict("no", 0.5) if question.kind == "similarity" else Verdict("yes")

    found = outcomes(case_of(row["case"]), FakeJudge(answer), list(row["expected"]))

    shown = {name: o.value if isinstance(o, Score) else o.reason for name, o in found.items()}
    assert shown == row["expected"]
    assert not any(isinstance(o, Undefined) and o.failed for o in found.values())


def test_the_undefined_cases_are_about_every_metric() -> None:
    assert {name for one in UNDEFINED for row in one.values for name in row["expected"]} == {m.name for m in METRICS}
