"""The sources of a question: what its retrievals and reranks found, in one list."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.display import one_line, plural
from ragtriage.readers.traces.attributes import (
    FoundDocument,
    decoded,
    documents_in,
    documents_of,
    found,
    is_recorded,
    query_in,
    response_in,
)
from ragtriage.readers.traces.spans import TraceSpan
from ragtriage.readers.traces.tree import Assembled, NotUsable, TraceOptions, Tree, switch

STANDS = 200
"""Characters at the beginning of a retrieved text that stand in a prompt which holds it."""
NO_RETRIEVAL = "no retrieval was recorded (--map sources= judges without)"


@dataclass(frozen=True, slots=True)
class _Source:
    document: FoundDocument
    place: str
    """Its span, and which document of that it is, from 0."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The sources of a question."""

    sources: list[dict[str, Any]] | None
    """A text and an id each; None if they are left out."""
    places: list[str]
    """For each `SPAN:PLACE`: the retrieval's span, and the place in it, from 0."""
    tags: dict[str, Any]


def finds(tree: Tree, scope: Sequence[TraceSpan]) -> bool:
    """Whether there is a retrieval or a rerank among these spans."""
    return any(tree.kinds[one.id] in {"retrieval", "rerank"} for one in scope)


def retrieved(
    tree: Tree, span: TraceSpan, scope: Sequence[TraceSpan], options: TraceOptions, made: Assembled
) -> Retrieved:
    """The sources of the question in this span, found by what is in `scope`."""
    if options.sources == "off":
        return Retrieved(None, [], {})
    searches = [
        one
        for one in scope
        if tree.kinds[one.id] == "rerank" or (tree.kinds[one.id] == "retrieval" and not _within(tree, one))
    ]
    searches = [one for one in searches if _documents(one) is not None or not _has_inner(tree, one)]
    searches.sort(key=lambda each: (each.start or 0, each.end or 0))
    tools = _tools(tree, scope, options, made, alone=not searches)
    found_by_search, found_by_tools = _of_searches(tree, searches, made), _of_tools(tools, made)
    silent = [one for one in searches if _documents(one) is None and one.status != "error"]
    if silent:
        lacking = f"{len(silent)} of {plural(len(searches), 'retrieval')} recorded without their documents"
        raise NotUsable(lacking + switch("sources", silent))
    if found_by_search is None and found_by_tools is None:
        used = sorted({_tool_name(one) for one in scope if tree.kinds[one.id] == "tool"})
        named = f"; of its tools ({', '.join(used)}) --source-tools names those that search" if used else ""
        raise NotUsable(NO_RETRIEVAL + named)
    kept = _with_texts([*(found_by_search or ()), *(found_by_tools or ())], searches, options)
    kept = _prompted(tree, span, kept, options, made)
    retrievals = [one for one in searches if tree.kinds[one.id] == "retrieval"]
    if len(retrievals) > 1:
        made.notes.append("several retrievals were joined")
    queries = [query_in(given.value) for one in retrievals if (given := found(one, "retrieval_query"))]
    scores = [one.document.score for one in kept]
    tags = {
        "retrievals": len(retrievals),
        "reranked": len(searches) > len(retrievals) or None,
        "searched": [query[0] for query in queries if query],
        "top_k": next((given.value for one in searches if (given := found(one, "top_k"))), None),
        "retrieval_scores": scores if any(score is not None for score in scores) else None,
    }
    rows = [{"text": one.document.text, "id": one.document.id} for one in kept]
    return Retrieved(rows, [one.place for one in kept], tags)


def _of_searches(tree: Tree, searches: Sequence[TraceSpan], made: Assembled) -> list[_Source] | None:
    """The documents of retrievals, each rerank's in place of those that it was given; None if none were recorded."""
    kept: list[_Source] | None = None
    for one in searches:
        listed = _documents(one)
        if listed is None and one.status == "error":
            made.notes.append("a retrieval failed: it found nothing")
            listed = [], "nothing"
        if listed is None:
            continue
        documents, name = listed
        told = f"sources: {plural(len(documents), 'document')} of {name}"
        if tree.kinds[one.id] == "rerank":
            kept = _without_fed(one, kept or ())
            made.choose(one, f"{told}, in place of what it was given")
            made.taken["sources"] = f"{name} of a rerank instead of what it was given"
        else:
            made.choose(one, told)
            made.taken.setdefault("sources", f"{name} of a retrieval")
        kept = [*(kept or ()), *(_Source(document, f"{one.id}:{at}") for at, document in enumerate(documents))]
    return kept


def _tools(
    tree: Tree, scope: Sequence[TraceSpan], options: TraceOptions, made: Assembled, *, alone: bool
) -> list[TraceSpan]:
    """The tools whose outputs are sources: those that the user names, or the only one where nothing else finds any."""
    tools = [one for one in scope if tree.kinds[one.id] == "tool"]
    if options.source_tools:
        return [one for one in tools if {one.name, _tool_name(one)} & options.source_tools]
    if alone and len({_tool_name(one) for one in tools}) == 1:
        made.notes.append(f"the only tool, {_tool_name(tools[0])}, counts as the retrieval (--source-tools)")
        return tools
    return []


def _of_tools(tools: Sequence[TraceSpan], made: Assembled) -> list[_Source] | None:
    kept: list[_Source] | None = None
    for one in tools:
        output = found(one, "output")
        if output is None or not is_recorded(output.value):
            continue
        texts = documents_in(output.value)
        if texts is None:
            texts = [FoundDocument(response_in(output.value) or str(output.value))] if one.status != "error" else []
        made.choose(one, "sources: the output of a tool")
        made.taken.setdefault("sources", "the output of a tool")
        kept = [*(kept or ()), *(_Source(document, f"{one.id}:{at}") for at, document in enumerate(texts))]
    return kept


def _tool_name(span: TraceSpan) -> str:
    """What the application calls the tool."""
    named = found(span, "tool")
    return str(named.value) if named else span.name


def _has_inner(tree: Tree, span: TraceSpan) -> bool:
    """Whether a retrieval without documents is made of others."""
    return any(tree.kinds[one.id] in {"retrieval", "rerank"} for one in tree.under(span))


def _documents(span: TraceSpan) -> tuple[list[FoundDocument], str] | None:
    try:
        return documents_of(span)
    except ValueError as error:
        raise NotUsable(str(error)) from None


def _within(tree: Tree, span: TraceSpan) -> bool:
    """Whether it is part of a retrieval that has documents of its own."""
    return any(tree.kinds[one.id] == "retrieval" and _documents(one) is not None for one in tree.above(span))


def _without_fed(rerank: TraceSpan, kept: Sequence[_Source]) -> list[_Source]:
    """What wasn't given to a rerank; everything was where it doesn't say."""
    try:
        fed = documents_of(rerank, "reranked")
    except ValueError as error:
        raise NotUsable(str(error)) from None
    if fed is None:
        return []
    texts, ids = {one.text for one in fed[0]} - {None}, {one.id for one in fed[0]} - {None}
    return [one for one in kept if one.document.text not in texts and one.document.id not in ids]


def _with_texts(kept: Sequence[_Source], searches: Sequence[TraceSpan], options: TraceOptions) -> list[_Source]:
    """Each document once, those that were recorded by their ids with their texts."""
    made: list[_Source] = []
    seen: set[tuple[str | None, str | None]] = set()
    for one in kept:
        document = one.document
        if document.text is None and document.id is not None and options.source_texts is not None:
            document = replace(document, text=_text_of(document.id, options.source_texts))
        if (document.id, document.text) not in seen or document.text is None:
            seen.add((document.id, document.text))
            made.append(_Source(document, one.place))
    lacking = sum(one.document.text is None for one in made)
    if lacking:
        were = (
            "1 document was retrieved, its text" if lacking == 1 else f"{lacking} documents were retrieved, their texts"
        )
        hint = switch("sources", searches)
        if any(one.document.id for one in made if one.document.text is None):
            unknown = " (--source-texts has none for their ids)"
            hint = hint + " (--source-texts has them by their ids)" if options.source_texts is None else unknown
        raise NotUsable(f"{were} {'wasn' if lacking == 1 else 'weren'}'t recorded{hint}")
    return made


def _text_of(source_id: str, source_texts: Callable[[str], str | None]) -> str | None:
    try:
        text: Any = source_texts(source_id)
    except Exception as error:  # noqa: BLE001  # the user's code may raise anything
        raise NotUsable(f"--source-texts failed: {type(error).__name__}: {one_line(str(error), 80)}") from None
    if text is not None and not isinstance(text, str):
        raise NotUsable(f"--source-texts gave {type(text).__name__}, not a text or None")
    return text


def _prompted(
    tree: Tree, span: TraceSpan, kept: list[_Source], options: TraceOptions, made: Assembled
) -> list[_Source]:
    """With `prompted` only those that stand in the last model's prompt; else it is noted if one doesn't."""
    models = [one for one in (*tree.under(span), span) if tree.kinds[one.id] == "model"]
    last = max(models, key=lambda one: one.start or 0, default=None)
    given = None if last is None else (found(last, "prompt") or found(last, "input"))
    if given is None or not is_recorded(given.value):
        return kept
    prompt = "".join(_texts_in(decoded(given.value))).split()
    said = "".join(prompt)
    there = [one for one in kept if "".join((one.document.text or "")[:STANDS].split()) in said]
    if len(there) == len(kept):
        return kept
    if options.sources == "prompted":
        made.notes.append("retrieved texts that don't stand in the prompt were left out")
        return there
    made.notes.append("retrieved texts don't stand in the prompt (--sources prompted)")
    return kept


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from _texts_in(one)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _texts_in(one)
