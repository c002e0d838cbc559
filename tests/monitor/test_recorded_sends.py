"""Our requests have the method, the path and the fields of those that the tools' own clients send for the same scores.

`bench/traces/record_sends.py` recorded those.
"""

import json
import uuid
from dataclasses import replace
from pathlib import Path
from typing import Any

from ragtriage.monitor.outputs.destinations import DESTINATIONS
from ragtriage.monitor.outputs.entries import Entry
from ragtriage.monitor.outputs.scores import (
    ConversationMean,
    ScoredBy,
    ScoredTrace,
    SentScore,
    SourceVerdict,
)

TRACE, SPAN = "5b8aa5a2d2c872e8321cf37308d69df2", "051581bf3cb55c13"
TRACE_ID, SPAN_ID, PROJECT = (str(uuid.uuid5(uuid.NAMESPACE_URL, name)) for name in ("trace", "span", "project"))
NAME, VALUE, WHY = "groundedness", 0.87654321, "one claim isn't supported"
GOOD = SentScore(NAME, VALUE, label="low", explanation=WHY, judged=3)
UNDEFINED = SentScore(NAME, None, "no claim")
BY = ScoredBy("run", 1, "embedded", "f" * 16, "2026-11-29T19:51:04+00:00", {NAME: "CODE"})
ENV = {
    "LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-1", "OPIK_API_KEY": "k", "OPIK_WORKSPACE": "w",
    "LANGSMITH_API_KEY": "k", "PHOENIX_API_KEY": "k",
}  # fmt: skip


def recorded(tool: str) -> list[dict[str, Any]]:
    return json.loads((Path(__file__).parent / "recorded" / f"{tool}.json").read_text(encoding="utf-8"))


def entry(tool: str, trace: ScoredTrace, project: str | None = None) -> Entry:
    (found,) = DESTINATIONS[tool].entries(trace, replace(BY, project=project))
    assert isinstance(found, Entry)
    return found


def mean(tool: str, project: str | None = None) -> Entry:
    made = DESTINATIONS[tool].means
    assert made is not None
    (found,) = made(ConversationMean("talk", NAME, VALUE, 2, "low"), replace(BY, project=project))
    return found


def request(tool: str, one: Entry) -> dict[str, Any]:
    return {
        "method": DESTINATIONS[tool].method,
        "path": one.path.split("?")[0],
        "body": json.loads(DESTINATIONS[tool].body([one])),
    }


def same_place(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    return (ours["method"], ours["path"]) == (theirs["method"], theirs["path"])


def shape(value: Any) -> Any:
    """The fields of a body with the kinds of their values."""
    if isinstance(value, dict):
        return {key: shape(inner) for key, inner in value.items()}
    return [shape(inner) for inner in value] if isinstance(value, list) else type(value).__name__


def differing(ours: Any, theirs: Any) -> tuple[set[str], set[str]]:
    """Fields that only ours, and that only theirs has, which have values of the same kinds else."""
    for key in ours.keys() & theirs.keys():
        if key != "metadata":
            assert shape(ours[key]) == shape(theirs[key]), key
    return ours.keys() - theirs.keys(), theirs.keys() - ours.keys()


def test_langfuse():
    (theirs,) = recorded("langfuse")
    ours = request("langfuse", entry("langfuse", ScoredTrace("c", TRACE, SPAN, [GOOD])))

    assert same_place(ours, theirs)
    (one,), (other,) = ours["body"], theirs["body"]
    assert differing(one, other) == (set(), set())
    for key in ("traceId", "observationId", "name", "value", "comment", "dataType"):
        assert one[key] == other[key]


def test_opik():
    spans, traces, threads = recorded("opik")
    of_span, of_trace = (
        entry("opik", ScoredTrace("c", TRACE_ID, span, [GOOD]), project="p") for span in (SPAN_ID, None)
    )
    for one, theirs in ((of_span, spans), (of_trace, traces), (mean("opik", "p"), threads)):
        ours = request("opik", one)
        assert same_place(ours, theirs)
        (mine,), (other,) = ours["body"]["scores"], theirs["body"]["scores"]
        expected = {key: value for key, value in other.items() if value is not None and key != "reason"}
        assert {key: value for key, value in mine.items() if key != "reason"} == expected
    assert of_span.body["reason"] == WHY


def test_langsmith():
    posted, undefined, patched, asked = recorded("langsmith")
    tool = DESTINATIONS["langsmith"]
    trace = ScoredTrace("c", TRACE_ID, SPAN_ID, [GOOD])
    for score, theirs in ((GOOD, posted), (UNDEFINED, undefined)):
        one = entry("langsmith", ScoredTrace("c", TRACE_ID, SPAN_ID, [score]), project=PROJECT)
        ours = request("langsmith", one)
        assert same_place(ours, theirs)
        assert differing(ours["body"], theirs["body"] | {"feedback_source": ours["body"]["feedback_source"]}) == (
            set(), {"created_at", "modified_at"},
        )  # fmt: skip
        for key in ("run_id", "trace_id", "session_id", "key", "score", "comment", "extend_trace_retention"):
            assert ours["body"].get(key) == theirs["body"].get(key), key
        assert ours["body"]["feedback_source"].keys() == theirs["body"]["feedback_source"].keys()
    assert tool.again is not None
    again = tool.again(entry("langsmith", trace), patched["path"].rpartition("/")[2])
    ours = {"method": again.method, "path": again.path, "body": json.loads(again.content)}
    assert ours == {key: patched[key] for key in ours}
    assert tool.ask_project is not None
    assert tool.ask_project("p")[0].split("?")[0] == asked["path"].split("?")[0]
    assert sorted(tool.ask_project("p")[0].split("?")[1].split("&")) == sorted(asked["path"].split("?")[1].split("&"))


def test_mlflow():
    posted, undefined, patched = recorded("mlflow")
    for score, theirs in ((GOOD, posted), (UNDEFINED, undefined)):
        ours = request("mlflow", entry("mlflow", ScoredTrace("c", TRACE, SPAN, [score])))
        assert same_place(ours, theirs)
        mine, other = ours["body"]["assessment"], theirs["body"]["assessment"]
        lacks = {"create_time", "last_update_time", "valid"} | ({"rationale"} if score is UNDEFINED else set())
        assert mine["feedback"] == other["feedback"]
        assert differing(mine, other) == (set(), lacks)
        assert all(isinstance(value, str) for value in mine["metadata"].values())
    tool = DESTINATIONS["mlflow"]
    assert tool.again is not None
    again = tool.again(entry("mlflow", ScoredTrace("c", TRACE, SPAN, [GOOD])), "a-1")
    assert (again.method, again.path) == (patched["method"], patched["path"])
    body = json.loads(again.content)
    assert body["assessment"].keys() == patched["body"]["assessment"].keys()
    assert set(body["update_mask"].split(",")) | {"assessmentName"} == set(patched["body"]["update_mask"].split(","))


def test_phoenix():
    spans, traces, sessions, documents = recorded("phoenix")
    verdict = SourceVerdict(SPAN, 0, "yes", 0.8, explanation=WHY)
    whole = entry("phoenix", ScoredTrace("c", TRACE, None, [GOOD]))
    document = entry("phoenix", ScoredTrace("c", TRACE, SPAN, [], sources=[verdict]))
    on_span = entry("phoenix", ScoredTrace("c", TRACE, SPAN, [GOOD]))
    for one, theirs in ((on_span, spans), (whole, traces), (mean("phoenix"), sessions), (document, documents)):
        ours = request("phoenix", one)
        assert same_place(ours, theirs)
        (mine,), (other,) = ours["body"]["data"], theirs["body"]["data"]
        no_explanation = {key: value for key, value in other["result"].items() if key in mine["result"]}
        assert differing(mine, {**other, "result": no_explanation}) == (set(), set())
    assert on_span.body["result"] == spans["body"]["data"][0]["result"]


def test_keys_go_in_the_headers_of_the_tools_own_client_and_without_keys_no_header_is_sent():
    for tool in ("langfuse", "opik", "langsmith", "phoenix"):
        ours = {name.lower() for name in DESTINATIONS[tool].headers(ENV)}
        assert ours
        assert ours <= set(recorded(tool)[0]["headers"])
    assert [one.headers({}) for one in DESTINATIONS.values()] == [{}] * 6
