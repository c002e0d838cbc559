"""OTLP JSON: what the OpenTelemetry collector's file exporter writes, one `TracesData` a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtriage.readers.field_values import normalized
from ragtriage.readers.traces.pieces import (
    NO_IDS,
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


def _either(row: Any, camel: str, snake: str) -> Any:
    found = row.get(camel) if isinstance(row, Mapping) else None
    return row.get(snake) if found is None and isinstance(row, Mapping) else found


OTHERS = (("resourceMetrics", "resource_metrics"), ("resourceLogs", "resource_logs"))
"""What a collector may write into the same file."""


def _pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    if any(isinstance(_either(row, *names), list) for names in OTHERS):
        refuse("a row holds metrics or logs, which are no traces")
    for of_resource in _either(row, "resourceSpans", "resource_spans") or ():
        resource = (_either(of_resource, "resource", "resource") or {}).get("attributes") or []
        scopes = _either(of_resource, "scopeSpans", "scope_spans")
        for scope in scopes or of_resource.get("instrumentationLibrarySpans") or ():
            for span in scope.get("spans") or ():
                trace_id = str(_either(span, "traceId", "trace_id") or "").lower()
                span_id = str(_either(span, "spanId", "span_id") or "").lower()
                if not trace_id.strip("0") or not span_id.strip("0"):
                    refuse(NO_IDS)
                    continue
                start = nanoseconds(_either(span, "startTimeUnixNano", "start_time_unix_nano")) or 0
                yield trace_id, start, (span, resource)


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
        start, end = times(
            _either(span, "startTimeUnixNano", "start_time_unix_nano"),
            _either(span, "endTimeUnixNano", "end_time_unix_nano"),
        )
        spans.append(
            TraceSpan(
                trace_id,
                str(_either(span, "spanId", "span_id")).lower(),
                str(_either(span, "parentSpanId", "parent_span_id") or "").lower().strip("0")
                and str(_either(span, "parentSpanId", "parent_span_id")).lower(),
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
                str(_either(span, "traceState", "trace_state") or ""),
            )
        )
    return one_trace(trace_id, spans, {}, remarks)


def _fits(row: TraceRow) -> bool:
    names = (("resourceSpans", "resource_spans"), *OTHERS)
    return any(isinstance(_either(row, *one), list) for one in names)


OTLP = TraceFormat("otlp", "OTLP JSON", _fits, _pieces, _trace)
