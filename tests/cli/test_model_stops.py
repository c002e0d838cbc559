"""A run by a language model stops (a limit, Ctrl-C, a kill, a lost store) or has company: nothing is paid for twice."""

import re
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging, same
from cli_processes import Gate, begun, requests, until

from cli_rows import row, written
from forked import Child
from ragtriage import open_store
from servers import Server

pytestmark = pytest.mark.usefixtures("openai")

LEAN = ("--metrics", "groundedness,response_precision,source_query_coverage", "--json")
PRICE = ("--price", "1:2")
IN_FLIGHT = 4


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(12)])


def evaluated(store: str) -> dict[str, Any]:
    """Every score and every verdict of the only run."""
    with open_store(store) as opened:
        return {record.case.id: (record.outcomes, record.steps) for record in opened.run(1).records()}


def travelled(store: Path) -> set[str]:
    """The requests of which the answers are stored."""
    try:
        connection = sqlite3.connect(f"file:{store}/runs.sqlite?mode=ro", uri=True, timeout=1)
    except sqlite3.Error:
        return set()
    try:
        return {batch for (batch,) in connection.execute("SELECT DISTINCT batch FROM answers WHERE batch IS NOT NULL")}
    except sqlite3.Error:
        return set()
    finally:
        connection.close()


def left_in(err: str) -> tuple[int, int]:
    """What the rest would take, at least and at most."""
    found = re.search(r"the rest would take (\d+) (?:to (\d+) )?requests?", err)
    assert found
    return int(found[1]), int(found[2] or found[1])


def test_a_limit_of_requests_is_kept_and_the_same_command_goes_on(command, rows: Path) -> None:
    with Server(Model()) as whole, Server(Model()) as server:
        command("evaluate", rows.name, *LEAN, *judging(whole, *PRICE), "--store", "whole")
        args = ("evaluate", rows.name, *LEAN, *judging(server, *PRICE), "--store", "parts")
        none = command(*args, "--max-requests", 0)
        assert server.heard == []
        some = command(*args, "--max-requests", 52)
        asked = len(server.heard)
        rest = command(*args)
        listed = command("runs", "--json", "--store", "parts").json

    assert (none.code, some.code, rest.code, asked) == (3, 3, 0, 52)
    assert "stopped after 52 requests, as --max-requests says; give the same command to go on\n" in some.err
    assert f"{some.json['cases']} of 12 cases are done; the rest would take " in some.err
    assert 0 < some.json["cases"] < 12
    assert left_in(none.err)[0] <= len(whole.heard) <= left_in(none.err)[1]
    assert left_in(some.err)[0] <= len(whole.heard) - 52 <= left_in(some.err)[1]
    assert f"continuing run 1: {some.json['cases']} of 12\n" in rest.err
    assert requests(server.heard) == requests(whole.heard)
    assert evaluated("parts") == evaluated("whole")
    assert rest.json["spent"]["requests"] == len(whole.heard)
    assert len(listed) == 1


def test_a_budget_is_never_passed_and_a_larger_one_goes_on(command, rows: Path) -> None:
    with Server(Model()) as whole, Server(Model()) as server:
        price = command("evaluate", rows.name, *LEAN, *judging(whole, *PRICE), "--store", "whole").json["spent"]["cost"]
        args = ("evaluate", rows.name, *LEAN, *judging(server, *PRICE), "--store", "parts", "--budget")
        budgets = [0, 0.6 * price, 0.6 * price, 0.8 * price]
        said = [command(*args, f"{budget:.6f}") for budget in budgets]
        asked = len(server.heard)
        rest = command(*args, 2 * price)

    assert [one.code for one in said] == [3, 3, 3, 3]
    spent = [one.json.get("spent", {"cost": 0})["cost"] for one in said]
    assert all(cost <= budget for cost, budget in zip(spent, budgets, strict=True))
    assert 0 == spent[0] < spent[1] <= spent[2] < spent[3]
    for one in said:
        assert re.search(r"stopped before the budget of \$0\.\d+ was passed: \$0\.\d+ spent", one.err)
        assert "give the same command with a larger --budget to go on" in one.err
        assert re.search(rf"{one.json['cases']} of 12 cases are done; the rest would take .* requests, \$0\.0", one.err)
    assert left_in(said[3].err)[0] <= len(whole.heard) - asked <= left_in(said[3].err)[1]
    assert f"${spent[2]:.6f}".rstrip("0") + " of it before this command" in said[3].err
    assert rest.code == 0
    assert requests(server.heard) == requests(whole.heard)
    assert rest.json["spent"]["cost"] == pytest.approx(price)
    assert evaluated("parts") == evaluated("whole")


def test_a_budget_is_for_all_repetitions_and_over_all_commands(command, rows: Path) -> None:
    with Server(Model()) as server:
        flags = (rows.name, *LEAN, *judging(server, *PRICE))
        budget = command("plan", *flags).json["most"]["price"] + 0.012
        args = ("evaluate", *flags, "--repeat", 2, "--budget")
        some = [command(*args, budget), command(*args, budget)]
        asked = len(server.heard)
        with open_store() as store:
            stored = store.runs()[::-1]
        done = command(*args, 1)

    assert [one.code for one in some] == [3, 3]
    assert [(info.state, info.done == info.rows) for info in stored] == [("finished", True), ("interrupted", False)]
    assert stored[0].cost < stored[0].cost + stored[1].cost <= budget
    assert (done.code, done.json["repeats"]["runs"]) == (0, [1, 2])
    assert asked < len(server.heard) == done.json["repeats"]["spent"]["requests"]


def test_after_a_kill_no_request_that_was_answered_is_sent_again(command, tmp_path: Path, rows: Path) -> None:
    gate = Gate(answers=20)
    with Server(Model()) as whole, Server(gate) as server:
        args = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", IN_FLIGHT), "--store", "parts")
        with begun(tmp_path, *args) as child:
            until(lambda: len(server.heard) == 20 + IN_FLIGHT, child)
            until(lambda: len(travelled(tmp_path / "parts")) == 20, child)
            child.send_signal(signal.SIGKILL)
            child.wait()
        answered = {same(body) for body in chats(gate.model.answered)}
        underway = {same(body) for body in chats(server.heard)} - answered
        gate.open()
        before = len(server.heard)
        again = command(*args)
        command("evaluate", rows.name, *LEAN, *judging(whole), "--store", "whole")

    assert (again.code, len(answered), len(underway)) == (0, 20, IN_FLIGHT)
    assert re.search(r"^continuing run 1: \d+ of 12$", again.err, re.MULTILINE)
    after = requests(server.heard[before:])
    assert not answered & set(after)
    assert underway <= set(after)
    assert set(after.values()) == {1}
    assert set(after) | answered == set(requests(whole.heard))
    assert evaluated("parts") == evaluated("whole")


def test_after_a_kill_of_a_busy_run_every_reply_that_was_read_is_remembered(command, tmp_path: Path) -> None:
    written(
        tmp_path / "many.jsonl", [row(i, contexts=[f"Ticket {i} costs {i} euros.", "It floats."]) for i in range(60)]
    )
    model = Model()
    with Server(model) as server:
        # without any latency replies come faster than they are read: most of the time several are there at once
        args = ("evaluate", "many.jsonl", *LEAN, *judging(server, "--concurrency", 32), "--store", "parts")
        with begun(tmp_path, *args) as child:
            until(lambda: len(model.answered) >= 150, child)
            child.send_signal(signal.SIGKILL)
            child.wait()
        kept = travelled(tmp_path / "parts")
        before = requests(server.heard)
        again = command(*args)

    assert (again.code, again.json["cases"]) == (0, 60)
    repeated = set(before) & set(requests(server.heard) - before)
    assert len(repeated) == len(before) - len(kept) <= 32


def test_ctrl_c_lets_requests_in_flight_come_in(command, tmp_path: Path, rows: Path) -> None:
    gate = Gate(answers=20)
    with Server(gate) as server:
        args = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", IN_FLIGHT), "--store", "parts")
        with begun(tmp_path, *args) as child:
            until(lambda: len(server.heard) == 20 + IN_FLIGHT, child)
            child.send_signal(signal.SIGINT)
            said = iter(child.stderr.readline, "")
            assert any("stopping when the requests in flight have come in" in line for line in said)
            gate.open()
            out, err = child.communicate()
        asked = requests(server.heard)
        again = command(*args)

    assert child.returncode == 3
    assert asked.total() == 20 + IN_FLIGHT
    assert "interrupted: give the same command again to go on where it stopped\n" in err
    assert re.search(r"^\d+ of 12 cases are done$", err, re.MULTILINE)
    assert "Traceback" not in err
    assert out.startswith('{"run": 1, "cases": ')
    assert (again.code, again.json["cases"]) == (0, 12)
    assert set(requests(server.heard).values()) == {1}
    assert again.json["spent"]["requests"] == len(server.heard)


def test_a_second_ctrl_c_does_not_wait_for_them(command, tmp_path: Path, rows: Path) -> None:
    gate = Gate(answers=20)
    with Server(gate) as server:
        args = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", IN_FLIGHT), "--store", "parts")
        with begun(tmp_path, *args) as child:
            until(lambda: len(server.heard) == 20 + IN_FLIGHT, child)
            child.send_signal(signal.SIGINT)
            said = iter(child.stderr.readline, "")
            assert any("stopping when the requests in flight have come in" in line for line in said)
            time.sleep(0.1)  # nobody presses it again while the first is still being handled
            child.send_signal(signal.SIGINT)
            _, err = child.communicate()
        answered = {same(body) for body in chats(gate.model.answered)}
        before = len(server.heard)
        gate.open()
        again = command(*args)

    assert child.returncode == 3
    assert "interrupted: give the same command again to go on where it stopped\n" in err
    assert "Traceback" not in err
    assert "never awaited" not in err
    after = requests(server.heard[before:])
    assert again.code == 0
    assert len(answered) == 20
    assert not answered & set(after)


TWICE = [row(i, contexts=[f"Ticket {i} costs {i + 3} euros.", f"Office {i} sells tickets."]) for i in range(12)]
WAITING = "waiting for answers that another evaluation with the same store is asking for\n"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The same rows in two orders, so that they are two runs."""
    written(tmp_path / "one.jsonl", TWICE)
    written(tmp_path / "other.jsonl", TWICE[::-1])
    return ["one.jsonl", "other.jsonl"]


def flags(server: Server, store: str = "store") -> tuple[object, ...]:
    return (*LEAN, *judging(server, "--concurrency", IN_FLIGHT, "--price", "1:2"), "--store", store)


def ended(child: Child) -> str:
    _, err = child.communicate()
    assert "Traceback" not in err
    assert child.returncode == 0, err
    return err


def scores(folder: Path) -> list[dict[str, object]]:
    """The scores of every run."""
    with open_store(folder) as store:
        return [{r.case.id: r.outcomes for r in store.run(info.number).records()} for info in store.runs()]


def test_two_at_once_send_as_many_requests_as_one(command, tmp_path: Path, files: list[str]) -> None:
    with Server(Model()) as alone:
        assert command("evaluate", files[0], *flags(alone, "alone")).code == 0
    model = Model(lambda heard, times: time.sleep(0.02))
    with (
        Server(model) as server,
        begun(tmp_path, "evaluate", files[0], *flags(server)) as one,
        begun(tmp_path, "evaluate", files[1], *flags(server)) as other,
    ):
        ended(one)
        ended(other)

    assert requests(server.heard) == requests(alone.heard)
    (expected,) = scores(tmp_path / "alone")
    assert scores(tmp_path / "store") == [expected, expected]


def test_when_one_is_killed_the_other_asks_what_it_had_not_answered(command, tmp_path: Path, files: list[str]) -> None:
    gate = Gate(answers=20)
    with Server(Model()) as alone:
        assert command("evaluate", files[0], *flags(alone, "alone")).code == 0
    with Server(gate) as server, begun(tmp_path, "evaluate", files[0], *flags(server)) as one:
        until(lambda: len(server.heard) == 20 + IN_FLIGHT, one)
        with begun(tmp_path, "evaluate", files[1], *flags(server)) as other:
            assert any(line == WAITING for line in iter(other.stderr.readline, ""))
            time.sleep(0.3)
            assert len(server.heard) == 20 + IN_FLIGHT  # it waits for what the first one asks
            one.send_signal(signal.SIGKILL)
            one.wait()
            gate.open()
            ended(other)

    sent = requests(server.heard)
    assert set(sent) == set(requests(alone.heard))
    assert sum(sent.values()) - len(sent) <= IN_FLIGHT
    with open_store(tmp_path / "store") as store:
        newest = store.runs()[0]
        assert (newest.number, newest.state, newest.done) == (2, "finished", len(TWICE))


def test_ctrl_c_ends_one_that_waits_for_another(tmp_path: Path, files: list[str]) -> None:
    gate = Gate(answers=0)
    with Server(gate) as server, begun(tmp_path, "evaluate", files[0], *flags(server)) as one:
        until(lambda: len(server.heard) == IN_FLIGHT, one)
        with begun(tmp_path, "evaluate", files[1], *flags(server)) as other:
            assert any(line == WAITING for line in iter(other.stderr.readline, ""))
            other.send_signal(signal.SIGINT)
            _, err = other.communicate()
            assert other.returncode == 3
            assert "interrupted: give the same command again" in err
        gate.open()
        ended(one)
    assert set(requests(server.heard).values()) == {1}


ANSWERED = 20


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where what a store can't take goes."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "ragtriage"


def delete_folder(folder: Path) -> None:
    shutil.rmtree(folder / "store")


def replace_file(folder: Path) -> None:
    with open_store(folder / "other"):
        pass
    (folder / "other" / "runs.sqlite").replace(folder / "store" / "runs.sqlite")


def move_folder(folder: Path) -> None:
    (folder / "store").rename(folder / "elsewhere")


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


@pytest.mark.parametrize("change", [delete_folder, replace_file])
def test_a_store_that_is_gone_ends_the_evaluation(
    tmp_path: Path, rows: Path, state: Path, change: Callable[[Path], None]
) -> None:
    gate = Gate(ANSWERED)
    with Server(gate) as server:
        code, err = cut_off(tmp_path, server, gate, change)

    assert code == 3
    assert len(server.heard) <= ANSWERED + 2 * IN_FLIGHT  # each reply that came let a request start before it was kept
    assert "the store store/runs.sqlite was deleted, moved or replaced while it was in use: put it back" in err
    assert "give the same command again" in err


def test_a_store_that_is_moved_back_gets_the_answers_that_came_meanwhile(
    command, tmp_path: Path, rows: Path, state: Path
) -> None:
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


def test_no_answer_is_lost_when_the_store_cannot_grow(command, tmp_path: Path, rows: Path, state: Path) -> None:
    with Server(Model()) as server:
        args = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", IN_FLIGHT), "--store", "store")
        with begun(tmp_path, *args, before=LIMIT.format(300_000)) as child:
            _, err = child.communicate()
        asked = requests(server.heard)
        overflow = [*state.glob("overflow-*.sqlite")]
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
    assert again.json["cases"] == 12
    assert set(requests(server.heard).values()) == {1}
    assert again.json["spent"]["requests"] == whole
    assert not [*state.glob("overflow*")]


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    """A small file system of its own; skips the test where that isn't allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount")
    if done.returncode:
        pytest.skip("mounting isn't allowed here")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def remount(folder: Path, options: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{options}", str(folder)], check=True)


def test_a_full_disk_and_a_read_only_store_lose_no_answer(command, tmp_path: Path, rows: Path, state: Path) -> None:
    disk = tmp_path / "disk"
    with mounted(disk, "size=320k"), Server(Model()) as server:
        args = ("evaluate", rows.name, *LEAN, *judging(server, "--concurrency", IN_FLIGHT), "--store", disk / "store")
        with begun(tmp_path, *args) as child:
            _, err = child.communicate()
        assert child.returncode == 3, err
        assert "the disk is full" in err
        assert "Traceback" not in err
        assert "never retrieved" not in err

        remount(disk, "size=100m")
        again = command(*args)
        assert (again.code, again.json["cases"]) == (0, 12), again.err
        assert set(requests(server.heard).values()) == {1}

        remount(disk, "ro")
        fixed = command(*args)
        assert fixed.code == 3
        assert "can't be written: make it writable, or choose another place" in fixed.err
        assert command("show", "--json", "--store", disk / "store").json["cases"] == 12
        assert command("report", "--store", disk / "store").code == 2
