"""What is tried again on a server: transactions that met another one, and those whose connection was lost."""

from __future__ import annotations

import math
import random
import re
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

PATIENCE = 300.0
"""Seconds that a server which was there before is waited for."""

SILENT = 30.0
"""Seconds without an answer after which the user is told."""

CONFLICTS = 5
"""How often a transaction that met another one is tried again."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two tries to connect; they double."""

_CONFLICT = frozenset({"40P01", "40001"})
"""SQLSTATE of a deadlock, and of transactions that can't be put into an order."""

_AWAY = frozenset({"57P01", "57P02", "57P03", "53300"})
"""SQLSTATE of a server that shuts down, crashed or starts, or has no connection left; so is all of class 08."""

REFUSED = (
    r"FATAL:\s+(?:.*authentication failed|role .* (?:does not exist|is not permitted)|database .* does not exist|"
    r"no pg_hba.conf entry|pg_hba.conf rejects|permission denied for database)|no password supplied|"
    r"server does not support SSL|root certificate file|certificate verify failed|server certificate"
)
"""What a server, or the client's check of it, says to an address that isn't going to be let in later either."""

T = TypeVar("T")


def conflicted(error: BaseException) -> bool:
    """Whether a transaction was broken off because of another one, so that it may be tried again at once."""
    return isinstance(error, DBAPIError) and _state(error) in _CONFLICT


def lost(error: BaseException) -> bool:
    """Whether the connection was lost or couldn't be made, so that a later one may do."""
    if not isinstance(error, DBAPIError) or not type(error.orig).__module__.startswith("psycopg"):
        return False  # nothing comes back to a file by waiting
    state = _state(error)
    if state is None:  # the client's own words: nothing came from the server
        away = error.connection_invalidated or "OperationalError" in (
            kind.__name__ for kind in type(error.orig).__mro__
        )
        return away and re.search(REFUSED, str(error.orig)) is None
    return error.connection_invalidated or state in _AWAY or state.startswith("08")


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


class Retries:
    """Tries transactions on a server again. All of them must be harmless when they are carried out twice.

    Args:
        patience: seconds that a lost server is waited for.
        told: called with a sentence when the waiting begins.
        sleep: waits.
        clock: seconds.
        silent: seconds without an answer after which the user is told; None for what answers by itself, as a file.
    """

    def __init__(
        self,
        patience: float = PATIENCE,
        told: Callable[[str], None] = lambda _: None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        silent: float | None = SILENT,
    ) -> None:
        self._patience = patience
        self._told = told
        self._sleep = sleep
        self._clock = clock
        self._silent = silent
        self._heard: dict[int, float] = {}
        self._watching, self._lock = False, threading.Lock()
        self._reached = False
        self._given_up = False

    def carry_out(self, work: Callable[[], T], *, patient: bool = True) -> T:
        """Do some work until it succeeds, or what is wrong isn't going to pass by.

        A server that was never reached isn't waited for: its address may be wrong. Neither is one that was waited for
        in vain, so that a command ends.

        Args:
            work: is done as a whole, or not at all.
            patient: False for what is done again soon anyway: a lost connection isn't waited for.

        Raises:
            SQLAlchemyError: the last error.
        """
        met, since, pause = 0, None, FIRST_PAUSE
        while True:
            try:
                with self._watched(patient):
                    done = work()
            except SQLAlchemyError as error:
                if conflicted(error) and met < CONFLICTS:
                    met += 1
                    self._sleep(random.uniform(0.0, 0.02 * 2**met))  # noqa: S311  # so that two don't meet again
                    continue
                if not (patient and self._reached and not self._given_up and lost(error)):
                    raise
                if since is None:
                    since = self._clock()
                    self._told(f"the connection was lost, and is tried again for {self._patience / 60:g} minutes")
                if self._clock() - since + pause > self._patience:
                    self._given_up = True
                    raise
                self._wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._reached, self._given_up = True, False
                return done

    def answered(self) -> None:
        """The server has answered this thread; see `silent`."""
        own = threading.get_ident()
        if own in self._heard:
            self._heard[own] = time.monotonic()

    @contextmanager
    def _watched(self, patient: bool) -> Iterator[None]:  # noqa: FBT001  # as above
        """Tell the user of a silence while work is done: whoever drops what a connection carries doesn't say so."""
        if self._silent is None or not patient:
            yield
            return
        own = threading.get_ident()
        with self._lock:
            self._heard[own] = time.monotonic()
            if not self._watching:
                self._watching = True
                threading.Thread(
                    target=self._watch, args=(self._silent,), name="ragtriage silence", daemon=True
                ).start()
        try:
            yield
        finally:
            with self._lock:
                self._heard.pop(own, None)

    def _watch(self, silent: float) -> None:
        """Look at what waits for an answer, until nothing does; one thread for all, since each transaction is short."""
        while True:
            time.sleep(silent / 4)
            with self._lock:
                if not self._heard:
                    self._watching = False
                    return
                late = [one for one, heard in self._heard.items() if time.monotonic() - heard >= silent]
                self._heard |= dict.fromkeys(late, math.inf)  # told once
            if late:
                told = f"the store hasn't answered for {silent:g} seconds: it is busy, or the connection is dead"
                self._told(f"{told}; it is waited for")

    def _wait(self, seconds: float) -> None:
        try:
            self._sleep(seconds)
        except BaseException:
            self._given_up = True  # whoever interrupts the waiting doesn't want to wait again when the store is closed
            raise
