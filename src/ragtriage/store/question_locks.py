"""Locks on questions that are being asked, so that two evaluations that share a store don't pay for the same answer.

A test session holds such a lock too, on what one process at a time does (`exclusive`).
"""

import os
import secrets
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, and_, delete, or_, select, update

from ragtriage.core.errors import StoreError
from ragtriage.runs.case_row import digest
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.lease import STALE, Heartbeat, here, host_of, surely_dead
from ragtriage.store.schema import answers, claims

LONGEST = 3600.0
"""Seconds after which a claim lapses though its owner lives, so that nobody waits for ever."""

FIRST_PAUSE, LONGEST_PAUSE = 0.02, 0.5
"""Seconds between two looks whether a lock is free."""


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a claim."""

    party: str
    """The processes that it belongs to, such as those of one test session; empty if it was given none."""
    host: str
    """Where it runs; see `ragtriage.store.lease.here`."""
    pid: int
    since: float
    """Seconds since its last sign of life."""


class QuestionLocks:
    """The questions that one process asks, claimed by the keys of their answers.

    A claim lapses when its owner gave no sign of life for a minute, or is a process that is surely dead.
    Every method raises a `StoreError` where the store can't be read or written.

    `party` are processes that belong together: see `Holder`.
    """

    def __init__(self, database: Database, *, party: str = "") -> None:
        self._database = database
        self._owner = f"{party}:{secrets.token_hex(8)}" if party else secrets.token_hex(8)
        self._host, self._pid = here(), os.getpid()
        self._insertion = database.upsert(claims, replace=False)
        self._held: set[bytes] = set()
        self._heartbeat: Heartbeat | None = None

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """Claim what nobody has claimed or answered, all of it in one transaction.

        Gives the keys that are claimed now and weren't before, by anybody; ask these, then wait for the others.
        """
        free = set(keys) - self._held
        dead, taken = self._database.read(lambda connection: self._taken(connection, free))
        free -= taken
        if not free:
            return ()
        claimed = self._database.write(lambda connection: self._claim(connection, sorted(free), dead))
        self._held |= claimed
        if self._held and self._heartbeat is None:
            self._heartbeat = Heartbeat(self._beat)
        return claimed

    def answered(self, connection: Connection, keys: Collection[bytes]) -> None:
        """Give up the claims of what is answered, in the transaction that keeps the answers; see `forget`."""
        self._delete(connection, self._held & set(keys))

    def forget(self, keys: Collection[bytes]) -> None:
        """Hold these no more; call it when the transaction that gave them up is committed."""
        self._held -= set(keys)

    def release(self, keys: Collection[bytes]) -> None:
        """Give up the claims of what isn't going to be answered."""
        mine = self._held & set(keys)
        if mine:
            self._held -= mine
            self._database.write(lambda connection: self._delete(connection, mine))

    def holder(self, key: bytes) -> Holder | None:
        """Who has claimed a key; None if nobody has."""
        known = select(claims, (self._database.time() - claims.c.heartbeat).label("silent")).where(claims.c.key == key)
        if not (rows := self._database.all(known)):
            return None
        (row,) = rows
        return Holder(row.owner.rpartition(":")[0], row.owner_host, row.owner_pid, row.silent)

    def close(self) -> None:
        """Give up all claims, as far as the store can be written; what is left lapses."""
        if self._heartbeat:
            self._heartbeat.stop()
            self._heartbeat = None
            self._held.clear()
            mine = delete(claims).where(claims.c.owner == self._owner)
            with suppress(StoreError):
                self._database.execute(mine, patient=False)

    def _taken(self, connection: Connection, keys: Collection[bytes]) -> tuple[list[str], set[bytes]]:
        """Owners whose processes are gone, and those of these keys that others hold."""
        dead, taken = self._dead_owners(connection), set()
        for some in in_chunks(keys):
            here = and_(claims.c.key.in_(some), claims.c.owner.not_in(dead), ~self._lapsed())
            taken |= set(connection.execute(select(claims.c.key).where(here)).scalars())
        return dead, taken

    def _claim(self, connection: Connection, keys: Sequence[bytes], dead: Sequence[str]) -> set[bytes]:
        """Those of these keys that are claimed now; one that was claimed by a try before counts too."""
        claimed: set[bytes] = set()
        for some in in_chunks(keys):
            here = and_(claims.c.key.in_(some), or_(claims.c.owner.in_(dead), self._lapsed()))
            connection.execute(delete(claims).where(here))
            mine = self._insert(connection, some)
            # only now: whoever answered a question gave up its claim in the transaction that kept the answer
            answered = set(connection.execute(select(answers.c.key).where(answers.c.key.in_(some))).scalars())
            self._delete(connection, mine & answered)
            claimed |= mine - answered
        return claimed

    def _insert(self, connection: Connection, keys: Sequence[bytes]) -> set[bytes]:
        now = self._database.time()
        mine = {"owner": self._owner, "owner_host": self._host, "owner_pid": self._pid, "since": now, "heartbeat": now}
        connection.execute(self._insertion.values([{"key": key} | mine for key in keys]))
        held = select(claims.c.key).where(claims.c.key.in_(keys), claims.c.owner == self._owner)
        return set(connection.execute(held).scalars())

    def _delete(self, connection: Connection, keys: Collection[bytes]) -> None:
        for some in in_chunks(keys):
            connection.execute(delete(claims).where(claims.c.key.in_(some), claims.c.owner == self._owner))

    def _lapsed(self) -> ColumnElement[bool]:
        now = self._database.time()
        return or_(claims.c.heartbeat < now - STALE, claims.c.since < now - LONGEST)

    def _dead_owners(self, connection: Connection) -> list[str]:
        """Owners on this machine whose processes are gone."""
        own = select(claims.c.owner, claims.c.owner_pid).where(claims.c.owner_host == self._host).distinct()
        return [owner for owner, pid in connection.execute(own) if surely_dead(self._host, pid)]

    def _beat(self) -> None:
        mine = update(claims).where(claims.c.owner == self._owner).values(heartbeat=self._database.time())
        self._database.execute(mine, patient=False)


@contextmanager
def exclusive(
    database: Database,
    what: str,
    *,
    party: str,
    patience: float,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[None]:
    """Let one process at a time do something; it ends with its process, as every claim does.

    Args:
        database: where the claim stands.
        what: is done by one process at a time, in a few words.
        party: the processes that this one belongs to: one of them is waited for as long as it lives.
        patience: seconds that another party is waited for.
        sleep: waits.
    """
    locks, key = QuestionLocks(database, party=party), digest(f"exclusive\0{what}")
    waited, pause = 0.0, FIRST_PAUSE
    try:
        while not locks.claim([key]):
            holder = locks.holder(key)
            if holder and holder.party != party and waited >= patience:
                raise StoreError(_held_up(what, holder))
            sleep(pause)
            waited += pause
            pause = min(2 * pause, LONGEST_PAUSE)
        yield
    finally:
        locks.close()


def _held_up(what: str, holder: Holder) -> str:
    return (
        f"{what} is being done by process {holder.pid} on {host_of(holder.host)} (last sign of life "
        f"{max(0.0, holder.since):.0f} seconds ago): wait until it ends, or stop it"
    )
