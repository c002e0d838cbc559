"""Processes that ask a language model share one budget, one memory of answers, and the limits a minute."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging, prompt_in, same

from cli_rows import row, written
from in_process import Said
from ragtriage.core.errors import StoreError
from ragtriage.core.files import folder_at
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.worker import Job, Task, Worker, checked_versions, new_worker
from ragtriage.judges.budget import SpendingLimits
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.runs.cutting import survey
from ragtriage.runs.manifest import Manifest, ReadOptions
from servers import Heard, Server, error

pytestmark = pytest.mark.usefixtures("openai")

Command = Callable[..., Said]
LEAN = ("--metrics", "groundedness", "--json")
PRICE = ("--price", "1000:2000")
"""Dollars a million tokens, so that a few requests cost a dollar."""
BUDGET, NEXT = 48, 10
"""Dollars, for two thirds of the rows; that a request costs at most."""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(48)])


def cost(heard: Sequence[Heard]) -> float:
    """What requests cost that were answered, by what the server said of their tokens."""
    asked = chats(heard)
    return sum((_prompt_tokens(body) * 1000 + 100 * 2000) / 1e6 for body in asked)


def _prompt_tokens(body: object) -> int:
    return prompt_in(body).tokens  # type: ignore[arg-type]


def cases_of(command: Command, *run: str) -> dict[str, Any]:
    """What a run says of each of its cases, by id."""
    said: Said = command("export", *run)
    assert said.code == 0, said.err
    found = map(json.loads, said.out.splitlines())
    return {one["id"]: one | {"seconds": 0, "run": 0} for one in found}


def on(out: str, *more: object) -> tuple[object, ...]:
    return ("--on", "local:2", "--out", out, *more)


def test_it_says_what_one_process_says_and_nothing_is_asked_twice(command: Command, rows: Path) -> None:
    with Server(Model()) as server:
        one: Said = command("evaluate", rows, *judging(server), *LEAN, *PRICE, "--store", "a")
        asked = [same(body) for body in chats(server.heard)]
        many: Said = command("evaluate", rows, *judging(server), *LEAN, *PRICE, *on("set/"), "--store", "b")
        again = [same(body) for body in chats(server.heard)][len(asked) :]
        # another folder beside the same store: everything is remembered
        third: Said = command("evaluate", rows, *judging(server), *LEAN, *PRICE, *on("other/"), "--store", "b")
        assert len(chats(server.heard)) == len(asked) + len(again)

    assert (one.code, many.code, third.code) == (0, 0, 0), many.err
    told = [said.json | {"run": 0, "spent": None} for said in (one, many, third)]
    assert told[0] == told[1] == told[2]
    assert sorted(again) == sorted(asked)
    assert many.json["spent"] == one.json["spent"] | {"cost": pytest.approx(one.json["spent"]["cost"])}
    assert many.json["spent"]["requests"] == len(again)
    assert "spent" not in third.json


def test_the_budget_is_not_passed_and_a_larger_one_goes_on(command: Command, rows: Path, tmp_path: Path) -> None:
    flags = (*LEAN, *PRICE, *on("set/"))
    with Server(Model()) as server:
        whole: Said = command("evaluate", rows, *judging(server), *LEAN, *PRICE, "--store", "other")
        price = whole.json["spent"]["cost"]
        assert price == pytest.approx(cost(server.heard))
        server.heard.clear()
        first: Said = command("evaluate", rows, *judging(server), *flags, "--budget", price / 2)
        assert first.code == 3
        assert "stopped before the budget of" in first.err
        assert 0 < cost(server.heard) <= price / 2 + 1e-9
        spent = json.loads((tmp_path / "set" / "spent.json").read_text())
        assert spent["spent"]["cost"] == pytest.approx(cost(server.heard))
        assert spent["held"] == 0
        # as many cases as one process is done with, but for those that the other process had begun
        one: Said = command(
            "evaluate", rows, *judging(server), *LEAN, *PRICE, "--budget", price / 2, "--store", "third"
        )
        server.heard.clear()
        assert one.json["cases"] - 3 <= first.json["cases"] < 48
        assert first.json["spent"]["cost"] == pytest.approx(spent["spent"]["cost"])
        done = cases_of(command, "set/")
        assert len(done) == first.json["cases"]
        second: Said = command("evaluate", rows, *judging(server), *flags, "--budget", 10 * price)
        assert second.code == 0, second.err
        # nothing is paid for twice, and all of it is told
        assert cost(server.heard) + spent["spent"]["cost"] == pytest.approx(price)
        assert second.json["spent"] == whole.json["spent"] | {"cost": pytest.approx(price)}

    assert second.json | {"run": 0, "spent": 0} == whole.json | {"run": 0, "spent": 0}
    all_cases = cases_of(command, "set/")
    assert done.items() <= all_cases.items()
    assert all_cases == cases_of(command, "last", "--store", "other")


def test_the_budget_holds_for_all_shares_and_continuations(command: Command, in_this_process: None, rows: Path) -> None:
    with Server(Model()) as server:
        flags = ("evaluate", rows, *judging(server), *LEAN, *PRICE, *on("set/"), "--budget", BUDGET)
        told: list[Said] = [command(*flags, *share) for share in (("--share", "1/2"), ("--share", "2/2"), ())]
        spent = cost(server.heard)
        shown: Said = command("show", "set/", "--json")

    assert [said.code for said in told] == [3, 3, 3]
    first, second, third = (said.json["spent"]["cost"] for said in told)
    assert BUDGET / 2 - NEXT <= first <= BUDGET / 2
    assert BUDGET / 2 - NEXT <= second - first <= BUDGET / 2
    assert BUDGET - NEXT <= third <= BUDGET
    assert "stopped before this share, $24.00, of the budget of $48.00 was passed" in told[0].err
    assert third == pytest.approx(spent) == shown.json["spent"]["cost"]
    assert shown.json["spent"]["requests"] == len(server.heard)
    assert shown.json["cases"] >= told[1].json["cases"] > told[0].json["cases"] > 0


def test_what_failed_and_was_asked_again_is_in_the_cost(command: Command, in_this_process: None, rows: Path) -> None:

    broken = True

    def refused(heard: Heard, _: int) -> Said | None:
        return error(400, "no") if broken and "ticket 7 " in prompt_in(heard.body).user else None

    with Server(Model(refused)) as server:
        first: Said = command("evaluate", rows, *judging(server), *LEAN, *PRICE, *on("set/"))
        requests = len(server.heard)
        broken = False
        second: Said = command("evaluate", rows, *judging(server), *LEAN, *PRICE, *on("set/"))

    assert (first.code, second.code) == (3, 0), second.err
    assert "scores failed on 1 case" in first.err
    assert first.json["spent"]["requests"] == requests
    # the part's other answers are known
    again = server.heard[requests:]
    assert 0 < len(again) <= 4
    told = second.json["spent"]
    assert told["requests"] == len(server.heard)
    assert told["cost"] == pytest.approx(first.json["spent"]["cost"] + cost(again))


def test_processes_keep_the_limits_a_minute_together(rows: Path, tmp_path: Path) -> None:
    with Server(Model()) as server:
        judge = JudgeConfig(("openai:m",), options=LLMOptions(base_url=server.url, rpm=2))
        found, metrics = survey([str(rows)], ReadOptions()), ("groundedness",)
        manifest = Manifest((str(rows),), "", metrics, "m", {}, {}, checked_versions(judge), found.files, found.plan)
        job = Job(str(tmp_path / "run"), manifest, judge, metrics, {})
        coordinator = Coordinator(InMemory(), folder_at(job.folder), SpendingLimits(rpm=2), clock=lambda: 0.0)

        def call(name: str, *given: Any) -> Any:
            found = coordinator.call(name, *given)
            if name == "start" and found[0] > 0:
                raise StoreError(f"wait for {found[0]:.0f} s")
            return found

        told = []
        for i, plan in enumerate(found.plan):
            worker = new_worker(job, call, f"process {i}")
            assert isinstance(worker, Worker)
            told.append(worker.work(Task(plan, found.files[0], "a")))

    assert len(found.plan) >= 3
    assert [(worked.ending, worked.told) for worked in told] == [("failed", "wait for 29 s")] * len(told)
    assert len(server.heard) == 1


def test_requests_are_limited_for_a_command(command: Command, in_this_process: None, rows: Path) -> None:
    with Server(Model()) as server:
        said: Said = command("evaluate", rows, *judging(server), *LEAN, *on("set/"), "--max-requests", 20)
        assert said.code == 3
        assert "stopped after 20 requests, as --max-requests says" in said.err
        assert 10 <= len(chats(server.heard)) <= 20


def test_a_key_that_is_refused_ends_it_at_once(command: Command, in_this_process: None, rows: Path) -> None:
    with Server(error(401, "bad key")) as server:
        said: Said = command("evaluate", rows, *judging(server), *LEAN, *on("set/"))
        assert said.code == 3
        assert len(server.heard) <= 40
    assert "bad key" in said.err or "refused" in said.err
