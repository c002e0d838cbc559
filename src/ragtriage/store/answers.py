"""What judges remember: answers, so that nothing is asked or paid twice, and tickets of requests that run elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Protocol

from sqlalchemy import Connection, delete, select

from ragtriage.core.display import plural
from ragtriage.core.errors import StoreError
from ragtriage.core.verdicts import Answer
from ragtriage.judges.wrappers import CachedAnswer
from ragtriage.runs.codec import decode_answer, encode_answer
from ragtriage.store.claims import Claims
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.run_writer import raise_spending
from ragtriage.store.schema import answers, tickets
from ragtriage.store.spill import Spilled, SpillFile, delete_files
from ragtriage.store.store_file import StoreLostError

BATCH = 500
"""Answers that wait for a transaction at most."""

SECONDS = 0.5
"""The longest that an answer waits while others follow."""


class Spending(Protocol):
    """What the answers that are being kept have cost."""

    def keep(self, connection: Connection) -> None:
        """Write it in the transaction of the answers."""
        ...

    def by_run(self) -> Mapping[int, Mapping[str, float]]:
        """The same as values: the number of the run → its columns."""
        ...


class StoredAnswers:
    """Answers in a store; see `ragtriage.judges.wrappers.AnswerMemory`.

    Every method raises a `StoreError` where the store can't be read or written. Answers that it can't take go to a file
    elsewhere, which the next command reads (`take_back`), unless the store was deleted.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self.spending: Spending | None = None
        """Written in the same transaction."""
        self.on_failure: Callable[[StoreError], None] = lambda _: None
        """Called when the store can't be read or written, before the error is raised: nothing more should be asked."""
        self._waiting: dict[bytes, CachedAnswer] = {}
        file = database.file
        self._spill = SpillFile(str(file.path) if file else database.where, file.path.parent if file else None)
        self._spilled: dict[bytes, CachedAnswer] = {}
        self._spent: dict[int, Mapping[str, float]] = {}
        self._left: Spilled | None = None
        self._claims = Claims(database)
        self._clock = clock
        self._since = clock()

    @property
    def unsaved(self) -> str:
        """What became of answers that the store couldn't take, a part of a sentence; "" if there are none."""
        if self._spilled:
            number = len(self._spilled)
            told = (
                f"{plural(number, 'answer')} that it couldn't take {_are(number)} in {self._spill.path}, and the next"
            )
            return f"{told} command puts {'it' if number == 1 else 'them'} into the store"
        if self._waiting:
            number = len(self._waiting)
            return f"{plural(number, 'answer')} couldn't be written anywhere and {_are(number)} lost"
        return ""

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known to these keys."""
        unwritten = self._unwritten()
        found = {key: unwritten[key].answer for key in keys if key in unwritten} if unwritten else {}
        wanted = [key for key in keys if key not in found]
        if wanted:
            with self._failures_told():
                for some in in_chunks(wanted):
                    known = select(answers.c.key, answers.c.body).where(answers.c.key.in_(some))
                    rows = self._database.read(lambda connection, known=known: connection.execute(known).all())  # type: ignore[misc]  # bound now
                    found |= {key: decode_answer(body) for key, body in rows}
        return found

    def remember(self, entries: Iterable[CachedAnswer]) -> None:
        """Keep answers, none of them a failure; a key that is known stays as it is.

        They are safe after `flush`, or a moment later.
        """
        if not self._waiting:
            self._since = self._clock()
        for entry in entries:
            self._waiting.setdefault(entry.key, entry)
        if len(self._waiting) >= BATCH or self._clock() - self._since >= SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit what waits; what can't be stored is written elsewhere and goes on waiting."""
        if self._waiting or self._spilled:
            with self._failures_told():
                try:
                    self._write()
                except StoreError as error:
                    self._write_elsewhere(error)
                    raise

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """Claim questions that nobody else is asking; see `ragtriage.store.claims`."""
        with self._failures_told():
            return self._claims.claim(keys)

    def release(self, keys: Collection[bytes]) -> None:
        """Let others ask what wasn't answered."""
        unwritten = self._unwritten()
        self._claims.release({key for key in keys if key not in unwritten})

    def close(self) -> None:
        """Commit what waits, and give up all claims."""
        try:
            self.flush()
        finally:
            self._claims.close()

    def take_back(self) -> None:
        """Put into the store what earlier commands couldn't, or know it at least where that is still so."""
        if self._left is None:
            self._left = self._spill.read_all()
            if self._left.files:
                with suppress(StoreError):
                    self._write()

    def _unwritten(self) -> Mapping[bytes, CachedAnswer]:
        """What isn't in the store."""
        left = {entry.key: entry for entry in self._left.answers} if self._left else {}
        return left | self._spilled | self._waiting if left or self._spilled else self._waiting

    def _write(self) -> None:
        moment = time.time()
        rows = [
            {
                "key": entry.key,
                "kind": entry.kind,
                "fingerprint": entry.fingerprint,
                "trial": entry.trial,
                "body": encode_answer(entry.answer),
                "created": moment,
                "batch": entry.batch or None,
            }
            for entry in self._unwritten().values()
        ]

        def write(connection: Connection) -> None:
            self._database.insert(connection, answers, rows, replace=False)
            self._claims.answered(connection, self._unwritten())
            if self.spending:
                self.spending.keep(connection)
            for spent in (self._left.spent if self._left else {}, self._spent):
                raise_spending(connection, spent)

        self._database.write(write)
        self._claims.forget(self._unwritten())
        self._waiting.clear()
        self._spilled.clear()
        self._spent.clear()
        self._spill.remove()
        if self._left:
            delete_files(self._left.files)
            self._left = Spilled()

    def _write_elsewhere(self, error: StoreError) -> None:
        """Make safe what the store couldn't take, and say so in the error; not where the user deleted the store."""
        if isinstance(error, StoreLostError) and error.deleted:
            return
        unsafe = self._spilled | self._waiting
        self._spent |= self.spending.by_run() if self.spending else {}
        if self._spill.write(unsafe.values(), self._spent):
            self._spilled = unsafe
            self._waiting = {}
        error.args = (f"{error}; {self.unsaved}",)

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            self.on_failure(error)
            raise


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


class StoredTickets:
    """Tickets of requests that a provider answers later, kept so that the next command can collect their replies.

    A `ragtriage.judges.llm.pending_requests.Tickets`. Several keys may share one batch. Every method raises a
    `StoreError` where the store can't be read or written.
    """

    def __init__(self, database: Database, fingerprint: str = "") -> None:
        self._database = database
        self._fingerprint = fingerprint

    def get(self, keys: Sequence[bytes]) -> Mapping[bytes, str]:
        """The texts that are kept under these keys (16 bytes each); keys without one are left out."""
        found: dict[bytes, str] = {}
        for some in in_chunks(keys):
            kept = select(tickets.c.key, tickets.c.batch).where(tickets.c.key.in_(some))
            rows = self._database.read(lambda connection, kept=kept: connection.execute(kept).all())  # type: ignore[misc]  # bound now
            found |= {key: batch for key, batch in rows}  # noqa: C416  # rows, no pairs
        return found

    def put(self, entries: Mapping[bytes, str]) -> None:
        """Keep texts, all or none, committed before this returns; what a key had is replaced."""
        moment = time.time()
        rows = [
            {"key": key, "fingerprint": self._fingerprint, "batch": batch, "submitted": moment}
            for key, batch in entries.items()
        ]
        if rows:
            self._database.write(lambda connection: self._database.insert(connection, tickets, rows, replace=True))

    def drop(self, keys: Sequence[bytes]) -> None:
        """Keep nothing under these keys any more."""
        for some in in_chunks(keys):
            gone = delete(tickets).where(tickets.c.key.in_(some))
            self._database.write(lambda connection, gone=gone: connection.execute(gone))  # type: ignore[misc]  # bound now
