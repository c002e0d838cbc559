"""Processes that ask a language model share one budget and one memory of answers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from cli_models import Model, chats, judging, same

from cli_rows import row, written
from in_process import Said
from servers import Server

pytestmark = pytest.mark.usefixtures("openai")

LEAN = ("--metrics", "groundedness", "--json")
PRICE = ("--price", "1000:2000")
"""Dollars a million tokens, so that a few requests cost a dollar."""


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(48)])


def cost(server: Server) -> float:
    """What the requests that were answered cost, by what the server said of their tokens."""
    asked = chats(server.heard)
    return sum((_prompt_tokens(body) * 1000 + 100 * 2000) / 1e6 for body in asked)


def _prompt_tokens(body: object) -> int:
    from cli_models import prompt_in  # noqa: PLC0415

    return prompt_in(body).tokens  # type: ignore[arg-type]


def on(out: str, *more: object) -> tuple[object, ...]:
    return ("--on", "local:2", "--out", out, *more)


def test_it_says_what_one_process_says_and_nothing_is_asked_twice(command: object, rows: Path) -> None:
    assert callable(command)
    with Server(Model()) as server:
        one: Said = command("evaluate", rows, *judging(server), *LEAN, "--store", "a")
        asked = [same(body) for body in chats(server.heard)]
        many: Said = command("evaluate", rows, *judging(server), *LEAN, *on("set/"), "--store", "b")
        again = [same(body) for body in chats(server.heard)][len(asked) :]
        # another record set of the same store: everything is remembered
        third: Said = command("evaluate", rows, *judging(server), *LEAN, *on("other/"), "--store", "b")
        assert len(chats(server.heard)) == len(asked) + len(again)

    assert (one.code, many.code, third.code) == (0, 0, 0), many.err
    told = [said.json | {"run": 0, "spent": None} for said in (one, many, third)]
    assert told[0] == told[1] == told[2]
    assert sorted(again) == sorted(asked)
    assert many.json["spent"]["requests"] == len(again)


def test_the_budget_is_not_passed_and_a_larger_one_goes_on(command: object, rows: Path, tmp_path: Path) -> None:
    assert callable(command)
    flags = (*LEAN, *PRICE, *on("set/"))
    with Server(Model()) as server:
        whole: Said = command("evaluate", rows, *judging(server), *LEAN, *PRICE, *on("free/"), "--store", "other")
        price = whole.json["spent"]["cost"]
        assert price == pytest.approx(cost(server))
        server.heard.clear()
        first: Said = command("evaluate", rows, *judging(server), *flags, "--budget", price / 2)
        assert first.code == 3
        assert "stopped before the budget of" in first.err
        assert 0 < cost(server) <= price / 2 + 1e-9
        spent = json.loads((tmp_path / "set" / "spent.json").read_text())
        assert spent["spent"]["cost"] == pytest.approx(cost(server))
        assert spent["held"] == {}
        second: Said = command("evaluate", rows, *judging(server), *flags, "--budget", 10 * price)
        assert second.code == 0, second.err
        assert cost(server) == pytest.approx(price)

    assert second.json | {"run": 0, "spent": 0} == whole.json | {"run": 0, "spent": 0}


def test_requests_are_limited_for_a_command(command: object, rows: Path) -> None:
    assert callable(command)
    with Server(Model()) as server:
        said: Said = command("evaluate", rows, *judging(server), *LEAN, *on("set/"), "--max-requests", 20)
        assert said.code == 3
        assert "stopped after 20 requests, as --max-requests says" in said.err
        assert 10 <= len(chats(server.heard)) <= 20


def test_a_key_that_is_refused_ends_it_at_once(command: object, rows: Path) -> None:
    assert callable(command)
    from servers import error  # noqa: PLC0415

    with Server(error(401, "bad key")) as server:
        said: Said = command("evaluate", rows, *judging(server), *LEAN, *on("set/"))
        assert said.code == 3
        assert len(server.heard) <= 40
    assert "bad key" in said.err or "refused" in said.err
