"""Files that other tools wrote (`bench/other_tools_files.py` had them do so) are read without a word from the user."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.readers import open_cases
from ragtriage.readers.case_rows import made_up_id
from ragtriage.readers.columns import SHAPES
from ragtriage.readers.field_values import ALIASES

FOLDER = Path(__file__).parent / "other_tools"
CASES: list[dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text("utf-8"))
REFUSED = {"phoenix-documents.csv": "Phoenix documents"}
TRACES = {"phoenix-spans.csv"}


def mapping(query: str, response: str, sources: str, **others: str) -> dict[str, str]:
    return {"query": query, "response": response, "sources": sources, **others}


DEEPEVAL = mapping("input", "actual_output", "retrieval_context", reference="expected_output")
DEEPEVAL_RUN = mapping("input", "actualOutput", "retrievalContext", reference="expectedOutput")
LANGCHAIN = mapping("input", "answer", "context")
PHOENIX = mapping("input", "output", "context", id="context.span_id", trace_id="context.trace_id")
PROMPTFOO = mapping("vars.question", "response.output", "vars.context", id="id", reference="vars.ground_truth")
TRULENS = mapping("input", "output", "Context Relevance_calls[*].args.context", id="record_id", time="ts")


@pytest.mark.parametrize(
    ("name", "shape", "places", "given"),
    [
        ("deepeval-test-run.json", "DeepEval results", DEEPEVAL_RUN, {"reference"}),
        ("deepeval-test-results.json", "DeepEval results", DEEPEVAL, {"reference"}),
        ("langchain-retrieval-chain.jsonl", "LangChain results", LANGCHAIN, {"ids"}),
        ("langchain-dumps.json", "LangChain results", LANGCHAIN, {"ids"}),
        (
            "langchain-retrieval-qa.jsonl",
            "LangChain results",
            mapping("query", "result", "source_documents"),
            {"ids"},
        ),
        ("llamaindex-responses.jsonl", "LlamaIndex responses", mapping("query", "response", "source_nodes"), {"ids"}),
        (
            "llamaindex-nested.jsonl",
            "LlamaIndex responses",
            mapping("query", "response.response", "response.source_nodes"),
            {"ids"},
        ),
        ("phoenix.csv", "Phoenix questions", PHOENIX, {"one text"}),
        ("phoenix.parquet", "Phoenix questions", PHOENIX, {"one text"}),
        ("promptfoo.json", "promptfoo results", PROMPTFOO, {"reference"}),
        ("promptfoo.jsonl", "promptfoo results", PROMPTFOO, {"reference"}),
        ("trulens.jsonl", "TruLens records", TRULENS, set()),
        ("trulens.csv", "TruLens records", TRULENS, set()),
    ],
)
def test_what_a_tool_wrote_is_read(name: str, shape: str, places: dict[str, str], given: set[str]) -> None:
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    file = open_cases(FOLDER / name)
    rows = [row for row in file.rows() if isinstance(row, Case)]
    assert len(rows) == len(CASES)
    assert file.mapping == places
    assert file.describe()[0] == f"the rows are {shape}"
    for case, known in zip(rows, CASES, strict=True):
        texts = [source["text"] for source in known["sources"]]
        assert (case.query, case.response) == (known["query"], known["response"])
        assert [one.text for one in case.sources] == (["\n\n".join(texts)] if "one text" in given else texts)
        ids = [source["id"] for source in known["sources"]]
        assert [one.id for one in case.sources] == (ids if "ids" in given else [None] * len(case.sources))
        assert case.reference == (known["reference"] if "reference" in given else None)
        assert (case.trace_id is not None, case.time is not None) == ("trace_id" in places, "time" in places)
        assert ("id" in places) == (case.id != _made_up(case))


def _made_up(case: Case) -> str:
    return made_up_id(case.query, case.sources, case.response, case.history)


@pytest.mark.parametrize(("name", "called"), REFUSED.items())
def test_what_holds_no_questions_is_refused_with_what_to_write_instead(name: str, called: str) -> None:
    with pytest.raises(InputError, match=f"{name}: the rows are {called}.*get_input_output_context"):
        open_cases(FOLDER / name)


def test_a_frame_of_spans_is_read_as_traces() -> None:
    file = open_cases(FOLDER / "phoenix-spans.csv")
    first, second = (row for row in file.rows() if isinstance(row, Case))

    assert file.format == "openinference"
    assert (first.query, first.response) == ("How long does the crossing take?", "The crossing takes 40 minutes.")
    assert (second.query, len(second.known_sources)) == ("Can I pay on board by card?", 1)


def test_every_file_is_known_with_the_version_of_its_tool() -> None:
    versions = json.loads((FOLDER / "versions.json").read_text("utf-8"))
    assert set(versions) == {path.name for path in FOLDER.iterdir()} - {"cases.json", "versions.json"}


def test_shapes_are_told_apart_by_what_only_they_have() -> None:
    for path in FOLDER.iterdir():
        if path.name in {"cases.json", "versions.json"} | set(REFUSED) | TRACES or path.suffix == ".parquet":
            continue
        assert sum(line.startswith("the rows are ") for line in open_cases(path).describe()) == 1, path.name


def test_texts_that_stand_twice_and_workings_of_the_tool_become_no_tags() -> None:
    file = open_cases(FOLDER / "promptfoo.json")
    [case, *_] = (row for row in file.rows() if isinstance(row, Case))
    assert not {"response", "testCase", "prompt", "gradingResult", "tokenUsage"} & set(case.tags)
    assert case.tags["success"] is True
    assert any(note.startswith("5 columns repeat texts") and "testCase" in note for note in file.notes)


def test_conversations_of_a_deepeval_run_are_rejected_and_counted(read: Any) -> None:
    run = json.loads((FOLDER / "deepeval-test-run.json").read_text("utf-8"))
    run["conversationalTestCases"] = [{"name": "talk", "turns": [{"role": "user", "content": "Hello"}]}]
    _, cases, [rejected] = read(json.dumps(run), "run.json")
    assert len(cases) == len(CASES)
    assert rejected.row == 3
    assert "a conversation of several turns" in rejected.reason


def test_the_answer_of_a_langchain_result_may_be_a_message(read: Any) -> None:
    dumped = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"]}
    rows = json.loads((FOLDER / "langchain-dumps.json").read_text("utf-8"))
    rows = [row | {"answer": dumped | {"kwargs": {"content": row["answer"], "type": "ai"}}} for row in rows]
    file, cases, _ = read(json.dumps(rows), "c.json")
    assert file.mapping["response"] == "answer.kwargs.content"
    assert [case.response for case in cases] == [case["response"] for case in CASES]


def test_what_the_user_names_comes_before_a_shape() -> None:
    file = open_cases(FOLDER / "promptfoo.json", mapping={"query": "prompt.raw", "reference": ""})
    [case, *_] = (row for row in file.rows() if isinstance(row, Case))
    assert case.query.endswith(CASES[0]["query"])
    assert case.reference is None


def test_variables_of_promptfoo_with_other_names_are_told(make: Any) -> None:
    document = json.loads((FOLDER / "promptfoo.json").read_text("utf-8"))
    for row in document["results"]["results"]:
        row["vars"] = {"frage": row["vars"]["question"], "belege": row["vars"]["context"]}
    path = make(json.dumps(document), "promptfoo.json")
    with pytest.raises(
        InputError, match=r"no column holds the query.*looked for at vars\.query.*'vars' has frage, belege"
    ):
        open_cases(path)
    file = open_cases(path, mapping={"query": "vars.frage", "sources": "vars.belege"})
    assert [row.query for row in file.rows() if isinstance(row, Case)] == [case["query"] for case in CASES]


def test_rows_that_two_shapes_fit_are_refused(make: Any) -> None:
    row = {"query": "q", "answer": "a", "source_nodes": [{"text": "a"}], "source_documents": [{"page_content": "b"}]}
    with pytest.raises(
        InputError, match=r"look like LangChain results and like LlamaIndex responses.*'source_documents'"
    ):
        open_cases(make([row]))
    file = open_cases(make([row]), mapping={"sources": "source_nodes"})
    assert [row.sources[0].text for row in file.rows() if isinstance(row, Case)] == ["a"]


def test_a_column_with_a_name_of_the_field_beside_a_shape_is_told(read: Any) -> None:
    file, [case], _ = read([{"query": "q", "answer": "a", "sources": ["tool"], "source_nodes": [{"text": "got"}]}])
    assert [source.text for source in case.sources] == ["got"]
    assert (
        "the sources are taken from 'source_nodes'; 'sources' became a tag (--map sources=sources takes it)"
        in file.notes
    )


def test_feedback_of_trulens_with_another_name_is_named_by_the_user(make: Any) -> None:
    lines = (FOLDER / "trulens.jsonl").read_text("utf-8").replace("Groundedness", "Mine").replace("Context Rel", "Rel")
    with pytest.raises(
        InputError, match="The rows are TruLens records, where it was looked for at Context Relevance_calls"
    ):
        open_cases(make(lines))
    rows = open_cases(make(lines), mapping={"sources": "Mine_calls[0].args.source"}).rows()
    known = [[source["text"] for source in case["sources"]] for case in CASES]
    assert [[source.text for source in row.sources] for row in rows if isinstance(row, Case)] == known


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_a_table_of_question_context_and_answer(read: Any, delimiter: str) -> None:
    table = "\n".join(map(delimiter.join, [("Question", "Context", "Answer"), ("q", "c", "a")]))
    file, [case], _ = read(table, "c.csv")
    assert (case.query, case.sources[0].text, case.response) == ("q", "c", "a")
    assert file.describe()[0] == "the rows are question, context and answer"
    assert not any("DeepEval" in note for note in file.notes)


def test_a_context_beside_sources_stays_a_tag(read: Any) -> None:
    file, [case], _ = read([{"question": "q", "contexts": ["got"], "context": "ideal", "answer": "a"}])
    assert [source.text for source in case.sources] == ["got"]
    assert case.tags == {"context": "ideal"}
    assert file.describe()[0] == "query ← question"


@pytest.mark.parametrize(
    "names",
    [
        ("context_1", "context_2", "context_3"),
        ("Context 1", "Context 2", "Context 3"),
        ("chunk1", "chunk2", "chunk3"),
        ("contexts.0", "contexts.1", "contexts.2"),
        ("documents[9]", "documents[10]", "documents[11]"),
    ],
)
def test_numbered_columns_hold_a_source_each(read: Any, names: tuple[str, str, str]) -> None:
    last, first, middle = names[2], names[0], names[1]
    file, cases, _ = read(f"question,{last},{first},{middle},answer\nq,z,x,y,a\nq2,,x,,a\n", "c.csv")
    assert [[source.text for source in case.sources] for case in cases] == [["x", "y", "z"], ["x"]]
    assert file.mapping["sources"] == ",".join(names)
    assert file.tags == ()


def test_two_series_of_numbered_columns_are_refused(make: Any) -> None:
    path = make("question,context_1,chunk_1,chunk_2\nq,a,b,c\n", "c.csv")
    with pytest.raises(InputError, match=r"in context_1 or in chunk_1,chunk_2\? Say which: --map sources=context_1"):
        open_cases(path)


def test_a_numbered_column_that_comes_up_late_is_not_lost_in_silence(read: Any) -> None:
    rows = [{"question": f"q{n}", "context_1": "x"} for n in range(120)]
    _, cases, [rejected] = read([*rows, {"question": "q", "context_1": "x", "context_2": "y"}])
    assert len(cases) == 120
    assert (rejected.row, rejected.field) == (121, "sources")
    assert "--map sources=context_1,context_2" in rejected.reason


def test_a_numbered_column_that_the_user_names_is_no_series(read: Any) -> None:
    rows = [{"question": f"q{n}", "context_1": "x"} for n in range(120)]
    _, cases, _ = read([*rows, {"question": "q", "context_1": "x", "context_2": "y"}], mapping={"sources": "context_1"})
    assert len(cases) == 121


def test_every_shape_names_fields_that_there_are() -> None:
    assert {field for shape in SHAPES for field in shape.places} <= set(ALIASES)
