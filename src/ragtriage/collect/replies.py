"""What an application returned, read as a reply."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.collect.application import Reply, Unanswered
from ragtriage.core.case import Source
from ragtriage.core.errors import ConfigError
from ragtriage.readers.field_names import ALIASES, field_named
from ragtriage.readers.problems import Limits, RowContext, RowProblem
from ragtriage.readers.source_values import sources_of
from ragtriage.readers.text_values import clean, described, shortened, text_of

UNREADABLE = "unreadable reply"
NO_ANSWER = "no answer in the reply"
_LIMITS = Limits(max_text=sys.maxsize, max_sources=sys.maxsize)
"""None: what was answered is kept as it is, and an evaluation has limits of its own."""
_IDS = ("ids", "retrieved", "source_ids", "document_ids", "doc_ids")


@dataclass(frozen=True, slots=True)
class ReplyPaths:
    """Where in a reply things stand; what is None is looked for under its usual names."""

    response: Path | None = None
    """The answer."""
    sources: Path | None = None
    """The retrieved texts, or objects with a text and an id."""
    ids: Path | None = None
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


def _response(value: Any, path: Path | None) -> str:
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
    if (
        isinstance(found, list)
        and path is not None
        and None in path.parts
        and all(isinstance(one, str) for one in found)
    ):
        found = "".join(found)  # a text in pieces, as some interfaces return it
    if found is None:
        raise Unanswered(NO_ANSWER, f"the reply has null at {path.text if path else key!r}", broken=False)
    return text_of("response", found, RowContext(_LIMITS))


def _value(value: Any, path: Path | None, key: str | None) -> Any:
    if path is not None:
        return path.of(value)
    return None if key is None else value[key]


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


_PART = re.compile(r"""\.?([^.\[\]'"*]+)|\[(\d{1,9})\]|\[(\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")


@dataclass(frozen=True, slots=True)
class Path:
    """Where in a reply something stands."""

    text: str
    """As the user wrote it."""
    parts: tuple[str | int | None, ...]
    """Keys, indices, and None for every item of a list."""

    def of(self, reply: Any) -> Any:
        """What stands there; a list if the path has a `[*]`.

        Raises:
            Unanswered: nothing does.
        """
        return self._below(reply, 0, "")

    def _below(self, value: Any, at: int, way: str) -> Any:
        if at == len(self.parts):
            return value
        part = self.parts[at]
        if part is None:
            if not isinstance(value, list):
                raise self._missing(way, f"is {described(value)}, not a list")
            below = [self._below(item, at + 1, f"{way}[{i}]") for i, item in enumerate(value)]
            return [one for many in below for one in many] if None in self.parts[at + 1 :] else below
        if isinstance(part, int):
            if not isinstance(value, list) or part >= len(value):
                raise self._missing(way, f"is {described(value)}")
            return self._below(value[part], at + 1, f"{way}[{part}]")
        if not isinstance(value, Mapping):
            raise self._missing(way, f"is {described(value)}, not an object")
        if part not in value:
            raise self._missing(way, f"has the keys {keys_of(value)}")
        return self._below(value[part], at + 1, f"{way}.{part}" if way else part)

    def _missing(self, way: str, instead: str) -> Unanswered:
        place = f"its {way!r}" if way else "it"
        return Unanswered(UNREADABLE, f"the reply has no {self.text!r}: {place} {instead}")


def keys_of(value: Mapping[Any, Any]) -> str:
    """The keys of an object, for a message."""
    names = [shortened(str(key), 40) for key in list(value)[:20]]
    return (", ".join(names) + (" …" if len(value) > 20 else "")) or "(none)"


def path_from(text: str, flag: str) -> Path:
    """Read a path.

    Args:
        text: names with dots between them, `[0]` for an item of a list, `[*]` for every one, `['a.b']` for a name with
            a dot in it; a leading `$` or `$.` is allowed.
        flag: which flag it was given by, for the message.

    Raises:
        ConfigError: it can't be read.
    """
    rest = re.sub(r"^\$\.?", "", text.strip())
    parts: list[str | int | None] = []
    at = 0
    while at < len(rest):
        found = _PART.match(rest, at)
        if found is None or (at == 0 and rest.startswith(".")):
            like = "answer.text, hits[0].text or hits[*].text"
            raise ConfigError(f"{flag} {text!r} can't be read at {rest[at:]!r}: write it like {like}")
        name, index, star, *quoted = found.groups()
        parts.append(None if star else int(index) if index else next((q for q in quoted if q is not None), name))
        at = found.end()
    if not parts:
        raise ConfigError(f"{flag} {text!r} is empty: write it like answer.text or hits[*].text")
    return Path(text, tuple(parts))
