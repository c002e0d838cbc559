"""LangSmith's runs, one row each."""

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
    has,
    nanoseconds,
    one_trace,
    snake,
    times,
)
from ragtriage.readers.traces.spans import Trace, TraceSpan


def _pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    own = snake(row)
    order = str(own.get("dotted_order") or "")
    trace_id = own.get("trace_id") or _run_in(order.partition(".")[0])
    if not trace_id or not own.get("id"):
        refuse(NO_IDS)
        return
    yield str(trace_id), nanoseconds(own.get("start_time")) or 0, own


def _run_in(segment: str) -> str:
    """The id of the run in one part of a dotted order, behind its time."""
    return segment.partition("Z")[2]


def _trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    spans = []
    for row in pieces:
        start, end = times(row.get("start_time"), row.get("end_time"))
        extra = decoded(row.get("extra"))
        metadata = decoded(extra.get("metadata")) if isinstance(extra, Mapping) else None
        attributes = {
            "langsmith.span.kind": row.get("run_type") or "",
            "inputs": decoded(row.get("inputs")),
            "outputs": decoded(row.get("outputs")),
            "inputs_s3_urls": decoded(row.get("inputs_s3_urls")) or None,
            "tags": decoded(row.get("tags")),
            "feedback_stats": decoded(row.get("feedback_stats")),
            "langsmith.project": row.get("session_id"),
        }
        for key, value in metadata.items() if isinstance(metadata, Mapping) else ():
            attributes[f"metadata.{key}"] = value
        before = str(row.get("dotted_order") or "").split(".")[:-1]
        spans.append(
            TraceSpan(
                trace_id,
                str(row["id"]),
                str(row.get("parent_run_id") or (_run_in(before[-1]) if before else "")),
                str(row.get("name") or ""),
                start,
                end,
                "error" if row.get("error") else "",
                {name: value for name, value in attributes.items() if value is not None},
            )
        )
    return one_trace(trace_id, spans, {})


def _fits(row: TraceRow) -> bool:
    return has(row, "run_type", "inputs") and (has(row, "trace_id") or has(row, "dotted_order"))


LANGSMITH = TraceFormat("langsmith", "LangSmith's runs", _fits, _pieces, _trace)
