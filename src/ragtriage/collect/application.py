"""What an application under test is, and what can come of asking it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

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


class Unanswered(Exception):
    """A query wasn't answered.

    Args:
        cause: in a few words, the same for all queries that fail alike, for example `"HTTP 500"`.
        detail: a sentence: what happened and, where that is known, what to do.
        again: the same query may be answered a moment later.
        wait: the seconds after which the application wants to be asked again, where it says so.
        broken: the application, its address or a setting may be wrong, rather than this one query.
        down: no other query would be answered now either.
    """

    def __init__(
        self,
        cause: str,
        detail: str,
        *,
        again: bool = False,
        wait: float | None = None,
        broken: bool = True,
        down: bool = False,
    ) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail
        self.again = again
        self.wait = wait
        self.broken = broken
        self.down = down


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
