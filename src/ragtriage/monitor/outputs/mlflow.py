"""Scores as assessments (feedback) of MLflow's traces."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from ragtriage.monitor.outputs.entries import (
    Destination,
    Entry,
    Environment,
    ToolRequest,
    alone,
    facts,
    score_key,
    without_none,
)
from ragtriage.monitor.outputs.scores import ScoredBy, ScoredTrace

TRACES = "/api/3.0/mlflow/traces"
ENTRY = "ragtriage.entry"
"""Under which an assessment's metadata names what it is of, so that one that was on its way when this program was
killed is found again."""
KINDS = {"CODE": "CODE", "LLM": "LLM_JUDGE"}


def entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry]:
    """The scores, with an error in the place of a value where there is none."""
    # MLflow calls a trace that came by OpenTelemetry `tr-` and its id
    trace_id = f"tr-{trace.trace}" if re.fullmatch("[0-9a-f]{32}", trace.trace) else trace.trace
    path = f"{TRACES}/{quote(trace_id, safe='')}/assessments"
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
            "source": {"source_type": KINDS[by.kinds.get(score.metric, "CODE")], "source_id": by.judge},
            "feedback": feedback,
            "rationale": score.explanation,
            "metadata": {**told, ENTRY: f"{by.mark}/{key.hex()}"},
        }
        yield Entry(key, "score", path, {"assessment": without_none(assessment)}, trace_id)


def again(entry: Entry, remote: str) -> ToolRequest:
    """The request that changes an assessment; only what can change is written."""
    made = entry.body["assessment"]
    changed = {name: made.get(name) for name in ("assessment_name", "trace_id", "feedback", "rationale", "metadata")}
    changed["rationale"] = changed["rationale"] or ""  # what was quoted before must not stay
    body = {
        "assessment": {"assessment_id": remote, **changed},
        "update_mask": "feedback,rationale,metadata",
    }
    return ToolRequest("PATCH", f"{entry.path}/{quote(remote, safe='')}", json.dumps(body, ensure_ascii=False))


def remote(_: Entry, reply: Any) -> str | None:
    """The id of the assessment that was made."""
    found = reply.get("assessment") if isinstance(reply, dict) else None
    return str(found["assessment_id"]) if isinstance(found, dict) and found.get("assessment_id") else None


def find(entry: Entry) -> tuple[str, Callable[[Any], str | None]]:
    """Asks the trace for its assessments."""

    def read(reply: Any) -> str | None:
        try:
            made = reply["trace"]["trace_info"].get("assessments", ())
            mine = entry.body["assessment"]["metadata"][ENTRY]
            return next((one["assessment_id"] for one in made if one.get("metadata", {}).get(ENTRY) == mine), None)
        except (AttributeError, KeyError, TypeError):
            return None

    return entry.path.removesuffix("/assessments"), read


def headers(env: Environment) -> dict[str, str]:
    """As its client reads them: a token, or a user's name and password."""
    if token := env.get("MLFLOW_TRACKING_TOKEN"):
        return {"Authorization": f"Bearer {token}"}
    user, password = env.get("MLFLOW_TRACKING_USERNAME"), env.get("MLFLOW_TRACKING_PASSWORD")
    if not (user and password):
        return {}
    return {"Authorization": f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"}


MLFLOW = Destination(
    "mlflow", "MLflow", entries, headers,
    "MLFLOW_TRACKING_TOKEN, or MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD", alone, in_flight=4,
    repeatable=False, again=again, remote=remote, find=find, claims=True,
)  # fmt: skip
