"""What is kept of a request that was submitted in a batch, so that a later command can collect its reply."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

from ragtriage.judges.llm.messages import Prompt
from ragtriage.judges.llm.options import LLMOptions

if TYPE_CHECKING:
    from pydantic_ai.models.batch import Batch

KEY_SIZE = 16
"""Bytes of a key."""


class Tickets(Protocol):
    """What keeps tickets between commands; nothing in them is secret."""

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, str]:
        """The texts that are kept under these keys; keys without one are left out.

        Raises:
            StoreError: they can't be read.
        """
        ...

    def put(self, entries: Mapping[bytes, str]) -> None:
        """Keep texts, safe from a killed process before this returns; what a key had is replaced.

        Raises:
            StoreError: they can't be kept.
        """
        ...

    def drop(self, keys: Sequence[bytes]) -> None:
        """Keep nothing under these keys any more.

        Raises:
            StoreError: they can't be dropped.
        """
        ...


@dataclass(frozen=True, slots=True)
class Ticket:
    """Where the reply to one request will be."""

    batch: Batch
    """The provider's batch, as it was when it was submitted."""
    number: str
    """The request's id in its batch."""
    tries: int = 0
    """How often it had been submitted before, without a usable reply."""

    @property
    def place(self) -> tuple[str, str]:
        """What tells it from every other one."""
        return self.batch.id, self.number


def key_of(name: str, options: LLMOptions, prompt: Prompt, trial: int = 0) -> bytes:
    """16 bytes that depend on the model, on everything that is sent to it, on the trial, and on nothing else."""
    way = name, options.base_url, options.temperature, options.reply, trial
    text = json.dumps([way, prompt.system, prompt.user, dict(prompt.schema), prompt.largest_reply, prompt.refused])
    return hashlib.blake2b(text.encode(), digest_size=KEY_SIZE).digest()


class Book:
    """The tickets of one desk: those that are kept, which of them somebody holds, and which were used.

    Several requests may have the same key: each holds a ticket of its own.

    Args:
        tickets: what keeps them.
    """

    def __init__(self, tickets: Tickets) -> None:
        self._tickets = tickets
        self._known: dict[bytes, list[Ticket]] = {}
        self._held: set[tuple[str, str]] = set()
        self._used: list[tuple[bytes, Ticket]] = []

    def look_up(self, keys: Iterable[bytes]) -> None:
        """Read what is kept under these keys, where that hasn't been read yet.

        Raises:
            StoreError: it can't be read.
        """
        wanted = [key for key in dict.fromkeys(keys) if key not in self._known]
        kept = self._tickets.get(wanted) if wanted else {}
        self._known |= {key: _read(kept[key]) if key in kept else [] for key in wanted}

    def take(self, key: bytes) -> Ticket | None:
        """A ticket that nobody holds, from now on held; None if there is none."""
        for ticket in self._known.get(key, ()):
            if ticket.place not in self._held:
                self._held.add(ticket.place)
                return ticket
        return None

    def give_back(self, ticket: Ticket) -> None:
        """Nobody holds it any more; it can be taken again."""
        self._held.discard(ticket.place)

    def add(self, fresh: Iterable[tuple[bytes, Ticket]]) -> None:
        """Keep new tickets, which are held.

        Raises:
            StoreError: they can't be kept.
        """
        keys = set()
        for key, ticket in fresh:
            self._known.setdefault(key, []).append(ticket)
            self._held.add(ticket.place)
            keys.add(key)
        self._tickets.put({key: _written(self._known[key]) for key in keys})

    def use(self, key: bytes, ticket: Ticket) -> None:
        """Its reply was read: it is dropped by the next `sweep`, and taken by nobody until then."""
        self._used.append((key, ticket))

    def sweep(self) -> None:
        """Drop what was used. What was made of the replies must be safe by now.

        Raises:
            StoreError: they can't be dropped.
        """
        if not self._used:
            return
        places = {ticket.place for _, ticket in self._used}
        keys = dict.fromkeys(key for key, _ in self._used)
        left = {key: [t for t in self._known.pop(key, ()) if t.place not in places] for key in keys}
        gone = [key for key, tickets in left.items() if not tickets]
        rest = {key: tickets for key, tickets in left.items() if tickets}
        self._known |= rest
        if rest:
            self._tickets.put({key: _written(tickets) for key, tickets in rest.items()})
        if gone:
            self._tickets.drop(gone)
        self._held -= places
        self._used.clear()


def _written(tickets: Iterable[Ticket]) -> str:
    entries = []
    for ticket in tickets:
        batch = asdict(ticket.batch) | {"created_at": ticket.batch.created_at.isoformat()}
        entries.append({"batch": batch, "number": ticket.number, "tries": ticket.tries})
    return json.dumps(entries)


def _read(text: str) -> list[Ticket]:
    """The tickets in a text; none where it was written by a version that wrote them otherwise."""
    from pydantic_ai.models.batch import Batch  # noqa: PLC0415  # an optional package

    try:
        return [Ticket(_batch(Batch, entry["batch"]), entry["number"], entry["tries"]) for entry in json.loads(text)]
    except (ValueError, TypeError, KeyError):
        return []


def _batch(made: type[Batch], fields: Mapping[str, Any]) -> Batch:
    return made(**{**fields, "created_at": datetime.fromisoformat(fields["created_at"])})
