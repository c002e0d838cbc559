"""Traces → cases: what is taken for what, and everything that can be wrong with a file of traces."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from otlp_lines import START, TRACE, file_of, line, span

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers import open_cases
from ragtriage.readers.files import InputPath, OpenedFile
from ragtriage.readers.traces.files import case_row, explained
from ragtriage.readers.traces.tree import TraceOptions

QUERY, ANSWER = "How deep is the pool?", "It is two metres deep."
TEXTS = ["The pool is two metres deep.", "Dogs stay outside."]


def chain(*more: Mapping[str, Any], **root: Any) -> list[Mapping[str, Any]]:
    """A chain with a retrieval and a model, as most are."""
    return [
        span(1, **{"input": QUERY, "output": ANSWER, **root}),
        span(2, 1, kind="RETRIEVER", input=QUERY, documents=TEXTS),
        span(3, 1, kind="LLM", input="…", output=ANSWER),
        *more,
    ]


def read(path: InputPath, **options: Any) -> list[Case]:
    """The cases of a file."""
    return [one for one in open_cases(path, **options).rows() if isinstance(one, Case)]


def rejected(path: InputPath, **options: Any) -> list[str]:
    """Why rows of a file are none."""
    return [str(one) for one in open_cases(path, **options).rows() if not isinstance(one, Case)]


def alone(path: InputPath, **options: Any) -> Case:
    """The only case of a file."""
    (one,) = read(path, **options)
    return one


def texts(case: Case) -> list[str]:
    """Of its sources."""
    return [source.text for source in case.known_sources]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "traces.jsonl"


def test_a_trace_is_a_case_with_all_that_it_says(path: Path) -> None:
    spans = chain(attributes={"session.id": "c7", "user.id": "u3", "metadata": '{"tenant": "north"}'})
    spans[1] = span(
        2, 1, kind="RETRIEVER", input="pool depth",
        documents=[
            {"content": TEXTS[0], "id": "p1", "score": 0.5},
            {"content": TEXTS[1], "metadata": '{"source": "d"}'},
        ],
    )  # fmt: skip
    case = alone(file_of(path, *spans, resource={"service.name": "pools", "service.version": "2.4"}))

    assert (case.id, case.trace_id, case.query, case.response) == (TRACE, TRACE, QUERY, ANSWER)
    assert [(one.id, one.text) for one in case.known_sources] == [("p1", TEXTS[0]), ("d", TEXTS[1])]
    assert case.time == "2025-11-24T16:00:00.001000+00:00"
    assert case.tags == {
        "conversation": "c7", "user": "u3", "tenant": "north", "service": "pools", "version": "2.4", "seconds": 0.5,
        "span_id": f"{1:016x}", "source_spans": [f"{2:016x}:0", f"{2:016x}:1"], "retrievals": 1, "steps": 1,
        "searched": ["pool depth"], "retrieval_scores": [0.5, None],
    }  # fmt: skip


def test_the_order_of_spans_and_lines_means_nothing(path: Path) -> None:
    spans = chain()
    first = read(file_of(path, *spans))
    path.write_text(line(*reversed(spans)) + "\n", encoding="utf-8")

    assert read(path) == first


def test_traces_come_by_their_start_then_their_id(path: Path) -> None:
    later = [span(9, kind="CHAIN", trace="b" * 32, input="Later?", output="x")]
    later.append(span("a", 9, kind="RETRIEVER", trace="b" * 32, documents=["x"]))
    file_of(path, *later, *chain())

    assert [case.query for case in read(path)] == [QUERY, "Later?"]


@pytest.mark.parametrize(
    ("given", "query"),
    [
        ('{"question": "How deep?"}', "How deep?"),
        ('{"query_bundle": {"query_str": "How deep?"}}', "How deep?"),
        ('{"messages": [["system", "Be kind."], ["human", "How deep?"]]}', "How deep?"),
        ('[{"role": "user", "content": [{"type": "text", "text": "How deep?"}, {"type": "image_url"}]}]', "How deep?"),
        ('{"messages": [[{"lc": 1, "id": ["a", "HumanMessage"], "kwargs": {"content": "How deep?"}}]]}', "How deep?"),
        ('{"anything": "How deep?"}', "How deep?"),
        ('{"args": ["How deep?"], "kwargs": {}}', "How deep?"),
        ("How deep?", "How deep?"),
    ],
)
def test_a_question_is_found_in_what_applications_are_given(path: Path, given: str, query: str) -> None:
    assert alone(file_of(path, *chain(input=given))).query == query


@pytest.mark.parametrize(
    ("output", "response"),
    [
        ('{"answer": "Two metres."}', "Two metres."),
        ('{"generations": [[{"message": {"kwargs": {"content": "Two metres."}, "id": ["AI"]}}]]}', "Two metres."),
        ('{"choices": [{"message": {"role": "assistant", "content": "Two metres."}}]}', "Two metres."),
        ('{"llm": {"replies": ["Two metres."]}}', "Two metres."),
        ("Thought: I know.\nAnswer: Two metres.", "Two metres."),
        ("<generator object stream at 0x7f00>", ANSWER),  # the last model's
        ("StopEvent(result=Output(x=1))", ANSWER),
        ('[{"role": "assistant", "tool_calls": [{"id": "1"}]}]', ANSWER),
        ("", ANSWER),
    ],
)  # fmt: skip
def test_a_response_is_found_in_what_applications_give_back(path: Path, output: str, response: str) -> None:
    assert alone(file_of(path, *chain(output=output))).response == response


def test_several_retrievals_are_joined_and_equal_texts_come_once(path: Path) -> None:
    more = span(4, 1, kind="RETRIEVER", documents=[TEXTS[1], "Open from May."])
    case = alone(file_of(path, *chain(more)))

    assert texts(case) == [*TEXTS, "Open from May."]
    assert case.tags["retrievals"] == 2


def test_of_retrievals_within_each_other_the_outer_one_counts(path: Path) -> None:
    inner = span(4, 2, kind="RETRIEVER", documents=["A text that was dropped."])

    assert texts(alone(file_of(path, *chain(inner)))) == TEXTS


def test_a_rerank_replaces_what_it_was_given_and_leaves_the_rest(path: Path) -> None:
    fed = {f"reranker.input_documents.{at}.document.content": text for at, text in enumerate(TEXTS)}
    rerank = span(5, 1, kind="RERANKER", attributes={**fed, "reranker.output_documents.0.document.content": TEXTS[1]})
    beside = span(4, 1, kind="RETRIEVER", documents=["Open from May."])
    case = alone(file_of(path, *chain(beside, rerank)))

    assert texts(case) == ["Open from May.", TEXTS[1]]
    assert case.tags["reranked"] is True


def test_only_texts_that_stand_in_the_prompt_if_that_is_wanted(path: Path) -> None:
    spans = chain()
    spans[2] = span(3, 1, kind="LLM", input=f"Use this: {TEXTS[0]}", output=ANSWER)
    file = open_cases(file_of(path, *spans))

    assert texts(alone(path)) == TEXTS
    assert any("don't stand in the prompt (--sources prompted)" in one for one in file.describe())
    assert texts(alone(path, traces=TraceOptions(sources="prompted"))) == TEXTS[:1]


def test_siblings_with_questions_are_cases_of_their_own(path: Path) -> None:
    spans = [span(1, kind="")]  # an HTTP server
    for at, query in ((2, "How deep?"), (5, "How long?")):
        spans.append(span(at, 1, input=query, output="x"))
        spans.append(span(at + 1, at, kind="RETRIEVER", documents=[f"Text {at}"]))
    cases = read(file_of(path, *spans))

    assert [(case.id, case.query, texts(case)) for case in cases] == [
        (f"{TRACE}/{2:016x}", "How deep?", ["Text 2"]),
        (f"{TRACE}/{5:016x}", "How long?", ["Text 5"]),
    ]


def test_a_retrieval_beside_the_model_belongs_to_it(path: Path) -> None:
    spans = [
        span(1, kind=""),
        span(2, 1, kind="RETRIEVER", documents=TEXTS),
        span(3, 1, kind="LLM", input=QUERY, output=ANSWER),
    ]

    assert texts(alone(file_of(path, *spans))) == TEXTS


@pytest.mark.parametrize(("tools", "named", "there"), [(1, "", True), (2, "", False), (2, "tool 5", True)])
def test_tools_are_sources_if_they_are_named_or_alone(path: Path, tools: int, named: str, there: bool) -> None:
    spans = [span(1, input=QUERY, output=ANSWER), span(5, 1, kind="TOOL", output=TEXTS[0])]
    spans += [span(6, 1, kind="TOOL", output="4")] if tools == 2 else []
    options = TraceOptions(source_tools=frozenset([named]) if named else frozenset())
    file_of(path, *spans)

    if there:
        assert texts(alone(path, traces=options)) == TEXTS[:1]
    else:
        with pytest.raises(InputError, match="no retrieval was recorded"):
            read(path, traces=options)


def test_texts_come_by_their_ids_where_only_these_were_recorded(path: Path) -> None:
    spans = chain()
    spans[1] = span(2, 1, kind="", attributes={
        "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": '[{"id": "a", "score": 0.9}, {"id": "b"}]',
    })  # fmt: skip
    file_of(path, *spans)

    with pytest.raises(InputError, match=r"documents were retrieved, their texts weren't recorded \(--source-texts"):
        read(path)
    case = alone(path, traces=TraceOptions(source_texts={"a": TEXTS[0], "b": TEXTS[1]}.get))
    assert texts(case) == TEXTS


def test_earlier_messages_or_traces_are_the_history(path: Path) -> None:
    said = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]
    said += [{"role": "assistant", "content": "Hi!"}, {"role": "user", "content": QUERY}]
    conversation = {"session.id": "c"}
    spans = chain(attributes=conversation, input=json.dumps(said))
    spans += [span("a", trace="c" * 32, attributes=conversation, input="And long?", output="Ten.")]
    spans += [span("b", "a", kind="RETRIEVER", trace="c" * 32, documents=["x"])]
    file_of(path, *spans)
    beside = {"input": QUERY, "chat_history": [["human", "Hello"], ["ai", "Hi!"]]}

    by_messages, by_session = read(path), read(path, traces=TraceOptions(history="session"))
    assert [[turn.text for turn in case.history] for case in by_messages] == [["Hello", "Hi!"], []]
    assert [[turn.text for turn in case.history] for case in by_session] == [[], [QUERY, ANSWER]]
    assert [turn.text for turn in alone(file_of(path, *chain(input=json.dumps(beside)))).history] == ["Hello", "Hi!"]


def conversation(*inputs: str, documents: Mapping[int, list[str]] | None = None) -> list[Mapping[str, Any]]:
    """A trace for each input, all of one conversation; without documents where `documents` says so."""
    spans: list[Mapping[str, Any]] = []
    for at, asked in enumerate(inputs):
        ids = {"trace": f"{at + 1:032x}", "attributes": {"session.id": "c"}}
        spans.append(span(10 * at + 1, input=asked, output=f"Answer {at}.", **ids))
        found = (documents or {}).get(at, TEXTS)
        spans += (
            [span(10 * at + 2, 10 * at + 1, kind="RETRIEVER", documents=found, trace=ids["trace"])] if found else []
        )
    return spans


BY_SESSION = TraceOptions(history="session")


def test_at_most_20_turns_of_a_conversation_are_kept_and_a_lost_beginning_is_told(path: Path) -> None:
    cases = read(file_of(path, *conversation(*(f"Question {at}?" for at in range(12)))), traces=BY_SESSION)

    assert [len(case.history) for case in cases] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 20]
    assert [turn.text for turn in cases[11].history][:2] == ["Question 1?", "Answer 1."]
    assert [case.tags.get("history") for case in cases] == [None] * 11 + ["cut"]
    assert case_row(cases[11])["metadata.history"] == "cut"
    assert len(case_row(cases[11])["history"]) == 20


def test_a_conversation_that_began_before_the_file_is_cut(path: Path) -> None:
    earlier = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
    asked = json.dumps([*earlier, {"role": "user", "content": QUERY}])
    file_of(path, *conversation(asked, "And long?"))

    assert [case.tags.get("history") for case in read(path, traces=BY_SESSION)] == ["cut", "cut"]
    assert [case.tags.get("history") for case in read(path)] == [None, None]
    file_of(path, *conversation("__REDACTED__", "And long?"))
    assert [case.tags.get("history") for case in read(path, traces=BY_SESSION)] == ["cut"]


def test_of_messages_before_a_question_the_last_20_are_the_history(path: Path) -> None:
    said = [{"role": "user", "content": f"Question {at}?"} for at in range(21)]
    tools = [{"role": "tool", "content": "x"}] * 30
    case = alone(file_of(path, *chain(input=json.dumps([*said, *tools, {"role": "user", "content": QUERY}]))))

    assert [turn.text for turn in case.history] == [f"Question {at}?" for at in range(1, 21)]
    assert case.tags["history"] == "cut"


def test_what_was_said_in_a_trace_that_cannot_be_used_stays_in_the_history(path: Path) -> None:
    file_of(path, *conversation(QUERY, "And long?", "And wide?", documents={1: []}))
    cases = read(path, traces=BY_SESSION)

    assert [case.query for case in cases] == [QUERY, "And wide?"]
    assert [turn.text for turn in cases[1].history] == [QUERY, "Answer 0.", "And long?", "Answer 1."]
    assert "history" not in cases[1].tags


def test_sampling_upstream_is_a_weight(path: Path) -> None:
    assert alone(file_of(path, *chain(traceState="v=1,ot=th:c"))).weight == 4.0


def test_places_may_be_named(path: Path) -> None:
    spans = chain(attributes={"my.key": "How deep is it here?"})
    spans[2] = span(3, 1, kind="LLM", name="answer", output="Very.")
    mapping = {"query": 'attributes["my.key"]', "response": "span[name=answer].output.value"}
    case = alone(file_of(path, *spans), mapping=mapping)

    assert (case.query, case.response) == ("How deep is it here?", "Very.")
    with pytest.raises(ConfigError, match=r"a place is written attributes\[\"KEY\"\]"):
        open_cases(path, mapping={"query": "question"})


def test_without_sources_a_trace_is_judged_for_the_rest(path: Path) -> None:
    file_of(path, span(3, kind="LLM", input=QUERY, output=ANSWER))

    with pytest.raises(InputError, match=r"no retrieval was recorded \(--map sources= judges without\)"):
        read(path)
    case = alone(path, mapping={"sources": ""})
    assert (case.query, case.response, case.sources) == (QUERY, ANSWER, None)


# -- what can be wrong


def test_spans_without_ids_are_counted_and_left_out(path: Path) -> None:
    file = open_cases(file_of(path, *chain(), span("", kind="LLM"), span(5, trace="0" * 32)))

    assert len(read(path)) == 1
    assert "unusable: 2: a span has no trace id or no span id" in file.describe()


def test_a_span_that_comes_twice_counts_once(path: Path) -> None:
    other = {**span(2, 1, kind="RETRIEVER", documents=["Later."]), "endTimeUnixNano": str(START + 10**10)}
    file = open_cases(file_of(path, *chain(chain()[0], other)))

    assert texts(alone(path)) == ["Later."]
    described = " ".join(file.describe())
    assert "a span was there twice" in described
    assert "two spans had the same id: the later one counts" in described


def test_of_two_conventions_on_a_span_the_first_counts(path: Path) -> None:
    both = {"gen_ai.operation.name": "embeddings", "langsmith.span.kind": "retriever"}
    spans = chain()
    spans[1] = span(2, 1, kind="", documents=TEXTS, attributes=both)

    assert texts(alone(file_of(path, *spans))) == TEXTS
    spans[2] = span(3, 1, kind="LLM", input="…", output=ANSWER, attributes={"gen_ai.operation.name": "chat"})
    spans += [{**one, "traceId": "d" * 32} for one in spans]
    file = open_cases(file_of(path, *spans, *spans[:3]))
    assert [line for line in file.describe() if "several conventions" in line] == [
        f"note: in 2 traces: a span has attributes of several conventions ({names}): the first counts"
        for names in (
            "langsmith.span.kind, gen_ai.operation.name",
            "openinference.span.kind, gen_ai.operation.name",
        )
    ]


def test_parents_in_a_circle_end(path: Path) -> None:
    spans = [span(1, 2, input=QUERY, output=ANSWER), span(2, 1, kind="RETRIEVER", documents=TEXTS)]
    file_of(path, *spans, *[{**one, "traceId": "d" * 32} for one in chain()])

    assert [case.trace_id for case in read(path)] == ["d" * 32]
    assert len(rejected(path)) == 1


@pytest.mark.parametrize("start", ["0", str(START + 10**12), str(5 * 10**18)])
def test_impossible_times_are_none_and_the_case_is_judged(path: Path, start: str) -> None:
    case = alone(file_of(path, *chain(startTimeUnixNano=start)))

    assert "seconds" not in case.tags
    assert (case.time is None) == (start != str(START + 10**12))


def test_a_text_beyond_the_limit_costs_its_case_alone(path: Path) -> None:
    long = [{**one, "traceId": "e" * 32} for one in chain(output="x" * 1_000_001)]
    file_of(path, *long, *chain())

    assert [case.trace_id for case in read(path)] == [TRACE]
    assert "1,000,001 characters" in rejected(path)[0]


def test_a_missing_number_is_passed_over(path: Path) -> None:
    spans = chain()
    spans[1] = span(2, 1, kind="RETRIEVER", attributes={
        "retrieval.documents.2.document.content": TEXTS[1], "retrieval.documents.0.document.content": TEXTS[0],
    })  # fmt: skip

    assert texts(alone(file_of(path, *spans))) == TEXTS


def test_documents_in_one_json_text_are_read_or_refused(path: Path) -> None:
    def with_documents(text: str) -> Path:
        spans = chain()
        spans[1] = span(2, 1, kind="RETRIEVER", attributes={"retrieval.documents": text})
        return file_of(path, *spans)

    assert texts(alone(with_documents('[{"document.content": "The pool is two metres deep."}]'))) == TEXTS[:1]
    with pytest.raises(InputError, match=r"documents can't be read: retrieval\.documents is no JSON"):
        read(with_documents("[{broken"))


def test_texts_of_one_length_were_probably_cut(path: Path) -> None:
    spans = []
    for at in range(5):
        ids = {"traceId": f"{at + 1:032x}"}
        spans += [{**one, **ids} for one in chain(output=f"{at}" * 128)]
    file = open_cases(file_of(path, *spans))

    assert any("5 texts have 128 characters and none has more: probably cut by" in one for one in file.describe())


def test_masks_are_not_recorded(path: Path) -> None:
    with pytest.raises(InputError, match="the question wasn't recorded: it was masked before"):
        read(file_of(path, *chain(input="__REDACTED__")))
    spans = [span(1, input=QUERY, output="[REDACTED]"), *chain()[1:2]]
    case = alone(file_of(path, *spans))
    assert (case.response, case.tags["not_recorded"], texts(case)) == (None, "response", TEXTS)
    hidden = [*chain()[:1], span(2, 1, kind="RETRIEVER", documents=["__REDACTED__", "__REDACTED__"])]
    with pytest.raises(InputError, match="documents were retrieved, their texts weren't recorded"):
        read(file_of(path, *hidden))


CAPTURE = "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="


@pytest.mark.parametrize(
    ("name", "kinds", "switches"),
    [
        ("openinference.span.kind", ("CHAIN", "RETRIEVER"), ("unset OPENINFERENCE_HIDE_INPUTS,",
         "unset OPENINFERENCE_HIDE_OUTPUTS,",
         "unset OPENINFERENCE_HIDE_OUTPUTS and OPENINFERENCE_HIDE_RETRIEVAL_DOCUMENTS")),
        ("gen_ai.operation.name", ("invoke_agent", "retrieval"), (CAPTURE, CAPTURE, "")),
        ("traceloop.span.kind", ("workflow", "retriever"), ("set TRACELOOP_TRACE_CONTENT=true",) * 3),
        ("haystack.component.type", ("Pipeline", "Retriever"), ("set HAYSTACK_CONTENT_TRACING_ENABLED=true",) * 3),
        ("langfuse.observation.type", ("chain", "retriever"),
         ("set LANGFUSE_OBSERVE_DECORATOR_IO_CAPTURE_ENABLED",) * 3),
        ("langsmith.span.kind", ("chain", "retriever"),
         ("unset LANGSMITH_HIDE_INPUTS", "unset LANGSMITH_HIDE_OUTPUTS", "unset LANGSMITH_HIDE_OUTPUTS")),
    ],
)  # fmt: skip
def test_what_was_not_recorded_is_told_with_the_switch_of_its_convention(
    path: Path, name: str, kinds: tuple[str, str], switches: tuple[str, str, str]
) -> None:
    question, response, sources = (one and f" (in the application {one}" for one in switches)

    def refused(documents: list[str], **said: str) -> str:
        top = span(1, kind="", attributes={name: kinds[0]}, **said)
        found = span(2, 1, kind="", documents=documents, attributes={name: kinds[1]})
        try:
            return " ".join(open_cases(file_of(path, top, found)).describe())
        except InputError as error:
            return f"{error}."

    assert f"1: the question wasn't recorded{question}" in refused(TEXTS)
    assert f"1: the question wasn't recorded: it was masked before{question}" in refused(TEXTS, input="***")
    lacking = refused(["***"], input=QUERY, output=ANSWER)
    assert f"1 document was retrieved, its text wasn't recorded{sources or '.'}" in lacking
    assert f"the response wasn't recorded{response}" in refused(TEXTS, input=QUERY)
    assert f"the response wasn't recorded: it was masked before{response}" in refused(TEXTS, input=QUERY, output="***")


def test_where_no_convention_is_known_it_is_asked_whether_content_is_captured(path: Path) -> None:
    with pytest.raises(
        InputError, match=r"1: the question wasn't recorded \(is content capture on in the application\?"
    ):
        read(file_of(path, span(1, kind="", name="GET /")))


def test_an_empty_answer_and_an_empty_list_were_recorded(path: Path) -> None:
    spans = [span(1, input=QUERY, output=""), span(2, 1, kind="RETRIEVER", output="[]")]
    case = alone(file_of(path, *spans))

    assert (case.response, case.sources) == ("", ())


def test_a_failed_request_has_no_response(path: Path) -> None:
    spans = [span(1, input=QUERY, status={"code": 2}), *chain()[1:2]]
    case = alone(file_of(path, *spans))

    assert (case.response, case.tags["failure"]) == (None, True)


def test_metadata_never_takes_the_place_of_what_was_said(path: Path) -> None:
    held = {
        "metadata": json.dumps({"query": "Other?", "response": "x", "id": "77", "weight": "70 kg", "sources": ["w"]})
    }
    case = alone(file_of(path, *chain(attributes=held)))

    assert (case.id, case.query, case.response, case.weight, texts(case)) == (TRACE, QUERY, ANSWER, 1.0, TEXTS)
    assert (case.tags["metadata.query"], case.tags["metadata.id"]) == ("Other?", "77")


def test_what_a_model_said_on_the_way_is_no_answer_to_a_failed_request(path: Path) -> None:
    spans = [span(1, input=QUERY, status={"code": 2}), *chain()[1:2]]
    spans.append(span(3, 1, kind="LLM", input="Rewrite.", output="pool depth"))
    case = alone(file_of(path, *spans))

    assert (case.response, case.tags["failure"]) == (None, True)


def test_a_retrieval_without_documents_beside_another_costs_the_trace_unless_it_failed(path: Path) -> None:
    with pytest.raises(InputError, match="1 of 2 retrievals recorded without their documents"):
        read(file_of(path, *chain(span(4, 1, kind="RETRIEVER", input="more"))))
    failed = span(4, 1, kind="RETRIEVER", input="more", status={"code": 2})
    assert texts(alone(file_of(path, *chain(failed)))) == TEXTS


def test_a_hundred_traces_that_cannot_be_used_cost_themselves(path: Path) -> None:
    health = [span(at + 16, kind="", name="GET /health", trace=f"{at + 1:032x}") for at in range(100)]
    late = [{**one, "startTimeUnixNano": str(START + 10**12)} for one in chain()]

    assert [case.query for case in read(file_of(path, *health, *late))] == [QUERY]


@pytest.mark.parametrize(
    "attributes",
    [
        {"scores": 0.87},
        {"annotations": 3},
        {"gen_ai.retrieval.documents": 3, "openinference.span.kind": "RETRIEVER"},
        {"reranker.input_documents": "not json", "openinference.span.kind": "RERANKER"},
    ],
)
def test_an_odd_value_costs_its_trace_at_most(path: Path, attributes: dict[str, Any]) -> None:
    odd = [{**one, "traceId": "f" * 32} for one in chain(span(4, 1, attributes=attributes))]
    odd.append({**span(5, 1, trace="f" * 32), "events": [None], "startTimeUnixNano": "9" * 20})

    assert TRACE in [case.trace_id for case in read(file_of(path, *odd, *chain()))]


def test_what_is_left_out_of_a_trace_is_told(path: Path) -> None:
    image = [{"role": "user", "content": [{"type": "text", "text": QUERY}, {"type": "image_url"}]}]
    deeper = [span(4, "", kind=""), span(5, 4, kind=""), span(6, 5, input="And long?", output="Ten.")]
    beside = [
        span(7, 4, kind="CHAIN", input=json.dumps(image), output=ANSWER),
        span(8, 7, kind="RETRIEVER", documents=TEXTS),
    ]
    file = open_cases(file_of(path, *deeper, *beside))

    assert [case.query for case in read(path)] == [QUERY]
    notes = [line for line in file.describe() if line.startswith("note: in 1 trace")]
    assert any("a step elsewhere in the trace has a question too" in note for note in notes)
    assert any("holds more than text, such as an image" in note for note in notes)


def test_an_empty_input_is_no_question(path: Path) -> None:
    spans = [span(1, input="", output=ANSWER), span(4, 1, input=QUERY, output=ANSWER), *chain()[1:2]]
    spans[2] = {**spans[2], "parentSpanId": f"{4:016x}"}

    assert alone(file_of(path, *spans)).query == QUERY


def test_a_torn_line_costs_itself(path: Path) -> None:
    file_of(path, *chain())
    path.write_text(path.read_text("utf-8") + '{"resourceSpans": [{"resou', encoding="utf-8")

    assert len(read(path)) == 1
    assert "broken JSON at line 4" in rejected(path)[0]


def test_a_folder_is_read_as_one(tmp_path: Path) -> None:
    for at, one in enumerate(chain()):
        file_of(tmp_path / f"part-{at}.jsonl", one)
    (tmp_path / "half.json").write_text('{"resourceSpans": ', encoding="utf-8")

    assert [case.query for case in read(tmp_path)] == [QUERY]
    assert "half.json" in rejected(tmp_path)[0]


def test_tables_are_joined_and_an_empty_cell_of_one_holds_nothing(tmp_path: Path) -> None:
    columns = "context.trace_id,context.span_id,parent_id,span_kind,start_time,attributes.input.value,"
    columns += "attributes.output.value,attributes.retrieval.documents\n"
    found = '"[{""document.content"": ""The pool is two metres deep.""}]"'
    parts = []
    for name, row in (("a", f"t,1,,CHAIN,2026-11-01,{QUERY},,"), ("b", f"t,2,1,RETRIEVER,2026-11-01,,,{found}")):
        parts.append(OpenedFile(str(tmp_path / f"{name}.csv"), f"{name}.csv"))
        (tmp_path / f"{name}.csv").write_text(f"{columns}{row}\n", encoding="utf-8")
    case = alone(OpenedFile(parts[0].path, "a and b", parts=tuple(parts)))

    assert (case.query, texts(case), case.response) == (QUERY, TEXTS[:1], None)


def test_what_a_collector_packed_is_refused_with_the_command_that_unpacks_it(tmp_path: Path) -> None:
    packed, message = b"\x28\xb5\x2f\xfd" + b"x" * 20, b"\n\x10" + b"x" * 16
    for content, told in (
        (packed, "is packed by zstd: unpack it with  zstd -d '{path}'"),
        (len(packed).to_bytes(4, "big") + packed, "pip install zstandard; python -c '"),
        (len(message).to_bytes(4, "big") + message, "pip install opentelemetry-proto; python -c '"),
    ):
        path = tmp_path / "some traces.jsonl"
        path.write_bytes(content)
        with pytest.raises(InputError) as refused:
            open_cases(path)
        assert told.format(path=path) in str(refused.value)
        assert f"'{path}'" in str(refused.value)


def test_a_packed_file_in_a_folder_costs_itself(tmp_path: Path) -> None:
    file_of(tmp_path / "a.jsonl", *chain())
    (tmp_path / "b.jsonl.zst").write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 20)

    assert [case.query for case in read(tmp_path)] == [QUERY]
    assert "b.jsonl.zst: is packed by zstd" in rejected(tmp_path)[0]


def _varint(number: int) -> bytes:
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + _varint(number >> 7)


def _field(number: int, content: bytes) -> bytes:
    """A field of a protobuf message that holds bytes, a text or a message."""
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def test_the_command_that_unpacks_makes_lines_that_are_read(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    packed = [zstandard.ZstdCompressor().compress(line(one).encode()) for one in chain()]
    (tmp_path / "t.zst").write_bytes(b"".join(len(one).to_bytes(4, "big") + one for one in packed))

    assert alone(converted(tmp_path / "t.zst")).query == QUERY


def test_the_command_that_converts_protobuf_makes_lines_that_are_read(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.proto.trace.v1.trace_pb2")
    messages = []
    for one in chain():
        held = [
            _field(9, _field(1, pair["key"].encode()) + _field(2, _field(1, pair["value"]["stringValue"].encode())))
            for pair in one["attributes"]
        ]
        own = _field(1, bytes.fromhex(one["traceId"])) + _field(2, bytes.fromhex(one["spanId"]))
        own += _field(4, bytes.fromhex(one["parentSpanId"])) + _field(5, one["name"].encode()) + b"".join(held)
        messages.append(_field(1, _field(2, _field(2, own))))
    (tmp_path / "t.bin").write_bytes(b"".join(len(one).to_bytes(4, "big") + one for one in messages))
    case = alone(converted(tmp_path / "t.bin"))

    assert (case.query, case.trace_id, texts(case)) == (QUERY, TRACE, TEXTS)


def converted(path: Path) -> Path:
    """What the command in the refusal makes of a file; the packages that it installs are there."""
    with pytest.raises(InputError) as refused:
        open_cases(path)
    command = str(refused.value).partition("; ")[2].replace("python ", f"{sys.executable} ", 1)
    subprocess.run(["sh", "-c", command], check=True, cwd=path.parent)
    return next(path.parent.glob("*.jsonl"))


def test_bytes_are_left_out_and_other_values_read(path: Path) -> None:
    held = {"blob": b"AAAA", "flags": [True, 2, 0.5], "nested": {"a": {"b": "c"}}, "metadata.n": 7}
    no_sources = [{**one, "traceId": "d" * 32} for one in chain(attributes={"list": [{"deep": b"AAAA"}]})[::2]]
    file = open_cases(file_of(path, *chain(attributes=held), *no_sources, span(1, trace="e" * 32, input=QUERY)))

    assert alone(path).tags["n"] == 7
    assert "note: in 2 traces: attributes that hold bytes were left out" in file.describe()


def test_a_trace_is_told_as_a_tree_with_the_reasons(path: Path) -> None:
    held = open_cases(file_of(path, *chain())).traces
    assert held is not None
    trace = held.index.trace(TRACE[:8])
    assert trace is not None
    lines = explained(trace, TraceOptions())

    assert lines[:6] == [
        f"trace {TRACE} · 3 spans",
        "  chain chain 1 0.50 s",
        "    → question: input.value",
        "    → response: output.value",
        "    retrieval retriever 2 0.50 s",
        "      → sources: 2 documents of retrieval.documents",
    ]
    assert f"  question: {QUERY}" in lines


def test_scores_of_others_become_tags(path: Path) -> None:
    event = {"gen_ai.evaluation.result": {"gen_ai.evaluation.name": "polite", "gen_ai.evaluation.score.value": 0.5}}
    held = {"annotations.0.annotation.name": "user", "annotations.0.annotation.score": -1.0}
    case = alone(file_of(path, *chain(attributes=held, events=event)))

    assert {name: value for name, value in case.tags.items() if name.startswith("score.")} == {
        "score.user": -1.0,
        "score.polite": 0.5,
    }


spans_at_random = st.lists(
    st.builds(
        lambda number, parent, kind, text: span(
            number, parent or "", kind=kind, input=text, output=text, documents=[text]
        ),
        st.integers(1, 6), st.integers(0, 6), st.sampled_from(["CHAIN", "RETRIEVER", "LLM", "TOOL", "RERANKER", ""]),
        st.text(max_size=20),
    ),
    min_size=1, max_size=8,
)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(spans=spans_at_random, seed=st.randoms())
def test_any_tree_is_read_and_the_order_of_spans_does_not_matter(tmp_path_factory: Any, spans: Any, seed: Any) -> None:
    path = tmp_path_factory.mktemp("random") / "t.jsonl"
    unique = list({one["spanId"]: one for one in spans}.values())

    def cases_of(some: list[Any]) -> Any:
        try:
            return read(file_of(path, *some))
        except InputError as error:
            return str(error).replace(str(path), "")

    first = cases_of(unique)
    seed.shuffle(unique)
    assert cases_of(unique) == first
