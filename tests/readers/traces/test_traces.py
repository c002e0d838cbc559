"""Traces → cases: what is taken for what, what was said before, and all that can be wrong with a file of traces."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from otlp_lines import START, TRACE, file_of, line, span
from trace_cases import ANSWER, QUERY, TEXTS, alone, chain, read, rejected, texts

from examples import examples
from ragtriage.core import errors
from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.readers import open_cases
from ragtriage.readers.traces.files import case_row, explained
from ragtriage.readers.traces.tree import TraceOptions


def spans_of(row: dict[str, Any]) -> list[Any]:
    """The spans of an example: its own, or those of a usual trace with changes."""
    if "spans" in row:
        return [span(**one) for one in row["spans"]]
    usual = chain(*(span(**one) for one in row.get("more", ())), **row.get("chain", {}))
    for number, one in row.get("instead", {}).items():
        usual[int(number) - 1] = span(**one)
    return usual


def shown(case: Case, fields: dict[str, Any]) -> dict[str, Any]:
    """These fields of a case; of its tags those that are named."""
    tags = {name: case.tags.get(name) for name in fields.get("tags", ())}
    known = {"texts": texts(case), "tags": tags}
    return {field: known[field] if field in known else getattr(case, field) for field in fields}


@pytest.mark.parametrize("row", examples("traces"))
def test_a_trace_is_read_as_the_example_says(path: Path, row: dict[str, Any]) -> None:
    given = row.get("traces", {})
    options: dict[str, Any] = {"mapping": row["mapping"]} if "mapping" in row else {}
    if given:
        options["traces"] = TraceOptions(
            **{key: frozenset(one) if isinstance(one, list) else one for key, one in given.items()}
        )
    file_of(path, *spans_of(row))
    if "refused" in row:
        with pytest.raises(getattr(errors, row.get("error", "InputError")), match=row["refused"]):
            open_cases(path, **options)
        return
    file = open_cases(path, **options)
    cases = [one for one in file.rows() if isinstance(one, Case)]
    assert [shown(case, fields) for case, fields in zip(cases, row["cases"], strict=True)] == row["cases"]
    assert rejected(path, **options) == []
    described = "\n".join(file.describe())
    assert [fragment for fragment in row.get("described", ()) if fragment not in described] == []


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


def test_traces_come_by_their_start_then_their_id_in_whatever_order_spans_stand(path: Path) -> None:
    spans = chain()
    first = read(file_of(path, *spans))
    path.write_text(line(*reversed(spans)) + "\n", encoding="utf-8")
    assert read(path) == first

    later = [span(9, kind="CHAIN", trace="b" * 32, input="Later?", output="x")]
    later.append(span("a", 9, kind="RETRIEVER", trace="b" * 32, documents=["x"]))
    file_of(path, *later, *chain())
    assert [case.query for case in read(path)] == [QUERY, "Later?"]


def test_texts_come_by_their_ids_where_only_these_were_recorded(path: Path) -> None:
    spans = chain()
    spans[1] = span(2, 1, kind="", attributes={
        "gen_ai.operation.name": "retrieval", "gen_ai.retrieval.documents": '[{"id": "a", "score": 0.9}, {"id": "b"}]',
    })  # fmt: skip
    case = alone(file_of(path, *spans), traces=TraceOptions(source_texts={"a": TEXTS[0], "b": TEXTS[1]}.get))
    assert texts(case) == TEXTS


def test_of_how_many_traces_spans_have_two_conventions_is_told(path: Path) -> None:
    both = {"gen_ai.operation.name": "embeddings", "langsmith.span.kind": "retriever"}
    spans = chain()
    spans[1] = span(2, 1, kind="", documents=TEXTS, attributes=both)
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


def test_traces_that_cannot_be_used_cost_themselves(path: Path) -> None:
    spans = [span(1, 2, input=QUERY, output=ANSWER), span(2, 1, kind="RETRIEVER", documents=TEXTS)]
    file_of(path, *spans, *[{**one, "traceId": "d" * 32} for one in chain()])
    assert [case.trace_id for case in read(path)] == ["d" * 32]
    assert len(rejected(path)) == 1

    long = [{**one, "traceId": "e" * 32} for one in chain(output="x" * 1_000_001)]
    file_of(path, *long, *chain())
    assert [case.trace_id for case in read(path)] == [TRACE]
    assert "1,000,001 characters" in rejected(path)[0]

    health = [span(at + 16, kind="", name="GET /health", trace=f"{at + 1:032x}") for at in range(100)]
    late = [{**one, "startTimeUnixNano": str(START + 10**12)} for one in chain()]
    assert [case.query for case in read(file_of(path, *health, *late))] == [QUERY]


def test_texts_of_one_length_were_probably_cut(path: Path) -> None:
    spans = []
    for at in range(5):
        ids = {"traceId": f"{at + 1:032x}"}
        spans += [{**one, **ids} for one in chain(output=f"{at}" * 128)]
    file = open_cases(file_of(path, *spans))

    assert any("5 texts have 128 characters and none has more: probably cut by" in one for one in file.describe())


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


# -- what was said before a question: in its own messages, or in earlier traces of its conversation


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


def test_at_most_20_turns_are_kept_and_a_lost_beginning_is_told(path: Path) -> None:
    cases = read(file_of(path, *conversation(*(f"Question {at}?" for at in range(12)))), traces=BY_SESSION)
    assert [len(case.history) for case in cases] == [0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 20]
    assert [turn.text for turn in cases[11].history][:2] == ["Question 1?", "Answer 1."]
    assert [case.tags.get("history") for case in cases] == [None] * 11 + ["cut"]
    assert case_row(cases[11])["metadata.history"] == "cut"
    assert len(case_row(cases[11])["history"]) == 20

    said = [{"role": "user", "content": f"Question {at}?"} for at in range(21)]
    tools = [{"role": "tool", "content": "x"}] * 30
    case = alone(file_of(path, *chain(input=json.dumps([*said, *tools, {"role": "user", "content": QUERY}]))))
    assert [turn.text for turn in case.history] == [f"Question {at}?" for at in range(1, 21)]
    assert case.tags["history"] == "cut"


def test_a_conversation_that_began_before_the_file_is_cut_and_unusable_traces_are_part_of_it(path: Path) -> None:
    earlier = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi!"}]
    asked = json.dumps([*earlier, {"role": "user", "content": QUERY}])
    file_of(path, *conversation(asked, "And long?"))
    assert [case.tags.get("history") for case in read(path, traces=BY_SESSION)] == ["cut", "cut"]
    assert [case.tags.get("history") for case in read(path)] == [None, None]
    file_of(path, *conversation("__REDACTED__", "And long?"))
    assert [case.tags.get("history") for case in read(path, traces=BY_SESSION)] == ["cut"]

    file_of(path, *conversation(QUERY, "And long?", "And wide?", documents={1: []}))
    cases = read(path, traces=BY_SESSION)
    assert [case.query for case in cases] == [QUERY, "And wide?"]
    assert [turn.text for turn in cases[1].history] == [QUERY, "Answer 0.", "And long?", "Answer 1."]
    assert "history" not in cases[1].tags


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
