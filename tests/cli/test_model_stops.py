"""A run by a language model that stops (a limit, a budget, Ctrl-C, a kill) and goes on: nothing is paid for twice."""

import re
import signal
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging, same
from cli_processes import Gate, begun, requests, until

from cli_rows import row, written
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
