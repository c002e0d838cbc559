"""MLflow's traces, one JSON object each, of its versions 2 and 3."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtriage.readers.traces.attributes import decoded
from ragtriage.readers.traces.pieces import (
    Refuse,
    TraceFormat,
    TracePiece,
    TraceRow,
    nanoseconds,
    one_trace,
    status_of,
    times,
)
from ragtriage.readers.traces.spans import SpanEvent, Trace, TraceSpan


def _pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    info = row.get("info") or {}
    trace_id = info.get("trace_id") or info.get("request_id")
    if not trace_id:
        refuse("a trace has no id")
        return
    start = nanoseconds(info.get("request_time") or info.get("timestamp_ms")) or 0
    yield str(trace_id), start, dict(row)


def _base64_hex(text: Any) -> str:
    try:
        return base64.b64decode(str(text or ""), validate=True).hex()
    except (binascii.Error, ValueError):
        return str(text)


def _trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    row = pieces[-1]
    info = row["info"]
    spans = []
    for one in (row.get("data") or {}).get("spans") or ():
        context = one.get("context") or {}
        newer = "context" not in one
        start, end = times(
            one.get("start_time_unix_nano", one.get("start_time")), one.get("end_time_unix_nano", one.get("end_time"))
        )
        status = one.get("status")
        spans.append(
            TraceSpan(
                trace_id,
                _base64_hex(one.get("span_id")) if newer else str(context.get("span_id")),
                _base64_hex(one.get("parent_span_id")) if newer else str(one.get("parent_id") or ""),
                str(one.get("name") or ""),
                start,
                end,
                status_of(status.get("code") if isinstance(status, Mapping) else one.get("status_code")),
                {key: decoded(value) for key, value in (one.get("attributes") or {}).items()},
                tuple(
                    SpanEvent(str(event.get("name")), event.get("attributes") or {})
                    for event in one.get("events") or ()
                ),
            )
        )
    tags = info.get("tags") or {}
    tags = tags if isinstance(tags, Mapping) else {one.get("key"): one.get("value") for one in tags}
    own = {**(info.get("request_metadata") or {}), **(info.get("trace_metadata") or {})}
    kept = {str(key): value for key, value in own.items()}
    kept |= {f"mlflow.traceTag.{key}": value for key, value in tags.items() if not str(key).startswith("mlflow.")}
    kept["assessments"] = info.get("assessments") or []
    return one_trace(trace_id, spans, kept)


def _fits(row: TraceRow) -> bool:
    return isinstance(row.get("info"), Mapping) and isinstance(row.get("data"), Mapping) and "spans" in row["data"]


MLFLOW = TraceFormat("mlflow", "MLflow's traces", _fits, _pieces, _trace)
