"""Requests that a provider answers later, kept so that the next command can collect their replies."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from sqlalchemy import Engine, bindparam, delete, select

from ragtriage.store.connection import reading, replacing, writing
from ragtriage.store.schema import tickets

TOGETHER = 500
"""Keys in one statement."""

_GET = select(tickets.c.key, tickets.c.batch).where(tickets.c.key.in_(bindparam("wanted", expanding=True)))
_DROP = delete(tickets).where(tickets.c.key.in_(bindparam("wanted", expanding=True)))


class StoredTickets:
    """Tickets in a store; a `ragtriage.judges.llm.pending_requests.Tickets`. Several keys may share one batch.

    Args:
        engine: the database.
        where: its address for messages.
        fingerprint: of the judge that submits, written beside each.
    """

    def __init__(self, engine: Engine, where: str, fingerprint: str = "") -> None:
        self._engine = engine
        self._where = where
        self._fingerprint = fingerprint

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, str]:
        """The texts that are kept under these keys (16 bytes each); keys without one are left out.

        Raises:
            StoreError: the store can't be read.
        """
        found: dict[bytes, str] = {}
        with reading(self._engine, self._where) as connection:
            for start in range(0, len(keys), TOGETHER):
                some = {"wanted": list(keys[start : start + TOGETHER])}
                found |= {key: batch for key, batch in connection.execute(_GET, some)}  # noqa: C416  # rows, no pairs
        return found

    def put(self, entries: Mapping[bytes, str]) -> None:
        """Keep texts, committed before this returns; what a key had is replaced.

        Raises:
            StoreError: the store can't be written; nothing of it is kept then.
        """
        moment = time.time()
        rows = [
            {"key": key, "fingerprint": self._fingerprint, "batch": batch, "submitted": moment}
            for key, batch in entries.items()
        ]
        if rows:
            with writing(self._engine, self._where) as connection:
                connection.execute(replacing(self._engine, tickets), rows)

    def drop(self, keys: Sequence[bytes]) -> None:
        """Keep nothing under these keys any more.

        Raises:
            StoreError: the store can't be written.
        """
        if keys:
            with writing(self._engine, self._where) as connection:
                for start in range(0, len(keys), TOGETHER):
                    connection.execute(_DROP, {"wanted": list(keys[start : start + TOGETHER])})
