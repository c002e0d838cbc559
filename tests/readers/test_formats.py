"""The kinds of files, whole and damaged; what is wrong with rows and documents stands in `reading.jsonl`."""

import contextlib
import csv
import gzip
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from ragtriage.core.case import Case
from ragtriage.core.errors import InputError, MissingExtraError
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
SPLIT = {"columns": [*ROWS[0]], "index": [0, 1, 2], "data": [[*row.values()] for row in ROWS]}
"""Rows as pandas writes them with `orient="split"`."""


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
        ("c.json", json.dumps(SPLIT), "json"),
        ("c.json", json.dumps(SPLIT, indent=1), "json"),
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


def test_parquet(tmp_path: Path, make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "c.parquet"
    rows = [row | {"hits": [{"text": "x", "n": 1.5}], "b": b"\xff", "weight": 2.0} for row in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), path)
    file = open_cases(path)
    cases = [row for row in file.rows() if isinstance(row, Case)]
    assert file.format == "parquet"
    assert [case.query for case in cases] == [row["query"] for row in ROWS]
    assert cases[0].tags == {"hits": [{"text": "x", "n": 1.5}], "b": "\ufffd"}
    assert [case.id for case in file.rows() if isinstance(case, Case)] == ["0", "1", "2"]

    # NaN for nothing, and a text that isn't UTF-8
    offsets = pa.py_buffer(b"\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0")
    texts = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"a\xffb")])
    pq.write_table(pa.table({"query": texts, "sources": [["s"]] * 3, "response": [float("nan")] * 3}), path)
    odd = list(open_cases(path).rows())
    assert [row.response if isinstance(row, Case) else "rejected" for row in odd] == [None, "rejected", None]
    assert "UTF-8" in str(odd[1])

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"install '\.\[parquet\]'"):
        open_cases(make(b"PAR1....PAR1", "c.parquet"))


def test_what_is_no_file_is_told(make: Any) -> None:
    path = make(LINES, "answers.jsonl")
    with pytest.raises(InputError, match=r"no such file. Did you mean .*answers\.jsonl"):
        open_cases(path.with_name("answer.jsonl"))
    with pytest.raises(InputError, match="no folder"):
        open_cases(path.parent / "nowhere" / "x.jsonl")
    with pytest.raises(InputError, match=r"is a folder: name a file in it\.$"):
        open_cases(path.parent)
    file = open_cases(path)
    path.unlink()
    with pytest.raises(InputError, match="no such file"):
        list(file.rows())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_no_permission(make: Any) -> None:
    path = make(LINES)
    path.chmod(0)
    with pytest.raises(InputError, match="permissions"):
        open_cases(path)


def test_a_quote_that_is_not_closed_a_long_cell_and_a_document_that_is_too_large(read: Any, make: Any) -> None:
    content = 'query,sources,response\nq,[],r\nq2,[],"open\n' + "x,[],y\n" * 100
    before = csv.field_size_limit()
    _, cases, rejected = read(content, "c.csv", limits=RowLimits(max_row=300))
    assert rejected[0].row == 2
    assert "is a quote not closed?" in rejected[0].reason
    assert cases
    assert csv.field_size_limit() == before
    _, [case], _ = read(f'query,sources\nq,"{"x" * 300_000}"\n', "c.csv")
    assert len(case.sources[0].text) == 300_000

    with pytest.raises(InputError, match=r"a JSON document of more than 20 bytes: write an object a line, as  jq -c"):
        open_cases(make(json.dumps(ROWS), "c.json"), limits=RowLimits(max_document=20))


def test_a_damaged_archive_keeps_what_was_readable(read: Any, make: Any) -> None:
    lines = "".join(json.dumps({"query": os.urandom(300).hex(), "sources": []}) + "\n" for _ in range(2000))
    packed = gzip.compress(lines.encode())
    _, cases, rejected = read(packed[: len(packed) // 2], "c.jsonl.gz")
    assert len(cases) > 100
    assert rejected[-1].ends
    assert "nothing after was read" in str(rejected[-1])
    with pytest.raises(InputError, match=r"c\.jsonl\.gz.*can't be read"):
        open_cases(make(PACKED[:15], "c.jsonl.gz"))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_can_be_read_only_once_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    for path in ("-", tmp_path / "pipe.jsonl"):
        with pytest.raises(InputError, match="only once: save it to a file"):
            open_cases(path)


def test_a_reading_that_is_given_up_closes_the_file(make: Any) -> None:
    for name, content in (("c.jsonl", LINES), ("c.json", json.dumps(ROWS)), ("c.csv", as_csv(ROWS))):
        rows = open_cases(make(content, name)).rows()
        next(rows)
        with contextlib.closing(rows):  # type: ignore[type-var]
            pass
