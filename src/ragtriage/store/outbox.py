"""What became of a run's scores that were sent to other tools: sent, refused, or still to be sent."""

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import func, select

from ragtriage.store.database import Database
from ragtriage.store.schema import outbox

EntryState = Literal["waiting", "sending", "sent", "refused"]
WAITING: EntryState = "waiting"
"""It couldn't be sent yet."""
SENDING: EntryState = "sending"
"""It was on its way when the process ended, or is: the tool may have it."""
SENT: EntryState = "sent"
REFUSED: EntryState = "refused"
"""The tool doesn't take it, so that it isn't sent again by itself."""

LIFETIME = 24 * 3600.0
"""Seconds after which what waits isn't counted on any more."""


@dataclass(frozen=True, slots=True)
class OutboxEntry:
    """What became of one score."""

    body: bytes
    """The digest of what is sent, 16 bytes: what is sent anew has another one."""
    state: EntryState
    remote: str | None = None
    """What the tool calls it; None where it has no name of its own there, or isn't there."""
    reason: str | None = None
    """Why it waits or was refused, in words that quote nothing."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What one run still has for one destination."""

    run: int
    destination: str
    entries: int
    since: float
    """Since when the first of them waits, seconds since 1970."""


class Outbox:
    """The entries of one run for one destination; every method raises a `StoreError` where the store fails.

    A destination is a tool and its address, without what is secret in it.
    """

    def __init__(self, database: Database, run: int, destination: str, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._key = {"run": run, "destination": destination}
        self._clock = clock

    def find(self, entries: Collection[bytes]) -> dict[bytes, OutboxEntry]:
        """Those of these entries that are known, by their digests of 16 bytes."""
        columns = (outbox.c.entry, outbox.c.body, outbox.c.state, outbox.c.remote, outbox.c.reason)
        mine = (outbox.c[name] == value for name, value in self._key.items())
        rows = self._database.lookup(select(*columns).where(*mine), outbox.c.entry, entries)
        return {row.entry: OutboxEntry(row.body, row.state, row.remote, row.reason) for row in rows}

    def keep(self, entries: Mapping[bytes, OutboxEntry]) -> None:
        """Write what became of entries, in one transaction."""
        now = self._clock()
        rows = [
            self._key
            | {"entry": key, "body": one.body, "state": one.state, "remote": one.remote, "reason": one.reason}
            | {"since": now}
            for key, one in entries.items()
        ]
        if rows:
            self._database.write(lambda connection: self._database.insert(connection, outbox, rows, replace=True))


def waiting_entries(database: Database, now: float | None = None) -> list[Waiting]:
    """What waits in a store, by run and destination, but for what has waited for longer than `LIFETIME`."""
    since = (time.time() if now is None else now) - LIFETIME
    group = (outbox.c.run, outbox.c.destination)
    wanted = select(*group, func.count().label("entries"), func.min(outbox.c.since).label("since"))
    wanted = wanted.where(outbox.c.state.in_([WAITING, SENDING]), outbox.c.since >= since)
    rows = database.all(wanted.group_by(*group).order_by(*group))
    return [Waiting(row.run, row.destination, row.entries, row.since) for row in rows]
