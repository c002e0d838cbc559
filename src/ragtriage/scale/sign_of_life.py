"""The driver's sign of life in the record set, which keeps a second driver out."""

from __future__ import annotations

import json
import os
import secrets
import socket
import threading
import time
from types import TracebackType
from typing import Any, Self

from ragtriage.core.errors import StoreError
from ragtriage.scale.places import Folder
from ragtriage.store.lease import STALE, alive

BEAT = 10.0
"""Seconds between two signs of life."""


class SignOfLife:
    """This process's right to commit partitions; a context manager.

    Times are told by the clock of what keeps the folder, so that no machine's own clock matters.

    Args:
        folder: the record set.
        part: which of several drivers of one record set it is; "" for the only one.
        beat: seconds between two signs.

    Raises:
        StoreError: another driver works on the record set.
    """

    def __init__(self, folder: Folder, part: str = "", beat: float = BEAT) -> None:
        self._folder = folder
        self._name = f"driver{part}.json"
        self._me = {"host": socket.gethostname(), "pid": os.getpid(), "token": secrets.token_hex(8)}
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
        if not self._lost:
            self._folder.delete(self._name)

    def _take(self) -> None:
        other = self._known()
        if other and not self._dead(other):
            raise StoreError(
                f"process {other['pid']} on {other['host']} works on {self._folder.address} (its sign of life is less "
                f"than {STALE:.0f} seconds old): wait until it ends, or stop it"
            )
        self._sign()

    def _dead(self, other: dict[str, Any]) -> bool:
        if other["host"] == self._me["host"]:
            return not alive(other["pid"]) or other["pid"] == self._me["pid"]
        written = self._folder.modified(self._name)
        clock = f"clock-{self._me['token']}"
        self._folder.write(clock, b"")
        now = self._folder.modified(clock) or time.time()
        self._folder.delete(clock)
        return written is None or now - written > STALE

    def _known(self) -> dict[str, Any] | None:
        content = self._folder.read(self._name)
        try:
            return json.loads(content) if content else None
        except ValueError:
            return None  # half of it was written when its driver was killed

    def _sign(self) -> None:
        self._folder.write(self._name, json.dumps({**self._me, "time": time.time()}).encode())

    def _run(self) -> None:
        while not self._stop.wait(self._beat):
            try:
                known = self._known()
                if known and known["token"] != self._me["token"]:
                    self._lost = (
                        f"process {known['pid']} on {known['host']} has taken {self._folder.address} over: "
                        "this one stops"
                    )
                    return
                self._sign()
            except StoreError:
                continue  # the next part that is written tells of it
