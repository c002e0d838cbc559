"""The store: where runs and answers are kept."""

from __future__ import annotations

import platform
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import insert, select, update

from ragtriage.core.errors import StoreError
from ragtriage.core.steps import Step
from ragtriage.store.alone import alone
from ragtriage.store.answers import StoredAnswers, StoredTickets
from ragtriage.store.database import Database, open_database, store_address
from ragtriage.store.forgetting import cases_with_texts, forget_texts, held_elsewhere
from ragtriage.store.identity import InputScan, RunIdentity
from ragtriage.store.lease import Lease
from ragtriage.store.run_reader import RunInfo, StoredRun, TableRun, read_means, read_run, read_runs
from ragtriage.store.run_writer import RunWriter, now
from ragtriage.store.schema import FINISHED, RECORDS_AT, RUNNING, runs
from ragtriage.store.written_files import files_with_texts, note_file

OpenSet = Callable[[str, RunInfo], StoredRun]
"""Opens the record set at an address, in which the records of a run lie."""


def open_store(where: str | Path | None = None, *, create: bool = True, open_set: OpenSet | None = None) -> Store:
    """Open a store, creating it where there is none.

    Args:
        where: a folder (the store is its file `runs.sqlite`), a file that ends in `.sqlite` or `.db`, or a URL
            (`sqlite:///…`, `postgresql://…`); None takes the variable RAGTRIAGE_STORE, else the folder `.ragtriage`.
        create: False for what only reads: a store that isn't there is an error then.
        open_set: opens record sets, for runs whose records lie in one.

    Raises:
        StoreError: it can't be opened, isn't a store, or was written by another version.
    """
    database = open_database(store_address(where), create=create)
    try:
        database.create_tables()
    except BaseException:
        database.close()
        raise
    return Store(database, open_set)


class Store:
    """Runs and remembered answers in one database; open it with `open_store`, close it with `close` or `with`.

    Every method raises a `StoreError` where the store can't be read or written.

    Attributes:
        where: the file or URL, for people; without a password.
    """

    def __init__(self, database: Database, open_set: OpenSet | None = None) -> None:
        self.where = database.where
        self._database = database
        self._answers = StoredAnswers(database)
        self._writing: list[RunWriter] = []
        self._open_set = open_set

    def scan(self, input: str) -> InputScan:  # noqa: A002  # the word for it everywhere in the store
        """Gather the identity of a file's rows, and how many changed since its last finished run, in one pass."""
        return InputScan(self._database, input)

    def unfinished(self, identity: RunIdentity) -> int | None:
        """The newest run with this identity that wasn't finished, None if there is none. See `resume`."""
        same = (runs.c.identity == identity.hexdigest()) & (runs.c.state != FINISHED)
        with self._database.reading() as connection:
            return connection.execute(
                select(runs.c.number).where(same).order_by(runs.c.number.desc()).limit(1)
            ).scalar()

    def newest(self, identity: RunIdentity) -> int | None:
        """The newest run with this identity, finished or not; None if there is none."""
        same = select(runs.c.number).where(runs.c.identity == identity.hexdigest())
        with self._database.reading() as connection:
            return connection.execute(same.order_by(runs.c.number.desc()).limit(1)).scalar()

    def alone(self, what: str, *, party: str, patience: float) -> AbstractContextManager[None]:
        """Do something that no other process with this store does at the same time; see `ragtriage.store.alone`."""
        return alone(self._database, what, party=party, patience=patience)

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
        """Begin a new run and take its lease.

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
            "created": now(),
            "input": input,
            "rows_hash": identity.rows,
            "rows": rows,
            "metrics": identity.metrics,
            "judge": judge,
            "fingerprints": dict(identity.fingerprints),
            "configuration": dict(configuration or {}),
            "versions": _versions(),
            "trial": identity.trial if trial is None else trial,
            "repeats": repeats,
        }
        with self._database.writing() as connection:
            (number,) = connection.execute(insert(runs).values(**row)).inserted_primary_key or (0,)
        return self.resume(number)

    def resume(self, number: int, *, configuration: Mapping[str, Any] | None = None) -> RunWriter:
        """Go on writing a run and take its lease, which no other process may hold; `todo` leaves out what is done.

        Args:
            number: which run.
            configuration: what it is to be shown by from now on; as it was, if None.
        """
        run = RunWriter(self._database, Lease(number))
        self._writing.append(run)
        if configuration is not None:
            changed = update(runs).where(runs.c.number == number)
            with self._database.writing() as connection:
                connection.execute(changed.values(configuration=dict(configuration)))
        return run

    def add_to_configuration(self, number: int, key: str, value: Any) -> None:
        """Keep a value that JSON can hold in the configuration of a finished run, until the run is resumed."""
        info = self.run(number).info
        if info.state == RUNNING:
            raise StoreError(f"run {number} isn't finished: give its evaluation again, then this command")
        kept = {**info.configuration, key: value}
        with self._database.writing() as connection:
            connection.execute(update(runs).where(runs.c.number == number).values(configuration=kept))

    def runs(self) -> list[RunInfo]:
        """All runs, the newest first."""
        with self._database.reading() as connection:
            return read_runs(connection)

    def means(self, numbers: Sequence[int]) -> dict[int, dict[str, float]]:
        """The mean of every metric of these runs, weighted by the cases' weights: run → metric → mean.

        Scores that are undefined don't count; a metric without a defined score is left out.
        """
        with self._database.reading() as connection:
            return read_means(connection, numbers)

    def run(self, number: int | str = "last") -> StoredRun:
        """One run to read, by its number, also as a text, or `last`.

        Raises:
            NotStoredError: there is no such run; says which there are.
        """
        with self._database.reading() as connection:
            found = TableRun(self._database, read_run(connection, number))
        kept = found.info.configuration.get(RECORDS_AT)
        return self._open_set(kept["address"], found.info) if kept and self._open_set else found

    def answers(self) -> StoredAnswers:
        """The memory of answers, for `ragtriage.judges.wrappers.Cached`."""
        self._answers.take_back()
        return self._answers

    def tickets(self, fingerprint: str = "") -> StoredTickets:
        """The tickets of requests that a provider answers later; the judge's fingerprint is written beside each."""
        return StoredTickets(self._database, fingerprint)

    def note_file(self, path: Path, run: StoredRun, *, added: bool = False) -> None:
        """Note that a file was written with the texts that a run has now, if any; see `files_with_texts`.

        Args:
            path: the file.
            run: whose texts.
            added: the file goes on holding what it held of other runs.
        """
        note_file(self._database, path, [run.number] if self.cases_with_texts(run.number) else [], added=added)

    def files_with_texts(self, runs: Collection[int], unnoted: Iterable[Path] = ()) -> list[Path]:
        """The files, as far as they are still there, that hold texts of any of these runs by what was noted.

        Args:
            runs: their numbers.
            unnoted: files that count too if nothing was noted about them.
        """
        return files_with_texts(self._database, runs, unnoted)

    def cases_with_texts(self, run: int) -> list[str]:
        """The ids of a run's cases whose texts weren't deleted, in the order of the input."""
        return cases_with_texts(self._database, run)

    def held_elsewhere(self, chosen: Mapping[int, Iterable[str]]) -> dict[int, int]:
        """Cases beside the chosen ones (run → ids) that say some of the same, sources apart: run → how many."""
        return held_elsewhere(self._database, chosen)

    def forget_texts(
        self, run: int | str | Sequence[int], case_ids: Collection[str] | None = None, *, also: Sequence[Step] = ()
    ) -> int:
        """Delete what cases say, while their scores stay; see `ragtriage.store.forgetting.forget_texts`.

        Args:
            run: which run, as in `run`, or several runs.
            case_ids: which cases of these runs; all, and what was quoted of rows that couldn't be used, if None.
            also: steps that were taken besides those of the metrics, so that their remembered answers are found too.

        Returns:
            How many cases were forgotten.

        Raises:
            NotStoredError: there is no such run, or no such case in any of them; nothing is deleted then.
        """
        self._answers.take_back()  # what stands in a file elsewhere is to be deleted too
        self._answers.flush()
        numbers = [run] if isinstance(run, int | str) else run
        return forget_texts(self._database, [self.run(number) for number in numbers], case_ids, also)

    def close(self) -> None:
        """Commit what waits, mark runs that weren't finished as interrupted, and let the database go in any case."""
        try:
            self._answers.close()
        finally:
            try:
                for run in self._writing:
                    run.interrupt()
            finally:
                self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            self.close()
        except StoreError:
            if error is None:
                raise


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in ("ragtriage", "onnxruntime", "pydantic-ai-slim"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
