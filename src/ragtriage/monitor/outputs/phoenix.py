"""Scores as annotations of Phoenix: of spans, traces, sessions, and of the documents of a retrieval."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ragtriage.monitor.outputs.entries import (
    Destination,
    Entry,
    Environment,
    comment_of,
    facts,
    listed_as,
    mean_key,
    score_key,
    source_key,
    without_none,
)
from ragtriage.monitor.outputs.scores import SOURCES, ConversationMean, ScoredBy, ScoredTrace

# Asked to work at once (`sync`), the server says which spans it doesn't know; else it takes everything and is silent.
SPANS, TRACES, SESSIONS, DOCUMENTS = (
    f"/v1/{of}_annotations?sync=true" for of in ("span", "trace", "session", "document")
)
WORDS = {"yes": "needed", "no": "not needed", "unknown": "unknown"}
"""A verdict on a source as a label."""
UNSURE = "perhaps not needed"
"""A no of which the judge isn't sure."""


def entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry]:
    """The scores on the question's span, or on the trace; the verdicts on documents of the retrievals' spans."""
    path, field, of = (SPANS, "span_id", trace.span) if trace.span else (TRACES, "trace_id", trace.trace)
    for score in trace.scores:
        label = score.label if score.value is not None else "undefined"
        result = without_none({"score": score.value, "label": label, "explanation": comment_of(score)})
        body = {field: of, **_annotation(score.metric, result, by), "metadata": facts(by, score)}
        yield Entry(score_key(trace, score), "score", path, body | {"identifier": by.mark}, str(of))
    for verdict in trace.sources:
        about = UNSURE if verdict.verdict == "no" and not verdict.sure else WORDS[verdict.verdict]
        result = without_none({"score": verdict.chance, "label": about, "explanation": verdict.explanation})
        where = {"span_id": verdict.span, "document_position": verdict.place}
        told = {"ragtriage.run": by.run, "judge": by.judge, "fingerprint": by.fingerprint}
        # of documents the server takes no identifier: what has the same name and place is replaced, by any run
        body = {**where, **_annotation(SOURCES, result, by), "metadata": told}
        yield Entry(source_key(trace, verdict), "source", DOCUMENTS, body, verdict.span)


def means(mean: ConversationMean, by: ScoredBy) -> Iterator[Entry]:
    """The mean on the session."""
    result = without_none({"score": mean.value, "label": mean.label})
    told = {"ragtriage.run": by.run, "judge": by.judge, "fingerprint": by.fingerprint, "cases": mean.cases}
    body = {"session_id": mean.conversation, **_annotation(mean.metric, result, by), "metadata": told}
    yield Entry(mean_key(mean), "conversation", SESSIONS, body | {"identifier": by.mark}, mean.conversation)


def _annotation(metric: str, result: dict[str, Any], by: ScoredBy) -> dict[str, Any]:
    return {"name": metric, "annotator_kind": by.kinds.get(metric, "CODE"), "result": result}


def headers(env: Environment) -> dict[str, str]:
    """As its client reads the key."""
    key = env.get("PHOENIX_API_KEY")
    return {"Authorization": f"Bearer {key}"} if key else {}


PHOENIX = Destination(
    "phoenix", "Phoenix", entries, headers, "PHOENIX_API_KEY", listed_as("data"), means, most=500, sources=True,
    claims=True,
)  # fmt: skip
