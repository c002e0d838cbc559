"""The spans of a trace by what they are part of, what the user says of traces, and what is taken from one."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ragtriage.core.errors import ConfigError
from ragtriage.readers.traces.attributes import (
    NAMES,
    SWITCHES,
    Message,
    all_found,
    is_recorded,
    kind_of,
    numbered,
    query_in,
)
from ragtriage.readers.traces.pieces import ROOT
from ragtriage.readers.traces.spans import Trace, TraceSpan

ASKING = frozenset({"agent", "chain", "model"})
"""Kinds of spans that may hold the question."""
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


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """What the user says of traces."""

    question: str | None = None
    """The name of the spans that hold the questions."""
    sources: Literal["retrieved", "prompted", "off"] = "retrieved"
    """All retrieved texts, those that stand in the prompt, or none."""
    source_tools: frozenset[str] = frozenset()
    """Tools whose outputs are sources."""
    source_texts: Callable[[str], str | None] | None = None
    """Id → the text of a document that was recorded without; None for an id that isn't known."""
    history: Literal["messages", "session", "off"] = "messages"
    places: Mapping[str, SpanPlace] = field(default_factory=dict)
    """Our field → where it stands, in place of where it is looked for."""
    mapping: Mapping[str, str] | None = None
    """What the user says of where fields stand, of traces alone; None for what is said of any file."""


class NotUsable(Exception):
    """Why a trace, or a question in it, is no case, as its text."""


@dataclass(slots=True)
class Assembled:
    """One question of a trace."""

    values: dict[str, Any] | None = None
    """The row; None if it can't be used."""
    problem: str = ""
    """Why it can't be used."""
    chosen: dict[str, list[str]] = field(default_factory=dict)
    """The id of a span → what was taken from it, and why."""
    taken: dict[str, str] = field(default_factory=dict)
    """Our field → from where, in words that are counted."""
    notes: list[str] = field(default_factory=list)
    conversation: str = ""
    """What it belongs to; empty if nothing says."""
    earlier: list[dict[str, str]] = field(default_factory=list)
    """The messages before the question, the user's and the answers, each a turn."""
    said: list[dict[str, str]] = field(default_factory=list)
    """Question and answer, each a turn, also of one that can't be used."""

    def choose(self, span: TraceSpan, said: str) -> None:
        """Note what was taken from a span."""
        self.chosen.setdefault(span.id, []).append(said)


class Tree:
    """The spans of a trace by what they are part of."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        by_id = {span.id: span for span in trace.spans}
        self.kinds = {span.id: kind_of(span) for span in trace.spans}
        in_circle = {span.id for span in trace.spans if _is_in_circle(span, by_id)}
        self.circle = bool(in_circle)
        self.below: dict[str, list[TraceSpan]] = {}
        self.parents: dict[str, TraceSpan] = {}
        tops = []
        for span in trace.spans:
            parent = by_id.get(span.parent_id)
            if parent is None or span.id in in_circle:
                tops.append(span)
            else:
                self.below.setdefault(parent.id, []).append(span)
                self.parents[span.id] = parent
        own = [span for span in trace.spans if any(span.attributes.get(name) for name in NAMES["app_root"])]
        self.roots = own or tops

    def under(self, span: TraceSpan) -> Iterator[TraceSpan]:
        """All spans below one, in the order in which they began."""
        ids = {span.id}
        found_ids = [span.id]
        while found_ids:
            found_ids = [one.id for parent in found_ids for one in self.below.get(parent, ())]
            ids.update(found_ids)
        return (one for one in self.trace.spans if one.id in ids and one.id != span.id)

    def above(self, span: TraceSpan) -> Iterator[TraceSpan]:
        """What a span is part of, from the nearest on."""
        while span.id in self.parents:
            span = self.parents[span.id]
            yield span

    def questions(self, options: TraceOptions) -> list[TraceSpan]:
        """The spans that hold the questions: of each root the highest, siblings each for itself."""
        if options.question is not None:
            return [span for span in self.trace.spans if span.name == options.question]
        return [one for root in self.roots for one in self._highest(root)]

    def left_out(self, questions: Sequence[TraceSpan]) -> int:
        """How many steps with a question of their own are neither one of these, nor in or above one."""
        near = {one.id for question in questions for one in (question, *self.under(question), *self.above(question))}
        others = (one for root in self.roots for one in (root, *self.under(root)) if one.id not in near)
        return sum(self.kinds[one.id] in {"agent", "chain"} and self._has_question(one) for one in others)

    def _has_question(self, span: TraceSpan) -> bool:
        asked = self.asked(span)
        return asked is not None and asked.span is span

    def _highest(self, root: TraceSpan) -> list[TraceSpan]:
        level = [root]
        while level:
            asking = [span for span in level if self.kinds[span.id] in ASKING and self._may_ask(span)]
            steps = [span for span in asking if self.kinds[span.id] != "model"]
            if steps:
                return steps
            if asking:
                return [span for span in asking if span.parent_id == asking[0].parent_id]
            below = (one for span in level for one in self.below.get(span.id, ()))
            level = sorted(below, key=lambda one: one.start or 0)
        return []

    def _may_ask(self, span: TraceSpan) -> bool:
        """Whether it has a question, or had one before that was masked: what is below is no question of the user's."""
        masked = any(not is_recorded(one.value) for one in all_found(span, "input"))
        return masked or self.asked(span) is not None

    def asked(self, span: TraceSpan) -> "AskedIn | None":
        """The question in a span's input; of a step whose input is recorded but no text, that of the first model in it.

        None if it has none.
        """
        given = [one for one in all_found(span, "input") if is_recorded(one.value)]
        known = ((query_in(one.value), one.name) for one in given)
        own = next((AskedIn(span, *asked, name) for asked, name in known if asked and asked[0].strip()), None)
        if own is not None or not given or self.kinds[span.id] == "model":
            return own
        models = (one for one in self.under(span) if self.kinds[one.id] == "model")
        return next((asked for one in models if (asked := self.asked(one))), None)


def switch(field: str, spans: Iterable[TraceSpan]) -> str:
    """What makes the application that wrote these spans record a field, in brackets; empty where that isn't known."""
    names = {name for span in spans if span.id != ROOT for name in NAMES["kind"] if name in span.attributes}
    known = (SWITCHES.get(name, {}).get(field) for name in NAMES["kind"] if name in names)
    return next((f" (in the application {one})" for one in known if one), "")


@dataclass(frozen=True, slots=True)
class AskedIn:
    """A question, and where it stands."""

    span: TraceSpan
    text: str
    before: Sequence[Message]
    name: str


def _is_in_circle(span: TraceSpan, by_id: Mapping[str, TraceSpan]) -> bool:
    seen: set[str] = set()
    at: TraceSpan | None = span
    while at is not None and at.id not in seen:
        seen.add(at.id)
        at = by_id.get(at.parent_id)
    return at is not None and at.id == span.id
