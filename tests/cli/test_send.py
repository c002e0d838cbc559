"""`send`, and scores that go out with `evaluate` and `watch`: no text unasked, no key anywhere, nothing twice."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli_rows import row, written
from ragtriage.store.forgetting import cases_with_texts

sys.path.append(str(Path(__file__).parents[1] / "monitor"))
from fake_tools import FakeTool
from traced_runs import SECRET_TEXT, case_for, keep_run, records, traced_case

from ragtriage.core.case import Case
from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.store import open_store
from servers import Said, Server

KEYS = {
    "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20k3y-otlp", "PHOENIX_API_KEY": "k3y-phoenix",
    "LANGFUSE_PUBLIC_KEY": "k3y-public", "LANGFUSE_SECRET_KEY": "k3y-langfuse", "MLFLOW_TRACKING_TOKEN": "k3y-mlflow",
    "OPIK_API_KEY": "k3y-opik", "OPIK_WORKSPACE": "space", "LANGSMITH_API_KEY": "k3y-langsmith",
}  # fmt: skip
SENT_AS = {
    "otlp": ("authorization", "Bearer k3y-otlp"),
    "phoenix": ("authorization", "Bearer k3y-phoenix"),
    "langfuse": ("authorization", "Basic azN5LXB1YmxpYzprM3ktbGFuZ2Z1c2U="),
    "mlflow": ("authorization", "Bearer k3y-mlflow"),
    "opik": ("authorization", "k3y-opik"),
    "langsmith": ("x-api-key", "k3y-langsmith"),
}
LEAN = ("--metrics", "groundedness")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch) -> Iterator[None]:
    """Whatever this machine has, none of the tools' variables is set."""
    for name in [*KEYS, "OTEL_EXPORTER_OTLP_LOGS_HEADERS", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD",
                 "OPIK_PROJECT_NAME", "LANGSMITH_PROJECT", "LANGCHAIN_PROJECT", "LANGCHAIN_API_KEY",
                 "LANGSMITH_WORKSPACE_ID"]:  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def a_run(*cases: Case) -> int:
    with open_store(".ragtriage") as store:
        return keep_run(store, list(records(cases)))


def traced(i: int, **changed: Any) -> dict[str, Any]:
    """A row of a trace, ten minutes after the one before."""
    time = (datetime(2026, 11, 1, tzinfo=UTC) + timedelta(minutes=10 * i)).isoformat()
    return row(i, **{"time": time, "trace_id": f"{i + 1:032x}", "span_id": f"{i + 1:016x}", **changed})


@pytest.mark.parametrize("tool", [*DESTINATIONS])
def test_what_was_sent_is_told_and_no_text_goes_along_unasked(command, tool) -> None:
    a_run(*(case_for(tool, i) for i in range(3)), traced_case(9, trace_id=None))
    with Server(FakeTool(tool)) as there:
        said = command("send", "last", f"--{tool}", there.root)
        bodies = str([heard.body for heard in there.heard])
        quoted = command("send", "last", f"--{tool}", there.root, "--quote")

    assert said.code == 0
    assert f"{there.root}  21 scores" in said.out
    assert ("6 verdicts on sources" in said.out) == (tool == "phoenix")
    assert ("14 means of conversations" in " ".join(said.out.split())) == (tool in {"phoenix", "opik"})
    assert "1 case without a trace id: nothing of them can be sent" in said.out
    assert SECRET_TEXT not in bodies
    assert SECRET_TEXT in str([heard.body for heard in there.heard])
    assert quoted.code == 0


@pytest.mark.parametrize(
    ("tool", "status"),
    # what a refusal of the key and an outage are told by is the same for all tools
    [*((tool, status) for tool in DESTINATIONS for status in (200, 400)), ("langfuse", 401), ("langfuse", 503)],
)
def test_a_key_goes_to_its_tool_and_stands_nowhere(command, monkeypatch, tool, status) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    a_run(*(case_for(tool, i) for i in range(2)))
    other = "mlflow" if tool != "mlflow" else "phoenix"
    own = FakeTool(tool)
    name, value = SENT_AS[tool]

    def echoes(heard: Any) -> Said:
        longest = "x" * (203 - len(value)) + value  # the end of the key is beyond what is shown of a reply
        return own(heard) if status == 200 else Said(f"{longest}, you sent {heard.headers}", status)

    with Server(echoes) as there, Server(FakeTool(other)) as elsewhere:
        to = (f"--{tool}", there.root.replace("//", "//user:p4ssword@"), f"--{other}", elsewhere.root)
        said = command("send", "last", *to, "--patience", "0")

    assert {heard.headers[name] for heard in there.heard} == {value}
    assert {heard.headers[SENT_AS[other][0]] for heard in elsewhere.heard} == {SENT_AS[other][1]}
    assert value not in str([heard.headers for heard in elsewhere.heard])
    for secret in ("k3y", value, "azN5", "p4ssword"):
        assert secret not in said.out + said.err
        for path in Path(".ragtriage").iterdir():
            assert secret.encode() not in path.read_bytes()
    assert said.code == (0 if status == 200 else 3)


def test_user_and_password_of_an_address_are_used_where_there_is_no_key(command) -> None:
    a_run(traced_case(0))
    with Server(FakeTool("mlflow")) as there:
        said = command("send", "last", "--mlflow", there.root.replace("//", "//user:p4ssword@"))

    assert said.code == 0
    assert {heard.headers["authorization"] for heard in there.heard} == {"Basic dXNlcjpwNHNzd29yZA=="}
    assert "p4ssword" not in said.out + said.err


def test_a_tool_that_comes_back_gets_all_windows_with_the_next_command(command) -> None:
    written(Path("t.jsonl"), [traced(i) for i in range(18)])
    langfuse = FakeTool("langfuse")
    with Server(Said("down", 503), langfuse) as there:
        hourly = ("watch", "--replay", "t.jsonl", *LEAN, "--window", "1h", "--langfuse", there.root, "--patience", "0")
        first, said, third = (command(*hourly, "--json") for _ in range(3))

    assert (first.code, said.code, third.code) == (3, 0, 0)
    assert first.json["sent"]["destinations"][0]["left"] == 18
    assert said.json["sent"]["destinations"][0]["sent"]["score"] == 18
    assert third.json["sent"]["destinations"][0]["before"] == 18
    assert (len(langfuse.kept), langfuse.twice) == (18, [])


def test_explanations_go_out_before_texts_are_deleted(command) -> None:
    old = [traced(i, time=f"2020-01-01T0{i}:00:00+00:00", answer="Dogs may come in for free.") for i in range(3)]
    written(Path("t.jsonl"), old)
    with Server(FakeTool("phoenix")) as there:
        flags = ("--keep-texts", "30d", "--quote", "--phoenix", there.root)
        said = command("watch", "--replay", "t.jsonl", *LEAN, *flags)
        explained = [one["result"].get("explanation") for one in there.heard[0].body["data"]]

    assert said.code == 0
    assert all(one.startswith("“Dogs may come in for free.”: ") for one in explained)
    with open_store(".ragtriage") as store:
        assert not cases_with_texts(store.database, 1)
