"""Scores that go out with `evaluate` and `watch`: by the flags and outbox of `send`, and they hold up no judging."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from ragtriage.store.forgetting import cases_with_texts

sys.path.append(str(Path(__file__).parents[1] / "monitor"))
from fake_tools import FakeTool

from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.store import open_store
from servers import Said, Server, nobody

BEGIN = datetime(2026, 11, 1, tzinfo=UTC)
LEAN = ("--metrics", "groundedness")
NOW = ("--patience", "0")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """Whatever this machine has, none of these tools' variables is set."""
    for name in ("PHOENIX_API_KEY", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"):
        monkeypatch.delenv(name, raising=False)


def traced(i: int, **changed: Any) -> dict[str, Any]:
    """A row of a trace, ten minutes after the one before."""
    time = (BEGIN + timedelta(minutes=10 * i)).isoformat()
    return row(i, **{"time": time, "trace_id": f"{i + 1:032x}", "span_id": f"{i + 1:016x}", **changed})


def runs() -> int:
    with open_store(".ragtriage") as store:
        return len(store.runs())


def test_evaluate_sends_what_it_has_stored(command, tmp_path: Path):
    written(tmp_path / "t.jsonl", [*map(traced, range(3)), row(9)])
    with Server(FakeTool("phoenix")) as there:
        flags = ("--phoenix", there.root, "--scores", "scores.jsonl")
        said = command("evaluate", "t.jsonl", *LEAN, *flags)
        requests = len(there.heard)
        again = command("send", "1", "--phoenix", there.root)
        told = command("evaluate", "t.jsonl", *LEAN, *flags, "--json")

    assert (said.code, again.code, told.code) == (0, 0, 0)
    assert f"Phoenix {there.root}  3 scores sent" in said.out
    assert "scores.jsonl  3 scores written" in said.out
    assert "1 case without a trace id" in said.out
    assert f"Phoenix {there.root}  nothing sent, 3 there before" in again.out
    assert {one["span_id"] for one in there.heard[0].body["data"]} == {f"{i + 1:016x}" for i in range(3)}
    assert requests == 1
    assert told.json["sent"]["without_trace"] == 1
    assert told.json["sent"]["files"] == [{"path": "scores.jsonl", "records": 3, "left_out": {}}]
    assert told.json["sent"]["destinations"][0]["sent"]["score"] == 3


def test_without_such_a_flag_nothing_is_said_of_it(command, tmp_path: Path):
    written(tmp_path / "t.jsonl", [traced(0)])
    assert "sent" not in command("evaluate", "t.jsonl", *LEAN, "--json").json
    assert "sent" not in command("watch", "--replay", "t.jsonl", *LEAN, "--json").json


def test_a_tool_that_cant_be_reached_takes_no_result_away(command, tmp_path: Path):
    written(tmp_path / "t.jsonl", [traced(i) for i in range(3)])
    url = nobody().removesuffix("/v1")
    said = command("evaluate", "t.jsonl", *LEAN, "--langfuse", url, *NOW)

    assert said.code == 3
    assert "Grounded" in said.out
    assert "left in the outbox: 3, no connection" in said.out
    assert f"to send what is left: ragtriage send 1 --langfuse {url}" in said.out


@pytest.mark.parametrize("first", [("evaluate",), ("watch", "--replay")])
def test_cases_that_come_from_no_trace_are_refused_before_anything_is_judged(command, tmp_path: Path, first):
    written(tmp_path / "rows.jsonl", [row(i) for i in range(3)])
    with Server(FakeTool("phoenix")) as there:
        said = command(*first, "rows.jsonl", *LEAN, "--phoenix", there.root)

    assert (said.code, said.out, there.heard, runs()) == (2, "", [], 0)
    assert "rows.jsonl: no case has a trace id, so its scores can be sent back to nothing" in said.err


@pytest.mark.parametrize("first", [("evaluate",), ("watch", "--replay")])
def test_what_cant_be_sent_to_is_refused_before_anything_is_judged(command, tmp_path: Path, first):
    written(tmp_path / "t.jsonl", [traced(0)])
    wrong = command(*first, "t.jsonl", *LEAN, "--opik", "127.0.0.1:5173")
    same = command(*first, "t.jsonl", *LEAN, "--scores", "t.jsonl")

    assert (wrong.code, same.code) == (2, 2)
    assert "is no address of a server: begin it with http:// or https://" in wrong.err
    assert "--scores t.jsonl: is the file that is read" in same.err
    assert not Path(".ragtriage").exists()


def test_what_has_no_traces_at_all_takes_no_such_flag(command, tmp_path: Path):
    written(tmp_path / "t.jsonl", [traced(0)])
    spread = command("evaluate", "t.jsonl", *LEAN, "--on", "local:1", "--out", "out", "--mlflow", "http://127.0.0.1:1")
    asked = command("evaluate", "t.jsonl", *LEAN, "--app", "http://127.0.0.1:1", "--mlflow", "http://127.0.0.1:1")

    assert (spread.code, asked.code) == (2, 2)
    assert "--mlflow can't be given with --on: put the records into the store" in spread.err
    assert "--mlflow: what --app answers has no trace" in asked.err


def test_a_plan_asks_nobody(command, tmp_path: Path):
    written(tmp_path / "t.jsonl", [traced(0)])
    with Server(FakeTool("phoenix")) as there:
        said = command("evaluate", "t.jsonl", *LEAN, "--dry-run", "--phoenix", there.root)
    assert (said.code, there.heard) == (0, [])


def test_watch_sends_each_window_once_and_what_was_left_with_the_next_command(command, tmp_path: Path):
    written(tmp_path / "t.jsonl", [traced(i) for i in range(12)])
    hourly = ("watch", "--replay", "t.jsonl", *LEAN, "--window", "1h", "--scores", "scores.jsonl")
    dead, phoenix = nobody().removesuffix("/v1"), FakeTool("phoenix")
    with Server(phoenix) as there:
        first = command(*hourly, "--phoenix", there.root, "--opik", dead, *NOW)
        second = command(*hourly, "--phoenix", there.root, "--json")

    assert first.code == 3
    assert "1  2026-11-01 00:00" in first.out
    assert f"Phoenix {there.root}  12 scores sent" in first.out
    assert "left in the outbox: 12, no connection" in first.out
    assert "to send what is left: the same command again" in first.out
    assert "scores.jsonl  12 scores written" in first.out
    assert (second.code, second.json["complete"]) == (0, True)
    assert second.json["sent"]["destinations"][0] | {"address": ""} == {
        "name": "phoenix", "address": "", "sent": {"score": 0, "source": 0, "conversation": 0}, "before": 12,
        "undefined": 0, "left_out": {}, "refused": {}, "left": 0, "why": None,
    }  # fmt: skip
    assert len(phoenix.kept) == 12
    assert {key[-1].partition("-")[2][:1] for key in phoenix.kept} == {"1", "2"}
    lines = [json.loads(line) for line in Path("scores.jsonl").read_text(encoding="utf-8").splitlines()]
    records = [r for line in lines for r in line["resourceLogs"][0]["scopeLogs"][0]["logRecords"]]
    assert [one["traceId"] for one in records] == [f"{i + 1:032x}" for i in range(12)]


def test_a_tool_that_comes_back_gets_all_windows_with_the_next_command(command, tmp_path: Path):
    written(tmp_path / "t.jsonl", [traced(i) for i in range(18)])
    langfuse = FakeTool("langfuse")
    with Server(Said("down", 503), langfuse) as there:
        hourly = ("watch", "--replay", "t.jsonl", *LEAN, "--window", "1h", "--langfuse", there.root, *NOW, "--json")
        first, said = command(*hourly), command(*hourly)

    assert (first.code, said.code) == (3, 0)
    assert first.json["sent"]["destinations"][0]["left"] == 18
    assert said.json["sent"]["destinations"][0]["sent"]["score"] == 18
    assert (len(langfuse.kept), langfuse.twice) == (18, [])


def test_an_alarm_ends_with_1_but_what_wasnt_sent_with_3(command, tmp_path: Path):
    wrong = "The museum opens at nine on {0} June, and dogs may come in for free."
    written(tmp_path / "base.jsonl", [traced(i) for i in range(50)])
    written(tmp_path / "t.jsonl", [traced(i, **({"answer": wrong.format(i)} if i > 54 else {})) for i in range(50, 70)])
    assert command("evaluate", "base.jsonl", *LEAN).code == 0
    watch = ("watch", "--replay", "t.jsonl", "--window", "500", "--baseline", "1", "--alarm-every", "50", *LEAN)
    unsent = command(*watch, "--phoenix", nobody().removesuffix("/v1"), *NOW)
    with Server(FakeTool("phoenix")) as there:
        sent = command(*watch, "--phoenix", there.root)

    assert (unsent.code, sent.code) == (3, 1)
    assert "alarm 1: Grounded got worse" in unsent.out
    assert f"Phoenix {there.root}  20 scores sent" in sent.out


def test_explanations_go_out_before_texts_are_deleted(command, tmp_path: Path):
    old = [traced(i, time=f"2020-01-01T0{i}:00:00+00:00", answer="Dogs may come in for free.") for i in range(3)]
    written(tmp_path / "t.jsonl", old)
    watch = ("watch", "--replay", "t.jsonl", *LEAN, "--keep-texts", "30d", "--quote")
    with Server(FakeTool("phoenix")) as there:
        said = command(*watch, "--phoenix", there.root)
        explained = [one["result"].get("explanation") for one in there.heard[0].body["data"]]
    refused = command(*watch, "--keep-texts", "0", "--phoenix", there.root)

    assert said.code == 0
    assert all(one.startswith("“Dogs may come in for free.”: ") for one in explained)
    with open_store(".ragtriage") as store:
        assert not cases_with_texts(store.database, 1)
    assert refused.code == 2
    assert "--quote needs the texts that --keep-texts 0 deletes" in refused.err


def test_every_command_that_sends_has_the_same_flags(command):
    for name in ("send", "evaluate", "watch"):
        out = command(name, "--help").out
        for flag in ("--scores", "--quote", "--retry-refused", "--patience", *(f"--{one}" for one in DESTINATIONS)):
            assert f"{flag} " in out, (name, flag)
