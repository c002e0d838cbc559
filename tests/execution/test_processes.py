"""Processes that are killed, drivers that are killed, two drivers at once: every case counts exactly once."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from scripted_judges import (
    by_one_process,
    evaluated,
    executed,
    job,
    killed_by_case_7,
    killed_once,
    place_of,
    quick,
    row,
    slow,
    timeless,
    two_processes,
    until,
    written,
)

from ragtriage.core.errors import InputError, StoreError
from ragtriage.execution.execute import Stop
from ragtriage.store import open_store
from ragtriage.store.folder import open_folder, orphans

DRIVER = """
import sys
sys.path[:0] = {path!r}
from scripted_judges import evaluated, slow, two_processes
if __name__ == "__main__":
    evaluated([sys.argv[1]], sys.argv[2], judge=slow, size=4, pool=two_processes)
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """An input of 40 cases."""
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(40)])


@contextmanager
def driver(tmp_path: Path, rows: Path, out: Path) -> Iterator[subprocess.Popen[str]]:
    """A driver in a process of its own, with a judge that takes its time."""
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.format(path=sys.path), encoding="utf-8")
    with subprocess.Popen([sys.executable, script, rows, out], text=True, stderr=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


def expect_whole(tmp_path: Path, rows: Path, out: Path) -> None:
    """Every case is there once, as one process says it."""
    with open_store(tmp_path / "store") as store:
        one = by_one_process(rows, store)
        assert timeless(open_folder(str(out)).records()) == timeless(one.records())


def test_a_process_that_is_killed_costs_its_part_once_more(
    tmp_path: Path, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KILLED_ONCE", str(tmp_path / "killed"))
    result = evaluated([rows], tmp_path / "run", judge=killed_once, pool=two_processes)

    assert result.complete
    assert result.repeated == 1
    expect_whole(tmp_path, rows, tmp_path / "run")


def test_a_part_that_kills_every_process_is_a_failure_that_names_its_rows(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    result = evaluated([rows], out, judge=killed_by_case_7, size=10, pool=two_processes)

    assert not result.complete
    assert result.repeated == 2
    (failure,) = result.failures
    first = place_of(result.run).manifest.plan[0]
    lost = rows.read_bytes()[: first.part.end].count(b"\n")
    assert failure.startswith(
        f"{rows}, lines 1 to {lost} (bytes 0 to {first.part.end:,}): failed 3 times: its process was killed by signal 9"
    )
    assert [record.case.id for record in result.run.records()] == [f"case {i}" for i in range(lost, 40)]
    assert result.run.info.state != "finished"

    # by a judge that can judge it, the rest is done; the fingerprint is the same, so it is the same run
    assert evaluated([rows], out, judge=quick, size=10).complete
    expect_whole(tmp_path, rows, out)


def test_a_driver_that_is_killed_goes_on_with_what_is_committed(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    for _ in range(2):
        with driver(tmp_path, rows, out) as child:
            done = len(list((out / "done").glob("*"))) if (out / "done").exists() else 0
            until(lambda known=done: (out / "done").exists() and len(list((out / "done").glob("*"))) > known + 1)
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
    before = {path: path.read_bytes() for path in (out / "done").glob("*")}
    assert 0 < len(before) < 10

    result = evaluated([rows], out, size=4)
    assert result.complete
    assert {path: path.read_bytes() for path in before} == before
    expect_whole(tmp_path, rows, out)


def test_processes_end_with_a_driver_that_is_killed(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    with driver(tmp_path, rows, out) as child:
        until(lambda: len(_children(child.pid)) >= 2)
        own = _children(child.pid)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    until(lambda: not any(Path(f"/proc/{pid}/fd").exists() and _runs(pid) for pid in own), 20)


def test_a_second_driver_is_refused_until_the_first_is_gone(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    with driver(tmp_path, rows, out) as child:
        until(lambda: (out / "driver.json").exists() and (out / "plan.json").exists())
        with pytest.raises(StoreError, match=f"process {child.pid} on "):
            evaluated([rows], out, size=4)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
    assert evaluated([rows], out, size=4).complete


def test_a_driver_of_another_machine_is_taken_over_after_a_minute(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    out.mkdir()
    sign = out / "driver.json"
    # whatever its own clock says, what counts is when its sign was written
    sign.write_text(json.dumps({"host": "elsewhere", "pid": 7, "token": "t", "time": time.time() + 86_400}))
    with pytest.raises(StoreError, match="process 7 on elsewhere works on"):
        evaluated([rows], out)
    os.utime(sign, (time.time() - 61, time.time() - 61))

    assert evaluated([rows], out).complete


def test_an_interruption_lets_parts_end_and_a_second_one_does_not(tmp_path: Path, rows: Path) -> None:
    stop = Stop()
    out = tmp_path / "run"

    def interrupt(line: str) -> None:
        if int(line.partition(" ")[0]) >= 8 and not stop.gently:
            stop.interrupt()

    result = evaluated([rows], out, judge=slow, size=4, stop=stop, show=interrupt, pool=two_processes)
    assert result.stopped.startswith("interrupted")
    done = len(result.parts)
    assert 2 <= done < 10
    assert not orphans(place_of(result.run).folder, result.parts.values())

    again = Stop()

    def at_once(_: str) -> None:
        again.interrupt()
        again.interrupt()

    result = evaluated([rows], out, judge=slow, size=4, stop=again, show=at_once, pool=two_processes)
    assert len(result.parts) == done
    assert evaluated([rows], out, size=4).complete
    expect_whole(tmp_path, rows, out)


def test_shares_of_several_commands_make_one_run(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    results = [evaluated([rows], out, size=4, share=(which, 3)) for which in (3, 1, 2)]

    assert [result.complete for result in results] == [False, False, True]
    expect_whole(tmp_path, rows, out)


def test_a_changed_input_is_another_run(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    evaluated([rows], out)
    with rows.open("a") as file:
        file.write(json.dumps(row(99)) + "\n")

    with pytest.raises(InputError, match=f"holds another run: {rows} is changed since; give another --out"):
        evaluated([rows], out)


def test_an_input_that_changes_while_it_is_read_is_not_committed(tmp_path: Path, rows: Path) -> None:
    given = job([rows], tmp_path / "run", size=10)
    with rows.open("a") as file:
        file.write(json.dumps(row(99)) + "\n")
    result = executed(given)

    assert result.changed == [str(rows)]
    assert not result.parts
    assert not result.complete


def test_what_was_lost_between_part_and_commit_is_an_orphan(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    found = evaluated([rows], out).run
    lost = out / "records" / f"{place_of(found).manifest.plan[0].id}-deadbeef.parquet"
    lost.write_bytes(b"half")

    assert [*orphans(place_of(found).folder, place_of(found).parts.values())] == [f"records/{lost.name}"]
    expect_whole(tmp_path, rows, out)


def _children(pid: int) -> list[int]:
    """The processes that the server of a process has forked for it."""

    def below(pid: object) -> list[str]:
        try:
            return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        except OSError:
            return []

    servers = [one for one in below(pid) if b"forkserver" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return [int(one) for server in servers for one in below(server)]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False
