"""One pass over a file before it is judged: how many rows, what identity, what changed since the last time."""

from __future__ import annotations

from sqlalchemy import Engine, func, select, tuple_

from ragtriage.core.case import Case
from ragtriage.store.connection import reading
from ragtriage.store.identity import RowsHash, digest
from ragtriage.store.run_info import FINISHED
from ragtriage.store.schema import cases, runs

LOOKED_UP = 400
"""Rows that are compared in one query."""


class Survey:
    """Takes in the rows of a file one by one; memory doesn't grow with the file.

    Args:
        engine: the database.
        where: its address for messages.
        input: the file, as the user named it.
    """

    def __init__(self, engine: Engine, where: str, input: str) -> None:  # noqa: A002  # the store's word for it
        self._engine = engine
        self._where = where
        self._hash = RowsHash()
        self._unchanged = 0
        self._waiting: list[tuple[bytes, bytes]] = []
        same = (runs.c.input == input) & (runs.c.state == FINISHED)
        with reading(engine, where) as connection:
            self.last_run: int | None = connection.execute(select(func.max(runs.c.number)).where(same)).scalar()
            """The newest finished run of the same file, None if there is none."""

    @property
    def rows(self) -> int:
        """How many rows there are so far."""
        return self._hash.rows

    def hexdigest(self) -> str:
        """The digest of the rows so far, for `RunIdentity.rows`."""
        return self._hash.hexdigest()

    def add(self, case: Case) -> None:
        """Take in one row.

        Raises:
            StoreError: the store can't be read.
        """
        content = self._hash.add(case)
        if self.last_run is not None:
            self._waiting.append((digest(case.id), content))
            if len(self._waiting) >= LOOKED_UP:
                self._compare()

    def changed_since_last(self) -> int | None:
        """How many rows are new or differ from the last finished run of the same file; None if there is no such run.

        Raises:
            StoreError: the store can't be read.
        """
        if self.last_run is None:
            return None
        self._compare()
        return self.rows - self._unchanged

    def _compare(self) -> None:
        if self._waiting:
            pairs = tuple_(cases.c.id_digest, cases.c.content).in_(self._waiting)
            query = select(func.count()).select_from(cases).where(cases.c.run == self.last_run, pairs)
            with reading(self._engine, self._where) as connection:
                self._unchanged += connection.execute(query).scalar_one()
            self._waiting.clear()
