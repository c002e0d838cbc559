"""One trace → the cases in it, as rows under our field names, with the reason for every choice."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from ragtriage.readers.traces.attributes import (
    NAMES,
    FoundValue,
    UserQuestion,
    all_found,
    decoded,
    found,
    is_recorded,
    kind_of,
    kinds_said,
    mapping_in,
    messages_in,
    numbered,
    query_in,
    response_in,
)
from ragtriage.readers.traces.pieces import ROOT
from ragtriage.readers.traces.retrieved import finds, retrieved
from ragtriage.readers.traces.spans import TraceSpan
from ragtriage.readers.traces.tree import Assembled, NotUsable, TraceOptions, Tree, switch


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


NO_QUESTION = "the question wasn't recorded"
NO_RESPONSE = "the response wasn't recorded"
MOST_TURNS = 20
FIELDS = ("query", "sources", "response", "id", "trace_id", "time", "weight")
"""Our fields that stand under their own names in the row of a trace."""
TURNS = "turns"
"""The column of the history; the tag `history` says if its beginning is missing."""
CUT = "cut"
OWN = {*FIELDS, TURNS, "history"}
"""Names that an application's metadata doesn't get."""


def assembled(tree: Tree, options: TraceOptions) -> list[Assembled]:
    """Every question of a trace as a row, or why it is none; one of these at least."""
    questions = tree.questions(options)
    several = len(questions) > 1
    made = [_of_question(tree, span, options, several=several) for span in questions]
    if not questions:
        named = f"no span has the name {options.question!r} (--question)" if options.question else ""
        made = [Assembled(problem=named or _why_no_question(tree))]
    elif options.question is None and tree.left_out(questions):
        made[0].notes.append("a step elsewhere in the trace has a question too, which is left out (--question)")
    made[0].notes += _remarks(tree)
    return made


def _remarks(tree: Tree) -> Iterator[str]:
    """What is to be known of a trace as a whole."""
    if tree.circle:
        yield "spans are parents of each other: all of them count as roots"
    yield from tree.trace.remarks
    several = (span for span in tree.trace.spans if sum(name in span.attributes for name in NAMES["kind"]) > 1)
    said = (kinds_said(span) for span in several)
    for names in dict.fromkeys(tuple(name for name, _ in one) for one in said if len(one) > 1):
        yield f"a span has attributes of several conventions ({', '.join(names)}): the first counts"


def _why_no_question(tree: Tree) -> str:
    spans = tree.trace.spans
    if any(span.attributes.get("inputs_s3_urls") for span in spans):
        return "its texts lie in object storage (inputs_s3_urls): export them with the runs"
    masked = any((given := found(span, "input")) and not is_recorded(given.value) for span in spans)
    advice = switch("query", spans) or (" (is content capture on in the application?)" if not masked else "")
    return f"{NO_QUESTION}{': it was masked before' if masked else ''}{advice}"


def _of_question(tree: Tree, span: TraceSpan, options: TraceOptions, *, several: bool) -> Assembled:
    made = Assembled()
    trace = tree.trace
    scope = list(tree.under(span))
    if tree.kinds[span.id] == "model" and span.id in tree.parents and not finds(tree, scope):
        # a model that is asked beside a retrieval: what was found before belongs to it
        scope = [one for one in tree.under(tree.parents[span.id]) if (one.start or 0) < (span.start or 0)]
        if several:
            made.notes.append(
                "questions stand beside the retrievals: what began before a question counts as found for it"
            )
    models = [one for one in scope if tree.kinds[one.id] == "model"]
    said = {f"metadata.{name}" if name in OWN else name: one for name, one in tags_of(span, tree, models).items()}
    made.conversation = str(said.get("conversation") or "")
    try:
        query, before = _query(tree, span, options, made)
        made.earlier = [
            {"role": one.role, "content": one.text or ""}
            for one in before
            if one.text and one.role not in {"system", "tool", "developer"}
        ]
        response, tags = _response(tree, span, options, made)
        made.said = [{"role": "user", "content": query}]
        if response:
            made.said.append({"role": "assistant", "content": response})
        known = retrieved(tree, span, scope, options, made)
    except NotUsable as problem:
        made.problem = str(problem)
        return made
    tools = [one.name for one in scope if tree.kinds[one.id] == "tool"]
    tags = {**said, **known.tags, **tags, "steps": len(models), "tools": tools}
    if span.id != ROOT:
        tags["span_id"] = span.id
    tags["source_spans"] = known.places
    history = made.earlier if options.history == "messages" else []
    made.values = {
        **{name: value for name, value in tags.items() if value not in (None, "", [], {})},
        "query": query,
        "sources": known.sources,
        "response": response,
        "id": f"{trace.id}/{span.id}" if several else trace.id,
        "trace_id": trace.id,
        "time": None if span.start is None else datetime.fromtimestamp(span.start / 1e9, UTC).isoformat(),
        "weight": _weight(span.state),
        **with_history(history, cut=False),
    }
    return made


def with_history(turns: list[dict[str, str]], *, cut: bool) -> dict[str, Any]:
    """The columns of a history: its last turns, and whether its beginning is missing."""
    told = {"history": CUT} if cut or len(turns) > MOST_TURNS else {}
    return {TURNS: turns[-MOST_TURNS:], **told}


def _query(tree: Tree, span: TraceSpan, options: TraceOptions, made: Assembled) -> UserQuestion:
    place = options.places.get("query")
    if place is not None:
        value = place.of(span, tree.trace)
        there = None if value is None else query_in(value)
        if there is None:
            raise NotUsable(f"has no text at {place.text}")
        made.taken["query"] = place.text
        return there
    known = tree.asked(span)
    if known is None:
        raise NotUsable(_why_no_question(tree))
    made.choose(known.span, f"question: {known.name}")
    given = next(one.value for one in all_found(known.span, "input") if one.name == known.name)
    if any(one.others for one in messages_in(given) or ()):
        made.notes.append("a message holds more than text, such as an image, which isn't judged")
    if known.span is not span:
        made.notes.append("the question is the first model's, since the input of the step around it holds none")
    made.taken["query"] = f"{known.name} of {_said(known.span)}"
    return known.text, known.before


def _said(span: TraceSpan) -> str:
    kind = kind_of(span)
    return f"the {kind} span" if kind != "other" else "the span"


def _response(tree: Tree, span: TraceSpan, options: TraceOptions, made: Assembled) -> tuple[str | None, dict[str, Any]]:
    """The answer and what is to be said of it: `failure`, `not_recorded`."""
    place = options.places.get("response")
    if place is not None:
        value = place.of(span, tree.trace)
        made.taken["response"] = place.text
        return (None if value is None else response_in(value)), {}
    if own := _given(span):
        made.choose(span, f"response: {own.name}")
        made.taken["response"] = f"{own.name} of {_said(span)}"
        return own.value, {}
    if any(not is_recorded(one.value) for one in all_found(span, "output")):
        made.notes.append(f"{NO_RESPONSE}: it was masked before{switch('response', [span])}")
        return None, {"not_recorded": "response"}
    if span.status == "error":
        return None, {"failure": True}
    return _fallback(tree, span, made)


def _fallback(tree: Tree, span: TraceSpan, made: Assembled) -> tuple[str | None, dict[str, Any]]:
    """The answer of the model that ended last, where the question's span has none."""
    models = [(one, said) for one in tree.under(span) if tree.kinds[one.id] == "model" and (said := _given(one))]
    if models:
        last, said = max(models, key=lambda pair: (pair[0].end or 0, pair[0].start or 0))
        made.choose(last, f"response: {said.name}, of the model that ended last, since the question's span has none")
        made.taken["response"] = f"{said.name} of the last model span"
        return said.value, {}
    if any(response_in(one.value) == "" for one in all_found(span, "output")):
        made.taken["response"] = "an empty text"
        return "", {}
    if found(span, "output") is not None:
        made.notes.append("the output holds no text under a usual name (--map response=)")
    else:
        made.notes.append(f"{NO_RESPONSE}{switch('response', tree.trace.spans)}")
    return None, {"not_recorded": "response"}


def _given(span: TraceSpan) -> FoundValue | None:
    """The answer in a span's output; None if it has none, or calls a tool."""
    first = all_found(span, "said") if kind_of(span) == "model" else iter(())
    outputs = (one for one in chain(first, all_found(span, "output")) if is_recorded(one.value))
    return next((FoundValue(said, one.name) for one in outputs if (said := response_in(one.value))), None)


def _weight(state: str) -> float:
    """What sampling upstream says of a span: `ot=th:T`, the share that was thrown away as a part of 2^56.

    OpenTelemetry's specification of trace state and probability sampling.
    """
    own = next((part.strip()[3:] for part in state.split(",") if part.strip().startswith("ot=")), "")
    threshold = next((part[3:] for part in own.split(";") if part.startswith("th:")), "")
    try:
        thrown = int(threshold.ljust(14, "0")[:14], 16) / 2**56 if threshold else 0.0
    except ValueError:
        thrown = 0.0
    return 1.0 / (1.0 - thrown) if thrown < 1.0 else 1.0
