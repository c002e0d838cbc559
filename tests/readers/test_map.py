"""What `--map` reaches: columns, paths into them, several of them, and rows that stand within something."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers import open_cases
from ragtriage.readers.paths import NotThere, path_from

DOCS = [{"page_content": "a", "metadata": {"id": 1}}, {"page_content": "b", "metadata": {"id": 2}}]
ROW = {"q": "q", "out": {"text": "r", "docs": DOCS}}
MAP = {"query": "q", "response": "out.text", "sources": "out.docs[*].page_content"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("q", "q"),
        ("$.q", "q"),
        ("out.docs[1].page_content", "b"),
        ("out.docs.1.page_content", "b"),
        ("out['docs'][*].metadata.id", [1, 2]),
        ("out.docs[*]", DOCS),
        ("many[*].docs[*].n", [1, 2, 3]),
        ('"a.b"', None),
        ('["a.b"]', 5),
        ("packed[0].n", 7),
    ],
)
def test_paths(text: str, found: Any) -> None:
    value = ROW | {"many": [{"docs": [{"n": 1}]}, {"docs": [{"n": 2}, {"n": 3}]}], "a.b": 5, "packed": '[{"n": 7}]'}
    if found is None:
        with pytest.raises(ConfigError, match="can't be read"):
            path_from(text, "--map query")
        return
    assert path_from(text, "--map query").of(value) == found


@pytest.mark.parametrize(
    ("text", "says", "absent"),
    [
        ("out.txt", "its 'out' has the keys text, docs", True),
        ("out.text.x", "its 'out.text' is a text ('r'), not an object", False),
        ("out.docs[2]", "its 'out.docs' is a list of 2", False),
        ("out.docs[*].page", "its 'out.docs[0]' has the keys page_content, metadata", True),
        ("out[*].x", "its 'out' is an object with 'text', 'docs', not a list", False),
        ("none.x", "its 'none' is null, not an object", True),
    ],
)
def test_what_stands_there_instead_is_told(text: str, says: str, absent: bool) -> None:
    with pytest.raises(NotThere) as problem:
        path_from(text, "--map query").of(ROW | {"none": None})
    assert (str(problem.value), problem.value.absent) == (says, absent)


@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.csv", "c.parquet"])
def test_paths_reach_into_every_kind_of_file(make: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "c.parquet":
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        pq.write_table(pa.Table.from_pylist([ROW]), path)
    elif name == "c.csv":
        cell = json.dumps(ROW["out"]).replace('"', '""')
        path.write_text(f'q,out\nq,"{cell}"\n', "utf-8")
    else:
        path.write_text(json.dumps([ROW] if name == "c.json" else ROW), "utf-8")
    [case] = open_cases(path, mapping=MAP | {"source_ids": "out.docs[*].metadata.id"}).rows()
    assert isinstance(case, Case), str(case)
    assert (case.query, case.response) == ("q", "r")
    assert [(source.text, source.id) for source in case.sources] == [("a", "1"), ("b", "2")]


def test_cells_hold_what_numpy_and_pandas_print(read: Any) -> None:
    cell = "[{'t': 'a (np.b)', 'n': np.float64(0.5), 'at': datetime.datetime(2026, 1, 2)}, {'t': 'b', 'n': nope(1)}]"
    _, [case], _ = read(
        f'query,docs\nq,"{cell.replace("nope", "np.float64")}"\n', "c.csv", mapping={"sources": "docs[*].t"}
    )
    assert [source.text for source in case.sources] == ["a (np.b)", "b"]
    _, _, [rejected] = read(f'query,docs\nq,[]\nq2,"{cell}"\n', "c.csv", mapping={"sources": "docs"})[:3]
    assert "can't be read as JSON or Python" in rejected.reason


def test_a_response_in_pieces_is_put_together_as_in_collect(read: Any) -> None:
    row = {"query": "q", "sources": [], "parts": [{"text": "a "}, {"text": "b"}]}
    _, [case], _ = read([row], mapping={"response": "parts[*].text"})
    assert case.response == "a b"


def test_several_columns_hold_one_list(read: Any) -> None:
    table = 'query,a,b,"c, d",answer\nq,x,"[""y"", ""z""]",w,r\nq2,,,w,r\n'
    file, cases, _ = read(table, "c.csv", mapping={"sources": "a, b"})
    assert [[source.text for source in case.sources] for case in cases] == [["x", "y", "z"], []]
    assert file.tags == ("c, d",)
    assert "sources ← a, b (list of texts, 0 to 3 a row in all 2 rows)" in file.describe()
    _, [case, _], _ = read(table, "c.csv", mapping={"sources": "c, d"})
    assert case.sources[0].text == "w"


def test_several_paths_and_their_ids(read: Any) -> None:
    rows = [{"query": "q", "a": {"t": "x", "n": 1}, "b": {"t": "y", "n": 2}}, {"query": "q2", "a": {"t": "x", "n": 1}}]
    _, cases, _ = read(rows, mapping={"sources": "a.t,b.t", "source_ids": "a.n,b.n"})
    assert [[(source.text, source.id) for source in case.sources] for case in cases] == [
        [("x", "1"), ("y", "2")],
        [("x", "1")],
    ]


@pytest.mark.parametrize(
    ("mapping", "error", "says"),
    [
        (
            {"sources": "out.docs[*].page"},
            InputError,
            r"--map sources=out.*: row 2, field 'sources': has no 'out.*', as none .*'out\.docs\[0\]' has the keys",
        ),
        (
            {"response": "out.txt"},
            InputError,
            r"row 2, field 'response': has no 'out\.txt'.*'out' has the keys text, docs",
        ),
        ({"sources": "out.docs,nope"}, InputError, r"there is no column 'nope'.*Columns: q, out, n"),
        ({"query": "q,n"}, ConfigError, r"--map query=q,n: names 2 columns, but the query is one value"),
        ({"sources": "q,,n"}, ConfigError, "nothing between two commas"),
        ({"sources": "out.docs[x]"}, ConfigError, r"can't be read at '\[x\]'.*hits\[\*\]\.text"),
        ({"rows": "out.docs["}, ConfigError, r"--map rows 'out\.docs\['"),
    ],
)
def test_bad_paths(make: Any, mapping: dict[str, str], error: type[Exception], says: str) -> None:
    path = make("broken\n" + json.dumps(ROW) + "\n" + json.dumps(ROW | {"n": 2}))
    with pytest.raises(error, match=says) as problem:
        open_cases(path, mapping=MAP | mapping)
    assert error is ConfigError or str(path) in str(problem.value)


@pytest.mark.parametrize(
    ("out", "field", "says"),
    [
        ({"text": "r"}, "sources", "has no 'out.docs[*].page_content': its 'out' has the keys text: write [] if"),
        ({"text": "r", "docs": None}, "sources", "its 'out.docs' is null, not a list"),
        ({"text": "r", "docs": [DOCS[0], {"x": 1}]}, "sources", "its 'out.docs[1]' has the keys x"),
        ("a text", "response", "has no 'out.text': its 'out' is a text ('a text'), not an object"),
    ],
)
def test_a_row_without_what_the_path_names_is_rejected(read: Any, out: Any, field: str, says: str) -> None:
    file, [_], [rejected] = read([ROW, {"q": "q2", "out": out}], mapping=MAP)
    assert (rejected.file, rejected.row, rejected.field) == (file.path, 2, field)
    assert says in rejected.reason


def test_a_response_that_is_absent_at_its_path_is_not_given(read: Any) -> None:
    file, cases, _ = read([ROW, {"q": "q2", "out": {"docs": []}}], mapping=MAP)
    assert [case.response for case in cases] == ["r", None]
    assert any(note.startswith("1 row without a response") for note in file.notes)


GOOD = [{"query": f"q{n}", "sources": [], "id": str(n)} for n in range(3)]


@pytest.mark.parametrize(
    ("content", "name", "rows"),
    [
        ({"a": {"n": 1, "b": GOOD}, "c": 2}, "c.json", "a.b"),
        ({"a": [{"b": GOOD[:1]}, {"n": 1, "b": GOOD[1:]}]}, "c.json", "a[*].b"),
        ({"a": [0, {"b": GOOD}]}, "c.json", "a[1].b"),
        ({"a": [0, {"b": GOOD}]}, "c.json", "a.1.b"),
        ([{"b": one} for one in GOOD], "c.json", "[*].b"),
        ({"data": [], "mine": GOOD}, "c.json", "mine"),
        ("\n".join(json.dumps({"b": GOOD[n : n + 2]}) for n in (0, 2)), "c.jsonl", "b"),
        ("\n".join(json.dumps({"b": {"c": one}}) for one in GOOD), "c.jsonl", "b.c"),
        ('n,b\n1,"' + json.dumps(GOOD).replace('"', '""') + '"\n', "c.csv", "b"),
    ],
)
def test_rows_within(read: Any, content: Any, name: str, rows: str) -> None:
    text = content if isinstance(content, str) else json.dumps(content)
    file, cases, rejected = read(text, name, mapping={"rows": rows})
    assert not rejected
    assert [case.id for case in cases] == ["0", "1", "2"]
    assert "rows" not in file.mapping
    assert [case.id for case in file.rows() if isinstance(case, Case)] == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("content", "name", "rows", "says"),
    [
        ({"a": {"bs": GOOD}}, "c.json", "a.b", r"has no 'a\.b' \(--map rows\): its 'a' has the keys bs"),
        ({"a": "x"}, "c.json", "a", r"has a text \('x'\) at 'a' \(--map rows\), not a list of objects"),
        (GOOD[0], "c.jsonl", "b", r"line 1: has no 'b' \(--map rows\): it has the keys query, sources, id"),
        ({"a": []}, "c.json", "a", "holds no rows"),
    ],
)
def test_rows_that_are_not_there(make: Any, content: Any, name: str, rows: str, says: str) -> None:
    path = make(json.dumps(content), name)
    with pytest.raises(InputError, match=says) as error:
        open_cases(path, mapping={"rows": rows})
    assert str(path) in str(error.value)


def test_rows_that_may_stand_within_are_pointed_out(make: Any) -> None:
    path = make(json.dumps({"run": {"answers": GOOD}}), "c.json")
    with pytest.raises(InputError, match=r"'run\.answers' is a list of objects; if these are the rows: --map rows="):
        open_cases(path)


def test_an_object_where_rows_may_stand_is_part_of_a_row(read: Any) -> None:
    _, [case], _ = read(json.dumps(GOOD[0] | {"results": {"hits": 3}}), "c.json")
    assert case.tags == {"results": {"hits": 3}}


def test_two_lists_of_rows_are_no_guess(read: Any) -> None:
    document = json.dumps({"data": GOOD, "cases": [{"query": "x", "sources": []}]})
    with pytest.raises(InputError, match="which one holds the rows\\? --map rows=data or --map rows=cases"):
        read(document, "c.json")
    assert len(read(document, "c.json", mapping={"rows": "cases"})[1]) == 1
