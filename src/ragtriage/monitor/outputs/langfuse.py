"""Scores of Langfuse."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

from ragtriage.monitor.outputs.entries import (
    UNDEFINED,
    Destination,
    Entry,
    Environment,
    NotSent,
    as_list,
    facts,
    score_key,
    without_none,
)
from ragtriage.monitor.outputs.scores import ScoredBy, ScoredTrace

PATH = "/api/public/scores"
MOST_BYTES = 1_000_000
"""Of a body, as its client counts; the server takes 1 MiB."""


def entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:
    """The scores that have a value, which a numeric score must have."""
    for score in trace.scores:
        if score.value is None:
            yield NotSent(UNDEFINED)
            continue
        key = score_key(trace, score)
        body = {
            "id": str(by.own_id(key)),
            "traceId": trace.trace,
            "observationId": trace.span,
            "name": score.metric,
            "value": score.value,
            "dataType": "NUMERIC",
            "comment": score.explanation,
            "timestamp": by.created,  # what is sent again must be the same score, also by its day
            "metadata": facts(by, score),
        }
        yield Entry(key, "score", PATH, without_none(body), trace.trace)


def headers(env: Environment) -> dict[str, str]:
    """As its client reads the keys."""
    public, secret = env.get("LANGFUSE_PUBLIC_KEY"), env.get("LANGFUSE_SECRET_KEY")
    if not (public and secret):
        return {}
    return {"Authorization": f"Basic {base64.b64encode(f'{public}:{secret}'.encode()).decode()}"}


def rejected(reply: Any) -> int:
    """How many scores of a list weren't taken (HTTP 207), without saying which."""
    found = reply.get("rejected") if isinstance(reply, dict) else 0
    return found if isinstance(found, int) else 0


LANGFUSE = Destination(
    "langfuse", "Langfuse", entries, headers, "LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY", as_list, most=1000,
    most_bytes=MOST_BYTES, rejected=rejected, claims=True,
)  # fmt: skip
