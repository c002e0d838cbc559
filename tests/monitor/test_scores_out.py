"""What is read of a run for other tools: values, labels, reasons, verdicts on sources, means of conversations."""

import pytest
from traced_runs import NAMES, SECRET_TEXT, keep_run, records, traced_case

from ragtriage.core.verdicts import Undefined
from ragtriage.monitor.outputs.scores import (
    FAILED,
    OWN_REASON,
    RunScores,
    ScoredBy,
    SourceVerdict,
)
from ragtriage.runs.evaluation_config import config_of
from ragtriage.store import Store


def scores_of(store: Store, number: int, **more: bool) -> RunScores:
    run = store.run(number)
    return RunScores(run, config_of(run.info), **more)


def test_a_case_has_its_ids_scores_and_labels_and_one_without_a_trace_is_counted(store):
    case = traced_case(3)
    (trace,) = scores_of(store, keep_run(store, list(records([case]))))
    assert (trace.trace, trace.span) == (case.trace_id, case.tags["span_id"])
    assert (trace.conversation, trace.service, trace.case_id) == ("talk 1", "shop", "case 3")
    found = {score.metric: score for score in trace.scores}
    assert (found["groundedness"].value, found["groundedness"].label) == (0.5, "low")
    assert (found["source_precision"].value, found["source_precision"].label) == (0.5, "high")
    assert (found["groundedness"].judged, found["groundedness"].unknown) == (2, 0)
    assert trace.sources == ()

    number = keep_run(store, list(records([traced_case(0), traced_case(1, trace_id=None)])))
    scores = scores_of(store, number)
    assert [trace.case_id for trace in scores] == ["case 0"]
    assert scores.without_trace == 1
    assert [trace.case_id for trace in scores] == ["case 0"]
    assert scores.without_trace == 1


def test_without_quote_no_word_of_a_case_is_read(store):
    number = keep_run(store, list(records([traced_case(0), traced_case(1, response=f"{SECRET_TEXT} is broken.")])))

    assert SECRET_TEXT not in repr(list(scores_of(store, number, sources=True)))
    quoted = repr(list(scores_of(store, number, quote=True, sources=True)))
    assert "It is bad for the day." in quoted
    assert "says the heron" in quoted
    assert "the heron flew off" in quoted


def test_why_a_score_is_undefined_is_said_in_words_that_quote_nothing(store):
    made = list(records([traced_case(0, response=None), traced_case(1, response="The heron is broken.")]))
    custom = made[0].outcomes | {"mine": Undefined("the heron is mine")}
    made[0] = type(made[0])(made[0].case, made[0].steps, custom)
    none, failed = scores_of(store, keep_run(store, made, names=(*NAMES, "mine")))

    by_name = {score.metric: score for score in none.scores}
    assert by_name["groundedness"].undefined == "no response was given"
    assert not by_name["groundedness"].failed
    assert by_name["mine"].undefined == OWN_REASON
    broken = {score.metric: score for score in failed.scores}["groundedness"]
    assert (broken.value, broken.undefined, broken.failed, broken.label) == (None, FAILED, True, None)


def test_verdicts_on_sources_stand_at_their_place_in_their_span(store):
    case = traced_case(0)
    places = ["a1:0", "b2:3"]
    (trace,) = scores_of(
        store,
        keep_run(store, list(records([traced_case(0, tags={**case.tags, "source_spans": places})]))),
        sources=True,
    )

    assert trace.sources == [SourceVerdict("a1", 0, "yes", 1.0), SourceVerdict("b2", 3, "no", 0.0)]


@pytest.mark.parametrize("places", [None, "a1:0", ["a1", ""], [None, 3], ["a1:x", ":0"], []])
def test_a_source_without_a_place_has_no_verdict(store, places):
    tags = {"source_spans": places} if places is not None else {}
    (trace,) = scores_of(store, keep_run(store, list(records([traced_case(0, tags=tags)]))), sources=True)

    assert trace.sources == []
    assert len(trace.scores) == 7


def test_means_of_conversations_are_weighted_and_leave_out_what_is_undefined(store):
    good = "The heron number 2 costs six euros."
    cases = [
        traced_case(2, weight=3.0, response=good),
        traced_case(3),
        traced_case(4, response=None),
        traced_case(5, tags={"span_id": "0" * 16}),
    ]
    scores = scores_of(store, keep_run(store, list(records(cases))))
    list(scores)

    means = {(mean.conversation, mean.metric): mean for mean in scores.means}
    grounded = means["talk 1", "groundedness"]
    assert (grounded.value, grounded.cases, grounded.label) == ((3 * 1.0 + 0.5) / 4, 2, "high")
    assert ("talk 2", "groundedness") not in means
    assert means["talk 2", "source_precision"].cases == 1


def test_a_model_is_told_from_a_program_and_a_run_from_another(store):
    made = list(records([traced_case(0)]))
    first, second = keep_run(store, made), keep_run(store, made, judge="openai:gpt-5")
    code, model = (ScoredBy.of(store.run(number).info) for number in (first, second))

    assert set(code.kinds.values()) == {"CODE"}
    assert set(model.kinds.values()) == {"LLM"}
    assert code.mark != model.mark
    assert code.own_id(b"x") != model.own_id(b"x")
    assert code.own_id(b"x") == ScoredBy.of(store.run(first).info).own_id(b"x")
    assert code.fingerprint == model.fingerprint
    assert len(code.fingerprint) == 16
