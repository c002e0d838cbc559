"""Who is asking which question now, so that two evaluations that share a store don't pay for the same answer."""

from __future__ import annotations

import os
import secrets
import socket
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update

from ragtriage.core.errors import StoreError
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.lease import STALE, Heartbeat, alive
from ragtriage.store.schema import answers, claims

LONGEST = 3600.0
"""Seconds after which a claim lapses though its owner lives, so that nobody waits for ever."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a claim."""

    party: str
    """The processes that it belongs to, such as those of one test session; empty if it was given none."""
    host: str
    pid: int
    since: float
    """Seconds since its last sign of life."""


class Claims:
    """The questions that one process asks, claimed by the keys of their answers.

    A claim lapses when its owner gave no sign of life for a minute, or is a process of this machine that is dead.
    Every method raises a `StoreError` where the store can't be read or written.

    Args:
        database: where they stand.
        clock: the time, seconds since 1970.
        party: several processes that belong together; see `Holder`.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.time, *, party: str = "") -> None:
        self._database = database
        self._clock = clock
        self._owner = f"{party}:{secrets.token_hex(8)}" if party else secrets.token_hex(8)
        self._host, self._pid = socket.gethostname(), os.getpid()
        self._insertion = database.insert_or_ignore(claims)
        self._held: set[bytes] = set()
        self._heartbeat: Heartbeat | None = None

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """Claim what nobody has claimed or answered, all of it in one transaction.

        Returns:
            The keys that are claimed now and weren't before, by anybody; ask these, then wait for the others.
        """
        free = set(keys) - self._held
        with self._database.reading() as connection:
            dead = self._dead_owners(connection)
            for some in in_chunks(free):
                here = and_(claims.c.key.in_(some), claims.c.owner.not_in(dead), ~self._lapsed())
                free -= set(connection.execute(select(claims.c.key).where(here)).scalars())
        if not free:
            return ()
        claimed: set[bytes] = set()
        with self._database.writing() as connection:
            for some in in_chunks(sorted(free)):
                here = and_(claims.c.key.in_(some), or_(claims.c.owner.in_(dead), self._lapsed()))
                connection.execute(delete(claims).where(here))
                answered = set(connection.execute(select(answers.c.key).where(answers.c.key.in_(some))).scalars())
                claimed |= self._insert(connection, [key for key in some if key not in answered])
        self._held |= claimed
        if self._held and self._heartbeat is None:
            self._heartbeat = Heartbeat(self._beat)
        return claimed

    def answered(self, connection: Connection, keys: Collection[bytes]) -> None:
        """Give up the claims of what is answered, in the transaction that keeps the answers."""
        mine = self._held & set(keys)
        self._delete(connection, mine)
        self._held -= mine

    def release(self, keys: Collection[bytes]) -> None:
        """Give up the claims of what isn't going to be answered."""
        mine = self._held & set(keys)
        if mine:
            self._held -= mine
            with self._database.writing() as connection:
                self._delete(connection, mine)

    def holder(self, key: bytes) -> Holder | None:
        """Who has claimed a key; None if nobody has."""
        with self._database.reading() as connection:
            row = connection.execute(select(claims).where(claims.c.key == key)).one_or_none()
        if row is None:
            return None
        return Holder(row.owner.rpartition(":")[0], row.owner_host, row.owner_pid, self._clock() - row.heartbeat)

    def close(self) -> None:
        """Give up all claims, as far as the store can be written; what is left lapses."""
        if self._heartbeat:
            self._heartbeat.stop()
            self._heartbeat = None
            self._held.clear()
            with suppress(StoreError), self._database.writing() as connection:
                connection.execute(delete(claims).where(claims.c.owner == self._owner))

    def _insert(self, connection: Connection, keys: Sequence[bytes]) -> set[bytes]:
        if not keys:
            return set()
        now = self._clock()
        mine = {"owner": self._owner, "owner_host": self._host, "owner_pid": self._pid, "since": now, "heartbeat": now}
        rows = [{"key": key} | mine for key in keys]
        return set(connection.execute(self._insertion.values(rows).returning(claims.c.key)).scalars())

    def _delete(self, connection: Connection, keys: Collection[bytes]) -> None:
        for some in in_chunks(keys):
            connection.execute(delete(claims).where(claims.c.key.in_(some), claims.c.owner == self._owner))

    def _lapsed(self) -> ColumnElement[bool]:
        now = self._clock()
        return or_(claims.c.heartbeat < now - STALE, claims.c.since < now - LONGEST)

    def _dead_owners(self, connection: Connection) -> list[str]:
        """Owners on this machine whose processes are gone."""
        here = select(claims.c.owner, claims.c.owner_pid).where(claims.c.owner_host == self._host).distinct()
        return [owner for owner, pid in connection.execute(here) if not alive(pid)]

    def _beat(self) -> None:
        with self._database.writing() as connection:
            mine = claims.c.owner == self._owner
            connection.execute(update(claims).where(mine).values(heartbeat=self._clock()))
