"""Who may write a run: one process at a time, known by its heartbeat, which is a row's or a file's.

And who asks a question: it is claimed, so that two evaluations that share a store don't pay for the same answer. A test
session holds such a claim too, on what one process at a time does (`exclusive`).
"""

import json
import os
import re
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, update

from ragtriage.core.errors import StoreError
from ragtriage.core.files import Folder
from ragtriage.runs.case_row import digest
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.schema import answers, claims, runs

STALE = 60.0
"""Seconds without a heartbeat after which a run may be taken over."""

BEAT, FOLDER_BEAT = 15.0, 10.0
"""Seconds between two heartbeats; to a folder rather more often, as each is two requests to an object store."""


def here() -> str:
    """Where this process runs: the machine's name and, after a space, which start of it; elsewhere its address."""
    try:
        mark = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        mark = f"{uuid.getnode():x}"
    return f"{socket.gethostname()} {mark}"


def host_of(place: str | None) -> str:
    """The machine's name in what `here` gave, for people."""
    return place.partition(" ")[0] if place else "an unknown machine"


def surely_dead(place: str | None, pid: int | None) -> bool:
    """Whether a process, by `here` there and its number, is dead; else only its missing signs of life can say so."""
    if place != here() or pid is None or os.name == "nt":  # on Windows there is no harmless way to ask
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's
        return False
    return False


class LeaseLostError(StoreError):
    """Another process took the run over, or it was deleted."""


class RunBusyError(StoreError):
    """Another process is writing the run."""

    def __init__(self, run: int | str, pid: int | None, host: str | None, since: float) -> None:
        super().__init__(
            f"run {run} is being written by process {pid} on {host_of(host)} (last sign of life {max(0.0, since):.0f} "
            "seconds ago): wait until it ends, or stop it"
        )
        self.pid, self.host, self.since = pid, host, since


@dataclass(frozen=True, slots=True)
class Lease:
    """This process's right to write one run."""

    run: int
    owner: str = field(default_factory=lambda: secrets.token_hex(8))
    host: str = field(default_factory=here)
    """Where this process runs; see `here`."""
    pid: int = field(default_factory=os.getpid)

    def take(self, connection: Connection, database: Database) -> None:
        """Take the run, inside a writing transaction, in one statement: of several that try, one does.

        A run whose writer gave no heartbeat for a minute, or whose process is surely dead, is taken over.
        """
        mine, now = runs.c.number == self.run, database.time()
        holder = connection.execute(select(runs.c.owner, runs.c.owner_host, runs.c.owner_pid).where(mine)).one_or_none()
        if holder is None:
            raise StoreError(f"there is no run {self.run}")
        dead = holder.owner if surely_dead(holder.owner_host, holder.owner_pid) else None
        free = or_(runs.c.owner.is_(None), runs.c.owner.in_([self.owner, dead or self.owner]))
        own = {"owner": self.owner, "owner_host": self.host, "owner_pid": self.pid, "heartbeat": now}
        taking = update(runs).where(mine, or_(free, func.coalesce(runs.c.heartbeat, 0.0) < now - STALE)).values(**own)
        if not connection.execute(taking).rowcount:
            told = select(runs.c.owner_pid, runs.c.owner_host, now - runs.c.heartbeat).where(mine)
            pid, host, since = connection.execute(told).one()
            raise RunBusyError(self.run, pid, host, since or 0.0)

    def renew(self, connection: Connection, database: Database, **values: Any) -> None:
        """Give a heartbeat, and set further columns of the run with it."""
        mine = (runs.c.number == self.run) & (runs.c.owner == self.owner)
        done = connection.execute(update(runs).where(mine).values(heartbeat=database.time(), **values))
        if done.rowcount == 0:
            raise LeaseLostError(
                f"run {self.run} was taken over by another process, or deleted: this one stops writing"
            )

    def release(self, connection: Connection, database: Database, **values: Any) -> None:
        """Give the run back, setting further columns with it; raises as `renew` does."""
        self.renew(connection, database, owner=None, owner_host=None, owner_pid=None, **values)

    def give_up(self, connection: Connection) -> None:
        """Give the run back, whether it is still held or not."""
        mine = (runs.c.number == self.run) & (runs.c.owner == self.owner)
        connection.execute(update(runs).where(mine).values(owner=None, owner_host=None, owner_pid=None))

    def released(self, connection: Connection, state: str) -> bool:
        """Whether nobody holds the run, and it is in this state."""
        here = (runs.c.number == self.run) & runs.c.owner.is_(None) & (runs.c.state == state)
        return connection.execute(select(runs.c.number).where(here)).first() is not None


class Heartbeat:
    """Calls `beat` every few seconds from a thread of its own, while the judge is busy for longer.

    Args:
        beat: may raise a LeaseLostError, which ends the thread and is raised by `check` in the writer's; after another
            StoreError (a disk that is full, a lock) it is tried again, since writing tells of it anyway.
        seconds: between two calls.
    """

    def __init__(self, beat: Callable[[], None], seconds: float = BEAT) -> None:
        self._beat = beat
        self._seconds = seconds
        self._stop = threading.Event()
        self._error: LeaseLostError | None = None
        self._thread = threading.Thread(target=self._run, name="ragtriage heartbeat", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise the LeaseLostError that the last call met, if it did."""
        if self._error:
            raise self._error

    def stop(self) -> None:
        """End the thread."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds):
            try:
                self._beat()
            except LeaseLostError as error:
                self._error = error
                return
            except StoreError:
                continue


_NAME = re.compile(r"driver(?:-(?P<which>\d+)-of-(?P<of>\d+))?\.json")


@dataclass(frozen=True, slots=True)
class LifeSign:
    """A command that works on a folder, as its sign of life names it."""

    host: str
    """As `here` says it."""
    pid: int
    token: str
    """Of this command alone: processes of other times and machines may have the same number."""

    def dead(self, age: float | None) -> bool:
        """Whether it is gone. `age` are the seconds since the sign was written; None if it is gone."""
        return age is None or age > STALE or surely_dead(self.host, self.pid)


class FolderLease:
    """This process's right to commit parts of a run in a folder; a context manager.

    A command without a share works alone. Commands with shares work beside each other if these are different ones of
    the same number. Times are told by the clock of what keeps the folder, so that no machine's own clock matters.

    `suffix` is `-2-of-16` for the second share of sixteen.
    """

    def __init__(self, folder: Folder, suffix: str = "", beat: float = FOLDER_BEAT) -> None:
        self._folder = folder
        self._name = f"driver{suffix}.json"
        self._me = LifeSign(here(), os.getpid(), secrets.token_hex(8))
        self._beat = beat
        self._take()

    def check(self) -> None:
        """Raise a LeaseLostError if another command has taken over: this one must commit nothing more."""
        self._heartbeat.check()

    def __enter__(self) -> Self:
        self._heartbeat = Heartbeat(self._renew, self._beat)
        return self

    def __exit__(self, *_: object) -> None:
        self._heartbeat.stop()
        if _read(self._folder, self._name) == self._me:
            self._folder.delete(self._name)

    def _take(self) -> None:
        self._remove_dead()
        self._sign()
        try:
            self._remove_dead()  # of two that begin at the same moment, at least one sees the other now
        except StoreError:
            if _read(self._folder, self._name) == self._me:
                self._folder.delete(self._name)
            raise

    def _remove_dead(self) -> None:
        """Delete the signs of dead commands, which are told by it that they were taken over if they aren't dead."""
        others = [
            (name, sign) for name, sign in _signs(self._folder) if sign != self._me and not _beside(name, self._name)
        ]
        if not others:
            return
        now = self._now()
        for name, sign in others:
            written = self._folder.modified(name)
            if not sign.dead(None if written is None else now - written):
                raise StoreError(self._busy(name, sign))
            self._folder.delete(name)

    def _busy(self, name: str, other: LifeSign) -> str:
        share, mine = _share(name), _share(self._name)
        what = f"share {share[0]}/{share[1]} of {self._folder.address}" if share else self._folder.address
        alike = "; all shares of a run have to be of the same number" if share and mine else ""
        return (
            f"process {other.pid} on {host_of(other.host)} works on {what} (its sign of life is less than {STALE:.0f} "
            f"seconds old): wait until it ends, or stop it{alike}"
        )

    def _now(self) -> float:
        """The time by the folder's clock."""
        clock = f"clock-{self._me.token}"
        self._folder.write(clock, b"")
        now = self._folder.modified(clock) or time.time()
        self._folder.delete(clock)
        return now

    def _sign(self) -> None:
        self._folder.write(self._name, json.dumps({**asdict(self._me), "time": time.time()}).encode())

    def _renew(self) -> None:
        known = _read(self._folder, self._name)
        if known != self._me:
            raise LeaseLostError(self._taken_over(known))
        self._sign()

    def _taken_over(self, by: LifeSign | None) -> str:
        if by is None:
            return (
                f"{self._folder.at(self._name)}, the sign of life of this process, is gone: another command has taken "
                "over, or somebody deleted it; this one stops"
            )
        return f"process {by.pid} on {host_of(by.host)} has taken {self._folder.address} over: this one stops"


def worked_on(folder: Folder) -> bool:
    """Whether a command works on the run in a folder; nothing is written, so this machine's clock counts."""
    for name, sign in _signs(folder):
        written = folder.modified(name)
        if not sign.dead(None if written is None else time.time() - written):
            return True
    return False


def _signs(folder: Folder) -> Iterator[tuple[str, LifeSign]]:
    """The signs of life in a folder, with their files."""
    for name in folder.names():
        if _NAME.fullmatch(name) and (sign := _read(folder, name)):
            yield name, sign


def _read(folder: Folder, name: str) -> LifeSign | None:
    """A sign of life; None where there is none, or half of it was written when its command was killed."""
    try:
        told = json.loads(folder.read(name) or b"null")
        return LifeSign(str(told["host"]), int(told["pid"]), str(told["token"]))
    except (ValueError, LookupError, TypeError):
        return None


def _beside(one: str, other: str) -> bool:
    """Whether two commands, by the files of their signs, may work at the same time."""
    first, second = _share(one), _share(other)
    return first is not None and second is not None and first != second and first[1] == second[1]


def _share(name: str) -> tuple[int, int] | None:
    found = _NAME.fullmatch(name)
    return (int(found["which"]), int(found["of"])) if found and found["of"] else None


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
    database: Database, what: str, *, party: str, patience: float, sleep: Callable[[float], None] = time.sleep
) -> Iterator[None]:
    """Let one process at a time do something; it ends with its process, as every claim does.

    `what` is done by one process at a time, in a few words. `party` names the processes that this one belongs to: one
    of them is waited for as long as it lives, another party for so many seconds.
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
