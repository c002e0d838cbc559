"""The driver's sign of life in the record set, which keeps other drivers out that would work on the same partitions."""

from __future__ import annotations

import json
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from types import TracebackType
from typing import Self

from ragtriage.core.errors import StoreError
from ragtriage.core.filesystems import Folder
from ragtriage.store.lease import STALE, here, host_of, surely_dead

BEAT = 10.0
"""Seconds between two signs of life."""
_NAME = re.compile(r"driver(?:-(?P<which>\d+)-of-(?P<of>\d+))?\.json")


@dataclass(frozen=True, slots=True)
class Sign:
    """A driver, as its sign of life names it."""

    host: str
    """As `ragtriage.store.lease.here` says it."""
    pid: int
    token: str
    """Of this driver alone: processes of other times and machines may have the same number."""

    def dead(self, age: float | None) -> bool:
        """Whether the driver is gone.

        Args:
            age: seconds since the sign was written; None if it is gone.
        """
        return age is None or age > STALE or surely_dead(self.host, self.pid)


class SignOfLife:
    """This process's right to commit partitions; a context manager.

    A driver without a share works alone. Drivers with shares work beside each other if these are different ones of the
    same number. Times are told by the clock of what keeps the folder, so that no machine's own clock matters.

    Args:
        folder: the record set.
        part: `-2-of-16` for the second share of sixteen; "" for all partitions.
        beat: seconds between two signs.

    Raises:
        StoreError: another driver works on the same partitions.
    """

    def __init__(self, folder: Folder, part: str = "", beat: float = BEAT) -> None:
        self._folder = folder
        self._name = f"driver{part}.json"
        self._me = Sign(here(), os.getpid(), secrets.token_hex(8))
        self._take()
        self._stop = threading.Event()
        self._lost = ""
        self._beat = beat
        self._thread = threading.Thread(target=self._run, name="ragtriage sign of life", daemon=True)

    def check(self) -> None:
        """Raise a StoreError if another driver has taken over: this one must commit nothing more."""
        if self._lost:
            raise StoreError(self._lost)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()
        if not self._lost and _read(self._folder, self._name) == self._me:
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
        """Delete the signs of dead drivers, which are told by it that they were taken over if they aren't dead."""
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

    def _busy(self, name: str, other: Sign) -> str:
        share, mine = _share(name), _share(self._name)
        what = f"share {share[0]}/{share[1]} of {self._folder.address}" if share else self._folder.address
        alike = "; all shares of a record set have to be of the same number" if share and mine else ""
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

    def _run(self) -> None:
        while not self._stop.wait(self._beat):
            try:
                known = _read(self._folder, self._name)
                if known != self._me:
                    self._lost = self._taken_over(known)
                    return
                self._sign()
            except StoreError:
                continue  # the next part that is written tells of it

    def _taken_over(self, by: Sign | None) -> str:
        if by is None:
            return (
                f"{self._folder.at(self._name)}, the sign of life of this process, is gone: another command has taken "
                "over, or somebody deleted it; this one stops"
            )
        return f"process {by.pid} on {host_of(by.host)} has taken {self._folder.address} over: this one stops"


def worked_on(folder: Folder) -> bool:
    """Whether a driver works on a record set; nothing is written, so this machine's clock counts.

    Raises:
        StoreError: the folder can't be read.
    """
    for name, sign in _signs(folder):
        written = folder.modified(name)
        if not sign.dead(None if written is None else time.time() - written):
            return True
    return False


def _signs(folder: Folder) -> Iterator[tuple[str, Sign]]:
    """The signs of life in a record set, with their files."""
    for name in folder.names():
        if _NAME.fullmatch(name) and (sign := _read(folder, name)):
            yield name, sign


def _read(folder: Folder, name: str) -> Sign | None:
    """A sign of life; None where there is none, or half of it was written when its driver was killed."""
    try:
        told = json.loads(folder.read(name) or b"null")
        return Sign(str(told["host"]), int(told["pid"]), str(told["token"]))
    except (ValueError, LookupError, TypeError):
        return None


def _beside(one: str, other: str) -> bool:
    """Whether two drivers, by the files of their signs, may work at the same time."""
    first, second = _share(one), _share(other)
    return first is not None and second is not None and first != second and first[1] == second[1]


def _share(name: str) -> tuple[int, int] | None:
    found = _NAME.fullmatch(name)
    return (int(found["which"]), int(found["of"])) if found and found["of"] else None
