"""The store: where runs and answers are kept."""

import secrets
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType
from typing import Any

from sqlalchemy import ColumnElement, Connection, func, insert, select, update

from ragtriage.core.errors import StoreError
from ragtriage.runs.manifest import PYTHON, RunIdentity, now, versions_of
from ragtriage.runs.run import FINISHED, RUNNING, Run, RunInfo
from ragtriage.store.database import Database, open_database, store_address
from ragtriage.store.folder import folder_of, open_folder
from ragtriage.store.forgetting import delete_runs, forget
from ragtriage.store.lease import Lease
from ragtriage.store.migrations import prepare, require_owner
from ragtriage.store.postgresql import Told
from ragtriage.store.run_writer import RunWriter
from ragtriage.store.schema import RECORDS_AT, listed_for, runs
from ragtriage.store.tables import RunCounts, TablePlace, no_run, read_means, read_run, read_runs, shared_cases

EVERY_PROJECT = "*"
"""What is given for a project to mean all of them."""


def folder_project() -> str:
    """What runs belong to where nothing else is said: the project with the name of the current folder."""
    return Path.cwd().name or "root"


def project_meant(named: str | None, where: str | Path | None) -> str | None:
    """Whose runs a command means: those of the project that was named, None for all.

    Where none was named, a server's store is taken for one that many folders share, and a file for this folder's alone,
    so that its runs are found also when the folder gets another name.

    `*` names all projects; `where` is as in `open_store`.
    """
    if named == EVERY_PROJECT:
        return None
    return named or (folder_project() if "://" in store_address(where) else None)


def open_store(
    where: str | Path | None = None, *, create: bool = True, project: str | None = None, told: Told = lambda _: None
) -> "Store":
    """Open a store, creating it where there is none.

    Args:
        where: a folder (the store is its file `runs.sqlite`), a file that ends in `.sqlite` or `.db`, or a URL
            (`sqlite:///…`, `postgresql://…`); None takes the variable RAGTRIAGE_STORE, else the folder `.ragtriage`.
        create: False for what only reads: a store that isn't there is an error then.
        project: whose runs are meant by `last` and `runs`, and what new ones belong to. None means the runs of all
            projects, and new ones belong to that with the name of the current folder.
        told: is called with what the user should know, such as that a server is being waited for.

    Raises:
        StoreError: it can't be opened, isn't a store, or was written by another version.
    """
    database = open_database(store_address(where), create=create, told=told)
    try:
        prepare(database, told=told)
    except BaseException:
        database.close()
        raise
    return Store(database, project)


class Store(AbstractContextManager["Store"]):
    """Runs in one database; open it with `open_store`, close it with `close` or `with`.

    Every method raises a `StoreError` where the store can't be read or written.

    Attributes:
        where: the file or URL, for people; without a password.
        project: whose runs are meant; None for those of all projects.
        database: where they are; so are remembered answers, by default (see `ragtriage.store.answers`).
    """

    def __init__(self, database: Database, project: str | None = None) -> None:
        self.where = database.where
        self.project = project
        self.database = database
        self._writing: list[RunWriter] = []
        self._counts = RunCounts()

    def unfinished(self, identity: RunIdentity) -> int | None:
        """The newest run with this identity that wasn't finished, None if there is none. See `resume`."""
        same = (runs.c.identity == identity.hexdigest()) & (runs.c.state != FINISHED)
        return self._newest(same)

    def newest(self, identity: RunIdentity) -> int | None:
        """The newest run with this identity, finished or not; None if there is none."""
        return self._newest(runs.c.identity == identity.hexdigest())

    def _newest(self, same: ColumnElement[bool]) -> int | None:
        found = select(runs.c.number).where(same, listed_for(self.project)).order_by(runs.c.number.desc()).limit(1)
        return self.database.scalar(found)

    def begin(
        self,
        identity: RunIdentity,
        *,
        input: str,  # noqa: A002  # the word for it everywhere in the store
        rows: int,
        judge: str,
        configuration: Mapping[str, Any] | None = None,
        trial: int | None = None,
        repeats: int | None = None,
    ) -> RunWriter:
        """Begin a new run of the store's project and take its lease.

        Args:
            identity: what its results depend on.
            input: the file that it is read from, as the user named it.
            rows: how many usable rows the file has.
            judge: its name.
            configuration: thresholds and flags; nothing secret.
            trial: which repetition of the same evaluation; the identity's, if None.
            repeats: the number of the first run, for a further one of a repeated evaluation.
        """
        row = {
            "identity": identity.hexdigest(),
            "state": RUNNING,
            "input": input,
            "rows_hash": identity.rows,
            "rows": rows,
            "metrics": identity.metrics,
            "judge": judge,
            "fingerprints": dict(identity.fingerprints),
            "configuration": dict(configuration or {}),
            "versions": versions_of((PYTHON, "ragtriage", "onnxruntime", "pydantic-ai-slim")),
            "trial": identity.trial if trial is None else trial,
            "repeats": repeats,
            "project": self.project or folder_project(),
            "author": None if self.database.is_sqlite else func.current_user(),
            "owner": secrets.token_hex(8),
        }

        def begin(connection: Connection) -> int:
            mine = (runs.c.identity == row["identity"]) & (runs.c.owner == row["owner"])
            begun = connection.execute(select(runs.c.number).where(mine)).scalar()
            if begun is not None:
                return int(begun)  # an earlier try was committed, though nobody heard of it
            self.database.lock(connection, "begin")
            (number,) = connection.execute(insert(runs).values(**row, created=now())).inserted_primary_key or (0,)
            return int(number)

        return self._written_by(Lease(self.database.write(begin), owner=str(row["owner"])))

    def resume(self, number: int, *, configuration: Mapping[str, Any] | None = None) -> RunWriter:
        """Go on writing a run and take its lease, which no other process may hold; `todo` leaves out what is done.

        Without a `configuration` it is shown as it was.
        """
        run = self._written_by(Lease(number))
        if configuration is not None:
            self._configure(number, configuration)
        return run

    def _written_by(self, lease: Lease) -> RunWriter:
        run = RunWriter(self.database, lease)
        self._writing.append(run)
        return run

    def _configure(self, number: int, configuration: Mapping[str, Any]) -> None:
        changed = update(runs).where(runs.c.number == number).values(configuration=dict(configuration))
        self.database.execute(changed)

    def add_to_configuration(self, number: int, key: str, value: Any) -> None:
        """Keep a value that JSON can hold in the configuration of a finished run, until the run is resumed."""
        info = self.run(number).info
        if info.state == RUNNING:
            raise StoreError(f"run {number} isn't finished: give its evaluation again, then this command")
        self._configure(number, {**info.configuration, key: value})

    def runs(self, *, everywhere: bool = False) -> list[RunInfo]:
        """The runs of the store's project, the newest first; with `everywhere` those of all projects."""
        project = None if everywhere else self.project
        return self.database.read(lambda connection: read_runs(connection, project=project, counts=self._counts))

    def no_run(self) -> str:
        """That the store's project has no run, and which projects have; for messages."""
        return self.database.read(lambda connection: no_run(connection, self.project))

    def means(self, numbers: Sequence[int]) -> dict[int, dict[str, float]]:
        """The mean of every metric of these runs, weighted by the cases' weights: run → metric → mean.

        Scores that are undefined don't count; a metric without a defined score is left out.
        """
        return self.database.read(lambda connection: read_means(connection, numbers))

    def run(self, number: int | str = "last") -> Run:
        """One run to read, by its number, also as a text, or `last`, which is the store's project's.

        Raises:
            NotStoredError: there is no such run; says which there are.
        """
        info = self.database.read(lambda connection: read_run(connection, number, self.project, self._counts))
        kept = info.configuration.get(RECORDS_AT)
        return open_folder(kept["address"], info) if kept else Run(TablePlace(self.database, info))

    def shared_cases(self, run: int, other: int, enough: float) -> int:
        """How many cases two runs have in common: by ids or, where fewer than enough are, by queries."""
        return shared_cases(self.database, run, other, enough)

    def forget_texts(self, run: int | str | Sequence[int], case_ids: Collection[str] | None = None) -> int:
        """Delete what cases say, while their scores stay; see `ragtriage.store.forgetting.forget`.

        Args:
            run: which run, as in `run`, or several runs.
            case_ids: which cases of these runs; all, and what was quoted of rows that couldn't be used, if None.

        Returns:
            How many cases were forgotten.

        Raises:
            NotStoredError: there is no such run, or no such case in any of them; nothing is deleted then.
            StoreError: the records of a run lie in a folder.
        """
        stored = [self.run(number) for number in ([run] if isinstance(run, int | str) else run)]
        for one in stored:
            if place := folder_of(one):
                raise StoreError(
                    f"run {one.number}: its records lie in {place.folder.address}: `ragtriage forget {one.number}` "
                    "deletes their texts there"
                )
        return forget(self.database, stored, case_ids)

    def delete(self, run: int | Sequence[int]) -> None:
        """Delete runs with all that belongs to them; their answers and texts go as by `forget_texts`.

        Raises:
            NotStoredError: there is no such run; nothing is deleted then, nor below.
            StoreError: the tables of a server are somebody else's, or a run is being written.
        """
        numbers = [run] if isinstance(run, int) else list(run)
        require_owner(self.database)
        known = {info.number: info for info in self.runs(everywhere=True)}
        # a run in a folder isn't the store's: it stays where it is
        self.forget_texts([one for one in numbers if one not in known or RECORDS_AT not in known[one].configuration])
        delete_runs(self.database, numbers)

    def close(self) -> None:
        """Commit what waits, mark runs that weren't finished as interrupted, and let the database go in any case."""
        try:
            for run in self._writing:
                run.interrupt()
        finally:
            self.database.close()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.close()
        except StoreError:
            if error is None:
                raise
