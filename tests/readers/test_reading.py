"""Rows → cases: what is kept, what is rejected, and how it is said. Most of it stands in `reading.jsonl`."""

import csv
import io
import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from examples import examples
from ragtriage.core import errors
from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError
from ragtriage.readers import RowLimits, open_cases
from ragtriage.readers.field_values import ALIASES, field_named
from ragtriage.readers.paths import NotThere, path_from

GOOD = {"query": "q", "sources": ["s"], "response": "r"}


def content_of(row: dict[str, Any]) -> tuple[bytes | str | list[Any], str]:
    """What the file of an example holds, and what it is called."""
    if "document" in row:
        return json.dumps(row["document"]), row.get("file", "c.json")
    content = row["text"].encode(row["encoding"]) if "encoding" in row else row.get("text", row.get("rows"))
    return content, row.get("file", "c.jsonl")


def shown(case: Case, fields: dict[str, Any]) -> dict[str, Any]:
    """These fields of a case, as JSON has them."""
    sources = None if case.sources is None else list(case.sources)
    known: dict[str, Any] = {
        "sources": sources and [one.text for one in sources],
        "source_ids": sources and [one.id for one in sources],
        "history": [[turn.role, turn.text] for turn in case.history],
        "tags": dict(case.tags),
    }
    found = {field: known[field] if field in known else getattr(case, field) for field in fields}
    return {field: list(value) if isinstance(value, tuple) else value for field, value in found.items()}


@pytest.mark.parametrize("row", examples("reading"))
def test_a_file_is_read_as_the_example_says(make: Any, row: dict[str, Any]) -> None:
    content, name = content_of(row)
    if name.endswith(".parquet"):
        pytest.importorskip("pyarrow")
    path, options = make(content, name), row.get("options", {})
    if "refused" in row:
        error = getattr(errors, row.get("error", "InputError"))
        with pytest.raises(error, match=row["refused"]) as problem:
            open_cases(path, **options)
        assert error is ConfigError or str(path) in str(problem.value)
        return
    file = open_cases(path, **options)
    rows = list(file.rows())
    cases = [one for one in rows if isinstance(one, Case)]
    rejected = [one for one in rows if not isinstance(one, Case)]
    assert [shown(case, fields) for case, fields in zip(cases, row["cases"], strict=True)] == row["cases"]
    assert len({case.id for case in cases}) == len(cases)
    for one, said in zip(rejected, row.get("rejected", ()), strict=True):
        assert {field: getattr(one, field) for field in said if field != "says"}.items() <= said.items()
        assert said.get("says", "") in one.reason
    notes, described = "\n".join(file.notes), file.describe()
    assert [fragment for fragment in row.get("notes", ()) if fragment not in notes] == []
    assert [fragment for fragment in row.get("never", ()) if fragment in notes] == []
    assert len(file.notes) == row.get("number of notes", len(file.notes))
    assert file.mapping.items() >= row.get("mapping", {}).items()
    assert list(file.tags) == row.get("tags", list(file.tags))
    assert [line for line in row.get("described", ()) if line not in described] == []
    assert described[0] == row.get("first described", described[0])
    "\n".join(described).encode()
    assert list(file.rows()) == rows


@pytest.mark.parametrize(
    ("query", "response", "sources"),
    list(itertools.zip_longest(*(ALIASES[f] for f in ("query", "response", "sources")), fillvalue=None)),
)
def test_every_alias_is_found(read: Any, query: str | None, response: str | None, sources: str | None) -> None:
    names = {"query": query or "query", "response": response or "response", "sources": sources or "sources"}
    file, [case], _ = read([{names["query"]: "q", names["sources"]: ["s"], names["response"]: "r"}])
    assert file.mapping == names
    assert (case.query, case.response, [s.text for s in case.sources], case.tags) == ("q", "r", ["s"], {})


def test_spellings_of_a_name_are_one() -> None:
    for name in ("userInput", "User Input", "user-input", "USER_INPUT", " user_input ", "UserInput"):
        assert field_named(name) == "query"
    assert {field_named(name) for name in ("context", "source", "gold", "retrieval", "")} == {None}


def test_a_field_that_comes_up_late_is_read_and_notes_count_the_head_first(read: Any, make: Any) -> None:
    rows: list[Any] = [{"query": f"q{n}", "sources": ["s"]} for n in range(150)]
    rows.append({"query": "q", "sources": ["s"], "answer": "late", "lang": "en"})
    _, cases, _ = read(rows)
    assert (cases[-1].response, cases[-1].tags) == ("late", {"lang": "en"})
    _, cases, _ = read(rows, mapping={"response": ""})
    assert (cases[-1].response, cases[-1].tags) == (None, {"answer": "late", "lang": "en"})

    file = open_cases(make([{"query": f"q{n}", "sources": "one text", "response": "r"} for n in range(300)]))
    assert any(note.startswith("in the first 100 rows, 100 rows: the sources are one text") for note in file.notes)
    assert "(1 a row in the first 100 rows)" in "\n".join(file.describe())
    list(file.rows())
    assert any(note.startswith("300 rows: the sources are one text") for note in file.notes)


def test_what_is_described_of_a_file(read: Any, make: Any) -> None:
    rows = [
        {"user_input": "What?\x1b[2J", "retrieved_contexts": ["a"] * n, "answer": "r", "id": n, "lang": "en"}
        for n in (1, 2)
    ]
    file, _, _ = read([*rows, {"user_input": 3}])
    text = "\n".join(file.describe())
    assert "query ← user_input" in text
    assert "sources ← retrieved_contexts (1 to 2 a row in all 3 rows)" in text
    assert "tags: lang" in text
    assert "unusable: 1 of all 3 rows, the first: " in text
    assert "“What?" in text
    assert "\x1b" not in text
    assert file.first is not None
    assert set(file.first) == {"query", "response", "sources", "id"}
    large = open_cases(make([{"query": f"q{n}", "sources": ["x" * 900_000] * 10} for n in range(6)]))
    assert "10 a row in the first 4 rows" in "\n".join(large.describe())
    assert len(list(large.rows())) == 6


@pytest.mark.parametrize("row", examples("values", "wrong types"))
def test_wrong_types_are_rejected(read: Any, row: dict[str, Any]) -> None:
    usable = GOOD | {
        "reference": "x",
        "history": [{"role": "user", "content": "x"}],
        "samples": ["x"],
        "relevant_ids": ["x"],
        "weight": 1,
        "trace_id": "t",
        "id": "first",
    }
    file, cases, [rejected] = read([usable, usable | {"id": "second"} | row["row"], usable | {"id": "third"}])
    assert [case.id for case in cases] == ["first", "third"]
    assert (rejected.row, rejected.line, rejected.field) == (2, 2, row["field"])
    assert row["says"] in rejected.reason
    assert str(rejected) == f"{file.path}, row 2, field '{row['field']}': {rejected.reason}"


DEEP_TAG = f'{{"query": "q", "sources": [], "x": {"[" * 200}{"]" * 200}}}'
LONG = {
    "nested too deeply": "[" * 100_000,
    "too many digits": '{"query": ' + "9" * 5000 + "}",
    "nested more than 64 levels": DEEP_TAG,
}


@pytest.mark.parametrize(
    "row",
    [
        *examples("values", "broken lines"),
        *(pytest.param({"line": line, "says": says}, id=says) for says, line in LONG.items()),
    ],
)
def test_broken_row_seven(read: Any, row: dict[str, Any]) -> None:
    rows = [json.dumps(GOOD | {"id": n}) for n in range(1, 10)]
    rows[6] = row["line"]
    rows.insert(2, "  ")  # a blank line is no row, but a line
    _, cases, [rejected] = read("\n".join(rows))
    assert len(cases) == 8
    assert (rejected.row, rejected.line, rejected.ends) == (7, 8, False)
    assert row["says"] in rejected.reason
    assert ", row 7 (line 8)" in str(rejected)


def test_a_missing_id_is_made_from_the_content(read: Any) -> None:
    other = GOOD | {"response": "other"}
    _, [a, b], _ = read([GOOD, other])
    _, [b2, a2], _ = read([other | {"lang": "en"}, GOOD | {"id": None}])
    assert (a.id, b.id) == (a2.id, b2.id)
    assert a.id != b.id
    assert len(a.id) == 16


# -- sources


def as_cells(*cells: str) -> str:
    """A table with a row of queries and sources."""
    out = io.StringIO(newline="")
    csv.writer(out).writerows([["query", "sources"], cells])
    return out.getvalue()


@pytest.mark.parametrize("row", examples("values", "shapes of sources"))
def test_shapes_of_sources_as_they_are_as_a_text_and_as_python_in_a_cell(read: Any, row: dict[str, Any]) -> None:
    value = row["sources"]
    text = value if isinstance(value, str) else json.dumps(value)
    files = [
        ([{"query": "q", "sources": value}], "c.jsonl"),
        ([{"query": "q", "sources": text}], "c.jsonl"),
        (as_cells("q", str(value)), "c.csv"),
    ]
    for content, name in files:
        _, [case], rejected = read(content, name)
        assert not rejected
        assert [[one.text, one.id] for one in case.sources] == row["found"]


DEEP = ["[" * 5000 + "'a'" + "]" * 5000, "{'a': " * 3000 + "'a'" + "}" * 3000]


@pytest.mark.parametrize(
    "row",
    [*examples("values", "lists as text"), *(pytest.param({"cell": cell, "found": None}, id="deep") for cell in DEEP)],
)
def test_lists_written_as_text(read: Any, row: dict[str, Any]) -> None:
    _, cases, rejected = read(as_cells("q", row["cell"]), "c.csv")
    if row["found"] is None:
        assert [one.field for one in rejected] == ["sources"]
    else:
        assert [one.text for one in cases[0].sources] == row["found"]


@pytest.mark.parametrize("row", examples("values", "no sources"))
def test_what_is_no_source(read: Any, row: dict[str, Any]) -> None:
    _, cases, [rejected] = read([{"query": "q", "sources": row["sources"]}, {"query": "q", "sources": ["fine"]}])
    assert len(cases) == 1
    assert (rejected.row, rejected.field) == (1, "sources")
    assert row["says"] in rejected.reason


def test_limits_of_rows_texts_and_sources(read: Any) -> None:
    rows = [
        {"query": "q", "sources": ["x" * 11]},
        {"query": "q", "sources": ["x"] * 4},
        {"query": "q", "sources": [], "response": "x" * 11},
        {"query": "q", "sources": ["x" * 10] * 3},
    ]
    _, cases, rejected = read(rows, limits=RowLimits(max_text=10, max_sources=3))
    assert len(cases) == 1
    assert "source 1 has 11 characters, more than 10" in str(rejected[0])
    assert "--max-text" in str(rejected[0])
    assert "4 sources, more than 3" in str(rejected[1])
    assert rejected[2].field == "response"
    rows = [GOOD, GOOD | {"query": "x" * 500}, GOOD | {"id": 1}]
    _, cases, [long] = read(rows, limits=RowLimits(max_row=200))
    assert len(cases) == 2
    assert "row 2: is longer than 200 bytes" in str(long)


def test_ten_thousand_sources_and_ten_megabytes_are_refused_unless_they_are_wanted(read: Any) -> None:
    rows = [{"query": "q", "sources": [f"s{n}" for n in range(10_000)]}]
    _, _, [many, long] = read([*rows, {"query": "q", "sources": [], "response": "x" * 10_000_000}])
    _, [case], _ = read(rows, limits=RowLimits(max_sources=10_000))

    assert "has 10,000 sources" in str(many)
    assert "10,000,000 characters" in str(long)
    assert len(case.sources) == 10_000


# -- paths

DOCS = [{"page_content": "a", "metadata": {"id": 1}}, {"page_content": "b", "metadata": {"id": 2}}]
NESTED = {"q": "q", "out": {"text": "r", "docs": DOCS}}


@pytest.mark.parametrize("row", examples("values", "paths"))
def test_paths(row: dict[str, Any]) -> None:
    more = {"many": [{"docs": [{"n": 1}]}, {"docs": [{"n": 2}, {"n": 3}]}], "a.b": 5, "packed": '[{"n": 7}]'}
    assert path_from(row["path"], "--map query").of(NESTED | more) == row["found"]


def test_a_path_begins_with_a_name() -> None:
    with pytest.raises(ConfigError, match="can't be read"):
        path_from('"a.b"', "--map query")


@pytest.mark.parametrize("row", examples("values", "paths to nothing"))
def test_what_stands_there_instead_is_told(row: dict[str, Any]) -> None:
    with pytest.raises(NotThere, match=f"^{re.escape(row['says'])}$") as problem:
        path_from(row["path"], "--map query").of(NESTED | {"none": None})
    assert problem.value.absent == row["absent"]


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.csv", "c.parquet"])
def test_paths_reach_into_every_kind_of_file(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "c.parquet":
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist([NESTED]), path)
    elif name == "c.csv":
        cell = json.dumps(NESTED["out"]).replace('"', '""')
        path.write_text(f'q,out\nq,"{cell}"\n', "utf-8")
    else:
        path.write_text(json.dumps([NESTED] if name == "c.json" else NESTED), "utf-8")
    mapping = {"query": "q", "response": "out.text", "sources": "out.docs[*].page_content"}
    [case] = open_cases(path, mapping=mapping | {"source_ids": "out.docs[*].metadata.id"}).rows()
    assert isinstance(case, Case), str(case)
    assert (case.query, case.response) == ("q", "r")
    assert [(source.text, source.id) for source in case.sources or ()] == [("a", "1"), ("b", "2")]
