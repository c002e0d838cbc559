"""What the formats of trace files share: rows are taken apart into pieces, and all pieces of one trace make it.

Nothing is decided here: what a span means, `attributes.py` says.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from ragtriage.readers.field_values import normalized
from ragtriage.readers.traces.attributes import decoded
from ragtriage.readers.traces.spans import Attributes, Status, Trace, TraceSpan

TraceRow = Mapping[str, Any]
TracePiece = tuple[str, int, Any]
"""The id of a trace, when this part of it began (nanoseconds since 1970, 0 if it isn't known), and the part."""
Refuse = Callable[[str], None]
"""Counts a span or trace that can't be used, by the reason."""
NO_IDS = "a span has no trace id or no span id"
TOO_EARLY, TOO_LATE = 10**16, 4 * 10**18
"""Nanoseconds since 1970; a time outside is none that a span can have."""


@dataclass(frozen=True, slots=True)
class TraceFormat:
    """One tool's files of traces."""

    name: str
    """As `--format` and messages call it."""
    title: str
    fits: Callable[[TraceRow], bool]
    """Whether a row of the file is one of this format."""
    pieces: Callable[[TraceRow, Refuse], Iterator[TracePiece]]
    trace: Callable[[str, Sequence[Any]], Trace]
    """The id of a trace and all its pieces → the trace."""


def nanoseconds(value: Any) -> int | None:
    """A time since 1970: of an ISO text, a number of (nano-, micro-, milli-)seconds, or a datetime; None for others."""
    if isinstance(value, str):
        text = value.strip()
        if text.lstrip("-").isdecimal():
            value = int(text)
        else:
            try:
                value = datetime.fromisoformat(text.replace(" UTC", "+00:00"))
            except ValueError:
                return None
    if isinstance(value, datetime):
        zoned = value if value.tzinfo else value.replace(tzinfo=UTC)
        whole = zoned.replace(microsecond=0)
        return int(whole.timestamp()) * 10**9 + zoned.microsecond * 1000
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    size = abs(value)
    factor = 1 if size > 1e16 else 10**3 if size > 1e14 else 10**6 if size > 1e11 else 10**9
    return int(value * factor)


def times(start: Any, end: Any) -> tuple[int | None, int | None]:
    """Begin and end of a span; None for what can't be one, such as an end before the begin."""
    began, ended = nanoseconds(start), nanoseconds(end)
    began = began if began is not None and TOO_EARLY < began < TOO_LATE else None
    ended = ended if ended is not None and began is not None and began <= ended < TOO_LATE else None
    return began, ended


def one_trace(trace_id: str, spans: Sequence[TraceSpan], attributes: Attributes, remarks: Sequence[str] = ()) -> Trace:
    """The trace with each span once; of two with the same id the one that ends later."""
    kept: dict[str, TraceSpan] = {}
    notes = list(remarks)
    for span in spans:
        other = kept.setdefault(span.id, span)
        if other is not span:
            note = "a span was there twice" if other == span else "two spans had the same id: the later one counts"
            notes += [] if note in notes else [note]
            kept[span.id] = max(other, span, key=lambda one: (one.end or 0, one.start or 0))
    order = sorted(kept.values(), key=lambda one: (one.start or 0, one.end or 0, one.id))
    return Trace(trace_id, tuple(order), attributes, tuple(notes))


_CODES: Mapping[Any, Status] = {1: "ok", 2: "error", "1": "ok", "2": "error", "OK": "ok", "ERROR": "error"}


def status_of(code: Any) -> Status:
    """OpenTelemetry's status, by its number or name."""
    return _CODES.get(code.removeprefix("STATUS_CODE_").upper() if isinstance(code, str) else code, "")


def snake(row: TraceRow) -> dict[str, Any]:
    """The row with its columns in one spelling: `startTime` as `start_time`."""
    return {normalized(str(key)): value for key, value in row.items()}


def with_root(trace_id: str, spans: list[TraceSpan], whole: Mapping[str, Any], start: Any, end: Any) -> Trace:
    """The trace; where it has an input of its own, that is a span above all others."""
    given = decoded(whole.get("input"))
    if given is None:
        return one_trace(trace_id, spans, whole)
    began, ended = times(start, end)
    ids = {span.id for span in spans}
    below = [span for span in spans if span.parent_id in ids]
    tops = [span for span in spans if span.parent_id not in ids]
    held = {**whole, "input": given, "output": decoded(whole.get("output")), "openinference.span.kind": "CHAIN"}
    status: Status = "error" if whole.get("error_info") else ""
    name = str(whole.get("name") or "trace")
    if began is None and tops:
        began, ended = tops[0].start, tops[-1].end
    root = TraceSpan(
        trace_id, ROOT, "", name, began, ended, status, {key: one for key, one in held.items() if one is not None}
    )
    made = one_trace(trace_id, [*below, *(replace(one, parent_id=ROOT) for one in tops)], whole)
    return Trace(trace_id, (root, *made.spans), whole, made.remarks)


ROOT = "\0trace"
"""The id of the span that stands for a trace which has an input of its own; no tool knows it."""


def has(row: TraceRow, *names: str) -> bool:
    """Whether the row has these columns, however they are spelled."""
    return set(names) <= {normalized(str(key)) for key in row}
