"""Scores as tools take them that have a list of them in one body: a collector, Phoenix, Langfuse and Opik."""

import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TextIO

from ragtriage import __version__
from ragtriage.monitor.outputs.entries import (
    UNDEFINED,
    Entry,
    NotSent,
    comment_of,
    facts,
    mean_key,
    score_key,
    source_key,
    without_none,
)
from ragtriage.monitor.outputs.scores import SOURCES, ConversationMean, ScoredBy, ScoredTrace, SentScore

_OTLP = "/v1/logs"
_EVENT = "gen_ai.evaluation.result"
"""OpenTelemetry's convention for generative AI; the names of target, source and version are those of pydantic-evals,
since the convention has none yet."""
_NO_TRACE = "its trace id isn't one of OpenTelemetry's (32 hexadecimal digits)"
RECORDS = 1_000
"""Records of a otlp_batch."""


def otlp_entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:
    """A record for each score; without a value and with `error.type` where there is none."""
    trace_id = _trace_id(trace.trace)
    for score in trace.scores:
        if trace_id is None:
            yield NotSent(_NO_TRACE)
            continue
        record: dict[str, Any] = {"timeUnixNano": str(by.nanoseconds), "eventName": _EVENT, "traceId": trace_id}
        if trace.span and re.fullmatch("[0-9a-fA-F]{16}", trace.span):
            record["spanId"] = trace.span.lower()
        record["attributes"] = [
            {"key": key, "value": {"doubleValue" if isinstance(value, float) else "stringValue": value}}
            for key, value in _attributes(trace, score, by).items()
            if value is not None
        ]
        yield Entry(score_key(trace, score), "score", _OTLP, record, trace_id)


def _attributes(trace: ScoredTrace, score: SentScore, by: ScoredBy) -> dict[str, str | float | None]:
    source = {"name": "ragtriage", "arguments": {"judge": by.judge, "metric": score.metric}}
    error = None if score.value is not None else "judge_failed" if score.failed else "undefined"
    return {
        "gen_ai.evaluation.name": score.metric,
        "gen_ai.evaluation.score.value": None if score.value is None else float(score.value),
        "gen_ai.evaluation.score.label": score.label,
        "gen_ai.evaluation.explanation": score.explanation,
        "gen_ai.response.id": trace.response_id,
        "error.type": error,
        "gen_ai.evaluation.target": trace.service,
        "gen_ai.evaluation.evaluator.source": json.dumps(source),
        "gen_ai.evaluation.evaluator.version": by.fingerprint,
    }


def otlp_batch(entries: Sequence[Entry]) -> str:
    """The body of a request, or a line of a file."""
    now = time.time_ns()
    records = ", ".join(f'{{"observedTimeUnixNano": "{now}", {entry.text[1:]}' for entry in entries)
    service = {"key": "service.name", "value": {"stringValue": "ragtriage"}}
    resource, scope = json.dumps({"attributes": [service]}), json.dumps({"name": "ragtriage", "version": __version__})
    logs = f'{{"scope": {scope}, "logRecords": [{records}]}}'
    return f'{{"resourceLogs": [{{"resource": {resource}, "scopeLogs": [{logs}]}}]}}'


def write_batches(file: TextIO, found: Iterable[Entry]) -> int:
    """Write records, a otlp_batch a line; returns how many."""
    rest, count = iter(found), 0
    while some := list(islice(rest, RECORDS)):
        file.write(otlp_batch(some) + "\n")
        count += len(some)
    return count


def otlp_rejected(reply: Any) -> int:
    """How many records a collector didn't take, without saying which."""
    partial = reply.get("partialSuccess") if isinstance(reply, dict) else None
    found = partial.get("rejectedLogRecords", 0) if isinstance(partial, dict) else 0
    return int(found) if str(found).isdecimal() else 0


def _trace_id(written: str) -> str | None:
    """An id in 32 hexadecimal digits; so are those of MLflow (`tr-…`) and UUIDs written."""
    bare = written.removeprefix("tr-")
    try:
        return uuid.UUID(bare).hex if re.fullmatch("[0-9a-fA-F-]{32,36}", bare) else None
    except ValueError:
        return None


# Asked to work at once (`sync`), the server says which spans it doesn't know; else it takes everything and is silent.
_PHOENIX_SPANS, _PHOENIX_TRACES, _PHOENIX_SESSIONS, _PHOENIX_DOCUMENTS = (
    f"/v1/{of}_annotations?sync=true" for of in ("span", "trace", "session", "document")
)
_NEEDED = {"yes": "needed", "no": "not needed", "unknown": "unknown"}
"""A verdict on a source as a label."""
_UNSURE = "perhaps not needed"
"""A no of which the judge isn't sure."""


def phoenix_entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry]:
    """The scores on the question's span, or on the trace; the verdicts on documents of the retrievals' spans."""
    path, field, of = (
        (_PHOENIX_SPANS, "span_id", trace.span) if trace.span else (_PHOENIX_TRACES, "trace_id", trace.trace)
    )
    for score in trace.scores:
        label = score.label if score.value is not None else "undefined"
        result = without_none({"score": score.value, "label": label, "explanation": comment_of(score)})
        body = {field: of, **_annotation(score.metric, result, by), "metadata": facts(by, score)}
        yield Entry(score_key(trace, score), "score", path, body | {"identifier": by.mark}, str(of))
    for verdict in trace.sources:
        about = _UNSURE if verdict.verdict == "no" and not verdict.sure else _NEEDED[verdict.verdict]
        result = without_none({"score": verdict.chance, "label": about, "explanation": verdict.explanation})
        where = {"span_id": verdict.span, "document_position": verdict.place}
        # of documents the server takes no identifier: what has the same name and place is replaced, by any run
        body = {**where, **_annotation(SOURCES, result, by), "metadata": by.facts}
        yield Entry(source_key(trace, verdict), "source", _PHOENIX_DOCUMENTS, body, verdict.span)


def phoenix_means(mean: ConversationMean, by: ScoredBy) -> Iterator[Entry]:
    """The mean on the session."""
    result = without_none({"score": mean.value, "label": mean.label})
    told = {**by.facts, "cases": mean.cases}
    body = {"session_id": mean.conversation, **_annotation(mean.metric, result, by), "metadata": told}
    yield Entry(mean_key(mean), "conversation", _PHOENIX_SESSIONS, body | {"identifier": by.mark}, mean.conversation)


def _annotation(metric: str, result: dict[str, Any], by: ScoredBy) -> dict[str, Any]:
    return {"name": metric, "annotator_kind": by.kinds.get(metric, "CODE"), "result": result}


_LANGFUSE = "/api/public/scores"


def langfuse_entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:
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
        yield Entry(key, "score", _LANGFUSE, without_none(body), trace.trace)


def langfuse_rejected(reply: Any) -> int:
    """How many scores of a list weren't taken (HTTP 207), without saying which."""
    found = reply.get("rejected") if isinstance(reply, dict) else 0
    return found if isinstance(found, int) else 0


_OPIK_SPANS, _OPIK_TRACES, _OPIK_THREADS = (
    f"/api/v1/private/{of}/feedback-scores" for of in ("spans", "traces", "traces/threads")
)


def opik_entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:
    """The scores that have a value, on the question's span or on the trace; a score of the same name is replaced."""
    path, of = (_OPIK_SPANS, trace.span) if trace.span else (_OPIK_TRACES, trace.trace)
    for score in trace.scores:
        if score.value is None:
            yield NotSent(UNDEFINED)
            continue
        body = {"id": of, **_score(by.project, score.metric, score.value, score.explanation)}
        yield Entry(score_key(trace, score), "score", path, body, of)


def opik_means(mean: ConversationMean, by: ScoredBy) -> Iterator[Entry]:
    """The mean on the thread."""
    body = {"thread_id": mean.conversation, **_score(by.project, mean.metric, mean.value, None)}
    yield Entry(mean_key(mean), "conversation", _OPIK_THREADS, body, mean.conversation)


def _score(project: str | None, metric: str, value: float, reason: str | None) -> Mapping[str, Any]:
    return without_none({"project_name": project, "name": metric, "value": value, "reason": reason, "source": "sdk"})
