"""Whatever a file holds: no exception for a row, nothing lost, memory that doesn't grow."""

import csv
import io
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers import Rejected, open_cases
from ragtriage.readers.columns import SHAPES
from ragtriage.readers.field_values import ALIASES
from ragtriage.readers.paths import NotThere, path_from

RELAXED = settings(max_examples=75, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=()))
VALUES = st.recursive(
    LEAVES, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(), v, max_size=3), max_leaves=8
)
NAMES = (
    st.sampled_from([alias for aliases in ALIASES.values() for alias in aliases])
    | st.sampled_from([name.split("[")[0].split(".")[0] for shape in SHAPES for name in shape.has])
    | st.text(max_size=5)
)
TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


def _is_sound(row: Case | Rejected) -> None:
    if isinstance(row, Rejected):
        str(row).encode()
    else:
        texts = [source.text for source in row.known_sources]
        json.dumps([row.id, row.query, texts, row.response, dict(row.tags)], allow_nan=False)
        json.dumps([row.query, row.id, dict(row.tags)], ensure_ascii=False).encode()


@RELAXED
@given(rows=st.lists(st.dictionaries(NAMES, VALUES, max_size=5), max_size=4), indent=st.none() | st.just(1))
def test_any_value_in_any_field(make: Any, rows: list[dict[str, Any]], indent: int | None) -> None:
    rows = [{"query": "q", "sources": []}, *rows]
    content = "\n".join(map(json.dumps, rows)) if indent is None else json.dumps(rows, indent=indent)
    file = open_cases(make(content), mapping={"query": "query", "sources": "sources"})
    read = list(file.rows())
    assert len(read) == len(rows)
    for row in read:
        _is_sound(row)
    "\n".join(file.describe()).encode()


@RELAXED
@given(rows=st.lists(st.dictionaries(NAMES, VALUES, max_size=6), min_size=1, max_size=3))
def test_any_value_in_any_shape(make: Any, rows: list[dict[str, Any]]) -> None:
    try:
        file = open_cases(make("\n".join(map(json.dumps, rows))))
    except InputError:
        return
    for row in file.rows():
        _is_sound(row)
    "\n".join(file.describe()).encode()


@RELAXED
@given(text=st.text(st.sampled_from("a0.[]*'\"$,é"), max_size=12), value=VALUES)
def test_any_path_into_any_value(text: str, value: Any) -> None:
    try:
        path_from(text, "--map query").of(value)
    except (ConfigError, NotThere) as error:
        str(error).encode("utf-8", "surrogatepass")


@RELAXED
@given(content=st.binary(max_size=300), name=st.sampled_from(["c.jsonl", "c.json", "c.csv", "c.txt"]))
def test_any_bytes(make: Any, content: bytes, name: str) -> None:
    start = {"c.csv": b"query,sources\nq,s\n", "c.json": b'[{"query": "q", "sources": []},'}
    start_bytes = start.get(name, b'{"query": "q", "sources": []}\n')
    for raw in (content, start_bytes + content):
        try:
            file = open_cases(make(raw, name))
        except InputError:
            continue
        for row in file.rows():
            _is_sound(row)
        file.describe()


@RELAXED
@given(
    rows=st.lists(
        st.fixed_dictionaries(
            {"query": TEXT, "sources": st.lists(TEXT, max_size=4), "response": TEXT, "tag": TEXT | st.integers()}
        ),
        min_size=1,
        max_size=5,
    )
)
@pytest.mark.parametrize("form", ["jsonl", "json", "csv"])
def test_round_trip(make: Any, form: str, rows: list[dict[str, Any]]) -> None:
    rows = [{"id": f"i{n}"} | row for n, row in enumerate(rows)]
    if form == "csv":
        out = io.StringIO(newline="")
        writer = csv.DictWriter(out, list(rows[0]))
        writer.writeheader()
        # an empty cell says that there is no value
        rows = [row | {"query": row["query"] or "?", "tag": str(row["tag"])} for row in rows]
        writer.writerows(row | {"sources": repr(row["sources"])} for row in rows)
        content = out.getvalue()
    else:
        content = "\n".join(map(json.dumps, rows)) if form == "jsonl" else json.dumps(rows, ensure_ascii=False)
    read = list(open_cases(make(content, f"c.{form}")).rows())
    for row, case in zip(rows, read, strict=True):
        assert isinstance(case, Case), str(case)
        assert (case.id, case.query, [s.text for s in case.sources]) == (row["id"], row["query"], row["sources"])
        assert case.response == (row["response"] or (None if form == "csv" else ""))
        assert case.tags == {"tag": row["tag"]}


@pytest.mark.parametrize(("form", "most"), [("jsonl", 4), ("csv", 4), ("parquet", 8)])
def test_memory_does_not_grow_with_the_file(tmp_path: Path, form: str, most: int) -> None:
    path = tmp_path / f"c.{form}"
    count, text = 1_250, "x" * 10_000
    if form == "parquet":
        pa = pytest.importorskip("pyarrow")
        pq = pytest.importorskip("pyarrow.parquet")
        batch = pa.table({"query": [f"q{n}" for n in range(count)], "sources": [[text, text]] * count})
        pq.write_table(batch, path, row_group_size=1000)
        del batch
    else:
        with path.open("w", encoding="utf-8") as file:
            file.write("query,sources\n" if form == "csv" else "")
            for n in range(count):
                if form == "csv":
                    file.write(f'q{n},"[""{text}"", ""{text}""]"\n')
                else:
                    file.write(json.dumps({"query": f"q{n}", "sources": [text, text]}) + "\n")
    tracemalloc.start()
    try:
        read = sum(isinstance(row, Case) for row in open_cases(path).rows())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert read == count
    # the file holds 25 MB; what may grow is a hash for each id, about 150 bytes
    assert peak < most * 1_000_000
