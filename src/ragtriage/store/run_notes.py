"""What was computed from a whole run and is kept beside it, so that it isn't computed again; it holds no text."""

from __future__ import annotations

from typing import Protocol

from sqlalchemy import Connection, delete, select

from ragtriage.store.database import Database
from ragtriage.store.schema import meta


class RunNotes(Protocol):
    """The notes of one run: of each kind the last that was written."""

    def read(self, kind: str, digest: str) -> str | None:
        """A note; None if none was written by this digest of all that it rests on.

        Raises:
            StoreError: the store can't be read.
        """
        ...

    def write(self, kind: str, digest: str, value: str) -> None:
        """Keep a note in place of the one before.

        Raises:
            StoreError: the store can't be written.
        """
        ...


class TableNotes:
    """The notes of one run in the table `meta`: of each kind the last that was written.

    Args:
        database: the store.
        run: the run's number.
    """

    def __init__(self, database: Database, run: int) -> None:
        self._database = database
        self._run = run

    def read(self, kind: str, digest: str) -> str | None:
        """See `RunNotes`."""
        with self._database.reading() as connection:
            known = select(meta.c.value).where(meta.c.key == self._key(kind) + digest)
            value: str | None = connection.execute(known).scalar()
        return value

    def write(self, kind: str, digest: str, value: str) -> None:
        """See `RunNotes`."""
        key = self._key(kind)

        def replace(connection: Connection) -> None:
            connection.execute(delete(meta).where(meta.c.key.startswith(key)))
            connection.execute(self._database.upsert(meta), {"key": key + digest, "value": value})

        self._database.write(replace)

    def _key(self, kind: str) -> str:
        return f"{kind} of run {self._run}: "
