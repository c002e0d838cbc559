"""Two evaluations that share a store and run at the same time: equal questions are asked and paid for once."""

import signal
import time
from pathlib import Path

import pytest
from cli_models import Model, judging
from cli_processes import Gate, begun, requests, until

from cli_rows import row, written
from forked import Child
from ragtriage import open_store
from servers import Server

pytestmark = pytest.mark.usefixtures("openai")

LEAN = ("--metrics", "groundedness,response_precision,source_query_coverage", "--json")
IN_FLIGHT = 4
ROWS = [row(i, contexts=[f"Ticket {i} costs {i + 3} euros.", f"Office {i} sells tickets."]) for i in range(12)]

WAITING = "waiting for answers that another evaluation with the same store is asking for\n"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """The same rows in two orders, so that they are two runs."""
    written(tmp_path / "one.jsonl", ROWS)
    written(tmp_path / "other.jsonl", ROWS[::-1])
    return ["one.jsonl", "other.jsonl"]


def flags(server: Server, store: str = "store") -> tuple[object, ...]:
    return (*LEAN, *judging(server, "--concurrency", IN_FLIGHT, "--price", "1:2"), "--store", store)


def ended(child: Child) -> str:
    _, err = child.communicate()
    assert "Traceback" not in err
    assert child.returncode == 0, err
    return err


def evaluated(folder: Path) -> list[dict[str, object]]:
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
    (expected,) = evaluated(tmp_path / "alone")
    assert evaluated(tmp_path / "store") == [expected, expected]


def test_when_one_is_killed_the_other_asks_what_it_had_not_answered(command, tmp_path: Path, files: list[str]) -> None:
    gate = Gate(answers=20)
    with Server(Model()) as alone:
        assert command("evaluate", files[0], *flags(alone, "alone")).code == 0
    with Server(gate) as server, begun(tmp_path, "evaluate", files[0], *flags(server)) as one:
        until(lambda: len(server.heard) == 20 + IN_FLIGHT, one)
        with begun(tmp_path, "evaluate", files[1], *flags(server)) as other:
            assert any(line == WAITING for line in iter(other.stderr.readline, ""))
            time.sleep(1)
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
        assert (newest.number, newest.state, newest.done) == (2, "finished", len(ROWS))


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
