"""The kinds of files, whole and damaged."""

import contextlib
import csv
import gzip
import io
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError, MissingExtraError
from ragtriage.readers import RowLimits, open_cases

ROWS = [{"id": str(n), "query": f"q {n}", "sources": [f"s {n}", "ö"], "response": "r, “x”\n"} for n in range(3)]


def as_csv(rows: list[dict[str, Any]], delimiter: str = ",") -> str:
    out = io.StringIO(newline="")
    writer = csv.DictWriter(out, list(rows[0]), delimiter=delimiter)
    writer.writeheader()
    writer.writerows({key: json.dumps(v) if isinstance(v, list) else v for key, v in row.items()} for row in rows)
    return out.getvalue()


LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
PACKED = gzip.compress(LINES.encode(), mtime=0)  # the same in every process, since it names a test


def split(rows: list[Any]) -> dict[str, Any]:
    """Rows as pandas writes them with `orient="split"`."""
    columns = list(rows[0])
    return {"columns": columns, "index": [*range(len(rows))], "data": [[row[key] for key in columns] for row in rows]}


@pytest.mark.parametrize(
    ("name", "content", "form"),
    [
        ("c.jsonl", LINES, "jsonl"),
        ("c.jsonl", LINES.replace("\n", "\r\n\r\n"), "jsonl"),
        ("c.jsonl", "\ufeff" + LINES, "jsonl"),
        ("c.jsonl", LINES.rstrip(), "jsonl"),
        ("c.ndjson", LINES, "jsonl"),
        ("c.txt", LINES, "jsonl"),
        ("c.json", LINES, "jsonl"),
        ("c.json", json.dumps(ROWS), "json"),
        ("c.jsonl", json.dumps(ROWS, indent=2), "json"),
        ("c.json", "\ufeff" + json.dumps(ROWS, ensure_ascii=False), "json"),
        ("c.json", json.dumps({"meta": {"n": 3}, "data": ROWS, "more": 1}), "json"),
        ("c.json", json.dumps({"test_cases": ROWS}, indent=4), "json"),
        ("c.json", "\n".join(json.dumps(row, indent=1) for row in ROWS), "json"),
        ("c.json", json.dumps({key: [row[key] for row in ROWS] for key in ROWS[0]}), "json"),
        ("c.json", json.dumps({key: {str(n): row[key] for n, row in enumerate(ROWS)} for key in ROWS[0]}), "json"),
        ("c.csv", as_csv(ROWS), "csv"),
        ("c.csv", "\ufeff" + as_csv(ROWS), "csv"),
        ("c.csv", as_csv(ROWS, ";"), "csv"),
        ("c.tsv", as_csv(ROWS, "\t"), "csv"),
        ("c.jsonl.gz", PACKED, "jsonl"),
        ("c.json.gz", gzip.compress(json.dumps(ROWS).encode(), mtime=0), "json"),
        ("c.csv.gz", gzip.compress(as_csv(ROWS).encode(), mtime=0), "csv"),
        ("c.jsonl", PACKED, "jsonl"),
        ("c.json", json.dumps(split(ROWS)), "json"),
        ("c.json", json.dumps(split(ROWS), indent=1), "json"),
        ("c.json", json.dumps({str(at): row for at, row in enumerate(ROWS)}), "json"),
    ],
)
def test_formats(read: Any, name: str, content: Any, form: str) -> None:
    file, cases, rejected = read(content, name)
    assert not rejected
    assert file.format == form
    assert [(c.id, c.query, [s.text for s in c.sources], c.response) for c in cases] == [
        (row["id"], row["query"], row["sources"], row["response"]) for row in ROWS
    ]
    assert file.tags == ()


def test_the_rows_of_a_part_of_a_document_are_said(read: Any) -> None:
    file, _, _ = read(json.dumps({"meta": 1, "samples": ROWS}), "c.json")
    assert file.notes == ("the rows are the list 'samples'; what stands beside it in the file was not kept",)
    file, _, _ = read(json.dumps({key: [row[key] for row in ROWS] for key in ROWS[0]}), "c.json")
    assert "columns, not rows" in file.notes[0]


def test_the_index_of_a_frame_gives_ids_where_no_column_does(read: Any) -> None:
    rows = [{key: value for key, value in row.items() if key != "id"} for row in ROWS]
    names = [f"n {at}" for at in range(len(rows))]
    for frame in (split(rows) | {"index": names}, dict(zip(names, rows, strict=True))):
        assert [case.id for case in read(json.dumps(frame), "c.json")[1]] == names
    _, cases, [short] = read(json.dumps({"columns": ["query", "sources"], "data": [["q", []], ["q"]]}), "c.json")
    assert ([case.query for case in cases], short.reason) == (["q"], "has 1 cell, but there are 2 columns")


def test_objects_in_one_row_are_no_rows(read: Any) -> None:
    row = {"query": {"text": "q"}, "sources": [], "meta": {"query": "x"}}
    _, [case], _ = read(json.dumps(row), "c.json", mapping={"query": "query.text"})
    assert (case.query, case.tags["meta"]) == ("q", {"query": "x"})


def test_one_object_is_one_row(read: Any) -> None:
    _, [case], _ = read(json.dumps({"messages": [{"role": "user", "content": "q"}], "contexts": ["s"]}), "c.json")
    assert case.query == "q"


def test_the_head_is_bounded_in_size(make: Any) -> None:
    rows = [{"query": f"q{n}", "sources": ["x" * 900_000] * 10} for n in range(6)]
    file = open_cases(make(rows))
    assert "10 a row in the first 4 rows" in "\n".join(file.describe())
    assert len(list(file.rows())) == 6


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    rows = [row | {"hits": [{"text": "x", "n": 1.5}], "b": b"\xff", "weight": 2.0} for row in ROWS]
    path = tmp_path / "c.parquet"
    pq.write_table(pa.Table.from_pylist(rows), path)
    file = open_cases(path)
    cases = [row for row in file.rows() if isinstance(row, Case)]
    assert file.format == "parquet"
    assert [case.query for case in cases] == [row["query"] for row in ROWS]
    assert cases[0].tags == {"hits": [{"text": "x", "n": 1.5}], "b": "\ufffd"}
    assert [case.id for case in file.rows() if isinstance(case, Case)] == ["0", "1", "2"]


def test_parquet_with_nan_for_nothing_and_a_text_that_is_not_utf8(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    texts = pa.Array.from_buffers(
        pa.string(), 3, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0"), pa.py_buffer(b"a\xffb")]
    )
    columns = {"query": texts, "sources": [["s"]] * 3, "response": [float("nan")] * 3}
    path = tmp_path / "c.parquet"
    pq.write_table(pa.table(columns), path)
    rows = list(open_cases(path).rows())
    assert [row.response if isinstance(row, Case) else "rejected" for row in rows] == [None, "rejected", None]
    assert "UTF-8" in str(rows[1])


def test_parquet_without_the_extra(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"install '\.\[parquet\]'"):
        open_cases(make(b"PAR1....PAR1", "c.parquet"))


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("c.jsonl", b"", "is empty"),
        ("c.jsonl", b"\n \n\r\n", "holds no rows"),
        ("c.json", b"[]", "holds no rows"),
        ("c.json", b"  \n", "holds no rows"),
        ("c.json", b'{"data": []}', "holds no rows"),
        ("c.csv", b"query,sources,response\n", "holds no rows"),
        ("c.csv", b"\n\n", "holds no rows"),
        ("c.csv", b"query,sources,query\nq,s,q\n", "'query' more than once"),
        ("c.csv", "query,sources,größe\nq,s,1\n".encode("latin-1"), r"byte 0xf6 in the header \(line 1\) is not UTF-8"),
        ("c.csv", b"a,b\n1,2\n", r"no column holds the query.*Columns: a, b"),
        ("c.jsonl", LINES.encode("utf-16"), "save as UTF-8"),
        ("c.csv", as_csv(ROWS).encode("utf-16-le"), "save as UTF-8"),
        ("c.json", json.dumps(ROWS).encode("utf-32"), "save as UTF-8"),
        ("c.jsonl", '{"query": "ä"}\n{"query": "ö"}\n'.encode("latin-1"), r"is not UTF-8: line 1: byte 12 .*0xe4"),
        (
            "c.jsonl",
            b"hello\nworld\n",
            r"none of the first 2 rows can be read: line 1: broken JSON at line 1, column 1",
        ),
        ("c.json", b'"hello"', "neither the list of rows nor an object"),
        ("c.json", b'[{"query": "q"', r"broken JSON at line 1, column 15"),
        ("c.xlsx", b"PK\x03\x04....", "Excel"),
        ("c.pdf", b"%PDF-1.7", "PDF"),
        ("c.parquet", b"nonsense", "not a Parquet file"),
        ("c.parquet", b"PAR1nonsense", "not a readable Parquet file"),
        ("c.txt", b"query: x", "format can't be told"),
        ("c.jsonl.gz", PACKED[:15], "can't be read"),
    ],
)
def test_unusable_files(make: Any, name: str, content: bytes, says: str) -> None:
    if name == "c.parquet":
        pytest.importorskip("pyarrow")
    path = make(content, name)
    with pytest.raises(InputError, match=says) as error:
        open_cases(path)
    assert str(path) in str(error.value)


def test_no_such_file(make: Any) -> None:
    path = make(LINES, "answers.jsonl")
    with pytest.raises(InputError, match=r"no such file. Did you mean .*answers\.jsonl"):
        open_cases(path.with_name("answer.jsonl"))
    with pytest.raises(InputError, match="no folder"):
        open_cases(path.parent / "nowhere" / "x.jsonl")


def test_a_folder(make: Any) -> None:
    with pytest.raises(InputError, match=r"is a folder.*It holds cases\.jsonl"):
        open_cases(make(LINES).parent)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(make: Any) -> None:
    path = make(LINES)
    path.chmod(0)
    with pytest.raises(InputError, match="permissions"):
        open_cases(path)


def test_a_file_that_goes_away(make: Any) -> None:
    path = make(LINES)
    file = open_cases(path)
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        list(file.rows())


def test_wrong_options(make: Any) -> None:
    with pytest.raises(ConfigError, match="no format 'xml'"):
        open_cases(make(LINES), format="xml")
    with pytest.raises(ConfigError, match="--split-sources"):
        open_cases(make(LINES), split_sources="")


def test_the_format_can_be_said(read: Any) -> None:
    _, cases, _ = read(as_csv(ROWS), "c.txt", format="csv")
    assert len(cases) == 3


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("a,b", "has 2 cells, fewer than the 3"),
        ("a,b,c,d", "has 4 cells, more than the 3"),
        ("ä,[],r", "byte 0xe4 in it is not UTF-8"),
        (",[],r", "null or empty"),
        ("q,,r", "write [] if nothing"),
    ],
)
def test_bad_table_rows(read: Any, row: str, says: str) -> None:
    content = f'query,sources,response\nq,[],"two\nlines"\n{row}\n\nq2,[],\n'
    file, cases, [rejected] = read(content.encode("latin-1"), "c.csv")
    assert [case.response for case in cases] == ["two\nlines", None]
    assert (rejected.row, rejected.line) == (2, 4)
    assert says in rejected.reason
    assert any("response cell is empty" in note for note in file.notes)


def test_a_quote_that_is_not_closed(read: Any) -> None:
    content = 'query,sources,response\nq,[],r\nq2,[],"open\n' + "x,[],y\n" * 100
    before = csv.field_size_limit()
    _, cases, rejected = read(content, "c.csv", limits=RowLimits(max_row=300))
    assert rejected[0].row == 2
    assert "is a quote not closed?" in rejected[0].reason
    assert cases
    assert csv.field_size_limit() == before


def test_a_long_cell_and_a_nul(read: Any) -> None:
    _, [case], _ = read(f'query,sources\nq\0,"{"x" * 300_000}"\n', "c.csv")
    assert len(case.sources[0].text) == 300_000
    assert case.query == "q\ufffd"


def test_a_column_without_a_name(read: Any) -> None:
    _, [case], _ = read(",query,sources\n0,q,s\n", "c.csv")
    assert case.tags == {"column 1": "0"}


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b'[{"query": "q", "sources": []},\n {"query": "x" "y"}, 5]', r"line 2: broken JSON at line 2, column 16: "),
        (b'[{"query": "q", "sources": []} {"query": "x"}]', r"line 1, column 32: Expecting ',' .*: repair the file"),
        (b'[{"query": "q", "sources": []}', "Expecting ','"),
        (b'[{"query": "q", "sources": []}] [1]', "neither the list of rows nor"),
        (b'{"data": [{"query": "q", "sources": []}], "rows": []}', "has two lists, 'data' and 'rows'"),
        (b'[{"query": "q", "sources": []}, {"query": "\xff"}]', r"is not UTF-8: row 1: byte 44 \(0xff\)"),
    ],
)
def test_a_broken_document_is_refused_as_a_whole(make: Any, content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        open_cases(make(content, "c.json"))


def test_a_document_that_is_too_large_names_what_is_read_as_a_stream(make: Any) -> None:
    with pytest.raises(InputError, match=r"a JSON document of more than 20 bytes: write an object a line, as  jq -c"):
        open_cases(make(json.dumps(ROWS), "c.json"), limits=RowLimits(max_document=20))


def test_bad_elements_of_a_document(read: Any) -> None:
    _, cases, rejected = read(json.dumps([ROWS[0], 5, "x", [1], ROWS[1]]), "c.json")
    assert [case.id for case in cases] == ["0", "1"]
    assert [r.row for r in rejected] == [2, 3, 4]


def test_a_damaged_archive_keeps_what_was_readable(read: Any) -> None:
    lines = "".join(json.dumps({"query": os.urandom(300).hex(), "sources": []}) + "\n" for _ in range(2000))
    packed = gzip.compress(lines.encode())
    _, cases, rejected = read(packed[: len(packed) // 2], "c.jsonl.gz")
    assert len(cases) > 100
    assert rejected[-1].ends
    assert "nothing after was read" in str(rejected[-1])


class _Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


@pytest.mark.parametrize("content", [LINES.encode(), json.dumps(ROWS).encode(), PACKED])
def test_standard_input_is_read_once(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", _Stdin(content))
    file = open_cases("-")
    assert len(list(file.rows())) == 3
    with pytest.raises(InputError, match="only once"):
        list(file.rows())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    path = tmp_path / "pipe.jsonl"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=(LINES * 1,))
    writer.start()
    file = open_cases(path)
    assert len(list(file.rows())) == 3
    writer.join()
    with pytest.raises(InputError, match="only once"):
        list(file.rows())


def test_a_reading_that_is_given_up_closes_the_file(make: Any) -> None:
    for name, content in (("c.jsonl", LINES), ("c.json", json.dumps(ROWS)), ("c.csv", as_csv(ROWS))):
        rows = open_cases(make(content, name)).rows()
        next(rows)
        with contextlib.closing(rows):  # type: ignore[type-var]
            pass
