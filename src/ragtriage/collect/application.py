"""What an application under test is, and what can come of asking it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragtriage.core.case import Case, Source

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
