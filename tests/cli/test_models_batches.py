"""`--batch-api`: the command sends, ends, and is given again to collect."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli_models import Model, chats, judging, prompt_in, same

import batch_server
from batch_server import BatchServer, replying
from cli_rows import row, written
from ragtriage import open_store
from servers import Server

pytestmark = pytest.mark.usefixtures("openai")

LEAN = ("--metrics", "groundedness,response_precision,source_query_coverage", "--json")
PRICE = ("--price", "1:2")


@pytest.fixture
def batches(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A provider's batches, answered by the model of the other tests."""
    monkeypatch.setenv("OPENAI_API_KEY", batch_server.KEY)
    model = Model()
    with BatchServer(lambda body: (200, replying(json.dumps(model.said(prompt_in(body)))))) as server:
        yield server


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.jsonl", [row(i) for i in range(5)])


def by_batches(server: BatchServer, *more: object) -> tuple[object, ...]:
    return ("--judge", "openai-responses:gpt-5-mini", "--base-url", server.address, "--batch-api", *PRICE, *more)


def evaluated(store: str) -> dict[str, Any]:
    """Every score and every verdict of the only run."""
    with open_store(store) as opened:
        return {record.case.id: (record.outcomes, record.steps) for record in opened.run(1).records()}


def test_batches_are_collected_by_the_same_command_until_all_is_there(command, rows: Path, batches: Any) -> None:
    looked_at: set[int] = set()

    def ended(number: int) -> bool:
        """Not when it is first looked at, which the command does that sent it."""
        seen = number in looked_at
        looked_at.add(number)
        return seen

    batches.ended = ended
    args = ("evaluate", rows.name, *LEAN, *by_batches(batches))
    said = [command(*args)]
    while said[-1].code == 3 and len(said) < 10:
        said.append(command(*args))
    with Server(Model()) as live:
        expected = command("evaluate", rows.name, *LEAN, *judging(live, *PRICE), "--store", "live").json

    assert [one.code for one in said] == [3] * (len(said) - 1) + [0]
    assert len(said) == len(batches.batches) + 1 >= 3
    told = r"1 batch with 5 requests to openai-responses:gpt-5-mini is submitted and has not ended \(batch_0\): give th"
    assert re.search(told, said[0].err)
    assert "0 of 5 cases are done\n" in said[0].err
    assert all("continuing run 1: " in one.err for one in said[1:])
    sent = [same(body) for batch in batches.batches for body in batch]
    assert sorted(sent) == sorted(same(body) for body in chats(live.heard))
    found = said[-1].json
    assert found["metrics"] == expected["metrics"]
    assert evaluated(".ragtriage") == evaluated("live")
    spent = found["spent"]
    assert spent["requests"] == len(sent)
    assert (spent["tokens_in"], spent["tokens_out"]) == (1000 * len(sent), 100 * len(sent))
    assert spent["cost"] == pytest.approx(len(sent) * (1000 + 2 * 100) / 1e6 / 2)


def test_one_command_is_enough_where_batches_end_at_once(command, rows: Path, batches: Any) -> None:
    said = command("evaluate", rows.name, *LEAN, *by_batches(batches, "--wait"))
    again = command("evaluate", rows.name, *LEAN, *by_batches(batches))

    assert (said.code, again.code) == (0, 0)
    assert said.json["cases"] == 5
    sent = len(batches.batches)
    assert sent >= 2
    assert again.json["metrics"] == said.json["metrics"]


def test_a_plan_of_batches_sends_nothing_and_says_what_they_cost(command, tmp_path: Path, rows: Path, batches) -> None:
    said = command("plan", rows.name, *by_batches(batches))

    assert said.code == 0
    assert "By the batch API it costs about half of this price" in said.out
    assert batches.log == []
    assert [path.name for path in tmp_path.iterdir()] == [rows.name]
