"""Opik's command-line export: a folder with one JSON file a trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ragtriage.readers.traces.attributes import documents_in
from ragtriage.readers.traces.pieces import Refuse, TraceFormat, TracePiece, TraceRow, nanoseconds, times, with_root
from ragtriage.readers.traces.spans import Trace, TraceSpan

SAID = frozenset({"replies", "messages", "answers", "generations"})
"""What a list under these names holds was said, and not found."""


def _pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    trace = row.get("trace") or {}
    if not trace.get("id"):
        refuse("a trace has no id")
        return
    yield str(trace["id"]), nanoseconds(trace.get("start_time")) or 0, dict(row)


def _trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    row = pieces[-1]
    whole = row["trace"]
    spans = []
    for one in row.get("spans") or ():
        start, end = times(one.get("start_time"), one.get("end_time"))
        attributes = {
            "opik.type": "retrieval" if _retrieves(one) else one.get("type") or "general",
            "input": one.get("input"),
            "output": one.get("output"),
            "model": one.get("model"),
            "total_estimated_cost": one.get("total_estimated_cost"),
            "metadata": one.get("metadata"),
            "tags": one.get("tags"),
            "feedback_scores": one.get("feedback_scores"),
        }
        spans.append(
            TraceSpan(
                trace_id,
                str(one.get("id")),
                str(one.get("parent_span_id") or ""),
                str(one.get("name") or ""),
                start,
                end,
                "error" if one.get("error_info") else "",
                {name: value for name, value in attributes.items() if value is not None},
            )
        )
    kept = {name: value for name, value in whole.items() if value is not None}
    return with_root(trace_id, spans, kept, whole.get("start_time"), whole.get("end_time"))


def _retrieves(span: Mapping[str, Any]) -> bool:
    """Whether a span is a retrieval, for which Opik has no type: its output is a list of documents, or only that."""
    output = span.get("output")
    while isinstance(output, Mapping) and len(output) == 1 and not SAID & output.keys():
        (output,) = output.values()
    objects = isinstance(output, list) and bool(output) and all(isinstance(one, Mapping) for one in output)
    return span.get("type") in {"general", "tool", None} and objects and documents_in(output) is not None


def _fits(row: TraceRow) -> bool:
    return isinstance(row.get("trace"), Mapping) and "spans" in row


OPIK = TraceFormat("opik", "Opik's export", _fits, _pieces, _trace)
