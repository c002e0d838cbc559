"""Rows drawn at random: the others are counted, and nothing depends on their order."""

import gzip
import json
from pathlib import Path
from statistics import fmean

import pytest

from cli_rows import row, written
from ragtriage.core.case import Case
from ragtriage.readers import Rejected, RowLimits, open_cases
from ragtriage.readers.cases import CaseSample


def drawn_of(path: Path, most: int = 40) -> CaseSample:
    found = open_cases(path).draw(most)
    assert found is not None
    return found


def ids(sample: CaseSample) -> list[str]:
    return [one.id for one in sample.drawn if isinstance(one, Case)]


def test_all_rows_are_counted_and_each_has_the_same_chance(tmp_path: Path) -> None:
    counted: list[int] = []

    found = open_cases(written(tmp_path / "c.jsonl", [row(i) for i in range(4_500)])).draw(400, counted.append)

    assert found is not None
    assert (found.rows, found.repeated, len(found.drawn)) == (4_500, 0, 400)
    assert counted == [1_000, 1_000, 1_000, 1_000, 500]
    places = [int(one.removeprefix("r")) for one in ids(found)]
    # three standard errors of a mean of 400 on either side
    assert fmean(places) == pytest.approx(2_250, abs=3 * 4_500 / 12**0.5 / 20)
    assert fmean(places[:200]) == pytest.approx(2_250, abs=3 * 4_500 / 12**0.5 / 200**0.5)


def test_the_order_of_the_rows_and_what_is_blank_change_nothing(tmp_path: Path) -> None:
    rows = [row(i) for i in range(300)]
    plain = drawn_of(written(tmp_path / "c.jsonl", rows))
    text = "\ufeff" + "\r\n \n".join(json.dumps(one) for one in rows[::-1])
    (tmp_path / "other.jsonl.gz").write_bytes(gzip.compress(text.encode()))

    other = drawn_of(tmp_path / "other.jsonl.gz")

    assert other.rows == 300
    assert ids(other) == ids(plain)


def test_rows_that_can_not_be_used_are_drawn_like_others_and_keep_their_numbers(tmp_path: Path) -> None:
    rows = [row(i) if i % 4 else "{broken" + str(i) for i in range(400)]

    found = drawn_of(written(tmp_path / "c.jsonl", rows), 100)

    rejected = [one for one in found.drawn if isinstance(one, Rejected)]
    assert 12 <= len(rejected) <= 38
    assert {(one.row - 1) % 4 for one in rejected} == {0}


def test_rows_that_come_again_are_drawn_once_and_those_that_are_too_long_are_rows(tmp_path: Path) -> None:
    rows = [row(i) for i in range(30)]
    found = drawn_of(written(tmp_path / "c.jsonl", rows * 3), 50)
    assert (found.rows, found.repeated) == (90, 60)
    assert sorted(ids(found)) == sorted(one["id"] for one in rows)

    path = written(tmp_path / "c.jsonl", [row(0), *(row(i, answer="long " * 99) for i in range(1, 4))])
    found = open_cases(path, limits=RowLimits(max_row=300)).draw(9)
    assert found is not None
    assert (found.rows, found.repeated, len(ids(found))) == (4, 0, 1)
    assert all("is longer than 300 bytes" in str(one) for one in found.drawn if isinstance(one, Rejected))


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in rows).encode()


@pytest.mark.parametrize(
    ("name", "content", "mapping"),
    [
        ("ids that are shared", lines(*(row(i, id=i % 20) for i in range(200))), {}),
        ("a file that breaks off", gzip.compress(lines(*(row(i, answer=7**i) for i in range(500))))[:-999], {}),
        ("rows within rows", lines(*({"all": [row(i)]} for i in range(99))), {"rows": "all"}),
        ("a document", lines([row(i) for i in range(99)]), {}),
        ("a table", b"question,contexts,answer\n" + b"a,b,c\n" * 99, {}),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) else "",
)
def test_there_is_no_sample_where_it_would_tell_too_little(
    tmp_path: Path, name: str, content: bytes, mapping: dict[str, str]
) -> None:
    path = tmp_path / ("c.csv" if "table" in name else "c.jsonl")
    path.write_bytes(content)

    assert open_cases(path, mapping=mapping).draw(40) is None
