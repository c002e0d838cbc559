"""`ragtriage send`: nothing goes out unnamed, no text unasked, no key anywhere; what wasn't sent ends with 3."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parents[1] / "monitor"))
from fake_tools import FakeTool
from traced_runs import SECRET_TEXT, case_for, keep_run, records, traced_case

from ragtriage.core.case import Case
from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.store import open_store
from servers import Said, Server, nobody

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


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    """Whatever this machine has, none of the tools' variables is set."""
    for name in [*KEYS, "OTEL_EXPORTER_OTLP_LOGS_HEADERS", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD",
                 "OPIK_PROJECT_NAME", "LANGSMITH_PROJECT", "LANGCHAIN_PROJECT", "LANGCHAIN_API_KEY",
                 "LANGSMITH_WORKSPACE_ID"]:  # fmt: skip
        monkeypatch.delenv(name, raising=False)


def a_run(*cases: Case) -> int:
    with open_store(".ragtriage") as store:
        return keep_run(store, list(records(cases or [traced_case(i) for i in range(3)])))


def test_nothing_goes_out_unnamed(command):
    a_run()
    said = command("send", "last")

    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("ragtriage: nothing is sent that isn't named: give --scores FILE, --otlp URL, ")
    for name in DESTINATIONS:
        assert f"--{name} URL" in said.err


def test_a_run_without_traces_is_refused(command):
    a_run(traced_case(0, trace_id=None))
    with Server(FakeTool("phoenix")) as there:
        said = command("send", "last", "--phoenix", there.root)

    assert (said.code, there.heard) == (2, [])
    assert "no case of run 1 has a trace id: it wasn't read from traces" in said.err


@pytest.mark.parametrize("tool", [*DESTINATIONS])
def test_what_was_sent_is_told_and_no_text_goes_along(command, tool):
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


def test_json_says_the_same(command):
    a_run(traced_case(0), traced_case(1, response=None), traced_case(2))
    tool = FakeTool("langfuse", (str(traced_case(2).trace_id),))
    with Server(tool) as there:
        said = command("send", "1", "--langfuse", there.root, "--scores", "scores.jsonl", "--json")

    assert said.code == 3
    assert json.loads(said.out) == {
        "run": 1,
        "without_trace": 0,
        "files": [{"path": "scores.jsonl", "records": 21, "left_out": {}}],
        "destinations": [
            {
                "name": "langfuse", "address": there.root, "sent": {"score": 10, "source": 0, "conversation": 0},
                "before": 0, "undefined": 4, "left_out": {}, "refused": {"refused (HTTP 207)": 7}, "left": 0,
                "why": None,
            }
        ],
    }  # fmt: skip


def test_what_a_tool_has_no_place_for_is_counted_and_makes_it_incomplete(command):
    a_run(traced_case(0, trace_id="tr-1"))
    with Server(FakeTool("langsmith")) as there:
        said = command("send", "1", "--langsmith", there.root)
    written = command("send", "1", "--scores", "scores.jsonl")

    assert (said.code, there.heard, written.code) == (3, [], 3)
    assert "left out: 7, its ids are none of LangSmith's runs (UUIDs)" in said.out
    assert "left out: 7, " in written.out


@pytest.mark.parametrize(("typed", "shown"), [("x", "x"), ("localhost:6006", "localhost:6006"), ("u:key1@h", "h")])
def test_an_address_without_http_is_told_as_it_was_typed_without_its_key(command, typed, shown):
    a_run()
    said = command("send", "1", "--phoenix", typed)

    assert said.code == 2
    assert f"--phoenix {shown}: is no address of a server: begin it with http:// or https://" in said.err


def test_what_is_left_is_told_with_the_command_for_it(command):
    a_run()
    url = nobody().removesuffix("/v1")
    said = command("send", "last", "--opik", url, "--patience", "0")
    with Server(FakeTool("opik")) as there:
        other = command("send", "last", "--opik", there.root)

    assert said.code == 3
    # 21 scores and 14 means of conversations
    assert "left in the outbox: 35, no connection: " in said.out
    assert f"to send what is left: ragtriage send 1 --opik {url}" in said.out
    assert other.code == 0
    assert f"note: run 1 has 35 scores left: ragtriage send 1 --opik {url}" in other.err


@pytest.mark.parametrize("tool", [*DESTINATIONS])
@pytest.mark.parametrize("status", [200, 400, 401, 503])
def test_a_key_goes_to_its_tool_and_stands_nowhere(command, monkeypatch, tool, status):
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    a_run(*(case_for(tool, i) for i in range(2)))
    other = "mlflow" if tool != "mlflow" else "phoenix"
    own = FakeTool(tool)

    def echoes(heard: Any) -> Said:
        return own(heard) if status == 200 else Said(f"you sent {heard.headers}", status)

    with Server(echoes) as there, Server(FakeTool(other)) as elsewhere:
        to = (f"--{tool}", there.root.replace("//", "//user:p4ssword@"), f"--{other}", elsewhere.root)
        said = command("send", "last", *to, "--patience", "0")

    name, value = SENT_AS[tool]
    assert {heard.headers[name] for heard in there.heard} == {value}
    assert {heard.headers[SENT_AS[other][0]] for heard in elsewhere.heard} == {SENT_AS[other][1]}
    assert value not in str([heard.headers for heard in elsewhere.heard])
    for secret in ("k3y", value, "azN5", "p4ssword"):
        assert secret not in said.out + said.err
        for path in Path(".ragtriage").iterdir():
            assert secret.encode() not in path.read_bytes()
    assert said.code == (0 if status == 200 else 3)


def test_user_and_password_of_an_address_are_used_where_there_is_no_key(command):
    a_run()
    with Server(FakeTool("mlflow")) as there:
        said = command("send", "last", "--mlflow", there.root.replace("//", "//user:p4ssword@"))

    assert said.code == 0
    assert {heard.headers["authorization"] for heard in there.heard} == {"Basic dXNlcjpwNHNzd29yZA=="}
    assert "p4ssword" not in said.out + said.err


def test_a_file_of_scores_is_written_anew_each_time(command):
    a_run()
    first = command("send", "last", "--scores", "scores.jsonl")
    text = Path("scores.jsonl").read_text(encoding="utf-8")
    second = command("send", "last", "--scores", "scores.jsonl")

    assert (first.code, second.code) == (0, 0)
    assert "scores.jsonl  21 scores written" in first.out
    (line,) = text.splitlines()
    (logs,) = json.loads(line)["resourceLogs"][0]["scopeLogs"]
    assert logs["scope"]["name"] == "ragtriage"
    record = logs["logRecords"][0]
    assert (record["eventName"], record["traceId"]) == ("gen_ai.evaluation.result", traced_case(0).trace_id)
    assert record["spanId"] == traced_case(0).tags["span_id"]
    attributes = {one["key"]: next(iter(one["value"].values())) for one in record["attributes"]}
    assert attributes["gen_ai.evaluation.name"] == "source_precision"
    assert attributes["gen_ai.evaluation.score.value"] == 0.5
    assert attributes["gen_ai.evaluation.score.label"] == "high"
    assert attributes["gen_ai.evaluation.target"] == "shop"
    assert json.loads(attributes["gen_ai.evaluation.evaluator.source"])["arguments"]["judge"] == "embedded"
    assert len(Path("scores.jsonl").read_text(encoding="utf-8").splitlines()) == 1
    assert SECRET_TEXT not in text


def test_a_file_that_cant_be_written_is_told(command):
    a_run()
    Path("file").touch()
    said = command("send", "last", "--scores", "file/scores.jsonl")

    assert said.code == 2
    assert "file/scores.jsonl can't be written" in said.err


def test_without_the_package_the_extra_is_named(process, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    a_run()
    said = process("send", "last", "--phoenix", "http://127.0.0.1:9", without="httpx")
    written = process("send", "last", "--scores", "scores.jsonl", without="httpx")

    assert said.code == 2
    assert "need the extra 'collect'" in said.err
    assert written.code == 0


def test_a_run_in_a_folder_is_refused(command):
    Path("folder").mkdir()
    said = command("send", "folder/", "--scores", "scores.jsonl")

    assert said.code in {2, 3}
    assert "folder" in said.err
