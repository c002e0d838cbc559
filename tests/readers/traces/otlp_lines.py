"""Traces as the collector's file exporter writes them, for tests.

lines(span("1", kind="CHAIN", input="How deep is it?", output="Two metres."), span("2", "1", kind="RETRIEVER", …))
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TRACE = "5b8aa5a2d2c872e8321cf37308d69df2"
START = 1_764_000_000_000_000_000


def span(  # what a span has
    number: int | str,
    parent: int | str = "",
    *,
    kind: str = "CHAIN",
    name: str = "",
    trace: str = TRACE,
    attributes: Mapping[str, Any] | None = None,
    events: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """One span: `input`, `output` and `documents` are written as OpenInference does, `more` is the span's own."""
    held: dict[str, Any] = {"openinference.span.kind": kind} if kind else {}
    for field in ("input", "output"):
        if field in more:
            held[f"{field}.value"] = more.pop(field)
    for at, document in enumerate(more.pop("documents", ())):
        for key, value in ({"content": document} if isinstance(document, str) else document).items():
            held[f"retrieval.documents.{at}.document.{key}"] = value
    held |= attributes or {}
    place = int(str(number), 16) if str(number) else 0
    return {
        "traceId": trace,
        "spanId": f"{place:016x}" if str(number) else "",
        "parentSpanId": f"{int(str(parent), 16):016x}" if str(parent) else "",
        "name": name or f"{kind.lower()} {number}",
        "startTimeUnixNano": str(START + place * 1_000_000),
        "endTimeUnixNano": str(START + place * 1_000_000 + 500_000_000),
        "attributes": [{"key": key, "value": any_value(value)} for key, value in held.items()],
        "events": [
            {"name": name, "attributes": [{"key": key, "value": any_value(value)} for key, value in one.items()]}
            for name, one in (events or {}).items()
        ],
        **more,
    }


def any_value(value: Any) -> dict[str, Any]:
    """As OTLP has it."""
    if isinstance(value, list):
        return {"arrayValue": {"values": [any_value(one) for one in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": any_value(one)} for key, one in value.items()]}}
    if isinstance(value, bytes):
        return {"bytesValue": value.decode()}
    kind = {bool: "boolValue", int: "intValue", float: "doubleValue"}.get(type(value), "stringValue")
    return {kind: str(value) if type(value) is int else value}


def line(*spans: Mapping[str, Any], resource: Mapping[str, Any] | None = None) -> str:
    """Spans in one line."""
    of = [{"key": key, "value": any_value(value)} for key, value in (resource or {}).items()]
    scopes = [{"scope": {"name": "test"}, "spans": list(spans)}]
    return json.dumps({"resourceSpans": [{"resource": {"attributes": of}, "scopeSpans": scopes}]})


def file_of(path: Path, *spans: Mapping[str, Any], resource: Mapping[str, Any] | None = None) -> Path:
    """A file with these spans, one a line."""
    path.write_text("".join(line(one, resource=resource) + "\n" for one in spans), encoding="utf-8")
    return path
