"""Runs into a store, from another one or from a folder: every run is listed there once it is whole, and not before.

Its rows come in the writer's small transactions. Until the last of them it has a state of its own (`COPYING`); a copy
that was cut off stays like that until the next one goes on with it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, cast

from sqlalchemy import Connection, func, insert, select, update

from ragtriage.core.display import plural
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.core.files import folder_at
from ragtriage.runs.about import About
from ragtriage.runs.case_row import COPIED, CaseRow
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.run import COPYING, FINISHED, INTERRUPTED, RUNNING, Run, RunInfo
from ragtriage.runs.tally import tally_of
from ragtriage.store.database import IN_ONE_STATEMENT, Database
from ragtriage.store.folder import FolderPlace, folder_of
from ragtriage.store.lease import Lease, RunBusyError
from ragtriage.store.run_writer import SPENT, RunWriter
from ragtriage.store.schema import (
    COUNTS,
    OF_FOLDER,
    RECORDS_AT,
    case_texts,
    cases,
    runs,
)
from ragtriage.store.store import Store, folder_project
from ragtriage.store.tables import TablePlace, read_runs

MOST_INTO_STORE = 2_000_000
"""Cases of a run in a folder that a store takes."""
PAUSE = 0.1
"""Seconds between two looks whether another copy of the same run has ended."""
_RENEWED = ("state", "finished", "configuration", "versions", *SPENT)
"""Columns of a run that change while it is written."""


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
    """Whether it was there, and was brought up to date."""
    forgotten: bool = False
    """Whether it is there, unfinished, and was left so since texts of it were deleted there."""
    without_texts: int = 0
    """Cases that were copied without their texts, as the input of a run in a folder is gone or has changed."""
    holds: bool = True
    """Whether the store holds the records; else it names the folder."""

    def notes(self) -> Iterator[str]:
        """What people should know of one that comes from a folder, a sentence each."""
        if count := self.cases * self.renewed:
            yield f"{plural(count, 'case')} that had failed there {'was' if count == 1 else 'were'} replaced"
        if count := self.without_texts:
            yield (
                f"note: {plural(count, 'case')} {'was' if count == 1 else 'were'} stored without texts, as the input "
                f"is gone or has changed; to have them, bring it back, delete run {self.there} (ragtriage store "
                "delete), and give this command again"
            )


def copy_stored(source: Store, number: int, target: Store, *, project: str | None = None) -> CopiedRun:
    """Copy a run of one store to another; see `copy_run`."""

    def row(wanted: int | None) -> RunInfo | None:
        return next(iter(source.database.read(partial(read_runs, number=wanted))), None) if wanted else None

    if not (info := row(number)):
        raise NotStoredError(f"there is no run {number} in {source.where}")
    run = Run(TablePlace(source.database, info))  # one that names a folder goes on doing so, and holds no case
    return copy_run(run, target, project=project, first=row(info.repeats))


def copy_run(run: Run, store: Store, *, project: str | None = None, first: RunInfo | None = None) -> CopiedRun:
    """Copy a run with its records, their texts and what is said of them; the memory of answers stays where it is.

    A run that is there, by its identity and the moment it was begun, isn't copied again. One that isn't finished there
    is renewed if more of it is done here; so are cases of one from a folder that failed and were asked again since.

    It belongs there to `project`; as it was, if None, and to what the store is opened for if it is from a folder.
    `first` is the first trial of the same evaluation, which a further one goes on naming if that is there.
    """
    version, info, database, folder = run.place.version(), run.info, store.database, folder_of(run)
    if folder and info.rows > MOST_INTO_STORE:
        raise StoreError(
            f"{info.called} has {info.rows:,} cases, and a store takes {MOST_INTO_STORE:,}: read it as it is, "
            f"ragtriage show {info.typed}"
        )
    values, owner = _values(run, store, project), secrets.token_hex(8)
    begin = partial(_begin, database=database, run=run, values=values, first=first, owner=owner)
    while (begun := database.write(begin)) is None:
        time.sleep(PAUSE)
    if isinstance(begun, CopiedRun):
        return begun
    (lease, state), count, without_texts = begun, 0, 0
    with RunWriter(database, lease, copies=True) as writer:
        rows = run.place.read(COPIED)
        for row in _undone(rows, database, lease.run) if state == FINISHED else rows:
            writer.add(row)
            count += 1
            without_texts += folder is not None and row.head is None
        if state != FINISHED:
            writer.reject(*run.rejected())
        if run.place.version() != version:
            raise StoreError(f"{info.called} was changed while it was copied: give the same command again")
        writer.finish(**{name: values[name] for name in _RENEWED})
    found = CopiedRun(info.number, lease.run, before=False, cases=count, unfinished=values["state"] != FINISHED)
    return replace(found, renewed=state != COPYING, without_texts=without_texts)


def register(run: Run, store: Store, *, records: bool = False) -> CopiedRun:
    """Give a complete run in a folder a row in a store, once, which names it or holds it; what is there is renewed.

    With `records` the store is to hold it; if it holds the run already, it needn't name it.
    """
    info, folder, database = run.info, cast("FolderPlace", run.place), store.database
    same = partial(_same, info=info, folder=folder)
    held, named = database.read(lambda connection: (same(connection), same(connection, names=True)))
    found = copy_run(run, store) if records or held else None
    if found and named is None:
        return found
    if named and named.configuration.get(OF_FOLDER) == _of_folder(info, folder):
        return found or CopiedRun(info.number, named.number, before=True, holds=False)
    means = {m.name: m.mean for m in tally_of(run, config_of(info)).summary().metrics if m.mean is not None}
    values, counts = _values(run, store, None), {name: getattr(info, name) for name in COUNTS}
    values["configuration"] |= {RECORDS_AT: {"address": folder.folder.address, "means": means, **counts}}

    def name(connection: Connection) -> int:
        database.lock(connection, "copy")
        if there := same(connection, names=True):
            values["configuration"] |= About.of(there.configuration).stored()
            changed = update(runs).where(runs.c.number == there.number)
            connection.execute(changed.values({column: values[column] for column in _RENEWED}))
            return int(there.number)
        return int((connection.execute(insert(runs).values(**values)).inserted_primary_key or (0,))[0])

    return found or CopiedRun(info.number, database.write(name), before=named is not None, holds=False)


def _begin(
    connection: Connection, database: Database, run: Run, values: Mapping[str, Any], first: RunInfo | None, owner: str
) -> tuple[Lease, str] | CopiedRun | None:
    """The lease of the run there and its state; what is said of one that stays so; None while it is being copied."""
    database.lock(connection, "copy")
    there = _same(connection, run.info, folder_of(run))
    if there is None:
        before = _same(connection, first) if first else None
        new = {**values, "state": COPYING, "repeats": before.number if before else None}
        connection.execute(insert(runs).values(**new))
        there = _same(connection, run.info, folder_of(run))
    if stays := _stays(connection, there, run):
        return stays
    lease = Lease(there.number, owner=owner)
    try:
        lease.take(connection, database)
    except RunBusyError as error:
        if there.state == COPYING:
            return None
        raise RunBusyError(f"{there.number} of {database.where}", error.pid, error.host, error.since) from error
    there = _same(connection, run.info, folder_of(run))  # it may have been written until now
    if stays := _stays(connection, there, run):
        lease.give_up(connection)
        return stays
    return lease, there.state


def _values(run: Run, store: Store, project: str | None) -> dict[str, Any]:
    """What the row of a run says in another store, by column."""
    info, folder = run.info, folder_of(run)
    values = {name: getattr(info, name) for name in map(str, runs.columns.keys()) if hasattr(info, name)}
    values |= {"state": INTERRUPTED if info.state == RUNNING else info.state, "project": project or info.project}
    del values["number"]
    if folder:
        values["configuration"] = {**info.configuration, OF_FOLDER: _of_folder(info, folder)}
        values["project"] = project or store.project or folder_project()
    if not store.database.is_sqlite:
        values["author"] = info.author or func.current_user()
    return values


def _of_folder(info: RunInfo, folder: FolderPlace) -> dict[str, str]:
    """By what a run in a folder and its present parts are known again."""
    return {"created": info.created, "parts": folder.parts_digest}


def _same(connection: Connection, info: RunInfo, folder: FolderPlace | None = None, *, names: bool = False) -> Any:
    """The row of the same run, None if it isn't there: one that holds the run in a folder, or one that names it."""
    columns = (runs.c.number, runs.c.state, runs.c.created, runs.c.configuration)
    rows = connection.execute(select(*columns).where(runs.c.identity == info.identity).order_by(runs.c.number))

    def same(row: Any) -> bool:
        at, known = row.configuration.get(RECORDS_AT), row.configuration.get(OF_FOLDER)
        if folder is None:
            return row.created == info.created and (at is None) == (RECORDS_AT not in info.configuration)
        if names or at:
            return bool(names and at) and folder_at(at["address"]) == folder.folder
        return known is None or known["created"] == info.created  # it is from before parts were noted

    return next((row for row in rows.all() if same(row)), None)


def _stays(connection: Connection, there: Any, run: Run) -> CopiedRun | None:
    """What is said of a run that is there and stays as it is; None where it is to be written."""
    if there.state == COPYING:
        return None
    info, folder, unfinished = run.info, folder_of(run), there.state != FINISHED
    found = CopiedRun(info.number, there.number, before=True, unfinished=unfinished)
    if not unfinished:
        return None if folder and there.configuration.get(OF_FOLDER) != _of_folder(info, folder) else found
    done = select(func.count()).select_from(cases).where(cases.c.run == there.number, ~cases.c.failed)
    if info.state != FINISHED and info.done <= connection.execute(done).scalar_one():
        return found
    lost = select(case_texts.c.run).where(case_texts.c.run == there.number, case_texts.c.hash.is_(None)).limit(1)
    return replace(found, forgotten=True) if connection.execute(lost).first() else None  # texts mustn't come back


def _undone(rows: Iterable[CaseRow], database: Database, number: int) -> Iterator[CaseRow]:
    """Those that aren't there, or failed there; without those whose texts were deleted there."""
    left = iter(rows)
    same = (case_texts.c.run == cases.c.run) & (case_texts.c.position == cases.c.position)
    lost = select(case_texts.c.run).where(same, case_texts.c.hash.is_(None)).exists()
    stay = select(cases.c.id_digest).where(cases.c.run == number, ~cases.c.failed | lost)
    while some := list(islice(left, IN_ONE_STATEMENT)):
        with database.reading() as connection:
            here = cases.c.id_digest.in_([row.id_digest for row in some])
            found = {*connection.execute(stay.where(here)).scalars()}
        yield from (row for row in some if row.id_digest not in found)
