"""Scores as OpenTelemetry's log records `gen_ai.evaluation.result`, to a collector or a file."""

from __future__ import annotations

import json
import re
import time
import uuid
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TextIO
from urllib.parse import unquote

from ragtriage import __version__
from ragtriage.monitor.outputs.entries import Destination, Entry, Environment, NotSent, score_key
from ragtriage.monitor.outputs.scores import ScoredBy, ScoredTrace, SentScore

PATH = "/v1/logs"
EVENT = "gen_ai.evaluation.result"
"""OpenTelemetry's convention for generative AI; the names of target, source and version are those of pydantic-evals,
since the convention has none yet."""
NO_TRACE = "its trace id isn't one of OpenTelemetry's (32 hexadecimal digits)"
MOST = 1_000
"""Records of a batch."""


def entries(trace: ScoredTrace, by: ScoredBy) -> Iterator[Entry | NotSent]:
    """A record for each score; without a value and with `error.type` where there is none."""
    trace_id = _trace_id(trace.trace)
    for score in trace.scores:
        if trace_id is None:
            yield NotSent(NO_TRACE)
            continue
        record: dict[str, Any] = {"timeUnixNano": str(by.nanoseconds), "eventName": EVENT, "traceId": trace_id}
        if trace.span and re.fullmatch("[0-9a-fA-F]{16}", trace.span):
            record["spanId"] = trace.span.lower()
        record["attributes"] = [
            {"key": key, "value": {"doubleValue" if isinstance(value, float) else "stringValue": value}}
            for key, value in _attributes(trace, score, by).items()
            if value is not None
        ]
        yield Entry(score_key(trace, score), "score", PATH, record, trace_id)


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


def batch(entries: Sequence[Entry]) -> str:
    """The body of a request, or a line of a file."""
    now = time.time_ns()
    records = ", ".join(f'{{"observedTimeUnixNano": "{now}", {entry.text[1:]}' for entry in entries)
    service = {"key": "service.name", "value": {"stringValue": "ragtriage"}}
    resource, scope = json.dumps({"attributes": [service]}), json.dumps({"name": "ragtriage", "version": __version__})
    logs = f'{{"scope": {scope}, "logRecords": [{records}]}}'
    return f'{{"resourceLogs": [{{"resource": {resource}, "scopeLogs": [{logs}]}}]}}'


def write_batches(file: TextIO, found: Iterable[Entry]) -> int:
    """Write records, a batch a line; returns how many."""
    rest, count = iter(found), 0
    while some := list(islice(rest, MOST)):
        file.write(batch(some) + "\n")
        count += len(some)
    return count


def rejected(reply: Any) -> int:
    """How many records a collector didn't take, without saying which."""
    partial = reply.get("partialSuccess") if isinstance(reply, dict) else None
    found = partial.get("rejectedLogRecords", 0) if isinstance(partial, dict) else 0
    return int(found) if str(found).isdecimal() else 0


def headers(env: Environment) -> dict[str, str]:
    """As OpenTelemetry's exporters read them: `name=value`, separated by commas, percent-encoded."""
    written = env.get("OTEL_EXPORTER_OTLP_LOGS_HEADERS") or env.get("OTEL_EXPORTER_OTLP_HEADERS") or ""
    pairs = (item.partition("=") for item in written.split(",") if "=" in item)
    return {name.strip(): unquote(value.strip()) for name, _, value in pairs}


def _trace_id(written: str) -> str | None:
    """An id in 32 hexadecimal digits; so are those of MLflow (`tr-…`) and UUIDs written."""
    bare = written.removeprefix("tr-")
    try:
        return uuid.UUID(bare).hex if re.fullmatch("[0-9a-fA-F-]{32,36}", bare) else None
    except ValueError:
        return None


OTLP = Destination(
    "otlp", "OTLP", entries, headers, "OTEL_EXPORTER_OTLP_HEADERS", batch, most=MOST, most_bytes=4_000_000,
    repeatable=False, rejected=rejected,
)  # fmt: skip
