"""What an application under test is, what can come of asking it, and how what it returned is read as a reply."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragtriage.core.case import Case, Source
from ragtriage.readers.field_values import ALIASES, field_named, sources_of
from ragtriage.readers.paths import NotThere, ValuePath, in_one_piece, keys_of
from ragtriage.readers.problems import RowContext, RowLimits, RowProblem
from ragtriage.readers.text_values import clean, described, text_of

TIMED_OUT = "time-out"
"""The cause of a case that took too long."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an application gave back for one query."""

    response: str
    """The answer; it may be empty."""
    sources: tuple[Source, ...] = ()
    """The retrieved texts, best first, where it returns them."""
    ids: tuple[str, ...] = ()
    """The ids of what was retrieved, best first, where it returns them."""


@dataclass(eq=False)
class Unanswered(Exception):
    """A query wasn't answered."""

    cause: str
    """In a few words, the same for all queries that fail alike, for example `"HTTP 500"`."""
    detail: str
    """A sentence: what happened and, where that is known, what to do."""
    again: bool = field(default=False, kw_only=True)
    """The same query may be answered a moment later."""
    wait: float | None = field(default=None, kw_only=True)
    """The seconds after which the application wants to be asked again, where it says so."""
    broken: bool = field(default=True, kw_only=True)
    """The application, its address or a setting may be wrong, rather than this one query."""
    down: bool = field(default=False, kw_only=True)
    """No other query would be answered now either."""


class Application(Protocol):
    """Something that answers queries."""

    @property
    def name(self) -> str:
        """How people may see it: without a secret."""
        ...

    async def ask(self, case: Case) -> Reply:
        """Ask one query; several may be asked at once.

        Raises:
            Unanswered: there is no answer, and why.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...

    @property
    def takes_temperature(self) -> bool:
        """Whether it can be told at which temperature to answer."""
        ...

    def again(self, temperature: float | None) -> Application:
        """The same application for another round of questions, also after it was closed.

        Args:
            temperature: at which it is to answer; None for its own way of answering.
        """
        ...


ASKED = ("id", "query", "history", "reference", "samples", "relevant_ids", "weight", "time", "trace_id")
"""The fields that a row has before it is asked; it has those of its file only, and always the first two."""
SAMPLED = ("samples_asked", "samples_temperature")
"""The columns that drawing samples brings, beside `samples`: how many were asked for, and at which temperature."""
ANSWERED = ("response", "sources", "retrieved", "seconds", "failure", "failure_detail", *SAMPLED)
"""The columns that asking brings; columns of the file with these names are replaced."""


def asked_row(case: Case) -> dict[str, Any]:
    """A case under our names, with every other column of its file: what is known before it is asked."""
    row: dict[str, Any] = {name: value for name, value in case.tags.items() if name not in (*ASKED, *ANSWERED)}
    fields: dict[str, Any] = {
        "id": case.id,
        "query": case.query,
        "history": [{"role": turn.role, "content": turn.text} for turn in case.history] or None,
        "reference": case.reference,
        "samples": list(case.samples) or None,
        "relevant_ids": None if case.relevant_ids is None else list(case.relevant_ids),
        "weight": None if case.weight == 1.0 else case.weight,
        "time": case.time,
        "trace_id": case.trace_id,
    }
    return {name: value for name, value in fields.items() if value is not None} | row


def source_rows(case: Case) -> list[dict[str, str]]:
    """The sources of a case as an application is given them: each with its text, and its id where it has one."""
    return [_source_row(source) for source in case.sources]


def _source_row(source: Source) -> dict[str, str]:
    return {"text": source.text} | ({"id": source.id} if source.id is not None else {})


def answered_row(case: Case, reply: Reply, seconds: float) -> dict[str, Any]:
    """The row of a case that was answered; an empty answer is one, too."""
    sources = [_source_row(source) for source in reply.sources]
    retrieved = {"retrieved": list(reply.ids)} if reply.ids else {}
    return asked_row(case) | {"response": reply.response, "sources": sources, **retrieved, "seconds": round(seconds, 3)}


def failed_row(case: Case, why: Unanswered) -> dict[str, Any]:
    """The row of a case that was not answered: no response, which is not an empty one, and why."""
    return asked_row(case) | {"response": None, "sources": [], "failure": why.cause, "failure_detail": why.detail}


def replaced(tags: Iterable[str]) -> list[str]:
    """Those other columns of a file that don't come into a collected row, since a field of ours has their name."""
    return [name for name in tags if name in (*ASKED, *ANSWERED)]


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
