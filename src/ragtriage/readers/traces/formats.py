"""The formats of trace files: those in which a row is a span, or a trace with a list of spans, and all together.

A span has the same columns everywhere but for those of its id, its parent and its status.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ragtriage.readers.paths import is_missing
from ragtriage.readers.traces.attributes import decoded, documents_in
from ragtriage.readers.traces.otlp import MLFLOW, OTLP
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
    status_of,
    times,
    with_root,
)
from ragtriage.readers.traces.spans import Attributes, SpanEvent, Status, Trace, TraceSpan


def _span(
    trace_id: str, row: TraceRow, parent: Any, attributes: Attributes, status: Status, span_id: str | None = None
) -> TraceSpan:
    """The span of a row, without attributes that are null."""
    start, end = times(row.get("start_time"), row.get("end_time"))
    kept = {name: value for name, value in attributes.items() if value is not None}
    name = str(row.get("name") or "")
    return TraceSpan(trace_id, span_id or str(row["id"]), str(parent or ""), name, start, end, status, kept)


def _phoenix_pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    trace_id, span_id = row.get("context.trace_id"), row.get("context.span_id")
    if not trace_id or not span_id:
        refuse(NO_IDS)
        return
    yield str(trace_id).lower(), nanoseconds(row.get("start_time")) or 0, dict(row)


def _phoenix_trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    spans = []
    for row in pieces:
        attributes = {
            key.removeprefix("attributes."): value
            for key, value in row.items()
            if key.startswith(("attributes.", "annotation")) and not is_missing(value)
        }
        attributes.setdefault("openinference.span.kind", row.get("span_kind") or "")
        span_id, parent = str(row["context.span_id"]).lower(), str(row.get("parent_id") or "").lower()
        span = _span(trace_id, row, parent, attributes, status_of(row.get("status_code")), span_id)
        held = decoded(row.get("events"))
        events = (one for one in (held if isinstance(held, list | tuple) else ()) if isinstance(one, Mapping))
        happened = (SpanEvent(str(one.get("name")), one.get("attributes") or {}) for one in events)
        spans.append(replace(span, events=tuple(happened)))
    return one_trace(trace_id, spans, {})


def _is_phoenix(row: TraceRow) -> bool:
    return {"context.trace_id", "context.span_id", "span_kind"} <= row.keys()


PHOENIX = TraceFormat("openinference", "Phoenix's frame of spans", _is_phoenix, _phoenix_pieces, _phoenix_trace)


def _langfuse_pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
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


_LANGFUSE_OWN = frozenset(
    {"id", "trace_id", "type", "name", "parent_observation_id", "start_time", "end_time", "input"}
)
_LANGFUSE_OWN |= {"output", "timestamp", "is_trace", "level", "status_message", "model", "provided_model_name"}


def _langfuse_trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    whole: TraceRow = next((one for one in pieces if one.get("is_trace")), {})
    spans = []
    for row in pieces:
        if row.get("is_trace") or row.get("is_score"):
            continue
        attributes = {name: value for name, value in row.items() if name not in _LANGFUSE_OWN and not is_missing(value)}
        attributes |= {
            "langfuse.observation.type": row.get("type") or "",
            "langfuse.observation.input": decoded(row.get("input")),
            "langfuse.observation.output": decoded(row.get("output")),
            "model": row.get("model") or row.get("provided_model_name"),
        }
        status: Status = "error" if str(row.get("level")).upper() == "ERROR" else ""
        spans.append(_span(trace_id, row, row.get("parent_observation_id"), attributes, status))
    kept = {name: value for name, value in whole.items() if name not in {"is_trace", "id"} and not is_missing(value)}
    if beside := [one for one in pieces if one.get("is_score")]:
        kept["scores"] = beside
    return with_root(trace_id, spans, kept, whole.get("timestamp"), None)


def _is_langfuse(row: TraceRow) -> bool:
    return has(row, "trace_id", "type", "start_time") or isinstance(decoded(row.get("observations")), list)


LANGFUSE = TraceFormat("langfuse", "Langfuse's observations", _is_langfuse, _langfuse_pieces, _langfuse_trace)


def _langsmith_pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
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


def _langsmith_trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    spans = []
    for row in pieces:
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
        parent = row.get("parent_run_id") or (_run_in(before[-1]) if before else "")
        spans.append(_span(trace_id, row, parent, attributes, "error" if row.get("error") else ""))
    return one_trace(trace_id, spans, {})


def _is_langsmith(row: TraceRow) -> bool:
    return has(row, "run_type", "inputs") and (has(row, "trace_id") or has(row, "dotted_order"))


LANGSMITH = TraceFormat("langsmith", "LangSmith's runs", _is_langsmith, _langsmith_pieces, _langsmith_trace)


_SAID = frozenset({"replies", "messages", "answers", "generations"})
"""What a list under these names holds was said, and not found."""


def _opik_pieces(row: TraceRow, refuse: Refuse) -> Iterator[TracePiece]:
    trace = row.get("trace") or {}
    if not trace.get("id"):
        refuse("a trace has no id")
        return
    yield str(trace["id"]), nanoseconds(trace.get("start_time")) or 0, dict(row)


_OPIK_KEPT = ("input", "output", "model", "total_estimated_cost", "metadata", "tags", "feedback_scores")


def _opik_trace(trace_id: str, pieces: Sequence[Any]) -> Trace:
    row = pieces[-1]
    whole = row["trace"]
    spans = []
    for one in row.get("spans") or ():
        kind = "retrieval" if _retrieves(one) else one.get("type") or "general"
        attributes = {"opik.type": kind} | {name: one.get(name) for name in _OPIK_KEPT}
        spans.append(
            _span(trace_id, one, one.get("parent_span_id"), attributes, "error" if one.get("error_info") else "")
        )
    kept = {name: value for name, value in whole.items() if value is not None}
    return with_root(trace_id, spans, kept, whole.get("start_time"), whole.get("end_time"))


def _retrieves(span: Mapping[str, Any]) -> bool:
    """Whether a span is a retrieval, for which Opik has no type: its output is a list of documents, or only that."""
    output = span.get("output")
    while isinstance(output, Mapping) and len(output) == 1 and not _SAID & output.keys():
        (output,) = output.values()
    objects = isinstance(output, list) and bool(output) and all(isinstance(one, Mapping) for one in output)
    return span.get("type") in {"general", "tool", None} and objects and documents_in(output) is not None


def _is_opik(row: TraceRow) -> bool:
    return isinstance(row.get("trace"), Mapping) and "spans" in row


OPIK = TraceFormat("opik", "Opik's export", _is_opik, _opik_pieces, _opik_trace)


FORMATS: tuple[TraceFormat, ...] = (OTLP, PHOENIX, OPIK, MLFLOW, LANGSMITH, LANGFUSE)
"""Each; the first that fits counts."""


def format_of(rows: Sequence[TraceRow]) -> TraceFormat | None:
    """The format of a file with these rows; None if they are no traces."""
    return next((one for one in FORMATS if any(map(one.fits, rows))), None)
