"""Feedback scores of Opik: of spans, traces and threads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ragtriage.monitor.outputs.entries import (
    UNDEFINED,
    Destination,
    Entry,
    Environment,
    NotSent,
    listed_as,
    mean_key,
    score_key,
    without_none,
)
from ragtriage.monitor.outputs.scores import ConversationMean, ScoredBy, ScoredTrace

SPANS, TRACES, THREADS = (f"/api/v1/private/{of}/feedback-scores" for of in ("spans", "traces", "traces/threads"))


def entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:  # noqa: ARG001  # as every tool's
    """The scores that have a value, on the question's span or on the trace; a score of the same name is replaced."""
    path, of = (SPANS, trace.span) if trace.span else (TRACES, trace.trace)
    for score in trace.scores:
        if score.value is None:
            yield NotSent(UNDEFINED)
            continue
        body = {"id": of, **_score(trace.project, score.metric, score.value, score.explanation)}
        yield Entry(score_key(trace, score), "score", path, body, of)


def means(mean: ConversationMean, by: ScoredBy) -> Iterator[Entry]:  # noqa: ARG001  # as every tool's
    """The mean on the thread."""
    body = {"thread_id": mean.conversation, **_score(mean.project, mean.metric, mean.value, None)}
    yield Entry(mean_key(mean), "conversation", THREADS, body, mean.conversation)


def _score(project: str | None, metric: str, value: float, reason: str | None) -> Mapping[str, Any]:
    return without_none({"project_name": project, "name": metric, "value": value, "reason": reason, "source": "sdk"})


def headers(env: Environment) -> dict[str, str]:
    """As its client reads them; the workspace is sent also where no key is needed."""
    return without_none({"Authorization": env.get("OPIK_API_KEY"), "Comet-Workspace": env.get("OPIK_WORKSPACE")})


def project(env: Environment) -> str | None:
    """As its client reads it."""
    return env.get("OPIK_PROJECT_NAME")


OPIK = Destination(
    "opik", "Opik", entries, headers, "OPIK_API_KEY and OPIK_WORKSPACE", listed_as("scores"), means, method="PUT",
    most=1000, project=project,
)  # fmt: skip
