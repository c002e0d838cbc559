"""A read-only database connection; every statement is limited in time and rows."""

import re
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Self, get_args
from urllib.parse import quote

from sqlalchemy import Connection, Engine, NullPool, create_engine, event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from ragtriage.core.errors import ConfigError, InputError, MissingExtraError
from ragtriage.testset.generation.schema import Dialect

SECONDS = 30.0
"""How long a statement may take."""
ROWS = 200_000
"""Rows that are fetched of one result."""
_SUFFIXES = {".duckdb": "duckdb", ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite"}
_STEPS = 10_000
"""Of SQLite's machine, between two looks at the clock."""


def address_of(url: str) -> URL:
    """A database's address from a URL, or from the path of a SQLite or DuckDB file."""
    path = Path(url)
    if "://" not in url:
        kind = _SUFFIXES.get(path.suffix.lower(), "sqlite" if path.is_file() else "")
        if not kind:
            raise ConfigError(f"{url}: give a database as a URL, for example sqlite:///{url}.sqlite or postgresql://…")
        return URL.create(kind, database=str(path))
    try:
        found = make_url(url)
    except (ArgumentError, ValueError):  # the latter where a port is no number
        raise ConfigError("the database's URL can't be read: write it as postgresql://user@host/name") from None
    kind = found.get_backend_name()
    if kind == "postgres":
        found, kind = found.set(drivername="postgresql"), "postgresql"
    if kind not in get_args(Dialect):
        raise ConfigError(f"databases of the kind {kind!r} aren't known: {', '.join(get_args(Dialect))} are")
    return found.set(drivername="postgresql+psycopg") if found.drivername == "postgresql" else found


class OpenedDatabase:
    """A database that is open for reading; use it as a context manager.

    Attributes:
        dialect: `sqlite`, `postgresql` or `duckdb`.
        shown: the address without its password.
        seconds, most_rows: what a statement may take, and how many rows are fetched of it.
        engine: SQLAlchemy's, which can't write either.
    """

    def __init__(self, url: str, seconds: float = SECONDS, most_rows: int = ROWS) -> None:
        self.seconds = seconds
        self.most_rows = most_rows
        address = address_of(url)
        self.dialect = address.get_backend_name()
        self.shown = address.render_as_string(hide_password=True)
        self.file = Path(address.database) if self.dialect != "postgresql" and address.database else None
        if self.dialect != "postgresql" and (self.file is None or not self.file.is_file()):
            raise InputError(f"{self.shown}: there is no such database file")
        self.engine = self._engine(address)
        self._connection: Connection | None = None
        self._deadline = float("inf")

    def __enter__(self) -> Self:
        with self._told_errors():
            self._connection = self.engine.connect()
        return self

    def __exit__(self, *_: object) -> None:
        if self._connection is not None:
            self._connection.close()
        self.engine.dispose()

    @property
    def connection(self) -> Connection:
        """The open connection."""
        if self._connection is None:
            raise ConfigError("the database isn't open: use it as a context manager")
        return self._connection

    def state(self) -> str:
        """What changes when a file's data changes; of a server only the address, which tells nothing of its data."""
        if self.file is None:
            return self.shown
        about = self.file.stat()
        return f"{self.shown} {about.st_size} {about.st_mtime_ns}"

    def quoted(self, name: str) -> str:
        """A name as this kind of database quotes it."""
        return self.engine.dialect.identifier_preparer.quote_identifier(name)

    def rows(
        self, sql: str, parameters: Mapping[str, Any] | None = None, limit: int | None = None
    ) -> list[tuple[Any, ...]]:
        """The rows of a SELECT, at most `limit` of them (by default the limit of all statements)."""
        given = dict(parameters or {})
        streaming = self.connection.execution_options(stream_results=True)
        with (
            self._told_errors(),
            self._limited(),
            closing(streaming.execute(text(_escaped(sql, given)), given)) as result,
        ):
            return [tuple(row) for row in result.fetchmany(self.most_rows if limit is None else limit)]

    def _engine(self, address: URL) -> Engine:
        try:
            match self.dialect:
                case "sqlite":
                    return _sqlite(address, self)
                case "duckdb":
                    return create_engine(address, poolclass=NullPool, connect_args={"read_only": True})
                case _:
                    options = f"-c default_transaction_read_only=on -c statement_timeout={int(self.seconds * 1000)}"
                    engine = create_engine(address, connect_args={"options": options})
                    return engine.execution_options(postgresql_readonly=True)
        except (ModuleNotFoundError, NoSuchModuleError) as error:
            extra = "duckdb" if self.dialect == "duckdb" else "postgresql"
            raise MissingExtraError(f"{self.dialect} databases", extra) from error

    @contextmanager
    def _limited(self) -> Iterator[None]:
        self._deadline = time.monotonic() + self.seconds
        timer = None
        if self.dialect == "duckdb":  # it has no time limit of its own
            raw: Any = self.connection.connection.dbapi_connection
            timer = threading.Timer(self.seconds, raw.interrupt)
            timer.daemon = True
            timer.start()
        try:
            yield
        finally:
            self._deadline = float("inf")
            if timer is not None:
                timer.cancel()

    def past_deadline(self) -> bool:
        """Whether the present statement has taken longer than it may."""
        return time.monotonic() > self._deadline

    @contextmanager
    def _told_errors(self) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as error:
            if self._connection is not None:
                self._connection.rollback()
            cause = cause_of(error)
            if re.search(r"interrupt|statement timeout", cause, re.IGNORECASE):
                raise InputError(
                    f"{self.shown}: a query took longer than {self.seconds:g} s: index its columns, or raise --seconds"
                ) from error
            raise InputError(f"{self.shown}: {cause}") from error


def _sqlite(address: URL, database: OpenedDatabase) -> Engine:
    file = f"file:{quote(str(Path(str(address.database)).resolve()))}"
    readable = URL.create("sqlite", database=file, query={"mode": "ro", "uri": "true"})
    engine = create_engine(readable, poolclass=NullPool, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA query_only=ON")
        # a column of text may hold bytes that aren't UTF-8
        connection.text_factory = lambda value: value.decode("utf-8", "replace")
        connection.set_progress_handler(database.past_deadline, _STEPS)

    return engine


def _escaped(sql: str, names: Mapping[str, Any]) -> str:
    """SQL for SQLAlchemy, in which only the parameters' colons mean something."""
    known = sorted(names, key=len, reverse=True)
    pattern = rf":(?!(?:{'|'.join(map(re.escape, known))})\b)" if known else ":"
    return re.sub(pattern, r"\\:", sql)


def cause_of(error: Exception) -> str:
    """What the driver says, in one line, without what SQLAlchemy puts around it."""
    return str(getattr(error, "orig", None) or error).strip().split("\n")[0]
