"""How a case is headed: nothing with a low score of its response is headed as one without a fault."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragtriage.core.case import Case, Record
from ragtriage.core.verdicts import Component, Score, Undefined, Verdict, Verdicts
from ragtriage.diagnosis.findings import diagnose
from ragtriage.diagnosis.headline import KIND_WORDS, Headline, headline
from ragtriage.diagnosis.rules import is_bad, thresholds_with
from ragtriage.metrics import METRICS, THELMA
from ragtriage.metrics.thelma import DECLINES

THRESHOLDS = thresholds_with({})
GOOD = {m.name: 1.0 for m in THELMA}
UNSUPPORTED = "the sources answer the question, but the response says things that they don't support"
OF_THE_RESPONSE = ("response_precision", "response_query_coverage", "self_distinctness", "groundedness")


def headed(scores: Mapping[str, float | None], *, declines: bool = False) -> Headline:
    steps = {str(DECLINES): Verdicts((Component("I can't say."),), ((Verdict("yes"),),))} if declines else {}
    outcomes = {name: Undefined("it wasn't given") if v is None else Score(v, 4) for name, v in scores.items()}
    record = Record(Case("c", "What does it cost?"), steps, outcomes)
    return headline(record, diagnose(record, THRESHOLDS), THRESHOLDS)


@pytest.mark.parametrize(
    ("scores", "kind", "component", "told"),
    [
        ({}, "no-fault", "none", "no fault found"),
        ({"fact_precision": 0.0}, "no-fault", "none", "no fault found"),
        ({"source_precision": 0.25, "response_precision": 0.3125}, "low-score", "none",
         "no fault found, but Answer on point is low (0.31, threshold 0.5)"),
        ({"hallucination": 0.5}, "low-score", "none", "no fault found, but Made up is high (0.50, threshold 0.2)"),
        ({"source_query_coverage": 0.0, "groundedness": None}, "low-score", "none",
         "no fault found, but Sources answer the question is low (0.00, threshold 0.75)"),
        ({"groundedness": 0.75}, "failure", "prompt or generator",
         f"failure · prompt or generator: {UNSUPPORTED}"),
        (dict.fromkeys(GOOD), "undetermined", "undetermined", "undetermined: too many scores are undefined to tell"),
    ],
)  # fmt: skip
def test_a_case_is_headed_by_a_sentence(
    scores: Mapping[str, float | None], kind: str, component: str, told: str
) -> None:
    head = headed(GOOD | scores)

    assert (head.kind, head.component, str(head)) == (kind, component, told)
    assert KIND_WORDS[head.kind]
    assert head.sure or kind in {"low-score", "undetermined"}


def test_the_lowest_scores_are_named_and_more_are_counted() -> None:
    own = {"source_precision": None, "self_distinctness": 0.0, "response_precision": 0.25}

    head = headed(GOOD | own | {"claim_relevancy": 0.7, "answer_recall": 0.7, "answer_precision": 0.7})

    assert head.about == "No repetition, Answer on point and 3 more"
    assert head.reading == (
        "no fault found, but No repetition is low (0.00, threshold 0.75), Answer on point is low (0.25, threshold 0.5) "
        "and 3 more"
    )


def test_sources_that_were_not_needed_are_waste_and_no_low_score() -> None:
    assert headed(GOOD | {"source_precision": 0.2, "fact_precision": 0.0}).kind == "waste"


def test_a_right_refusal_covers_nothing_and_is_done_right_all_the_same() -> None:
    scores = {"source_query_coverage": 0.0, "response_query_coverage": 0.0}

    assert headed(scores, declines=True).kind == "right"
    head = headed(scores | {"groundedness": 0.1}, declines=True)
    assert (head.kind, head.component) == ("low-score", "retriever or source text")


@given(st.fixed_dictionaries({m.name: st.sampled_from([None, 0.0, 0.4, 0.78, 1.0]) for m in METRICS[:20]}))
def test_no_case_with_a_low_score_of_its_response_is_headed_as_one_without_a_fault(
    scores: dict[str, float | None],
) -> None:
    low = any(is_bad(scores[name], THRESHOLDS[name]) for name in OF_THE_RESPONSE)

    assert not (low and headed(scores).kind in ("no-fault", "waste"))
