"""Rows of answered questions: what is read, what is rejected and why."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from examples import examples
from ragtriage.core.errors import InputError
from ragtriage.readers.problems import RowProblem
from ragtriage.testset.answered_rows import Row, read_rows, row_of

GOOD = {"id": "a", "group": "g", "cluster": "short", "correct": True}


def written(path: Path, rows: list[Any]) -> str:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("\n".join(lines), encoding="utf-8")
    return str(path)


def test_a_row_is_read() -> None:
    values = {
        "id": 7, "group": 3, "cluster": "long", "query": "Who?", "answer": ["Ann", 2], "response": "Ann, 2",
        "retrieved": ["d2", 1, "d2"], "gold_ids": ["d2"],
    }  # fmt: skip

    assert row_of(values, "1") == Row(
        "7", "3", "long", "Who?", ("Ann", 2), "Ann, 2", None, ("d2", "1"), ("d2",), values
    )


def test_what_is_left_out_has_its_default() -> None:
    row = row_of({"group": "g", "correct": 0}, "12")

    assert (row.id, row.cluster, row.correct, row.retrieved, row.response) == ("12", "all", False, None, None)


def test_what_the_answer_is_is_read_and_what_is_not_known_is_told(tmp_path: Path) -> None:
    kinds = ["text", "datetime", "boolean", None, "string"]

    read = read_rows(written(tmp_path / "rows.jsonl", [GOOD | {"id": str(k), "answer_type": k} for k in kinds]))

    assert [row.answer_type for row in read.rows] == ["text", "datetime", "yes/no", None, None]
    assert (
        "1 row has an `answer_type` that isn't known, such as a text ('string'): the answer itself tells" in read.notes
    )


@pytest.mark.parametrize("row", examples("answered_rows"))
def test_a_row_that_cannot_be_used_says_why(row: dict[str, Any]) -> None:
    with pytest.raises(RowProblem) as raised:
        row_of(GOOD | row["change"], "1")

    assert raised.value.field == row["field"]
    assert row["told"] in raised.value.reason


def test_a_bad_row_costs_only_itself_and_is_named(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [GOOD, "{broken", {"id": "b"}, GOOD | {"id": "c"}])

    read = read_rows(path)

    assert [row.id for row in read.rows] == ["a", "c"]
    assert [str(one) for one in read.rejected] == [
        f"{path}, row 2: broken JSON at line 2, column 2: Expecting property name enclosed in double quotes",
        f"{path}, row 3, field 'group': is missing: give all phrasings of one question the same group",
    ]
    assert read.notes == ("2 of 2 rows don't say what was retrieved (field `retrieved`)",)


def test_rows_with_the_same_id_are_counted_and_told(tmp_path: Path) -> None:
    rows = [GOOD | {"retrieved": []}, GOOD | {"retrieved": []}, GOOD | {"cluster": "long", "retrieved": []}]

    read = read_rows(written(tmp_path / "rows.jsonl", rows))

    assert len(read.rows) == 3
    assert read.notes == ("1 row has the id of another row of the same group and cluster: each is counted",)


def test_a_file_may_be_packed_and_may_break_off(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl.gz"
    whole = gzip.compress("\n".join(json.dumps(GOOD | {"id": str(i * 7919)}) for i in range(5_000)).encode())
    path.write_bytes(whole[: len(whole) // 2])

    read = read_rows(str(path))

    assert 0 < len(read.rows) < 5_000
    assert read.rejected[-1].ends


@pytest.mark.parametrize("rows", [[], [{"id": 1}]])
def test_a_file_without_a_usable_row_is_refused(tmp_path: Path, rows: list[Any]) -> None:
    with pytest.raises(InputError, match="no row can be used"):
        read_rows(written(tmp_path / "rows.jsonl", rows))


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_rows(str(tmp_path / "none.jsonl"))
