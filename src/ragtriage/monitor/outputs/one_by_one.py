"""Scores as tools take them one by one, which change what they have by its id: MLflow and LangSmith."""

import json
import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote, urlencode

from ragtriage.monitor.outputs.entries import Entry, NotSent, ToolRequest, comment_of, facts, score_key, without_none
from ragtriage.monitor.outputs.scores import ScoredBy, ScoredTrace

_MLFLOW = "/api/3.0/mlflow/traces"
_ENTRY = "ragtriage.entry"
"""Under which an assessment's metadata names what it is of, so that one that was on its way when this program was
killed is found mlflow_again."""
_KINDS = {"CODE": "CODE", "LLM": "LLM_JUDGE"}


def mlflow_entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry]:
    """The scores, with an error in the place of a value where there is none."""
    # MLflow calls a trace that came by OpenTelemetry `tr-` and its id
    trace_id = f"tr-{trace.trace}" if re.fullmatch("[0-9a-f]{32}", trace.trace) else trace.trace
    path = f"{_MLFLOW}/{quote(trace_id, safe='')}/assessments"
    for score in trace.scores:
        key = score_key(trace, score)
        told = {name: one if isinstance(one, str) else json.dumps(one) for name, one in facts(by, score).items()}
        feedback: dict[str, Any] = {"value": score.value}
        if score.value is None:
            code = "JUDGE_FAILED" if score.failed else "UNDEFINED"
            feedback["error"] = {"error_code": code, "error_message": score.undefined}
        assessment = {
            "assessment_name": score.metric,
            "trace_id": trace_id,
            "span_id": trace.span,
            "source": {"source_type": _KINDS[by.kinds.get(score.metric, "CODE")], "source_id": by.judge},
            "feedback": feedback,
            "rationale": score.explanation,
            "metadata": {**told, _ENTRY: f"{by.mark}/{key.hex()}"},
        }
        yield Entry(key, "score", path, {"assessment": without_none(assessment)}, trace_id)


def mlflow_again(entry: Entry, remote: str) -> ToolRequest:
    """The request that changes an assessment; only what can change is written."""
    made = entry.body["assessment"]
    changed = {name: made.get(name) for name in ("assessment_name", "trace_id", "feedback", "rationale", "metadata")}
    changed["rationale"] = changed["rationale"] or ""  # what was quoted before must not stay
    body = {"assessment": {"assessment_id": remote, **changed}, "update_mask": "feedback,rationale,metadata"}
    return ToolRequest("PATCH", f"{entry.path}/{quote(remote, safe='')}", json.dumps(body, ensure_ascii=False))


def mlflow_remote(_: Entry, reply: Any) -> str | None:
    """The id of the assessment that was made."""
    found = reply.get("assessment") if isinstance(reply, dict) else None
    return str(found["assessment_id"]) if isinstance(found, dict) and found.get("assessment_id") else None


def mlflow_find(entry: Entry) -> tuple[str, Callable[[Any], str | None]]:
    """Asks the trace for its assessments."""

    def read(reply: Any) -> str | None:
        try:
            made = reply["trace"]["trace_info"].get("assessments", ())
            mine = entry.body["assessment"]["metadata"][_ENTRY]
            return next((one["assessment_id"] for one in made if one.get("metadata", {}).get(_ENTRY) == mine), None)
        except (AttributeError, KeyError, TypeError):
            return None

    return entry.path.removesuffix("/assessments"), read


_LANGSMITH = "/feedback"
_PLACES = 4
"""Decimals of a score that it keeps; its client rounds to them."""
_NO_RUN = "its ids are none of LangSmith's runs (UUIDs)"


def langsmith_entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:
    """The scores, without a value and with the reason where there is none."""
    root, run = _uuid(trace.trace), _uuid(trace.span or trace.trace)
    for score in trace.scores:
        if root is None or run is None:
            yield NotSent(_NO_RUN)
            continue
        key = score_key(trace, score)
        source = "api" if by.kinds.get(score.metric, "CODE") == "CODE" else "model"
        body = {
            "id": str(by.own_id(key)),
            "run_id": run,
            "trace_id": root,
            "session_id": _uuid(by.project or ""),
            "key": score.metric,
            "score": None if score.value is None else round(score.value, _PLACES),
            "comment": comment_of(score),
            "feedback_source": {"type": source, "metadata": facts(by, score)},
            "extend_trace_retention": False,  # else every judged trace is kept, and paid for, longer
        }
        yield Entry(key, "score", _LANGSMITH, without_none(body), run)


def langsmith_again(entry: Entry, remote: str) -> ToolRequest:
    """The request that changes a feedback."""
    body = {"score": entry.body.get("score"), "comment": entry.body.get("comment")}
    return ToolRequest("PATCH", f"{_LANGSMITH}/{remote}", json.dumps(body, ensure_ascii=False))


def langsmith_remote(entry: Entry, _: Any) -> str:
    """The id that it was sent with."""
    return str(entry.body["id"])


def langsmith_project(name: str) -> tuple[str, Callable[[Any], str | None]]:
    """Asks for the id of the project (there a session) of this name."""

    def read(reply: Any) -> str | None:
        first = reply[0] if isinstance(reply, list) and reply else None
        return str(first["id"]) if isinstance(first, dict) and "id" in first else None

    return f"/sessions?{urlencode({'limit': 1, 'name': name, 'offset': 0})}", read


def _uuid(text: str) -> str | None:
    try:
        return str(uuid.UUID(text))
    except ValueError:
        return None
