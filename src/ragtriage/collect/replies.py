"""What an application returned, read as a reply."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.collect.application import Reply, Unanswered
from ragtriage.core.case import Source
from ragtriage.readers.field_values import ALIASES, field_named, sources_of
from ragtriage.readers.paths import NotThere, ValuePath, in_one_piece, keys_of
from ragtriage.readers.problems import RowContext, RowLimits, RowProblem
from ragtriage.readers.text_values import clean, described, text_of

UNREADABLE = "unreadable reply"
NO_ANSWER = "no answer in the reply"
_LIMITS = RowLimits(max_text=sys.maxsize, max_sources=sys.maxsize)
"""None: what was answered is kept as it is, and an evaluation has limits of its own."""
_IDS = ("ids", "retrieved", "source_ids", "document_ids", "doc_ids")


@dataclass(frozen=True, slots=True)
class ReplyPaths:
    """Where in a reply things stand; what is None is looked for under its usual names."""

    response: ValuePath | None = None
    """The answer."""
    sources: ValuePath | None = None
    """The retrieved texts, or objects with a text and an id."""
    ids: ValuePath | None = None
    """The ids of what was retrieved, in the same order."""


def read_reply(value: Any, places: ReplyPaths = ReplyPaths()) -> Reply:
    """A returned value as a reply.

    Args:
        value: a text, which is the response; or a mapping, with the response, the sources and the ids at the given
            places, else under one of their usual names.
        places: where they stand.

    Raises:
        Unanswered: it has no response, or something of another kind stands in a place.
    """
    try:
        if isinstance(value, str) and places.response is None:
            return Reply(text_of("response", value, RowContext(_LIMITS)))
        response = _response(value, places.response)
        usual = next((name for name in _IDS if name in value), None) if isinstance(value, Mapping) else None
        ids = _ids(_value(value, places.ids, usual))
        return Reply(response, *_retrieved(_value(value, places.sources, _aliased(value, "sources")), ids))
    except RowProblem as problem:
        raise Unanswered(UNREADABLE, f"the {problem.field or 'reply'} of the reply {problem.reason}") from None


def _response(value: Any, path: ValuePath | None) -> str:
    if path is None and not isinstance(value, Mapping):
        names = "'response' and 'sources'"
        raise Unanswered(UNREADABLE, f"the reply is {described(value)}: give a text, or an object with {names}")
    key = _aliased(value, "response")
    if path is None and key is None:
        names = ", ".join(ALIASES["response"])
        keys = keys_of(value)
        reason = f"the reply has none of {names}; its keys are {keys}: name the place with --response-path"
        raise Unanswered(UNREADABLE, reason)
    found = _value(value, path, key)
    if path is not None:
        found = in_one_piece(path, found)
    if found is None:
        raise Unanswered(NO_ANSWER, f"the reply has null at {path.text if path else key!r}", broken=False)
    return text_of("response", found, RowContext(_LIMITS))


def _value(value: Any, path: ValuePath | None, key: str | None) -> Any:
    if path is None:
        return None if key is None else value[key]
    try:
        return path.of(value)
    except NotThere as error:
        raise Unanswered(UNREADABLE, f"the reply has no {path.text!r}: {error}") from None


def _aliased(value: Any, field: str) -> str | None:
    """The key that names a field, the preferred name first."""
    if not isinstance(value, Mapping):
        return None
    keys = [key for key in value if isinstance(key, str) and field_named(key) == field]
    return min(keys, key=lambda key: (key != field, keys.index(key)), default=None)


def _ids(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    items = value if isinstance(value, list | tuple) else [value]
    for item in items:
        if not isinstance(item, str | int) or isinstance(item, bool):
            raise RowProblem("ids", f"holds {described(item)}: an id is a text or a whole number")
    return tuple(clean(str(item), []) for item in items)


def _retrieved(value: Any, ids: tuple[str, ...]) -> tuple[tuple[Source, ...], tuple[str, ...]]:
    """Sources and ids, each with the other where both are known."""
    sources = () if value is None else sources_of(value, RowContext(_LIMITS))
    if not sources:
        return (), ids
    if not ids:
        known = tuple(source.id for source in sources if source.id is not None)
        return sources, known if len(known) == len(sources) else ()
    if len(ids) != len(sources):
        raise RowProblem(
            "ids", f"are {len(ids)}, but there are {len(sources)} sources: one id a source, in their order"
        )
    return tuple(Source(source.text, name) for source, name in zip(sources, ids, strict=True)), ids
