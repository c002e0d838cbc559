"""The store's file is deleted, moved or replaced, or its disk is full, while an evaluation runs."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cli_models import Model, judging
from cli_processes import Gate, begun, requests, until

from cli_rows import row, written
from ragtriage import open_store
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


@pytest.mark.parametrize("change", [delete_folder, replace_file, move_file])
def test_a_store_that_is_gone_ends_the_evaluation(tmp_path: Path, rows: Path, change: Callable[[Path], None]) -> None:
    gate = Gate(ANSWERED)
    with Server(gate) as server:
        code, err = cut_off(tmp_path, server, gate, change)

    assert code == 3
    assert len(server.heard) <= ANSWERED + 2 * IN_FLIGHT  # each reply that came let a request start before it was kept
    assert "the store store/runs.sqlite was deleted, moved or replaced while it was in use: put it back" in err
    assert "give the same command again" in err


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
