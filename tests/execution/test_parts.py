"""Parts cover an input once, begin where a row does, and are read as the whole file is."""

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_judges import parquet, row

from ragtriage.core.files import listed
from ragtriage.readers import Rejected, open_cases
from ragtriage.runs.cutting import cases_a_part, cut_lines, cut_row_groups, survey
from ragtriage.runs.manifest import PartPlan, ReadOptions, lines_of


@given(st.lists(st.integers(0, 300), max_size=30), st.integers(1, 100))
def test_row_groups_are_cut_into_parts_that_follow_each_other(sizes: list[int], size: int) -> None:
    found = list(cut_row_groups(sizes, size))
    starts = [sum(sizes[:group]) for group in range(len(sizes) + 1)]
    at = 0
    for part, rows, first in found:
        assert first == at + 1
        assert starts[part.first] + part.skip == at
        if part.take is None:
            assert rows == sum(sizes[part.first : part.first + part.count])
        else:
            assert (part.count, part.take) == (1, rows)
        assert rows <= 2 * size
        at += rows
    assert at == sum(sizes)


@given(st.lists(st.text("ab", max_size=40), max_size=40), st.booleans(), st.integers(1, 200))
def test_lines_are_cut_behind_line_breaks_and_those_of_a_part_are_counted(
    lines: list[str], ended: bool, step: int
) -> None:
    content = "\n".join(lines).encode() + (b"\n" if ended else b"")
    parts = list(cut_lines(io.BytesIO(content), len(content), step))

    assert b"".join(content[part.start : part.end] for part in parts) == content
    assert all(part.start == 0 or content[part.start - 1 : part.start] == b"\n" for part in parts)
    at = 1
    for part in parts:
        own = len(content[part.start : part.end].splitlines())
        assert lines_of(io.BytesIO(content), part) == (at, at + own - 1)
        at += own


@pytest.mark.parametrize("step", [1, 100, 500, 10_000])
@pytest.mark.parametrize("last", ["\n", "", "\n\n\n"])
def test_parts_of_a_file_of_lines_are_the_file(tmp_path: Path, step: int, last: str) -> None:
    lines = [json.dumps(row(i)) for i in range(20)]
    lines[3], lines[7], lines[8] = "", "{broken", "[1]"
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + ("\r\n".join(lines) + last).encode())
    file = open_cases(path)
    found = []
    with path.open("rb") as stream:
        for part in cut_lines(stream, path.stat().st_size, step):
            found += [one for _, one in file.rows_in(part)]
    whole = list(file.rows())

    assert [told(one) for one in found] == [told(one) for one in whole]


@pytest.mark.parametrize("group", [1, 7, 100])
def test_parts_of_a_parquet_file_are_the_file(tmp_path: Path, group: int) -> None:
    path = parquet(tmp_path / "rows.parquet", [row(i) for i in range(50)], group)
    file = open_cases(path)
    found = survey([str(path)], ReadOptions(), 6)
    rows = [one for part in found.plan for _, one in file.rows_in(part.part)]

    assert rows == list(file.rows())
    assert found.plan[0].first == 1
    assert all(part == PartPlan.from_json(json.loads(json.dumps(part.as_json()))) for part in found.plan)


@pytest.mark.parametrize(
    ("groups", "parts"),
    [
        ([15_000] * 70, [15_000] * 70),
        ([20_001, *[15_000] * 70], [*[952, 953] * 10, 953, *[15_000] * 70]),
        ([10_000], [154] * 65),
    ],
)
def test_only_very_large_row_groups_are_cut_if_there_is_enough_to_share_out(
    tmp_path: Path, groups: list[int], parts: list[int]
) -> None:
    path = tmp_path / "rows.parquet"
    schema = pa.schema([(name, pa.string()) for name in ("query", "response", "sources")])
    with pq.ParquetWriter(path, schema) as writer:
        for size in groups:
            writer.write_table(pa.table({name: ["t"] * size for name in schema.names}, schema))
    found = survey([str(path)], ReadOptions())

    sizes = [one.rows for one in found.plan]
    assert len(sizes) == len(parts)
    assert all(abs(size - expected) <= 1 for size, expected in zip(sizes, parts, strict=True) if size)
    assert sum(size or 0 for size in sizes) == sum(groups)
    told = [note for note in found.notes if "has row groups of up to 20,001 rows: every part reads" in note]
    assert bool(told) is (20_001 in groups)


def told(one: object) -> object:
    """A row; of one that can't be used what doesn't depend on where its part begins."""
    return (one.field, one.reason.partition(" at line ")[0]) if isinstance(one, Rejected) else one


def test_the_same_input_is_cut_alike_and_another_file_is_not(tmp_path: Path) -> None:
    # a part has a thousand cases at most, a small input many parts
    assert [cases_a_part(rows) for rows in (0, 100, 6_400, 64_000, 10**9)] == [16, 16, 100, 1_000, 1_000]
    path = parquet(tmp_path / "rows.parquet", [row(i) for i in range(50)], 10)
    first, second = (survey([str(path)], ReadOptions()).plan for _ in range(2))
    assert first == second
    parquet(path, [row(i) for i in range(51)], 10)
    assert not {one.id for one in survey([str(path)], ReadOptions()).plan} & {one.id for one in first}


def test_folders_and_globs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a/1.jsonl", "a/b/2.parquet", "a/b/3.txt", "a/_x/4.jsonl", "a/.5.jsonl", "c[d/6.jsonl"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("{}")

    def names(pattern: str) -> list[str]:
        return [name for _, name in listed(pattern)]

    assert names("a") == ["a/1.jsonl", "a/b/2.parquet"]
    assert names("a/*.jsonl") == ["a/1.jsonl"]
    assert names("a/**/*.parquet") == ["a/b/2.parquet"]
    assert names("c[d/6.jsonl") == ["c[d/6.jsonl"]
    assert names("*/1.jsonl") == ["a/1.jsonl"]
