"""Runs from one store to another: every run as a whole, in one transaction, or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import Any

from sqlalchemy import Connection, Select, Table, func, insert, select

from ragtriage.core.errors import NotStoredError
from ragtriage.runs.run import FINISHED, INTERRUPTED, RUNNING
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.lease import STALE, Lease, RunBusyError, surely_dead
from ragtriage.store.run_writer import SPENT
from ragtriage.store.schema import case_texts, cases, readings, rejected, runs, scores, texts
from ragtriage.store.store_file import store_errors

ROWS = 2_000
"""Rows that are read and inserted together."""

_RENEWED = ("state", "finished", "configuration", "versions")
"""Columns of a run that change while it is written, beside what was spent."""

_OWNED = ("owner", "owner_host", "owner_pid", "heartbeat")


@dataclass(frozen=True, slots=True)
class CopiedRun:
    """What became of one run."""

    number: int
    """In the store that it was copied from."""
    there: int
    """In the store that it was copied to."""
    before: bool
    """Whether it was there already, as it is now."""
    cases: int = 0
    """How many were copied."""
    unfinished: bool = False
    """Whether it isn't finished, as it is there now."""
    renewed: bool = False
    """Whether it was there, unfinished, and was brought up to date."""
    forgotten: bool = False
    """Whether it is there, unfinished, and was left so since texts of it were deleted there."""


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
    on where it was interrupted. One that isn't finished there is brought up to date if more of it is done here. Further
    trials go on naming the first one, if that is there.

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

    def count(self, query: Select[Any]) -> int:
        """The one number that a query gives."""
        with store_errors(self.database.where):
            return int(self.connection.execute(query).scalar_one())

    def hashes(self, number: int) -> Iterator[list[bytes]]:
        """The digests of a run's texts in their order, some at a time."""
        own = select(case_texts.c.hash).distinct().where(case_texts.c.run == number, case_texts.c.hash.is_not(None))
        with closing(self.rows(own.order_by(case_texts.c.hash))) as portions:  # type: ignore[type-var]  # a generator
            for rows in portions:
                yield [row["hash"] for row in rows]

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
    row["state"] = INTERRUPTED if row["state"] == RUNNING else row["state"]
    values = {name: value for name, value in row.items() if name not in ("number", *_OWNED)}
    values |= {"project": project or row["project"]}
    if not target.is_sqlite:
        values["author"] = row["author"] or func.current_user()
    unfinished = row["state"] != FINISHED

    def write(connection: Connection) -> CopiedRun:
        target.lock(connection, "copy")
        there = _same(connection, row)
        if there is None:
            further = {"repeats": _same(connection, first) if first else None}
            made = connection.execute(insert(runs).values(**values | further)).inserted_primary_key
            new = int(made[0]) if made else 0
            return CopiedRun(
                number,
                new,
                before=False,
                cases=_copy_rows(source, target, connection, (number, new)),
                unfinished=unfinished,
            )
        if stays := _stays(source, row, connection, there):
            return stays
        lease = Lease(there)
        try:
            lease.take(connection, target)
        except RunBusyError as error:
            raise RunBusyError(f"{there} of {target.where}", error.pid, error.host, error.since) from error
        count = _copy_rows(source, target, connection, (number, there))
        renewed = {name: row[name] for name in (*SPENT, *_RENEWED)}
        lease.release(connection, target, **renewed)
        return CopiedRun(number, there, before=False, cases=count, unfinished=unfinished, renewed=True)

    if not target.is_sqlite:
        _send_texts(source, target, row)
    return target.write(write)


def _further(source: _Source, row: Mapping[str, Any], writing: Connection, there: int) -> bool:
    """Whether more of a run is done where it is copied from than where it isn't finished."""
    if row["state"] == FINISHED:
        return True
    return source.count(_done(row["number"])) > int(writing.execute(_done(there)).scalar_one())


def _done(run: int) -> Select[Any]:
    return select(func.count()).select_from(cases).where(cases.c.run == run, ~cases.c.failed)


def _stays(source: _Source, row: Mapping[str, Any], writing: Connection, there: int) -> CopiedRun | None:
    """What is said of a run that is there and stays as it is; None where it is to be brought up to date."""
    state = writing.execute(select(runs.c.state).where(runs.c.number == there)).scalar()
    unfinished = state != FINISHED
    if not (unfinished and _further(source, row, writing, there)):
        return CopiedRun(row["number"], there, before=True, unfinished=unfinished)
    lost = (case_texts.c.run == there) & case_texts.c.hash.is_(None)
    if writing.execute(select(case_texts.c.run).where(lost).limit(1)).first():
        return CopiedRun(row["number"], there, before=True, unfinished=True, forgotten=True)  # texts mustn't come back
    return None


def _copy_rows(source: _Source, target: Database, writing: Connection, numbers: tuple[int, int]) -> int:
    """Copy all rows of a run, in place of those with the same keys; how many cases they are of.

    What others wait for, the texts, comes last.
    """
    count = _copy_table(source, target, writing, cases, numbers)
    for table in (scores, rejected, readings):
        _copy_table(source, target, writing, table, numbers)
    target.lock(writing, "texts", shared=True)
    for hashes in source.hashes(numbers[0]):
        _copy_texts(source, target, writing, hashes)
    _copy_table(source, target, writing, case_texts, numbers)
    return count


def _copy_table(source: _Source, target: Database, writing: Connection, table: Table, numbers: tuple[int, int]) -> int:
    own, count = select(table).where(table.c.run == numbers[0]).order_by(*table.primary_key.columns), 0
    with closing(source.rows(own)) as portions:  # type: ignore[type-var]  # a generator
        for rows in portions:
            target.insert(writing, table, [{**one, "run": numbers[1]} for one in rows], replace=True)
            count += len(rows)
    return count


def _send_texts(source: _Source, target: Database, row: Mapping[str, Any]) -> None:
    """Insert a run's texts into a server's store before the run, some in each transaction.

    Whoever stores one of them too waits for the end of the transaction that inserted it, and a run takes long. What is
    deleted again until the run comes, since no case holds it yet, is inserted once more with it.
    """

    def wanted(connection: Connection) -> bool:
        there = _same(connection, row)
        return there is None or _stays(source, row, connection, there) is None

    if not target.read(wanted):
        return
    for hashes in source.hashes(row["number"]):

        def send(connection: Connection, hashes: Sequence[bytes] = hashes) -> None:
            target.lock(connection, "texts", shared=True)
            _copy_texts(source, target, connection, hashes)

        target.write(send)


def _copy_texts(source: _Source, target: Database, writing: Connection, hashes: Sequence[bytes]) -> None:
    """Insert the texts that aren't there, in the order of their keys, as every writer does."""
    for some in in_chunks(hashes):
        there = set(writing.execute(select(texts.c.hash).where(texts.c.hash.in_(some))).scalars())
        missing = [own for own in some if own not in there]
        if missing:
            found = source.rows(select(texts).where(texts.c.hash.in_(missing)))
            target.insert(writing, texts, list(chain.from_iterable(found)), replace=False)


def _same(connection: Connection, row: Mapping[str, Any]) -> int | None:
    """The number of the same run, None if it isn't there."""
    same = (runs.c.identity == row["identity"]) & (runs.c.created == row["created"])
    return connection.execute(select(runs.c.number).where(same).order_by(runs.c.number).limit(1)).scalar()
