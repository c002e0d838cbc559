"""Scores as feedback of LangSmith."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode

from ragtriage.monitor.outputs.entries import (
    Destination,
    Entry,
    Environment,
    NotSent,
    ToolRequest,
    alone,
    comment_of,
    facts,
    score_key,
    without_none,
)
from ragtriage.monitor.outputs.scores import ScoredBy, ScoredTrace

PATH = "/feedback"
PLACES = 4
"""Decimals of a score that it keeps; its client rounds to them."""
NO_RUN = "its ids are none of LangSmith's runs (UUIDs)"


def entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:
    """The scores, without a value and with the reason where there is none."""
    root, run = _uuid(trace.trace), _uuid(trace.span or trace.trace)
    for score in trace.scores:
        if root is None or run is None:
            yield NotSent(NO_RUN)
            continue
        key = score_key(trace, score)
        source = "api" if by.kinds.get(score.metric, "CODE") == "CODE" else "model"
        body = {
            "id": str(by.own_id(key)),
            "run_id": run,
            "trace_id": root,
            "session_id": _uuid(trace.project or ""),
            "key": score.metric,
            "score": None if score.value is None else round(score.value, PLACES),
            "comment": comment_of(score),
            "feedback_source": {"type": source, "metadata": facts(by, score)},
            "extend_trace_retention": False,  # else every judged trace is kept, and paid for, longer
        }
        yield Entry(key, "score", PATH, without_none(body), run)


def again(entry: Entry, remote: str) -> ToolRequest:
    """The request that changes a feedback."""
    body = {"score": entry.body.get("score"), "comment": entry.body.get("comment")}
    return ToolRequest("PATCH", f"{PATH}/{remote}", json.dumps(body, ensure_ascii=False))


def remote(entry: Entry, _: Any) -> str:
    """The id that it was sent with."""
    return str(entry.body["id"])


def project(env: Environment) -> str | None:
    """As its client reads it."""
    return env.get("LANGSMITH_PROJECT") or env.get("LANGCHAIN_PROJECT")


def ask_project(name: str) -> tuple[str, Callable[[Any], str | None]]:
    """Asks for the id of the project (there a session) of this name."""

    def read(reply: Any) -> str | None:
        first = reply[0] if isinstance(reply, list) and reply else None
        return str(first["id"]) if isinstance(first, dict) and "id" in first else None

    return f"/sessions?{urlencode({'limit': 1, 'name': name, 'offset': 0})}", read


def headers(env: Environment) -> dict[str, str]:
    """As its client reads them."""
    key = env.get("LANGSMITH_API_KEY") or env.get("LANGCHAIN_API_KEY")
    return without_none({"x-api-key": key, "X-Tenant-Id": env.get("LANGSMITH_WORKSPACE_ID")})


def _uuid(text: str) -> str | None:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None


LANGSMITH = Destination(
    "langsmith", "LangSmith", entries, headers, "LANGSMITH_API_KEY", alone, in_flight=4, again=again, remote=remote,
    project=project, ask_project=ask_project, claims=True,
)  # fmt: skip
