"""A trace as every tool's file is read: spans with their attributes under dotted names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Attributes = Mapping[str, Any]
"""Names as their convention has them, `input.value`, to values as JSON has them."""
Status = Literal["ok", "error", ""]


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """Something that happened within a span."""

    name: str
    attributes: Attributes = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TraceSpan:
    """One operation of an application."""

    trace_id: str
    """As it was sent."""
    id: str
    parent_id: str = ""
    """Empty for none."""
    name: str = ""
    start: int | None = None
    """Nanoseconds since 1970; None if it isn't known."""
    end: int | None = None
    status: Status = ""
    attributes: Attributes = field(default_factory=dict)
    events: tuple[SpanEvent, ...] = ()
    resource: Attributes = field(default_factory=dict)
    """Of the process that it comes from."""
    state: str = ""
    """The trace state of W3C's header, with what sampling says of itself."""


@dataclass(frozen=True, slots=True)
class Trace:
    """All spans of one request, in the order in which they began."""

    id: str
    spans: tuple[TraceSpan, ...]
    attributes: Attributes = field(default_factory=dict)
    """What the tool keeps of the trace as a whole."""
    remarks: tuple[str, ...] = ()
    """What was wrong with its spans, in words."""
