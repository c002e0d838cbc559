"""The retrieved texts of a row, in the many shapes in which tools write them; what can't be read is a RowProblem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.core.case import Source
from ragtriage.readers.field_names import KEYS
from ragtriage.readers.problems import RowContext, RowProblem
from ragtriage.readers.text_values import NotALiteral, clean, described, looks_like_list, parse_literal, text_of

_TEXT_KEYS, _ID_KEYS, _WRAPPERS = KEYS["source_text"], KEYS["source_id"], KEYS["source_wrapper"]

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
        return described(value)
    kinds = {"texts" if isinstance(item, str) else "objects" if isinstance(item, Mapping) else "" for item in value}
    return f"list of {kinds.pop()}" if len(kinds) == 1 and "" not in kinds else "list"


def sources_of(value: Any, context: RowContext) -> tuple[Source, ...]:
    """The sources that a value holds.

    Args:
        value: a list of texts or objects, an object of id to text, one object, one text, or a list as text.
        context: how many and how long they may be, and how one text is split; gets a remark for each liberty taken.

    Raises:
        RowProblem: it holds no sources; says which one is wrong and why.
    """
    most = f"{context.limits.max_sources:,}"
    if isinstance(value, str) and not looks_like_list(value):
        items: list[Any] = _parts(value, context)
        too_many = f"splits into {len(items):,} sources, more than {most}: another separator, or --max-sources?"
    else:
        items = _items(_unpacked(value), context.remarks)
        too_many = f"has {len(items):,} sources, more than {most}: raise the limit by --max-sources"
        if context.split is not None:
            context.remarks.append(NOT_SPLIT)
    if len(items) > context.limits.max_sources:
        raise RowProblem("sources", too_many)
    return tuple(_source(item, f"source {index} ", context) for index, item in enumerate(items, 1))


def with_ids(sources: tuple[Source, ...], ids: Sequence[str | None] | None) -> tuple[Source, ...]:
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


def _parts(text: str, context: RowContext) -> list[str]:
    if not text.strip():
        raise RowProblem("sources", f"is an empty text: {_TEACH}")
    if context.split is None:
        context.remarks.append(ONE_TEXT)
        return [text]
    context.remarks.append(SPLIT)
    return [part.strip() for part in text.split(context.split) if part.strip()]


def _unpacked(value: Any) -> Any:
    try:
        return parse_literal(value) if isinstance(value, str) else value
    except NotALiteral as error:
        reason = f"looks like a list in a text but can't be read as JSON or Python ({error}): was it cut off?"
        raise RowProblem("sources", reason) from None


def _items(value: Any, remarks: list[str]) -> list[Any]:
    if isinstance(value, Mapping):
        if _text(value) is not None:
            return [value]
        if value and all(isinstance(text, str) for text in value.values()):
            return [{"id": key, "text": text} for key, text in value.items()]
    if not isinstance(value, list | tuple):
        raise RowProblem("sources", f"is {described(value)}: {_TEACH}")
    if value and all(_is_list_of_sources(item) for item in value):
        remarks.append(NESTED)
        return [text for item in value for text in item]
    return list(value)


def _is_list_of_sources(item: Any) -> bool:
    return isinstance(item, list | tuple) and all(isinstance(inner, str | Mapping) for inner in item)


def _source(item: Any, where: str, context: RowContext) -> Source:
    if isinstance(item, str):
        return Source(text_of("sources", item, context, where))
    if not isinstance(item, Mapping):
        raise RowProblem("sources", f"{where}is {described(item)}, not a text: {_TEACH}")
    text = _text(item)
    if text is None:
        if key := next((key for key in _TEXT_KEYS if key in item), None):
            reason = f"{where}is an object whose {key!r} is {described(item[key])}, not a text: {_TEACH}"
            raise RowProblem("sources", reason)
        keys = ", ".join(_TEXT_KEYS)
        raise RowProblem("sources", f"{where}is {described(item)}; its text was looked for under {keys}: rename it")
    name = _id(item)
    return Source(text_of("sources", text, context, where), None if name is None else clean(name, context.remarks))


def _text(item: Mapping[str, Any]) -> str | None:
    for key in _TEXT_KEYS:
        if isinstance(text := item.get(key), str):
            return text
    for key in _WRAPPERS:
        if isinstance(inner := item.get(key), Mapping) and (text := _text(inner)) is not None:
            return text
    return None


def _id(item: Mapping[str, Any], depth: int = 0) -> str | None:
    for key in _ID_KEYS:
        name = item.get(key)
        if (isinstance(name, str) and name) or (isinstance(name, int) and not isinstance(name, bool)):
            return str(name)
    for key in ("metadata", *_WRAPPERS):
        if depth < 2 and isinstance(inner := item.get(key), Mapping) and (found := _id(inner, depth + 1)) is not None:
            return found
    return None
