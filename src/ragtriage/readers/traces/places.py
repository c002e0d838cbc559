"""Where a user says that a field stands in a trace: `attributes["my.key"]`, `span[name=answer].output.value`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.readers.traces.attributes import numbered
from ragtriage.readers.traces.spans import Trace, TraceSpan

_OF_QUESTION = re.compile(r"""attributes\[(["'])(.+)\1\]""")
_OF_SPAN = re.compile(r"span\[name=([^\]]+)\]\.(.+)")


@dataclass(frozen=True, slots=True)
class SpanPlace:
    """An attribute of the question's span, or of the last span with a name."""

    text: str
    """As the user wrote it."""
    attribute: str
    span: str | None = None
    """The name of the span; None for the question's."""

    def of(self, question: TraceSpan, trace: Trace) -> Any:
        """What stands there; None if nothing does."""
        spans = [question] if self.span is None else [span for span in trace.spans if span.name == self.span]
        held = (span.attributes.get(self.attribute, numbered(span.attributes, self.attribute)) for span in spans[::-1])
        return next((one for one in held if one is not None), None)


def span_place(field: str, text: str) -> SpanPlace:
    """What was written behind `--map FIELD=`."""
    if own := _OF_QUESTION.fullmatch(text):
        return SpanPlace(text, own[2])
    if other := _OF_SPAN.fullmatch(text):
        return SpanPlace(text, other[2], other[1])
    raise ConfigError(
        f'--map {field}={text}: in a trace a place is written attributes["KEY"] (of the question\'s span) or '
        "span[name=NAME].KEY"
    )
