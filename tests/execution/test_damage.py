"""A run in a folder of which a file is damaged: no command breaks off, and what it says to do repairs it."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from scripted_judges import CONFIG, as_json, parquet, place_of, row, timeless, written
from scripted_judges import evaluated as evaluated_into

from ragtriage.core.errors import RagtriageError, StoreError
from ragtriage.execution.execute import JobOutcome
from ragtriage.runs.tally import tally_of
from ragtriage.store.checking import check_folder
from ragtriage.store.folder import FORMAT, open_folder


def evaluated(rows: Path, out: Path, **more: Any) -> JobOutcome:
    """Evaluate an input into a folder, in parts of about ten cases."""
    return evaluated_into([rows], out, size=10, **more)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An input of 40 cases, of which one repeats an id and one can't be used."""
    given: list[object] = [row(i) for i in range(40)]
    given[20], given[30] = row(3), "{broken"
    return written(tmp_path_factory.mktemp("given") / "rows.jsonl", given)


@pytest.fixture(scope="module")
def undamaged(rows: Path) -> Path:
    """The folder that it was evaluated into, for all tests."""
    assert evaluated(rows, rows.parent / "run").complete
    return rows.parent / "run"


@pytest.fixture
def out(tmp_path: Path, undamaged: Path) -> Path:
    """One for this test."""
    return shutil.copytree(undamaged, tmp_path / "run")


def everything(out: Path) -> object:
    """All that commands read of a run in a folder."""
    found = open_folder(str(out))
    ids = [case.id for case in found.facts()]
    return (
        timeless(found.records()),
        list(found.rows()),
        found.rejected(),
        as_json(found),
        tally_of(found, CONFIG, "part").summary(),
        [found.record(one).case for one in ids[::7]],
    )


def largest(out: Path, kind: str) -> Path:
    return max(out.glob(kind), key=lambda path: path.stat().st_size)


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def altered(content: bytes) -> bytes:
    at = len(content) // 3
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


@pytest.mark.parametrize("damage", [truncated, altered, None])
def test_the_advised_repair_of_a_part_works(rows: Path, out: Path, damage: Callable[[bytes], bytes] | None) -> None:
    before = everything(out)
    path = largest(out, "records/*.parquet")
    if damage:
        path.write_bytes(damage(path.read_bytes()))
    else:
        path.unlink()

    (line,), sound = check_folder(str(out))
    assert not sound
    what = "is not what was committed" if damage else "is missing"
    assert line.startswith(f"records/{path.name} {what}: delete done/")
    (marker,) = re.findall(r"delete (done/\w+\.json) and evaluate again", line)
    (out / marker).write_bytes(b'{"plan": "')  # what says that a part is done can be damaged too
    told, sound = check_folder(str(out))
    assert not sound
    assert any(line.startswith(f"{out / marker} is damaged") for line in told)
    assert path.exists() is bool(damage)
    (out / marker).unlink()

    result = evaluated(rows, out)
    assert result.complete
    assert everything(out) == before
    whole = f"{len(place_of(result.run).placed)} parts looked through: nothing is missing"
    left = ["1 file that nobody committed: deleted"] if damage else []
    assert check_folder(str(out)) == ([*left, whole], True)
    assert check_folder(str(out)) == ([whole], True)


def test_a_file_that_lacks_the_last_cases_is_told_and_never_read_as_if_it_were_whole(out: Path) -> None:
    path = largest(out, "records/*.parquet")
    pq.write_table(pq.read_table(path).slice(0, 5), path)

    with pytest.raises(StoreError, match=r"it has 5 of \d+ cases\): delete done/\w+\.json and evaluate again"):
        list(open_folder(str(out)).records())


def other_parts(content: bytes) -> bytes:
    """A summary of other parts than those that are done."""
    told = json.loads(content)
    told["parts"][1]["seconds"] += 1
    return json.dumps(told).encode()


def other_duplicates(content: bytes) -> bytes:
    return json.dumps(json.loads(content) | {"duplicates": [[7, 1, 1, 0, 0, False]]}).encode()


@pytest.mark.parametrize("damage", [b"", b'{"state": "fin', b"[[7, 1, 1, 0, 0, false]]", b"7", b"\xff\xfe",
                                    other_duplicates, other_parts])  # fmt: skip
def test_a_damaged_summary_is_told_and_written_anew(rows: Path, out: Path, damage: Any) -> None:
    before = everything(out)
    path = out / "summary.json"
    path.write_bytes(damage(path.read_bytes()) if callable(damage) else damage)

    told, sound = check_folder(str(out))
    if damage is other_parts:
        advice = "summary.json is not what the files in done/ say: delete it and evaluate again"
        assert (told, sound) == ([advice], False)
        path.unlink()
    elif damage:
        assert (told, sound) == ([f"{path} is damaged: evaluate again, which writes it anew"], False)
        with pytest.raises(StoreError, match=r"summary\.json"):
            everything(out)
    else:  # nothing in it is as good as no file
        assert sound
    assert evaluated(rows, out).complete
    assert everything(out) == before
    assert check_folder(str(out))[1]


def test_whatever_is_damaged_no_reader_breaks_off(tmp_path: Path, rows: Path, out: Path) -> None:
    chance = Random(7)
    files = sorted(path for path in out.rglob("*") if path.is_file() and path.name != "progress.json")
    told: list[str] = []
    times = 30
    for _ in range(times):
        path = chance.choice([chance.choice(files), largest(out, "records/*.parquet")])
        whole = path.read_bytes()
        damaged = bytearray(whole)
        for _ in range(chance.choice([1, 20])):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        is_text = path.suffix == ".json"
        content = bytes(damaged[: chance.randrange(len(damaged))]) if is_text or chance.random() < 0.5 else damaged
        path.write_bytes(content)
        try:
            everything(out)
        except RagtriageError as error:
            told.append(str(error))
        path.write_bytes(whole)
    assert 0 < len(told) < times
    assert all(len(line.splitlines()) == 1 for line in told)


@pytest.mark.parametrize("version", [1, 2, FORMAT + 1])
def test_a_run_of_another_version_is_refused_in_a_sentence(rows: Path, out: Path, version: int) -> None:
    plan = json.loads((out / "plan.json").read_text())
    (out / "plan.json").write_text(json.dumps(plan | {"format": version}))

    told = (
        f"{out} was written by another version of ragtriage: evaluate again with another --out (answers that were "
        "paid for are remembered), or copy it into a store with the version that wrote it"
    )
    for read in (lambda: open_folder(str(out)), lambda: check_folder(str(out)), lambda: evaluated(rows, out)):
        with pytest.raises(StoreError, match=f"^{re.escape(told)}$"):
            read()


@pytest.mark.parametrize("content", [b"", b'{"digest": "a"', b'{"digest": "a"}', b"[1]", b"\xff"])
def test_a_damaged_note_is_no_note(out: Path, content: bytes) -> None:
    place = open_folder(str(out)).place
    assert place.note("columns", "a", "value") == place.note("columns", "a") == "value"
    assert place.note("columns", "b") is None
    (out / "notes" / "columns.json").write_bytes(content)
    assert place.note("columns", "a") is None


def test_a_part_that_nothing_says_is_done_does_not_count(rows: Path, out: Path) -> None:
    for name in ("summary.json", f"done/{place_of(open_folder(str(out))).placed[0].plan.id}.json"):
        (out / name).unlink()
    found = open_folder(str(out))

    assert found.info.state == "interrupted"
    assert found.info.done == len(list(found.records()))
    # the row that repeats an id of the lost part is a case as long as that isn't there
    assert [row for row in found.rejected() if "is the id of" in row.reason] == []


def test_parquet_input_and_a_part_without_its_end(tmp_path: Path) -> None:
    out = tmp_path / "run"
    evaluated(parquet(tmp_path / "rows.parquet", [row(i) for i in range(40)], 10), out, texts=True)
    part = largest(out, "records/*.parquet")
    part.write_bytes(part.read_bytes()[:-100])

    told = rf"{part.name} can't be read \(.*\): delete done/\w+\.json and evaluate again"
    with pytest.raises(StoreError, match=told):
        list(open_folder(str(out)).records())
