"""A run in a folder says what one process says, to the digit: records, scores, rejected rows, summary."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scripted_judges import (
    CONFIG,
    as_json,
    by_one_process,
    evaluated,
    in_process,
    numberless,
    parquet,
    place_of,
    row,
    timeless,
    two_processes,
    written,
)

from ragtriage.core.errors import NotStoredError
from ragtriage.runs.case_row import digest
from ragtriage.runs.run import Run
from ragtriage.runs.tally import tally_of
from ragtriage.store import open_store
from ragtriage.store.folder import open_folder


def rows(count: int) -> list[object]:
    """Rows with everything that can be wrong with one, and twins near each other and far apart."""
    found: list[object] = [row(i) for i in range(count)]
    found[5] = '{"id": "broken'
    found[40] = ""
    found[41] = '{"question": broken'
    found[60] = row(60, contexts=None)
    found[61] = row(3)  # the same id, far away
    found[62] = row(3, answer="Another answer.")  # and beside a row that is a twin itself
    found[63] = row(62, id="case 62")
    found[64] = row(62, id="case 62")
    found[70] = row(70, question="\ud800 odd \x00?", answer=None)
    found[71] = row(71, answer="")
    return found


def without_ids(found: list[object]) -> list[object]:
    return [{k: v for k, v in one.items() if k != "id"} if isinstance(one, dict) else one for one in found]


def expect_the_same(found: Run, path: Path, store: Path, **reading: Any) -> None:
    """What one process says of the same rows, and which it rejects."""
    with open_store(store) as opened:
        one = by_one_process(path, opened, **reading)
        assert timeless(found.records()) == timeless(one.records())
        assert found.rejected() == numberless(one)


@pytest.mark.parametrize("ids", [True, False])
def test_json_lines_in_parts_and_by_one_process(tmp_path: Path, ids: bool) -> None:
    path = written(tmp_path / "rows.jsonl", rows(100) if ids else without_ids(rows(100)))
    result = evaluated([path], tmp_path / "run", pool=two_processes if ids else in_process())

    assert result.complete
    assert len(place_of(result.run).manifest.plan) >= 4
    expect_the_same(result.run, path, tmp_path / "first")
    with open_store(tmp_path / "store") as store:
        one = by_one_process(path, store)
        assert as_json(result.run) == as_json(one)
        places = [result.run.place.position(case.id_digest) for case in result.run.facts()]
        assert places == [*range(result.run.info.done)]
        assert [*result.run.place.scores("groundedness")] == [*one.place.scores("groundedness")]
        only_here = {"row": None, "id_digest": b"", "content": None}
        for ours, theirs in ((result.run.facts(), one.facts()), (result.run.rows(), one.rows())):
            assert [replace(case, **only_here) for case in ours] == [*theirs]
        counts = [(info.rows, info.done, info.failed, info.rejected) for info in (result.run.info, one.info)]
        assert counts[0] == counts[1]


@pytest.mark.parametrize("texts", [True, False])
def test_without_its_input_it_is_the_same_with_its_texts_and_keeps_its_scores_without(
    tmp_path: Path, texts: bool
) -> None:
    path = written(tmp_path / "rows.jsonl", rows(100))
    before = list(evaluated([path], tmp_path / "run", texts=texts).run.rows())
    with open_store(tmp_path / "store") as store:
        one = timeless(by_one_process(path, store).records())
    path.unlink()
    found = open_folder(str(tmp_path / "run"))

    assert list(found.rows()) == before
    assert found.texts_deleted() == (0 if texts else len(one))
    if texts:
        assert timeless(found.records()) == one
    else:
        assert {record.case.query for record in found.records()} == {"[text deleted]"}


@pytest.mark.parametrize("group", [7, 1000])
def test_parquet_by_row_groups_and_by_rows(tmp_path: Path, group: int) -> None:
    given = [row(i) for i in range(100)]
    given[61] = row(3)
    path = parquet(tmp_path / "rows.parquet", given, group)
    result = evaluated([path], tmp_path / "run")

    assert len(place_of(result.run).manifest.plan) >= 4
    expect_the_same(result.run, path, tmp_path / "store")


def test_a_csv_file_is_one_part(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    lines = [f"q{i},What costs ticket {i}?,It costs six.,The ticket {i} costs six." for i in range(40)]
    path.write_text("\n".join(["id,question,contexts,answer", *lines, lines[0], "too,few"]), encoding="utf-8")
    result = evaluated([path], tmp_path / "run")

    assert len(place_of(result.run).manifest.plan) == 1
    expect_the_same(result.run, path, tmp_path / "store")


def test_several_files_are_one_run_and_ids_are_unique_in_all(tmp_path: Path) -> None:
    written(tmp_path / "a.jsonl", [row(i) for i in range(30)])
    written(tmp_path / "b.jsonl", [row(3), *(row(i) for i in range(30, 50)), "{broken"])
    written(tmp_path / "c.jsonl", [{"frage": "x"}, {"frage": "y"}])
    # other columns, and an id that came before
    written(tmp_path / "d.jsonl", [{"id": "case 40", "query": "Q?", "sources": ["S."], "response": "R."}])
    result = evaluated([tmp_path / "*.jsonl"], tmp_path / "run", size=8)
    whole = [row(i) for i in range(50)]

    assert result.complete
    with open_store(tmp_path / "store") as store:
        one = by_one_process(written(tmp_path / "whole.jsonl", whole), store)
        assert timeless(result.run.records()) == timeless(one.records())
    told = [(one.row, one.reason) for one in result.run.rejected()]
    unique = "make ids unique (--map id= makes them from the content)"
    b, d = (f"{tmp_path}/{name}.jsonl" for name in "bd")
    broken = "broken JSON, column 2: Expecting property name enclosed in double quotes"
    assert told == [
        (31, f"{b}, row 1: 'case 3' is the id of an earlier row too: {unique}"),
        (52, f"{b}, row 22: {broken}"),
        (53, place_of(result.run).manifest.files[2].problem),
        (54, f"{d}, row 1: 'case 40' is the id of an earlier row too: {unique}"),
    ]
    assert "no column holds the query" in place_of(result.run).manifest.files[2].problem


def test_one_case_is_found_by_its_id(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", rows(100))
    found = evaluated([path], tmp_path / "run").run

    assert found.record("case 3") == next(record for record in found.records() if record.case.id == "case 3")
    assert found.record("case 99").case.query.endswith("99?")
    assert found.place.position(digest("case 999")) is None
    with pytest.raises(NotStoredError, match="holds no case 'case 999': did you mean"):
        found.record("case 999")


def test_sums_in_the_place_of_scores_give_the_same_mean(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", [row(i, weight=1 + i % 4) for i in range(200)])
    found = evaluated([path], tmp_path / "run").run
    exact = tally_of(found, CONFIG).summary()
    sums = tally_of(found, CONFIG, most_drawn_from=10).summary()

    assert exact == tally_of(found, CONFIG).summary()
    assert sums.as_json()["intervals"] == "normal"
    assert sums.groups == exact.groups
    for one, other in zip(exact.metrics, sums.metrics, strict=True):
        assert other.normal
        assert not one.normal
        assert (one.n, one.bins, one.undefined) == (other.n, other.bins, other.undefined)
        if one.mean is not None and other.mean is not None:
            assert other.mean == pytest.approx(one.mean, abs=1e-12)
            assert other.low == pytest.approx(one.low, abs=0.02)
            assert other.high == pytest.approx(one.high, abs=0.02)
