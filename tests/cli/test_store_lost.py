"""The store's file is deleted, moved or replaced, or its disk is full, while an evaluation runs."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from cli_models import Model, judging
from cli_processes import Gate, begun, requests, until

from cli_rows import row, written
from ragtriage import StoreError, open_store
from servers import Server

pytestmark = pytest.mark.usefixtures("openai")

LEAN = ("--metrics", "groundedness,response_precision,source_query_coverage", "--json")
IN_FLIGHT = 4
ANSWERED = 20
ROWS = 12


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(ROWS)])


def delete_folder(folder: Path) -> None:
    shutil.rmtree(folder / "store")


def delete_file(folder: Path) -> None:
    (folder / "store" / "runs.sqlite").unlink()


def delete_log(folder: Path) -> None:
    (folder / "store" / "runs.sqlite-wal").unlink()


def replace_file(folder: Path) -> None:
    with open_store(folder / "other"):
        pass
    (folder / "other" / "runs.sqlite").replace(folder / "store" / "runs.sqlite")


def move_folder(folder: Path) -> None:
    (folder / "store").rename(folder / "elsewhere")


def move_file(folder: Path) -> None:
    (folder / "elsewhere").mkdir()
    (folder / "store" / "runs.sqlite").rename(folder / "elsewhere" / "runs.sqlite")


def cut_off(folder: Path, server: Server, gate: Gate, change: Callable[[Path], None], *more: str) -> tuple[int, str]:
    """The exit code and what was told on standard error; the store changes when some answers have come."""
    flags = ("--concurrency", IN_FLIGHT, "--price", "1:2", "--store", "store", *more)
    with begun(folder, "evaluate", "rows.jsonl", *LEAN, *judging(server, *flags)) as child:
        until(lambda: len(server.heard) == ANSWERED + IN_FLIGHT, child)
        change(folder)
        gate.open()
        out, err = child.communicate()
    assert out == ""
    assert "Traceback" not in err
    assert "never retrieved" not in err
    return child.returncode, err


@pytest.mark.parametrize("delete", [delete_folder, delete_file, replace_file])
def test_a_store_that_is_gone_ends_the_evaluation_and_the_loss_is_told(
    tmp_path: Path, rows: Path, delete: Callable[[Path], None]
) -> None:
    gate = Gate(ANSWERED)
    with Server(gate) as server:
        code, err = cut_off(tmp_path, server, gate, delete)

    assert code == 3
    assert len(server.heard) <= ANSWERED + 2 * IN_FLIGHT  # each reply that came let a request start before it was kept
    how = "another file was put in the place of the store" if delete is replace_file else "was deleted"
    assert how in err
    found = re.search(r"the (\d+) cases? that w\w+ evaluated and all answers .* lost .* \$(0\.\d+) for (\d+) req", err)
    assert found, err
    assert int(found[1]) < ROWS
    assert int(found[3]) == len(server.heard)
    assert float(found[2]) > 0
    assert "give the same command again" in err
    assert not [path for path in tmp_path.rglob("overflow*") if path.is_file()]  # what was deleted stays deleted


def test_a_store_whose_log_is_deleted_is_noticed_too(tmp_path: Path, rows: Path) -> None:
    gate = Gate(ANSWERED)
    with Server(gate) as server:
        code, err = cut_off(tmp_path, server, gate, delete_log)

    assert code == 3
    assert "runs.sqlite-wal" in err
    assert len(server.heard) <= ANSWERED + 2 * IN_FLIGHT


@pytest.mark.parametrize("move", [move_folder, move_file])
def test_a_store_that_was_moved_is_named_and_nothing_in_it_is_asked_again(
    command, tmp_path: Path, rows: Path, move: Callable[[Path], None]
) -> None:
    gate = Gate(ANSWERED)
    with Server(gate) as server:
        code, err = cut_off(tmp_path, server, gate, move)
        asked = requests(server.heard)
        if sys.platform == "linux":
            assert f"was moved to {tmp_path}/elsewhere/runs.sqlite" in err
        again = command("evaluate", rows.name, *LEAN, *judging(server, "--store", "elsewhere"))
        after = requests(server.heard) - asked

    assert code == 3
    assert sum(asked.values()) <= ANSWERED + 2 * IN_FLIGHT
    assert again.code == 0
    assert again.json["cases"] == ROWS
    assert len(set(after) & set(asked)) <= 2 * IN_FLIGHT


def test_a_store_that_is_moved_back_gets_the_answers_that_came_meanwhile(command, tmp_path: Path, rows: Path) -> None:
    gate = Gate(ANSWERED)
    with Server(gate) as server:
        cut_off(tmp_path, server, gate, move_folder)
        asked = requests(server.heard)
        (tmp_path / "elsewhere").rename(tmp_path / "store")
        again = command("evaluate", rows.name, *LEAN, *judging(server, "--store", "store"))

    assert again.code == 0
    assert set(requests(server.heard).values()) == {1}
    assert 0 < sum(asked.values()) < len(server.heard)


def test_a_store_that_is_deleted_under_the_embedded_judge_is_told(tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(i) for i in range(1000)])

    def evaluated() -> int:
        with suppress(StoreError), open_store(tmp_path / "store", create=False) as store:
            return store.run().info.done
        return 0

    with begun(tmp_path, "evaluate", "rows.jsonl", *LEAN, "--store", "store") as child:
        until(lambda: evaluated() >= 50, child)
        delete_folder(tmp_path)
        out, err = child.communicate()

    assert (child.returncode, out) == (3, "")
    assert re.search(r"was deleted .*: the \d+ cases? that (was|were) evaluated are lost with it\. To eval", err), err
    assert "$" not in err
    assert "Traceback" not in err


LIMIT = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({0}, {0}))"
"""The system refuses to let any file grow beyond so many bytes."""


def test_no_answer_is_lost_when_the_store_cannot_grow(command, tmp_path: Path, rows: Path) -> None:
    with Server(Model()) as server:
        args = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", IN_FLIGHT), "--store", "store")
        with begun(tmp_path, *args, before=LIMIT.format(300_000)) as child:
            _, err = child.communicate()
        asked = requests(server.heard)
        overflow = [*(tmp_path / "state" / "ragtriage").glob("overflow-*.sqlite")]
        assert overflow
        assert str(overflow[0]) in err
        listed = command("plan", rows.name, *LEAN, *judging(server), "--store", "store").json
        again = command(*args)
        whole = len(server.heard)

    assert child.returncode == 3
    assert "Traceback" not in err
    assert "never retrieved" not in err
    assert 0 < sum(asked.values()) < whole
    assert listed["least"]["requests"] <= whole - sum(asked.values()) <= listed["most"]["requests"]
    assert again.code == 0
    assert again.json["cases"] == ROWS
    assert set(requests(server.heard).values()) == {1}
    assert again.json["spent"]["requests"] == whole
    assert not [*(tmp_path / "state").rglob("overflow*")]


FULL_DISK = """
mount -t tmpfs -o size={size} none store || exit 9
"$@" > first.out 2> first.err
echo $? > first.code
df --output=avail store | tail -1 > first.left
mount -o remount,size=100m store || exit 9
"$@" > second.out 2> second.err
"""


def isolated(folder: Path, script: str, *args: object) -> int:
    """Run a script as the root of a mount namespace of its own."""
    start = ["unshare", "-rm", "sh", "-c", script, "sh", *map(str, args)]
    return subprocess.run(start, cwd=folder, timeout=120, check=False).returncode


def may_mount() -> bool:
    """Whether a process may have mounts of its own here."""
    if not shutil.which("unshare"):
        return False
    return subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="only the system's root may mount here")
def test_no_answer_is_lost_on_a_full_disk(tmp_path: Path, rows: Path) -> None:
    (tmp_path / "store").mkdir()
    with Server(Model()) as server:
        args = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", IN_FLIGHT), "--store", "store")
        command = (sys.executable, "-c", "from ragtriage.cli import main; main()", *args)
        code = isolated(tmp_path, FULL_DISK.format(size="320k"), *command)

    err = (tmp_path / "first.err").read_text()
    assert (tmp_path / "first.code").read_text() == "3\n", err
    assert "the disk is full" in err
    assert "Traceback" not in err
    assert "never retrieved" not in err
    assert code == 0, (tmp_path / "second.err").read_text()
    assert set(requests(server.heard).values()) == {1}
