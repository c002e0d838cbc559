"""Who may write a run: one process at a time, known by its heartbeat."""

from __future__ import annotations

import os
import platform
import secrets
import socket
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, func, or_, select, update

from ragtriage.core.errors import StoreError
from ragtriage.store.database import Database
from ragtriage.store.schema import runs

STALE = 60.0
"""Seconds without a heartbeat after which a run may be taken over."""

BEAT = 15.0
"""Seconds between two heartbeats."""


def here() -> str:
    """Where this process runs: the machine's name and, after a space, what no other set of process numbers has.

    The latter is left out where it can't be told. A name alone says little: containers and cloned machines share it,
    and process numbers mean something else in each.
    """
    name, mark = socket.gethostname(), _numbers_are_of()
    return f"{name} {mark}" if mark else name


def host_of(place: str | None) -> str:
    """The machine's name in what `here` gave, for people."""
    return place.partition(" ")[0] if place else "an unknown machine"


def surely_dead(place: str | None, pid: int | None, own: str | None = None) -> bool:
    """Whether a process is dead beyond doubt; else only its missing signs of life can say so.

    Args:
        place: where it runs, as `here` said there.
        pid: its number there.
        own: where this process runs; by default `here()`.
    """
    return place is not None and " " in place and place == (own or here()) and not alive(pid)


def _numbers_are_of() -> str:
    """What names the set of process numbers that this process has its own from; empty where that can't be told."""
    if platform.system() == "Darwin":
        return f"{uuid.getnode():x}"
    try:
        if Path("/proc/self").readlink() != Path(str(os.getpid())):
            return ""  # these are the numbers of another set
        kernel = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{kernel}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except (OSError, ValueError):
        return ""


def alive(pid: int | None) -> bool:
    """Whether a process that has its number from the same set as this one lives; True where that can't be told."""
    if os.name == "nt" or pid is None:
        return True  # on Windows there is no harmless way to ask; the heartbeat decides
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # it is another user's
    return not _ended(pid)


def _ended(pid: int) -> bool:
    """Whether a process was killed and its parent hasn't taken note of it yet; False where that can't be told."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state in {"Z", "X"}


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

        Raises:
            StoreError: there is no such run.
            RunBusyError: another process is writing it.
        """
        mine, now = runs.c.number == self.run, database.time()
        holder = connection.execute(select(runs.c.owner, runs.c.owner_host, runs.c.owner_pid).where(mine)).one_or_none()
        if holder is None:
            raise StoreError(f"there is no run {self.run}")
        dead = holder.owner if surely_dead(holder.owner_host, holder.owner_pid, self.host) else None
        free = or_(runs.c.owner.is_(None), runs.c.owner.in_([self.owner, dead or self.owner]))
        own = {"owner": self.owner, "owner_host": self.host, "owner_pid": self.pid, "heartbeat": now}
        taking = update(runs).where(mine, or_(free, func.coalesce(runs.c.heartbeat, 0.0) < now - STALE)).values(**own)
        if not connection.execute(taking).rowcount:
            told = select(runs.c.owner_pid, runs.c.owner_host, now - runs.c.heartbeat).where(mine)
            pid, host, since = connection.execute(told).one()
            raise RunBusyError(self.run, pid, host, since or 0.0)

    def renew(self, connection: Connection, database: Database, **values: Any) -> None:
        """Give a heartbeat, and set further columns of the run with it.

        Raises:
            LeaseLostError: another process took the run over in the meantime.
        """
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
