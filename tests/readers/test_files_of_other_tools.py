"""Files that other tools wrote (`bench/other_tools_files.py` had them do so) are read without a word from the user."""

import json
from pathlib import Path
from typing import Any

import pytest

from examples import examples
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


@pytest.mark.parametrize("row", examples("files_of_other_tools"))
def test_what_a_tool_wrote_is_read(row: dict[str, Any]) -> None:
    if row["file"].endswith(".parquet"):
        pytest.importorskip("pyarrow")
    given, places = row["also given"], row["columns"]
    file = open_cases(FOLDER / row["file"])
    rows = [one for one in file.rows() if isinstance(one, Case)]
    assert len(rows) == len(CASES)
    assert file.mapping == places
    assert file.describe()[0] == f"the rows are {row['rows are']}"
    for case, known in zip(rows, CASES, strict=True):
        texts = [source["text"] for source in known["sources"]]
        assert (case.query, case.response) == (known["query"], known["response"])
        assert [one.text for one in case.sources or ()] == (["\n\n".join(texts)] if "one text" in given else texts)
        ids = [source["id"] for source in known["sources"]]
        assert [one.id for one in case.sources or ()] == (ids if "ids" in given else [None] * len(case.sources or ()))
        assert case.reference == (known["reference"] if "reference" in given else None)
        assert (case.trace_id is not None, case.time is not None) == ("trace_id" in places, "time" in places)
        assert ("id" in places) == (case.id != made_up_id(case.query, case.sources, case.response, case.history))


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


def test_every_file_has_its_version_and_one_shape_by_what_only_that_has() -> None:
    versions = json.loads((FOLDER / "versions.json").read_text("utf-8"))
    assert set(versions) == {path.name for path in FOLDER.iterdir()} - {"cases.json", "versions.json"}

    for path in FOLDER.iterdir():
        if path.name in {"cases.json", "versions.json"} | set(REFUSED) | TRACES or path.suffix == ".parquet":
            continue
        assert sum(line.startswith("the rows are ") for line in open_cases(path).describe()) == 1, path.name

    assert {field for shape in SHAPES for field in shape.places} <= set(ALIASES)


def test_of_promptfoo_no_working_becomes_a_tag_and_what_the_user_names_comes_first() -> None:
    file = open_cases(FOLDER / "promptfoo.json")
    [case, *_] = (row for row in file.rows() if isinstance(row, Case))
    assert not {"response", "testCase", "prompt", "gradingResult", "tokenUsage"} & set(case.tags)
    assert case.tags["success"] is True
    assert any(note.startswith("5 columns repeat texts") and "testCase" in note for note in file.notes)

    file = open_cases(FOLDER / "promptfoo.json", mapping={"query": "prompt.raw", "reference": ""})
    [case, *_] = (row for row in file.rows() if isinstance(row, Case))
    assert case.query.endswith(CASES[0]["query"])
    assert case.reference is None


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


def test_feedback_of_trulens_with_another_name_is_named_by_the_user(make: Any) -> None:
    lines = (FOLDER / "trulens.jsonl").read_text("utf-8").replace("Groundedness", "Mine").replace("Context Rel", "Rel")
    with pytest.raises(
        InputError, match="The rows are TruLens records, where it was looked for at Context Relevance_calls"
    ):
        open_cases(make(lines))
    rows = open_cases(make(lines), mapping={"sources": "Mine_calls[0].args.source"}).rows()
    known = [[source["text"] for source in case["sources"]] for case in CASES]
    assert [[source.text for source in row.sources] for row in rows if isinstance(row, Case)] == known


def test_a_numbered_column_that_comes_up_late_is_not_lost_in_silence(read: Any) -> None:
    rows = [{"question": f"q{n}", "context_1": "x"} for n in range(120)]
    rows.append({"question": "q", "context_1": "x", "context_2": "y"})
    _, cases, [rejected] = read(rows)
    assert len(cases) == 120
    assert (rejected.row, rejected.field) == (121, "sources")
    assert "--map sources=context_1,context_2" in rejected.reason
    _, cases, _ = read(rows, mapping={"sources": "context_1"})  # one that the user names is no series
    assert len(cases) == 121
