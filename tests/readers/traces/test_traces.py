"""Traces → cases: what is taken for what, and everything that can be wrong with a file of traces."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from otlp_lines import START, TRACE, file_of, line, span
from trace_cases import ANSWER, QUERY, TEXTS, alone, chain, read, rejected, texts

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers import open_cases
from ragtriage.readers.traces.files import explained
from ragtriage.readers.traces.tree import TraceOptions


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
