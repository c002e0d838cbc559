"""Opening a database, and saying in one sentence what is wrong with it."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Insert, QueuePool, Table, create_engine, event
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from ragtriage.core.errors import NotStoredError, StoreError

FOLDER = ".ragtriage"
FILE = "runs.sqlite"
VARIABLE = "RAGTRIAGE_STORE"
WAIT = 10.0
"""Seconds to wait for another writer's transaction."""

_ELSEWHERE = f"choose another place with --store or {VARIABLE}"


def place(where: str | Path | None) -> str:
    """The address of the database: what was given, else the environment's, else a folder here.

    Returns:
        A URL (`postgresql://…`, `sqlite:///…`), or the path of a SQLite file.
    """
    given = str(where if where is not None else os.environ.get(VARIABLE) or FOLDER)
    if "://" in given:
        if given.startswith("sqlite:///"):
            return given.removeprefix("sqlite:///")
        return given.replace("postgresql://", "postgresql+psycopg://", 1)
    path = Path(given)
    return str(path if path.is_file() or path.suffix in {".sqlite", ".db"} else path / FILE)


def shown(address: str) -> str:
    """The address as people may see it: without a password."""
    if "://" not in address:
        return address
    try:
        return make_url(address).render_as_string(hide_password=True)
    except ArgumentError:
        return "(an address that can't be read)"


def connect(address: str, *, create: bool, wait: float = WAIT, fixed: bool | None = None) -> Engine:
    """Open the database at an address that `place` gave.

    Args:
        address: URL or path.
        create: make the folder of a SQLite file if it isn't there, with a `.gitignore`: it holds customers' texts.
        wait: seconds to wait for another writer's transaction.
        fixed: it may only be read, as on a read-only file system; None finds out.

    Raises:
        NotStoredError: it isn't there, and isn't to be made.
        StoreError: it can't be opened.
    """
    with speaking(shown(address)):
        if "://" in address:
            return _server(address)
        path = Path(address)
        if not path.exists():
            if not create:
                raise NotStoredError(f"there is no store at {path}: evaluate a file first, or {_ELSEWHERE}")
            made = not path.parent.is_dir()
            path.parent.mkdir(parents=True, exist_ok=True)
            ignore = path.parent / ".gitignore"
            # a user's own folder is left as it is, but one of our name is ours also where it stood empty
            if (made or path.parent.name == FOLDER) and not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
        may_not = path.exists() and not _writable(path) if fixed is None else fixed
        return _embedded(path, wait, fixed=may_not)


def _server(address: str) -> Engine:
    try:
        return create_engine(address, pool_pre_ping=True)
    except ModuleNotFoundError as error:
        extra = "'ragtriage[postgresql]'" if "psycopg" in str(error.name) else str(error.name)
        raise StoreError(f"the store {shown(address)} needs a package: pip install {extra}") from error
    except ArgumentError as error:
        raise StoreError(f"this store's address can't be read: {shown(address)}") from error


def _embedded(path: Path, wait: float, *, fixed: bool) -> Engine:
    folder = path.parent.resolve()
    mode = "mode=ro&immutable=1" if fixed else "mode=rwc"

    def opened() -> sqlite3.Connection:
        uri = f"file:{quote(str(folder / path.name))}?{mode}"
        return sqlite3.connect(uri, uri=True, timeout=wait, check_same_thread=False, isolation_level=None)

    engine = create_engine("sqlite://", creator=opened, poolclass=QueuePool)

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA foreign_keys=ON")
        if not fixed:
            cursor.execute("PRAGMA journal_mode=WAL")
            cursor.execute("PRAGMA synchronous=NORMAL")  # a killed process loses nothing, a power cut the last moments
            cursor.execute("PRAGMA secure_delete=ON")  # a deleted text is overwritten, not only unlinked
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        # the write lock is taken at the start, so that two writers wait for each other instead of failing half-way
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _writable(path: Path) -> bool:
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


@contextmanager
def reading(engine: Engine, where: str) -> Iterator[Connection]:
    """A connection to read from; what goes wrong becomes a `StoreError`."""
    with speaking(where), engine.connect() as connection:
        yield connection


@contextmanager
def writing(engine: Engine, where: str) -> Iterator[Connection]:
    """One transaction: committed at the end, rolled back by an exception; what goes wrong becomes a `StoreError`."""
    with speaking(where), engine.execution_options(writes=True).begin() as connection:
        yield connection


def inserting(engine: Engine, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert of this database's dialect, which can say what to do about a row that is there already."""
    return postgresql.insert(table) if engine.dialect.name == "postgresql" else sqlite.insert(table)


def unless_there(engine: Engine, table: Table) -> Insert:
    """An insert that leaves a row with the same key as it is."""
    return inserting(engine, table).on_conflict_do_nothing()


def replacing(engine: Engine, table: Table) -> Insert:
    """An insert that overwrites the row with the same primary key."""
    keys = [column.name for column in table.primary_key]
    insert = inserting(engine, table)
    return insert.on_conflict_do_update(
        index_elements=keys, set_={c.name: insert.excluded[c.name] for c in table.columns if c.name not in keys}
    )


@contextmanager
def speaking(where: str) -> Iterator[None]:
    """Turn the errors of databases and files into one sentence: what, where, what to do."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OSError) as error:
        raise StoreError(_sentence(where, error)) from error


def _sentence(where: str, error: Exception) -> str:
    cause = getattr(error, "orig", None) or error
    text = str(cause).strip().split("\n")[0]
    for mark, sentence in _SENTENCES:
        if mark in text:
            return sentence.format(where=where)
    return f"the store {where} failed: {text or type(cause).__name__}"


_FULL = (
    "the store {where} can't grow because the disk is full; what was kept so far is safe: free some space, then give "
    "the same command again"
)
_FIXED = f"the store {{where}} can't be written: make it writable, or {_ELSEWHERE}"
_LOCKED = (
    "the store {where} was locked by another program for too long: wait until it ends, then give the same command again"
)
_DAMAGED = f"the file {{where}} is damaged or isn't a store of ragtriage: move it away, or {_ELSEWHERE}"
_BROKEN = f"the disk of the store {{where}} can't be read or written: check it, or {_ELSEWHERE}"

_SENTENCES = (
    ("database or disk is full", _FULL),
    ("No space left", _FULL),
    ("quota exceeded", _FULL),
    ("readonly database", _FIXED),
    ("Read-only file system", _FIXED),
    ("Permission denied", _FIXED),
    ("unable to open database file", _FIXED),
    ("Not a directory", _FIXED),
    ("File exists", _FIXED),
    ("database is locked", _LOCKED),
    ("table is locked", _LOCKED),
    ("is not a database", _DAMAGED),
    ("malformed", _DAMAGED),
    ("disk I/O error", _BROKEN),
)
"""What a driver's message holds → what to say."""
