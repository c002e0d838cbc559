"""One database: opening it, its transactions, and one sentence for whatever is wrong with it."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Insert, QueuePool, Table, create_engine, event, inspect, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ragtriage.core.errors import ConfigError, NotStoredError, StoreError
from ragtriage.core.files import open_private, private_file, private_folder
from ragtriage.store.schema import SCHEMA_VERSION, VERSION_KEY, meta, metadata
from ragtriage.store.store_file import StoreFile

FOLDER = ".ragtriage"
FILE = "runs.sqlite"
VARIABLE = "RAGTRIAGE_STORE"
TIMEOUT = 10.0
"""Seconds to wait for another writer's transaction."""

IN_ONE_STATEMENT = 400
"""Keys that are looked up or deleted together."""

SQLITE = "sqlite:///"
KINDS_OF_STORES = "a folder, a file that ends in .sqlite or .db, sqlite:///FILE, or postgresql://USER@HOST/NAME"

_ELSEWHERE = f"choose another place with --store or {VARIABLE}"

T = TypeVar("T")


class Database:
    """A database and its address for messages; every method raises a `StoreError` for whatever goes wrong with it.

    Args:
        engine: the database.
        where: its address, for people.
        file: its file, which is checked before and after everything else; None for a server.
    """

    def __init__(self, engine: Engine, where: str, file: StoreFile | None = None) -> None:
        self.engine = engine
        self.where = where
        self.file = file
        self.is_sqlite = engine.dialect.name == "sqlite"

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection to read from."""
        with store_errors(self.where):
            if self.file:
                self.file.check()
            with self.engine.connect() as connection:
                yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back by an exception."""
        with store_errors(self.where):
            if self.file:
                self.file.check()
            with self.engine.execution_options(writes=True).begin() as connection:
                yield connection
            if self.file:
                self.file.check()  # what was written to a file that is gone isn't stored
                self.file.remember_log()

    def close(self) -> None:
        """Close all connections; the next use opens new ones."""
        if self.file and self.file.moved():
            self._empty_log()
        self.engine.dispose()
        if self.file:
            self.file.forget()

    def _empty_log(self) -> None:
        """Put what stands in the log into a file that was moved, since SQLite doesn't and would look for it there."""
        with suppress(SQLAlchemyError, sqlite3.Error), self.engine.connect() as connection:
            raw = connection.connection.driver_connection
            if raw is not None:
                raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def insert_or_ignore(self, table: Table) -> Insert:
        """An insert that leaves a row with the same key as it is."""
        return self._insert(table).on_conflict_do_nothing()

    def upsert(self, table: Table) -> Insert:
        """An insert that overwrites the row with the same primary key."""
        keys = [column.name for column in table.primary_key]
        insert = self._insert(table)
        others = {c.name: insert.excluded[c.name] for c in table.columns if c.name not in keys}
        return insert.on_conflict_do_update(index_elements=keys, set_=others)

    def _insert(self, table: Table) -> postgresql.Insert | sqlite.Insert:
        return sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)

    def create_tables(self) -> None:
        """Create the tables in an empty database; leave any other as it is.

        Raises:
            StoreError: the tables are another program's, or of another version of this one.
        """
        with self.reading() as connection:
            names = inspect(connection).get_table_names()
            found = connection.execute(_VERSION).scalar() if meta.name in names else None
        if not names:
            with self.writing() as connection:
                metadata.create_all(connection)
                connection.execute(self.upsert(meta), {"key": VERSION_KEY, "value": SCHEMA_VERSION})
        elif meta.name not in names:
            raise StoreError(
                f"the database {self.where} holds tables that aren't ragtriage's: choose another place for the store"
            )
        elif found != SCHEMA_VERSION:
            raise StoreError(
                f"the store {self.where} was written by another version of ragtriage (its schema has version "
                f"{found or 'unknown'}, this program knows {SCHEMA_VERSION}): use the version that wrote it, or "
                f"{_ELSEWHERE} and evaluate anew"
            )


_VERSION = select(meta.c.value).where(meta.c.key == VERSION_KEY)


def in_chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """The items in lists of at most `IN_ONE_STATEMENT`."""
    rest = list(items)
    return (rest[start : start + IN_ONE_STATEMENT] for start in range(0, len(rest), IN_ONE_STATEMENT))


def store_address(where: str | Path | None) -> str:
    """The URL or the path of the SQLite file that was given, else that of the environment, else a folder here.

    Raises:
        ConfigError: it is the address of another kind of database, or empty.
    """
    given = str(where if where is not None else os.environ.get(VARIABLE) or FOLDER)
    if not given.removeprefix(SQLITE).strip():
        raise ConfigError(f"the store {given!r} names no place: give {KINDS_OF_STORES}")
    if given.startswith(SQLITE):
        return given.removeprefix(SQLITE)
    if "://" in given:
        if not given.startswith(("postgresql://", "postgresql+")):
            kind = given.partition("://")[0] or "it"
            raise ConfigError(
                f"the store {_without_password(given)}: {kind} is no kind of store: give {KINDS_OF_STORES}"
            )
        return given.replace("postgresql://", "postgresql+psycopg://", 1)
    path = Path(given)
    return str(path if path.is_file() or path.suffix in {".sqlite", ".db"} else path / FILE)


def open_database(address: str, *, create: bool, timeout: float = TIMEOUT, read_only: bool | None = None) -> Database:
    """Open the database at an address that `store_address` gave; its tables may not be there yet.

    Args:
        address: a URL or a path.
        create: make the folder of a SQLite file if it isn't there, with a `.gitignore`: it holds customers' texts.
        timeout: seconds to wait for another writer's transaction.
        read_only: it may only be read, as on a read-only file system; None finds out.

    Raises:
        NotStoredError: it isn't there, and isn't to be made.
        StoreError: it can't be opened.
    """
    if "://" in address:
        where = _without_password(address)
        with store_errors(where):
            return Database(_server(address, where), where)
    with store_errors(address):
        path = Path(address)
        if not path.exists():
            if not create:
                raise NotStoredError(f"there is no store at {path}: evaluate a file first, or {_ELSEWHERE}")
            made = not path.parent.is_dir()
            private_folder(path.parent)
            ignore = path.parent / ".gitignore"
            # a user's own folder is left as it is, but one of our name is ours also where it stood empty
            if (made or path.parent.name == FOLDER) and not ignore.exists():
                with open_private(ignore, "wb") as rules:
                    rules.write(b"*\n")
            private_file(path)  # SQLite gives the files beside it the same mode
        if read_only is None:
            read_only = path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        file = StoreFile(path.parent.resolve() / path.name, address)
        return Database(_embedded(file, timeout, read_only=read_only), address, file)


def _without_password(address: str) -> str:
    try:
        return make_url(address).render_as_string(hide_password=True)
    except (ArgumentError, ValueError):  # the latter where a port is no number
        return "(an address that can't be read)"


def _server(address: str, where: str) -> Engine:
    try:
        return create_engine(address, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        extra = "'ragtriage[postgresql]'" if "psycopg" in str(error.name) else str(error.name)
        raise StoreError(f"the store {where} needs a package: pip install {extra}") from error
    except (ArgumentError, ValueError) as error:
        raise ConfigError(
            f"the store's address can't be read: {where}: write it like postgresql://USER@HOST/NAME"
        ) from error


def _embedded(file: StoreFile, timeout: float, *, read_only: bool) -> Engine:
    def opened() -> sqlite3.Connection:
        # a further connection must not make an empty store where the file was deleted
        mode = "mode=ro&immutable=1" if read_only else "mode=rw" if file.opened else "mode=rwc"
        uri = f"file:{quote(str(file.path))}?{mode}"
        return sqlite3.connect(uri, uri=True, timeout=timeout, check_same_thread=False, isolation_level=None)

    engine = create_engine("sqlite://", creator=opened, poolclass=QueuePool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA foreign_keys=ON")
        if not read_only:
            connection.execute("PRAGMA journal_mode=WAL")
            # a killed process loses nothing, a power cut the last moments
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA secure_delete=ON")  # a deleted text is overwritten, not only unlinked
        if not file.opened:
            file.remember()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # the write lock is taken at the start, so that two writers wait for each other instead of failing half-way
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


@contextmanager
def store_errors(where: str) -> Iterator[None]:
    """Turn the errors of databases and files into a `StoreError` of one sentence: what, where, what to do."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StoreError(_sentence(where, error)) from error


def _sentence(where: str, error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    text = str(cause).strip().split("\n")[0]
    known = next((sentence for marks, sentence in _SENTENCES.items() if re.search(marks, text)), None)
    return known.format(where=where) if known else f"the store {where} failed: {text or type(cause).__name__}"


_SENTENCES = {
    "database or disk is full|No space left|quota exceeded": (
        "the store {where} can't grow because the disk is full; what was kept so far is safe: free some space, then "
        "give the same command again"
    ),
    "readonly database|Read-only file system|Permission denied|unable to open database file|Not a directory|"
    "File exists": f"the store {{where}} can't be written: make it writable, or {_ELSEWHERE}",
    "database is locked|table is locked": (
        "the store {where} was locked by another program for too long: wait until it ends, then give the same command "
        "again"
    ),
    "is not a database|malformed": (
        f"the file {{where}} is damaged or isn't a store of ragtriage: move it away, or {_ELSEWHERE}"
    ),
    "disk I/O error": f"the disk of the store {{where}} can't be read or written: check it, or {_ELSEWHERE}",
}
"""What a driver's message holds → what to say."""
