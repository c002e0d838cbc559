"""Processes that are killed, drivers that are killed, two drivers at once: every case counts exactly once."""

import json
import subprocess
import sys
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
from ragtriage.core.files import Folder
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.execute import JobOutcome, Stop
from ragtriage.execution.pools import LocalProcesses, Pool
from ragtriage.execution.worker import Job
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.store import open_store
from ragtriage.store.folder import open_folder, orphans

DRIVER = """
import sys
sys.path[:0] = {path!r}
from scripted_judges import evaluated, stuck_from_case_12, two_processes
if __name__ == "__main__":
    evaluated([sys.argv[1]], sys.argv[2], judge=stuck_from_case_12, size=4, pool=two_processes)
"""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    """An input of 40 cases."""
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(40)])


def expect_whole(tmp_path: Path, rows: Path, out: Path) -> None:
    """Every case is there once, as one process says it."""
    with open_store(tmp_path / "store") as store:
        one = by_one_process(rows, store)
        assert timeless(open_folder(str(out)).records()) == timeless(one.records())


def test_a_process_that_is_killed_costs_its_part_once_more(
    tmp_path: Path, rows: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KILLED_ONCE", str(tmp_path / "killed"))
    names, shared = ("process 0", "process 1"), list[Coordinator]()

    def each_asks_a_question(given: Job, folder: Folder, most: int) -> Pool:
        shared.append(Coordinator(InMemory(), folder))
        assert all(shared[0].claim(name, [name.encode()]) for name in names)
        return LocalProcesses(given, min(2, most), shared[0])

    result = evaluated([rows], tmp_path / "run", judge=killed_once, pool=each_asks_a_question)

    assert result.complete
    assert result.repeated == 1
    assert sum(bool(shared[0].claim("another", [name.encode()])) for name in names) == 1  # that of the killed one
    expect_whole(tmp_path, rows, tmp_path / "run")


def test_a_part_that_kills_every_process_is_a_failure_that_names_its_rows(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    result = evaluated([rows], out, judge=killed_by_case_7, size=10, pool=two_processes)

    assert (result.complete, result.repeated) == (False, 2)
    end = place_of(result.run).manifest.plan[0].part.end
    lost = rows.read_bytes()[:end].count(b"\n")
    said = f"{rows}, lines 1 to {lost} (bytes 0 to {end:,}): failed 3 times: its process was killed by signal 9"
    assert [failure.startswith(said) for failure in result.failures] == [True]
    assert [record.case.id for record in result.run.records()] == [f"case {i}" for i in range(lost, 40)]
    assert result.run.info.state != "finished"

    # by a judge that can judge it, the rest is done; the fingerprint is the same, so it is the same run
    assert evaluated([rows], out, judge=quick, size=10).complete
    expect_whole(tmp_path, rows, out)


def test_a_driver_keeps_others_out_and_when_it_is_killed_its_processes_end_and_what_is_committed_stays(
    tmp_path: Path, rows: Path
) -> None:
    out = tmp_path / "run"
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.format(path=sys.path), encoding="utf-8")
    with subprocess.Popen([sys.executable, script, rows, out]) as driver:
        try:
            until(lambda: len(list((out / "done").glob("*"))) >= 2)
            with pytest.raises(StoreError, match=f"process {driver.pid} on "):
                evaluated([rows], out, size=4)
            own = _children(driver.pid)
        finally:
            driver.kill()
    assert len(own) == 2
    until(lambda: not any(map(_runs, own)), 20)
    before = {path: path.read_bytes() for path in (out / "done").glob("*")}
    assert 0 < len(before) < 10

    assert evaluated([rows], out, size=4).complete
    assert {path: path.read_bytes() for path in before} == before
    expect_whole(tmp_path, rows, out)


def test_an_interruption_lets_parts_end_and_a_second_one_does_not(tmp_path: Path, rows: Path) -> None:
    out, slowly = tmp_path / "run", {"judge": slow, "size": 4, "pool": two_processes}

    def interrupted(after: int, times: int) -> JobOutcome:
        """The outcome when it is interrupted so often, once so many cases are done."""
        stop = Stop()

        def show(line: str) -> None:
            if int(line.partition(" ")[0]) >= after and not stop.gently:
                for _ in range(times):
                    stop.interrupt()

        return evaluated([rows], out, stop=stop, show=show, **slowly)

    gently = interrupted(8, 1)
    assert gently.stopped.startswith("interrupted")
    assert 2 <= len(gently.parts) < 10
    assert not orphans(place_of(gently.run).folder, gently.parts.values())

    assert len(interrupted(0, 2).parts) == len(gently.parts)
    assert evaluated([rows], out, size=4).complete
    expect_whole(tmp_path, rows, out)


def test_shares_of_several_commands_make_one_run(tmp_path: Path, rows: Path) -> None:
    out = tmp_path / "run"
    results = [evaluated([rows], out, size=4, share=(which, 3)) for which in (3, 1, 2)]

    assert [result.complete for result in results] == [False, False, True]
    expect_whole(tmp_path, rows, out)


def test_an_input_that_changed_since_is_another_run_and_one_that_changes_is_not_committed(
    tmp_path: Path, rows: Path
) -> None:
    evaluated([rows], tmp_path / "run")
    given = job([rows], tmp_path / "other", size=10)
    with rows.open("a") as file:
        file.write(json.dumps(row(99)) + "\n")

    with pytest.raises(InputError, match=f"holds another run: {rows} is changed since; give another --out"):
        evaluated([rows], tmp_path / "run")
    result = executed(given)
    assert (result.changed, result.parts, result.complete) == ([str(rows)], {}, False)


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
        return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()

    servers = [one for one in below(pid) if b"forkserver" in Path(f"/proc/{one}/cmdline").read_bytes()]
    return [int(one) for server in servers for one in below(server)]


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except OSError:
        return False
