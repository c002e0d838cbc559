"""What a trace says beside its texts, as tags to slice by: who, which version, what it cost, others' scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ragtriage.readers.traces.attributes import decoded, found, mapping_in, numbered
from ragtriage.readers.traces.pieces import ROOT
from ragtriage.readers.traces.spans import TraceSpan
from ragtriage.readers.traces.tree import Tree


def tags_of(span: TraceSpan, tree: Tree, models: Sequence[TraceSpan]) -> dict[str, Any]:
    """What the question's span, what it is part of, the trace and the process say, for slicing."""
    whole = TraceSpan(tree.trace.id, ROOT, attributes=tree.trace.attributes)
    process = TraceSpan(tree.trace.id, ROOT, attributes=span.resource)
    above = [span, *tree.above(span), whole, process]
    tags: dict[str, Any] = {}
    for holder in reversed(above):
        tags |= _metadata(holder)
    for what in ("conversation", "user", "version", "environment", "service", "agent"):
        given = next((one for holder in above if (one := found(holder, what))), None)
        if given is not None:
            tags[what] = decoded(given.value)
    labels = next((decoded(one.value) for holder in above if (one := found(holder, "tags"))), None)
    tags["tags"] = labels.split(", ") if isinstance(labels, str) else labels
    named = [one for model in models or [span] if (one := found(model, "model"))]
    tags["model"] = named[-1].value if named else None
    costs = [one for one in map(_cost, models or [span]) if one is not None]
    if costs:
        tags["cost_usd"] = round(sum(costs), 10)
    if span.start is not None and span.end is not None:
        tags["seconds"] = (span.end - span.start) / 1e9
    tags |= _scores([holder for holder in above if holder is not process])
    return tags


STARTS = (
    "metadata.",
    "langfuse.trace.metadata.",
    "langsmith.metadata.",
    "mlflow.traceTag.",
    "traceloop.association.properties.",
)
"""What stands before the names of the application's own metadata, where each has an attribute."""


def _metadata(holder: TraceSpan) -> dict[str, Any]:
    """The application's own metadata on a span."""
    held = found(holder, "metadata")
    made = dict(mapping_in(held.value)) if held else {}
    for name, value in holder.attributes.items():
        for start in STARTS:
            if name.startswith(start):
                made[name.removeprefix(start)] = decoded(value)
    return made


def _cost(model: TraceSpan) -> float | None:
    whole, several = found(model, "cost"), found(model, "costs")
    parts = [whole.value] if whole else [model.attributes.get(f"llm.cost.{part}") for part in ("prompt", "completion")]
    if several:
        parts = [mapping_in(several.value).get("total")]
    known = [float(one) for one in parts if isinstance(one, int | float) and not isinstance(one, bool)]
    return sum(known) if known else None


def _scores(spans: Iterable[TraceSpan]) -> dict[str, Any]:
    """`score.NAME` → a number or a label, of these spans, the first one that has it."""
    made: dict[str, Any] = {}
    for span in spans:
        for name, value in _of_span(span):
            if name and value is not None:
                made.setdefault(f"score.{name}", value)
    return made


def _of_span(span: TraceSpan) -> Iterator[tuple[str, Any]]:
    attributes = span.attributes
    for prefix in ("", "trace.", "session."):
        for one in numbered(attributes, f"{prefix}annotations") or ():
            yield _named(one.get("annotation", one) if isinstance(one, Mapping) else {})
        yield from _evaluations(attributes, f"{prefix}evaluation.")
    for event in span.events:
        if event.name == "gen_ai.evaluation.result":
            held = event.attributes
            label = held.get("gen_ai.evaluation.score.label")
            yield str(held.get("gen_ai.evaluation.name") or ""), held.get("gen_ai.evaluation.score.value", label)
    for name in ("scores", "assessments", "feedback_scores"):
        for one in decoded(attributes.get(name)) or ():
            yield _named(one if isinstance(one, Mapping) else {})
    stats = decoded(attributes.get("feedback_stats"))
    for name, one in stats.items() if isinstance(stats, Mapping) else ():
        yield str(name), one.get("avg", one.get("mean")) if isinstance(one, Mapping) else one


def _named(one: Mapping[str, Any]) -> tuple[str, Any]:
    feedback = one.get("feedback")
    value = feedback.get("value") if isinstance(feedback, Mapping) else one.get("score", one.get("value"))
    named = one.get("name", one.get("assessment_name", ""))
    return str(named), one.get("label", one.get("string_value")) if value is None else value


def _evaluations(attributes: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """`evaluation.NAME.score`, `evaluation.NAME.label`."""
    for key, value in attributes.items():
        if key.startswith(prefix) and key.endswith((".score", ".label")):
            yield key[len(prefix) :].rpartition(".")[0], value
