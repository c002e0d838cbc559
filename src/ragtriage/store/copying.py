"""Runs from one store to another: every run as a whole, in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, func, insert, select

from ragtriage.core.errors import NotStoredError
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.lease import STALE, RunBusyError, surely_dead
from ragtriage.store.schema import (
    INTERRUPTED,
    RUNNING,
    case_texts,
    cases,
    readings,
    rejected,
    runs,
    scores,
    texts,
)
from ragtriage.store.sentences import store_errors

ROWS = 2_000
"""Rows that are read and inserted together."""

_OWNED = ("owner", "owner_host", "owner_pid", "heartbeat")


@dataclass(frozen=True, slots=True)
class CopiedRun:
    """What became of one run."""

    number: int
    """In the store that it was copied from."""
    there: int
    """In the store that it was copied to."""
    before: bool
    """Whether it was there already."""
    cases: int = 0


def copy_runs(
    source: Database,
    target: Database,
    numbers: Sequence[int],
    *,
    project: str | None = None,
    copied: Callable[[CopiedRun], None] = lambda _: None,
) -> list[CopiedRun]:
    """Copy runs with their records, their texts and what is said of them; the memory of answers stays where it is.

    A run that is there already, by its identity and the moment it was begun, isn't copied again: so the same call goes
    on where it was interrupted. Further trials go on naming the first one, if that is there.

    Args:
        source: where the runs are.
        target: where they go; they get numbers of its own.
        numbers: the runs, in the order in which they are copied.
        project: what they belong to there; as it was, if None.
        copied: called after every run.

    Raises:
        RunBusyError: a run is being written.
        StoreError: a store can't be used.
    """
    found: list[CopiedRun] = []
    for number in numbers:
        with source.reading_unchanged() as reading:
            one = _copied(_Source(source, reading), target, number, project)
        found.append(one)
        copied(one)
    return found


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a run is read; an error there isn't taken for one of the store that is written, which is tried again."""

    database: Database
    connection: Connection

    def rows(self, query: Select[Any]) -> Iterator[list[dict[str, Any]]]:
        """What a query finds, some rows at a time."""
        reading = self.connection.execution_options(yield_per=ROWS)
        with store_errors(self.database.where), reading.execute(query) as found:
            for some in found.mappings().partitions(ROWS):
                yield [dict(row) for row in some]

    def row(self, number: int | None) -> dict[str, Any] | None:
        """A run's row."""
        found = [row for some in self.rows(select(runs).where(runs.c.number == number)) for row in some]
        return found[0] if found else None

    def silent_for(self, row: Mapping[str, Any]) -> float:
        """Seconds since the last sign of life of whoever writes a run."""
        with store_errors(self.database.where):
            now = self.connection.execute(select(self.database.time())).scalar_one()
        return float(now) - (row["heartbeat"] or 0.0)


def _copied(source: _Source, target: Database, number: int, project: str | None) -> CopiedRun:
    row = source.row(number)
    if row is None:
        raise NotStoredError(f"there is no run {number} in {source.database.where}")
    dead = surely_dead(row["owner_host"], row["owner_pid"])
    if row["owner"] and not dead and (silent := source.silent_for(row)) < STALE:
        raise RunBusyError(number, row["owner_pid"], row["owner_host"], silent)
    first = source.row(row["repeats"]) if row["repeats"] is not None else None
    values = {name: value for name, value in row.items() if name not in ("number", *_OWNED)}
    values |= {"project": project or row["project"], "state": INTERRUPTED if row["state"] == RUNNING else row["state"]}
    if not target.is_sqlite:
        values["author"] = row["author"] or func.current_user()

    def write(connection: Connection) -> CopiedRun:
        target.lock(connection, "copy")
        there = _same(connection, row)
        if there is not None:
            return CopiedRun(number, there, before=True)
        target.lock(connection, "texts", shared=True)
        further = {"repeats": _same(connection, first) if first else None}
        made = connection.execute(insert(runs).values(**values | further)).inserted_primary_key
        new = int(made[0]) if made else 0
        count = 0
        for table in (cases, case_texts, scores, rejected, readings):
            own = select(table).where(table.c.run == number).order_by(*table.primary_key.columns)
            with closing(source.rows(own)) as portions:  # type: ignore[type-var]  # a generator
                for rows in portions:
                    if table is case_texts:
                        _copy_texts(source, target, connection, rows)
                    target.insert(connection, table, [{**one, "run": new} for one in rows], replace=True)
                    count += len(rows) if table is cases else 0
        return CopiedRun(number, new, before=False, cases=count)

    return target.write(write)


def _copy_texts(source: _Source, target: Database, writing: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    for some in in_chunks({row["hash"] for row in rows if row["hash"] is not None}):
        with closing(source.rows(select(texts).where(texts.c.hash.in_(some)))) as portions:  # type: ignore[type-var]  # a generator
            for held in portions:
                target.insert(writing, texts, held, replace=False)


def _same(connection: Connection, row: Mapping[str, Any]) -> int | None:
    """The number of the same run, None if it isn't there."""
    same = (runs.c.identity == row["identity"]) & (runs.c.created == row["created"])
    return connection.execute(select(runs.c.number).where(same).order_by(runs.c.number).limit(1)).scalar()
