"""Runs into a store, from another one or from a folder: every run is listed there once it is whole, and not before.

Its rows come in the writer's small transactions. Until the last of them it has a state of its own (`COPYING`); a copy
that was cut off stays like that until the next one goes on with it.
"""

import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

from sqlalchemy import Connection, func, insert, select, update

from ragtriage.core.display import plural
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.core.files import folder_at
from ragtriage.runs.case_row import COPIED
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.run import COPYING, FINISHED, About, Run, RunInfo
from ragtriage.runs.tally import tally_of
from ragtriage.store.database import Database
from ragtriage.store.folder import FolderPlace, folder_of
from ragtriage.store.lease import Lease, RunBusyError
from ragtriage.store.run_writer import SPENT, RunWriter
from ragtriage.store.schema import COUNTS, OF_FOLDER, RECORDS_AT, runs
from ragtriage.store.store import Store, folder_project
from ragtriage.store.tables import TablePlace, read_runs

MOST_INTO_STORE = 2_000_000
"""Cases of a run in a folder that a store takes."""
PAUSE = 0.1
"""Seconds between two looks whether another copy of the same run has ended."""
_RENEWED = ("state", "finished", "configuration", "versions", *SPENT)
"""Columns of a run that change while it is written."""


class UnfinishedRunError(StoreError):
    """The run isn't finished, so that it isn't copied."""


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
    """How many were copied."""
    outdated: bool = False
    """Whether what is there is a run in a folder as it was before failed scores were asked again."""
    without_texts: int = 0
    """Cases that were copied without their texts, as the input of a run in a folder is gone or has changed."""
    holds: bool = True
    """Whether the store holds the records; else it names the folder."""

    def notes(self) -> Iterator[str]:
        """What people should know of one that comes from a folder, a sentence each."""
        if self.outdated:
            yield (
                f"note: run {self.there} holds it as it was before failed scores were asked again; to have these, "
                f"delete run {self.there} (ragtriage store delete), and copy the folder (ragtriage store copy)"
            )
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

    A run that is there, by its identity and the moment it was begun, isn't copied again.

    It belongs there to `project`; as it was, if None, and to what the store is opened for if it is from a folder.
    `first` is the first trial of the same evaluation, which a further one goes on naming if that is there.
    """
    version, info, database, folder = run.place.version(), run.info, store.database, folder_of(run)
    if info.state != FINISHED:
        raise UnfinishedRunError(f"{info.called} isn't finished: give its evaluation again, then this command")
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
    count = without_texts = 0
    with RunWriter(database, begun, copies=True) as writer:
        for row in run.place.read(COPIED):
            writer.add(row)
            count += 1
            without_texts += folder is not None and row.head is None
        writer.reject(*run.rejected())
        if run.place.version() != version:
            raise StoreError(f"{info.called} was changed while it was copied: give the same command again")
        writer.finish(**{name: values[name] for name in _RENEWED})
    return CopiedRun(info.number, begun.run, before=False, cases=count, without_texts=without_texts)


def register(run: Run, store: Store, *, records: bool = False) -> CopiedRun:
    """Give a complete run in a folder a row in a store, once, which names it or holds it; one that names it is renewed.

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
) -> Lease | CopiedRun | None:
    """The lease of the run there; what is said of one that is there already; None while it is being copied."""
    info, folder = run.info, folder_of(run)

    def whole() -> CopiedRun | None:
        there = _same(connection, info, folder)
        if there is None or there.state == COPYING:
            return None
        outdated = folder is not None and there.configuration[OF_FOLDER] != _of_folder(info, folder)
        return CopiedRun(info.number, there.number, before=True, outdated=outdated)

    database.lock(connection, "copy")
    if found := whole():
        return found
    if _same(connection, info, folder) is None:
        before = _same(connection, first) if first else None
        new = {**values, "state": COPYING, "repeats": before.number if before else None}
        connection.execute(insert(runs).values(**new))
    lease = Lease(_same(connection, info, folder).number, owner=owner)
    try:
        lease.take(connection, database)
    except RunBusyError:
        return None
    if found := whole():  # another copy may have come to its end until now
        lease.give_up(connection)
    return found or lease


def _values(run: Run, store: Store, project: str | None) -> dict[str, Any]:
    """What the row of a run says in another store, by column."""
    info, folder = run.info, folder_of(run)
    values = {name: getattr(info, name) for name in map(str, runs.columns.keys()) if hasattr(info, name)}
    values |= {"project": project or info.project}
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
        return known is not None and known["created"] == info.created

    return next((row for row in rows.all() if same(row)), None)
