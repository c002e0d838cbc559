"""A record set of which a file is damaged: no command breaks off, and what it says to do repairs it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from scripted_judges import CONFIG, as_json, parquet, row, timeless, written
from scripted_judges import evaluated as by_processes

from inline_pool import InlinePool
from ragtriage.core.display import plural
from ragtriage.core.errors import RagtriageError, StoreError
from ragtriage.core.files import folder_at
from ragtriage.execution.execute import PartitionedResult
from ragtriage.runs.tally import tally_of
from ragtriage.store.folder import PARTS, FolderPlace, commit, keep_together, open_folder, read_markers
from ragtriage.store.folder_checking import check_record_set


def evaluated(rows: Path, out: Path, **more: Any) -> PartitionedResult:
    """Evaluate an input into a record set, without processes."""
    return by_processes([rows], out, size=10, pool=lambda orders, _: InlinePool(orders), **more)


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """An input of 40 cases, of which one repeats an id and one can't be used."""
    given: list[object] = [row(i) for i in range(40)]
    given[20], given[30] = row(3), "{broken"
    return written(tmp_path / "rows.jsonl", given)


@pytest.fixture
def out(tmp_path: Path, rows: Path) -> Path:
    """Its record set."""
    assert evaluated(rows, tmp_path / "set").complete
    return tmp_path / "set"


def everything(out: Path) -> object:
    """All that commands read of a record set."""
    found = open_folder(str(out))
    ids = [*found.light(("id",))]
    return (
        timeless(found.records()),
        list(found.rows()),
        found.rejected(),
        as_json(found),
        tally_of(found, CONFIG, "part").summary(),
        [found.record(one["id"]).case for one in ids[::7]],
    )


def largest(out: Path, kind: str) -> Path:
    return max(out.glob(kind), key=lambda path: path.stat().st_size)


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def altered(content: bytes) -> bytes:
    at = len(content) // 3
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("kind", ["*.parquet", "*.ids", "*.rejected"])
@pytest.mark.parametrize("damage", [truncated, altered, None])
def test_the_advised_repair_of_a_part_works(
    rows: Path, out: Path, kind: str, damage: Callable[[bytes], bytes] | None
) -> None:
    before = everything(out)
    path = largest(out, f"records/{kind}")
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()

    told, sound = check_record_set(str(out))
    assert not sound
    (line,) = told
    what = "is not what was committed" if damage else "is missing"
    assert line.startswith(f"records/{path.name} {what}: delete done/")
    (marker,) = re.findall(r"delete (done/\w+\.json) and evaluate again", line)
    (out / marker).unlink()

    result = evaluated(rows, out)
    assert result.complete
    assert everything(out) == before
    left = len([*(out / "records").glob(f"{path.stem}.*")])
    assert check_record_set(str(out))[0][0] == f"{plural(left, 'file')} that nobody committed: deleted"
    assert check_record_set(str(out)) == (
        [f"{len(result.records.placed)} parts looked through: nothing is missing"],
        True,
    )


@pytest.mark.parametrize("name", ["summary.json", "doubles.json", "parts.jsonl"])
@pytest.mark.parametrize("content", [b"", b'{"state": "fin', b"[[7, 1, 1, 0, 0, false]]", b"7", b"\xff\xfe"])
def test_a_damaged_file_of_the_whole_is_told_and_written_anew(rows: Path, out: Path, name: str, content: bytes) -> None:
    before = everything(out)
    (out / name).write_bytes(content)

    told, sound = check_record_set(str(out))
    if sound:  # nothing in it is as good as no file
        assert (name, content) == ("summary.json", b"")
    else:
        assert any(name in line for line in told)
        if (name, content) == ("parts.jsonl", b""):  # the markers themselves are read then
            assert everything(out) == before
        else:
            with pytest.raises(StoreError, match=re.escape(name)):
                everything(out)
    if "delete it" in "".join(told):
        (out / name).unlink()
    assert evaluated(rows, out).complete
    assert everything(out) == before
    assert check_record_set(str(out))[1]


def test_whatever_is_damaged_no_reader_breaks_off(tmp_path: Path, rows: Path, out: Path) -> None:
    chance = Random(7)
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != "progress.json")
    told: list[str] = []
    times = 60
    for _ in range(times):
        path = chance.choice([chance.choice(files), largest(out, "records/*.parquet")])
        whole = path.read_bytes()
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 20])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        is_text = path.suffix in {".json", ".jsonl"}
        content = bytes(damaged[: chance.randrange(len(damaged))]) if is_text or chance.random() < 0.5 else damaged
        path.write_bytes(content)
        try:
            everything(out)
        except RagtriageError as error:
            told.append(str(error))
        path.write_bytes(whole)
    assert 0 < len(told) < times
    assert all(len(line.splitlines()) == 1 for line in told)


def test_the_marker_of_a_part_can_be_damaged(rows: Path, out: Path) -> None:
    before = everything(out)
    marker = next((out / "done").glob("*.json"))
    marker.write_bytes(b'{"partition": "')
    kept = {path.name for path in (out / "records").iterdir()}

    told, sound = check_record_set(str(out))
    assert not sound
    assert any(line.startswith(f"done/{marker.name} of the record set is damaged") for line in told)
    assert {path.name for path in (out / "records").iterdir()} == kept
    marker.unlink()
    assert evaluated(rows, out).complete
    assert everything(out) == before


def test_a_record_set_from_before_there_were_more_checksums(rows: Path, out: Path) -> None:
    before = everything(out)
    folder = folder_at(str(out))
    found = open_folder(str(out))
    older = [replace(one.marker, ids_checksum="", rejections_checksum="") for one in found.placed]
    for marker in older:
        commit(folder, marker)
    keep_together(folder, older)
    for path in [*(out / "done").glob("*.json"), out / PARTS]:
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        for line in lines:
            assert (line.pop("ids_checksum"), line.pop("rejections_checksum")) == ("", "")
        path.write_text("\n".join(map(json.dumps, lines)))

    plan = json.loads((out / "plan.json").read_text())
    (out / "plan.json").write_text(json.dumps(plan | {"format": 1}))

    assert read_markers(folder) == {one.partition: one for one in older}
    assert everything(out) == before
    assert check_record_set(str(out))[1]
    for kind in ("*.ids", "*.rejected"):
        path = largest(out, f"records/{kind}")
        whole = path.read_bytes()
        path.write_bytes(whole[:-10])
        assert f"records/{path.name} is not what was committed" in check_record_set(str(out))[0][0]
        path.write_bytes(whole)


def test_a_record_set_of_a_later_version_is_refused(out: Path) -> None:
    plan = json.loads((out / "plan.json").read_text())
    (out / "plan.json").write_text(json.dumps(plan | {"format": plan["format"] + 1}))

    with pytest.raises(StoreError, match="is a record set of another version: use the ragtriage that wrote it"):
        open_folder(str(out))


@pytest.mark.parametrize("content", [b"", b'{"digest": "a"', b'{"digest": "a"}', b"[1]", b"\xff"])
def test_a_damaged_note_is_no_note(out: Path, content: bytes) -> None:
    notes = open_folder(str(out)).notes()
    notes.write("columns", "a", "value")
    assert notes.read("columns", "a") == "value"
    (out / "notes" / "columns.json").write_bytes(content)
    assert notes.read("columns", "a") is None


def test_a_partition_whose_marker_is_gone_does_not_count_as_done(rows: Path, out: Path) -> None:
    for name in ("parts.jsonl", f"done/{open_folder(str(out)).placed[0].partition.id}.json"):
        (out / name).unlink()
    found: FolderPlace = open_folder(str(out))

    assert found.info.state == "interrupted"
    assert found.info.done == len(list(found.records()))
    # the row that repeats an id of the lost partition is a case as long as that isn't there
    assert [row for row in found.rejected() if "is the id of" in row.reason] == []


def test_parquet_input_and_a_part_without_its_end(tmp_path: Path) -> None:
    path = parquet(tmp_path / "rows.parquet", [row(i) for i in range(40)], 10)
    out = tmp_path / "set"
    evaluated(path, out, texts=True)
    part = largest(out, "records/*.parquet")
    part.write_bytes(part.read_bytes()[:-100])

    with pytest.raises(
        StoreError, match=rf"{part.name} can't be read \(.*\): delete done/\w+\.json and evaluate again"
    ):
        list(open_folder(str(out)).records())
