"""Phoenix's frame of spans, one row a span, as Parquet or JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtriage.readers.traces.attributes import decoded
from ragtriage.readers.traces.pieces import (
    NO_IDS,
    Refuse,
    TraceFormat,
    TracePiece,
    TraceRow,
    is_there,
    nanoseconds,
    one_trace,
    status_of,
    times,
)
from ragtriage.readers.traces.spans import SpanEvent, Trace, TraceSpan


def _pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    trace_id, span_id = row.get("context.trace_id"), row.get("context.span_id")
    if not trace_id or not span_id:
        refuse(NO_IDS)
        return
    yield str(trace_id).lower(), nanoseconds(row.get("start_time")) or 0, dict(row)


def _trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    spans = []
    for row in pieces:
        attributes = {
            key.removeprefix("attributes."): value
            for key, value in row.items()
            if key.startswith(("attributes.", "annotation")) and is_there(value)
        }
        attributes.setdefault("openinference.span.kind", row.get("span_kind") or "")
        start, end = times(row.get("start_time"), row.get("end_time"))
        events = decoded(row.get("events"))
        events = events if isinstance(events, list | tuple) else ()
        spans.append(
            TraceSpan(
                trace_id,
                str(row["context.span_id"]).lower(),
                str(row.get("parent_id") or "").lower(),
                str(row.get("name") or ""),
                start,
                end,
                status_of(row.get("status_code")),
                attributes,
                tuple(
                    SpanEvent(str(one.get("name")), one.get("attributes") or {})
                    for one in events
                    if isinstance(one, Mapping)
                ),
            )
        )
    return one_trace(trace_id, spans, {})


def _fits(row: TraceRow) -> bool:
    return {"context.trace_id", "context.span_id", "span_kind"} <= row.keys()


PHOENIX = TraceFormat("openinference", "Phoenix's frame of spans", _fits, _pieces, _trace)
