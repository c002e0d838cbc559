"""Langfuse's exports: observations by themselves, or within their traces."""

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
    is_there,
    nanoseconds,
    snake,
    times,
    with_root,
)
from ragtriage.readers.traces.spans import Trace, TraceSpan


def _pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    own = snake(row)
    observations = decoded(own.pop("observations", None))
    if "type" in own and "trace_id" in own and observations is None:
        if not own["trace_id"] or not own.get("id"):
            refuse(NO_IDS)
            return
        yield str(own["trace_id"]), nanoseconds(own.get("start_time")) or 0, own
        return
    if own.get("trace_id") and "value" in own and "name" in own:
        yield str(own["trace_id"]), 0, {**own, "is_score": True}
        return
    trace_id = str(own.get("id") or "")
    if not trace_id:
        refuse("a trace has no id")
        return
    yield trace_id, nanoseconds(own.get("timestamp", own.get("start_time"))) or 0, {**own, "is_trace": True}
    for one in observations if isinstance(observations, list | tuple) else ():
        if isinstance(one, Mapping):
            yield trace_id, nanoseconds(snake(one).get("start_time")) or 0, {**snake(one), "trace_id": trace_id}


_OWN = frozenset({"id", "trace_id", "type", "name", "parent_observation_id", "start_time", "end_time", "input"})
_OWN |= {"output", "timestamp", "is_trace", "level", "status_message", "model", "provided_model_name"}


def _trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    whole: TraceRow = next((one for one in pieces if one.get("is_trace")), {})
    spans = []
    for row in pieces:
        if row.get("is_trace") or row.get("is_score"):
            continue
        start, end = times(row.get("start_time"), row.get("end_time"))
        attributes = {name: value for name, value in row.items() if name not in _OWN and is_there(value)}
        attributes |= {
            "langfuse.observation.type": row.get("type") or "",
            "langfuse.observation.input": decoded(row.get("input")),
            "langfuse.observation.output": decoded(row.get("output")),
            "model": row.get("model") or row.get("provided_model_name"),
        }
        spans.append(
            TraceSpan(
                trace_id,
                str(row["id"]),
                str(row.get("parent_observation_id") or ""),
                str(row.get("name") or ""),
                start,
                end,
                "error" if str(row.get("level")).upper() == "ERROR" else "",
                {name: value for name, value in attributes.items() if value is not None},
            )
        )
    kept = {name: value for name, value in whole.items() if name not in {"is_trace", "id"} and is_there(value)}
    if beside := [one for one in pieces if one.get("is_score")]:
        kept["scores"] = beside
    return with_root(trace_id, spans, kept, whole.get("timestamp"), None)


def _fits(row: TraceRow) -> bool:
    return has(row, "trace_id", "type", "start_time") or isinstance(decoded(row.get("observations")), list)


LANGFUSE = TraceFormat("langfuse", "Langfuse's observations", _fits, _pieces, _trace)
