"""What judges remember: answers, so that nothing is asked or paid twice, and tickets of requests that run elsewhere."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence

from sqlalchemy import Connection, delete, select

from ragtriage.core.verdicts import Answer
from ragtriage.judges.wrappers import CachedAnswer
from ragtriage.store.codec import decode_answer, encode_answer
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.schema import answers, tickets

BATCH = 500
"""Answers that wait for a transaction at most."""

SECONDS = 0.5
"""The longest that an answer waits while others follow."""


class StoredAnswers:
    """Answers in a store; see `ragtriage.judges.wrappers.AnswerMemory`.

    Every method raises a `StoreError` where the store can't be read or written.
    """

    def __init__(self, database: Database, clock: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self.on_flush: Callable[[Connection], None] | None = None
        """Writes what belongs to the same transaction, for example what the answers cost."""
        self._waiting: dict[bytes, CachedAnswer] = {}
        self._clock = clock
        self._since = clock()
        self._insertion = database.insert_or_ignore(answers)

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known to these keys."""
        found = {key: self._waiting[key].answer for key in keys if key in self._waiting}
        wanted = [key for key in keys if key not in found]
        if wanted:
            with self._database.reading() as connection:
                for some in in_chunks(wanted):
                    known = select(answers.c.key, answers.c.body).where(answers.c.key.in_(some))
                    found |= {key: decode_answer(body) for key, body in connection.execute(known)}
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
        """Commit what waits; what can't be stored goes on waiting."""
        if self._waiting:
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
                for entry in self._waiting.values()
            ]
            with self._database.writing() as connection:
                connection.execute(self._insertion, rows)
                if self.on_flush:
                    self.on_flush(connection)
            self._waiting.clear()


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
        with self._database.reading() as connection:
            for some in in_chunks(keys):
                kept = select(tickets.c.key, tickets.c.batch).where(tickets.c.key.in_(some))
                found |= {key: batch for key, batch in connection.execute(kept)}  # noqa: C416  # rows, no pairs
        return found

    def put(self, entries: Mapping[bytes, str]) -> None:
        """Keep texts, all or none, committed before this returns; what a key had is replaced."""
        moment = time.time()
        rows = [
            {"key": key, "fingerprint": self._fingerprint, "batch": batch, "submitted": moment}
            for key, batch in entries.items()
        ]
        if rows:
            with self._database.writing() as connection:
                connection.execute(self._database.upsert(tickets), rows)

    def drop(self, keys: Sequence[bytes]) -> None:
        """Keep nothing under these keys any more."""
        if keys:
            with self._database.writing() as connection:
                for some in in_chunks(keys):
                    connection.execute(delete(tickets).where(tickets.c.key.in_(some)))
