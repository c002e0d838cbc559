"""Formats that keep OpenTelemetry's spans as JSON, and are more than rows.

OTLP JSON, as the collector's file exporter writes it, one `TracesData` a line; MLflow's traces, one object each, of its
versions 2 and 3.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtriage.readers.field_values import normalized
from ragtriage.readers.traces.attributes import decoded
from ragtriage.readers.traces.pieces import (
    NO_IDS,
    Refuse,
    TraceFormat,
    TracePiece,
    TraceRow,
    nanoseconds,
    one_trace,
    snake,
    status_of,
    times,
)
from ragtriage.readers.traces.spans import SpanEvent, Trace, TraceSpan

OTHERS = ("resource_metrics", "resource_logs")
"""What a collector may write into the same file."""


def _pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    own = snake(row)
    if any(isinstance(own.get(name), list) for name in OTHERS):
        refuse("a row holds metrics or logs, which are no traces")
    for of_resource in map(snake, own.get("resource_spans") or ()):
        resource = (of_resource.get("resource") or {}).get("attributes") or []
        for scope in of_resource.get("scope_spans") or of_resource.get("instrumentation_library_spans") or ():
            for one in scope.get("spans") or ():
                span = snake(one) if isinstance(one, Mapping) else {}
                trace_id, span_id = (str(span.get(name) or "").lower() for name in ("trace_id", "span_id"))
                if not trace_id.strip("0") or not span_id.strip("0"):
                    refuse(NO_IDS)
                    continue
                yield trace_id, nanoseconds(span.get("start_time_unix_nano")) or 0, (span, resource)


BYTES = "attributes that hold bytes were left out"


def any_value(value: Any, remarks: list[str]) -> Any:
    """OTLP's `AnyValue` as JSON has it; None for bytes, which are left out with a remark."""
    if not isinstance(value, Mapping):
        return value
    for key, held in value.items():
        match normalized(key):
            case "string_value" | "bool_value" | "double_value":
                return held
            case "int_value":
                return int(held) if isinstance(held, str | int) and str(held).lstrip("-").isdecimal() else held
            case "array_value":
                return [any_value(one, remarks) for one in held.get("values") or ()]
            case "kvlist_value":
                return attributes_of(held.get("values") or (), remarks)
            case "bytes_value" if not remarks:
                remarks.append(BYTES)
    return None


def attributes_of(pairs: Any, remarks: list[str]) -> dict[str, Any]:
    """OTLP's list of attributes, without those that hold bytes."""
    held = (one for one in pairs or () if isinstance(one, Mapping))
    made = {str(one.get("key")): any_value(one.get("value"), remarks) for one in held}
    return {name: value for name, value in made.items() if value is not None}


def _trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    resources: dict[int, dict[str, Any]] = {}
    spans = []
    remarks: list[str] = []
    for span, resource in pieces:
        own = resources.setdefault(hash(repr(resource)), attributes_of(resource, remarks))
        start, end = times(span.get("start_time_unix_nano"), span.get("end_time_unix_nano"))
        parent = str(span.get("parent_span_id") or "").lower()
        spans.append(
            TraceSpan(
                trace_id,
                str(span["span_id"]).lower(),
                parent if parent.strip("0") else "",
                str(span.get("name") or ""),
                start,
                end,
                status_of((span.get("status") or {}).get("code")),
                attributes_of(span.get("attributes"), remarks),
                tuple(
                    SpanEvent(str(one.get("name")), attributes_of(one.get("attributes"), remarks))
                    for one in span.get("events") or ()
                ),
                own,
                str(span.get("trace_state") or ""),
            )
        )
    return one_trace(trace_id, spans, {}, remarks)


def _fits(row: TraceRow) -> bool:
    own = snake(row)
    return any(isinstance(own.get(name), list) for name in ("resource_spans", *OTHERS))


OTLP = TraceFormat("otlp", "OTLP JSON", _fits, _pieces, _trace)


def _mlflow_pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
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


def _mlflow_trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
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


def _is_mlflow(row: TraceRow) -> bool:
    return isinstance(row.get("info"), Mapping) and isinstance(row.get("data"), Mapping) and "spans" in row["data"]


MLFLOW = TraceFormat("mlflow", "MLflow's traces", _is_mlflow, _mlflow_pieces, _mlflow_trace)
