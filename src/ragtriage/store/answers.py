"""The memory of answers: what was asked once isn't asked, or paid, again."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlalchemy import Connection, Engine, Result, bindparam, select

from ragtriage.core.verdicts import Answer
from ragtriage.judges.wrappers import Remembered
from ragtriage.store.codec import decode_answer, encode_answer
from ragtriage.store.connection import reading, unless_there, writing
from ragtriage.store.schema import answers

BATCH = 500
"""Answers that wait for a transaction at most."""

SECONDS = 0.5
"""The longest that an answer waits while others follow."""

LOOKED_UP = 500
"""Keys in one query."""


_NAMES = [column.name for column in answers.columns]
_SELECTION = f"SELECT {answers.c.key.name}, {answers.c.body.name} FROM {answers.name} WHERE {answers.c.key.name} IN"  # noqa: S608  # our own names
_RECALL = select(answers.c.key, answers.c.body).where(answers.c.key.in_(bindparam("wanted", expanding=True)))


class StoredAnswers:
    """Answers in a store; see `ragtriage.judges.wrappers.AnswerMemory`.

    Args:
        engine: the database.
        where: its address for messages.
        clock: tells seconds.
    """

    def __init__(self, engine: Engine, where: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._engine = engine
        self._where = where
        self.beside: Callable[[Connection], None] | None = None
        """Writes what belongs to the same transaction, for example what the answers cost."""
        self._waiting: dict[bytes, Remembered] = {}
        self._clock = clock
        self._since = clock()

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known to these keys.

        Raises:
            StoreError: the store can't be read.
        """
        found = {key: self._waiting[key].answer for key in keys if key in self._waiting}
        wanted = [key for key in keys if key not in found]
        if wanted:
            with reading(self._engine, self._where) as connection:
                for start in range(0, len(wanted), LOOKED_UP):
                    rows = self._look_up(connection, wanted[start : start + LOOKED_UP])
                    found |= {key: decode_answer(body) for key, body in rows}
        return found

    def remember(self, entries: Iterable[Remembered]) -> None:
        """Keep answers; a key that is known stays as it is. They are safe after `flush`, or a moment later.

        Args:
            entries: answers, none of them a failure.

        Raises:
            StoreError: they can't be stored.
        """
        if not self._waiting:
            self._since = self._clock()
        for entry in entries:
            self._waiting.setdefault(entry.key, entry)
        if len(self._waiting) >= BATCH or self._clock() - self._since >= SECONDS:
            self.flush()

    def flush(self) -> None:
        """Commit what waits.

        Raises:
            StoreError: it can't be stored; it goes on waiting.
        """
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
            with writing(self._engine, self._where) as connection:
                self._insert(connection, rows)
                if self.beside:
                    self.beside(connection)
            self._waiting.clear()

    def _look_up(self, connection: Connection, keys: Sequence[bytes]) -> Result[bytes, str]:
        """The rows of these keys; see `_insert` for why SQLite's driver gets its own words."""
        if self._engine.dialect.name == "sqlite":
            return connection.exec_driver_sql(f"{_SELECTION} ({','.join('?' * len(keys))})", tuple(keys))
        return connection.execute(_RECALL, {"wanted": keys})

    def _insert(self, connection: Connection, rows: list[dict[str, Any]]) -> None:
        """Insert answers that aren't there yet.

        Paid answers are committed a request at a time, where compiling and binding a statement takes longer than
        writing the rows: SQLite's driver gets the compiled one as it is.
        """
        if self._engine.dialect.name == "sqlite":
            connection.exec_driver_sql(self._insertion, [tuple(row[name] for name in _NAMES) for row in rows])
        else:
            connection.execute(unless_there(self._engine, answers), rows)

    @cached_property
    def _insertion(self) -> str:
        return str(unless_there(self._engine, answers).compile(self._engine, column_keys=_NAMES))
