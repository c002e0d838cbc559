"""The retrieved texts of a row, in the many shapes in which tools write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.core.case import Source
from ragtriage.readers.literals import NotALiteral, literal, looks_like_list
from ragtriage.readers.problems import Limits, RowProblem
from ragtriage.readers.text_values import clean, shown, text_of

TEXT_KEYS = ("text", "page_content", "content", "document", "body")
ID_KEYS = ("id", "doc_id", "chunk_id", "source")
_WRAPPERS = ("node", "document")  # LlamaIndex's NodeWithScore, a retriever's hit

ONE_TEXT = (
    "{rows}: the sources are one text, taken as one source; "
    "if it joins several, say what stands between them: --split-sources '\\n\\n'"
)
NESTED = "{rows}: the sources were a list of lists, taken as one list"
SPLIT = "{rows}: the sources were one text, split by --split-sources"
NOT_SPLIT = "{rows}: the sources are a list already, --split-sources left it alone"
_TEACH = "write a list of texts, or of objects with 'text' and 'id'; write [] if nothing was retrieved"


def kind_of(value: Any) -> str:
    """In which shape a value holds the sources, in words."""
    if isinstance(value, str):
        return "a list written as text" if looks_like_list(value) else "one text"
    if isinstance(value, Mapping):
        return "an object"
    if not isinstance(value, list | tuple):
        return shown(value)
    kinds = {"texts" if isinstance(item, str) else "objects" if isinstance(item, Mapping) else "" for item in value}
    return f"list of {kinds.pop()}" if len(kinds) == 1 and "" not in kinds else "list"


def sources_of(value: Any, limits: Limits, split: str | None, remarks: list[str]) -> tuple[Source, ...]:
    """The sources that a value holds.

    Args:
        value: a list of texts or objects, an object of id to text, one object, one text, or a list as text.
        limits: how many and how long they may be.
        split: what stands between the sources in one text; None takes it as one source.
        remarks: gets a sentence for each liberty taken.

    Raises:
        RowProblem: it holds no sources; says which one is wrong and why.
    """
    if isinstance(value, str):
        if not looks_like_list(value):
            return _from_text(value, limits, split, remarks)
        try:
            value = literal(value)
        except NotALiteral as error:
            reason = f"looks like a list in a text but can't be read as JSON or Python ({error}): was it cut off?"
            raise RowProblem("sources", reason) from None
    items = _items(value, remarks)
    if len(items) > limits.max_sources:
        reason = f"has {len(items):,} sources, more than {limits.max_sources:,}: raise the limit by --max-sources"
        raise RowProblem("sources", reason)
    if split is not None:
        remarks.append(NOT_SPLIT)
    return tuple(_source(item, index, limits, remarks) for index, item in enumerate(items, 1))


def named(sources: tuple[Source, ...], ids: Sequence[str | None] | None) -> tuple[Source, ...]:
    """The sources with ids that stand in a column of their own, by position; one without an id there keeps its own.

    Raises:
        RowProblem: there are more or fewer ids than sources.
    """
    if ids is None:
        return sources
    if len(ids) != len(sources):
        reason = (
            f"the number of ids is {len(ids):,}, that of sources {len(sources):,}: write one id a source, null for one "
            "that has none (--map source_ids= leaves the ids out)"
        )
        raise RowProblem("source_ids", reason)
    return tuple(
        source if name is None else Source(source.text, name) for source, name in zip(sources, ids, strict=True)
    )


def _from_text(text: str, limits: Limits, split: str | None, remarks: list[str]) -> tuple[Source, ...]:
    if not text.strip():
        raise RowProblem("sources", f"is an empty text: {_TEACH}")
    if split is None:
        remarks.append(ONE_TEXT)
        return (Source(text_of("sources", text, limits, remarks)),)
    remarks.append(SPLIT)
    parts = [part.strip() for part in text.split(split)]
    parts = [part for part in parts if part]
    if len(parts) > limits.max_sources:
        count, most = f"{len(parts):,}", f"{limits.max_sources:,}"
        reason = f"splits into {count} sources, more than {most}: another separator, or --max-sources?"
        raise RowProblem("sources", reason)
    return tuple(
        Source(text_of("sources", part, limits, remarks, f"source {index} ")) for index, part in enumerate(parts, 1)
    )


def _items(value: Any, remarks: list[str]) -> list[Any]:
    if isinstance(value, Mapping):
        if _text(value) is not None:
            return [value]
        if value and all(isinstance(text, str) for text in value.values()):
            return [{"id": key, "text": text} for key, text in value.items()]
    if not isinstance(value, list | tuple):
        raise RowProblem("sources", f"is {shown(value)}: {_TEACH}")
    if value and all(_is_list_of_sources(item) for item in value):
        remarks.append(NESTED)
        return [text for item in value for text in item]
    return list(value)


def _is_list_of_sources(item: Any) -> bool:
    return isinstance(item, list | tuple) and all(isinstance(inner, str | Mapping) for inner in item)


def _source(item: Any, index: int, limits: Limits, remarks: list[str]) -> Source:
    where = f"source {index} "
    if isinstance(item, str):
        return Source(text_of("sources", item, limits, remarks, where))
    if not isinstance(item, Mapping):
        raise RowProblem("sources", f"{where}is {shown(item)}, not a text: {_TEACH}")
    text = _text(item)
    if text is None:
        keys = ", ".join(TEXT_KEYS)
        raise RowProblem("sources", f"{where}is {shown(item)}; its text was looked for under {keys}: rename it")
    name = _id(item)
    return Source(
        text_of("sources", text, limits, remarks, where),
        None if name is None else clean(name, remarks),
    )


def _text(item: Mapping[str, Any]) -> str | None:
    for key in TEXT_KEYS:
        if isinstance(text := item.get(key), str):
            return text
    for key in _WRAPPERS:
        if isinstance(inner := item.get(key), Mapping) and (text := _text(inner)) is not None:
            return text
    return None


def _id(item: Mapping[str, Any], depth: int = 0) -> str | None:
    for key in ID_KEYS:
        name = item.get(key)
        if (isinstance(name, str) and name) or (isinstance(name, int) and not isinstance(name, bool)):
            return str(name)
    for key in ("metadata", *_WRAPPERS):
        if depth < 2 and isinstance(inner := item.get(key), Mapping) and (found := _id(inner, depth + 1)) is not None:
            return found
    return None
