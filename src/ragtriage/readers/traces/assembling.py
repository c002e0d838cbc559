"""One trace → the cases in it, as rows under our field names, with the reason for every choice.

A text that wasn't recorded is never an empty one.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from ragtriage.readers.traces.attributes import (
    NAMES,
    FoundValue,
    UserQuestion,
    all_found,
    found,
    is_recorded,
    kind_of,
    kinds_said,
    messages_in,
    query_in,
    response_in,
)
from ragtriage.readers.traces.pieces import ROOT
from ragtriage.readers.traces.retrieved import finds, retrieved
from ragtriage.readers.traces.spans import TraceSpan
from ragtriage.readers.traces.tags import tags_of
from ragtriage.readers.traces.tree import Assembled, NotUsable, TraceOptions, Tree, switch

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
        made = [Assembled(problem=NotUsable(named or _why_no_question(tree)))]
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
        made.problem = problem
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
        "time": _iso(span.start),
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


def _iso(start: int | None) -> str | None:
    return None if start is None else datetime.fromtimestamp(start / 1e9, UTC).isoformat()


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
