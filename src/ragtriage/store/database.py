"""One database: opening it, its transactions, and the statements that its two kinds word differently."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from sqlalchemy import (
    ARRAY,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Double,
    Engine,
    Executable,
    Float,
    Insert,
    Integer,
    LargeBinary,
    QueuePool,
    Row,
    Select,
    Table,
    Text,
    TypeDecorator,
    bindparam,
    cast,
    create_engine,
    event,
    func,
    literal,
    select,
)
from sqlalchemy.dialects import postgresql, sqlite

from ragtriage.core.errors import ConfigError, NotStoredError
from ragtriage.core.files import open_private, private_file, private_folder
from ragtriage.store.postgresql import (
    DRIVER,
    Lock,
    Retries,
    Told,
    holds_password,
    schema_of,
    server_engine,
    server_time,
    shown,
    take_lock,
)
from ragtriage.store.store_file import ELSEWHERE, VARIABLE, StoreFile, store_errors

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine


_POSTGRESQL = postgresql.dialect()  # type: ignore[no-untyped-call]  # SQLAlchemy's
_SQLITE = sqlite.dialect()


def upsert(insert: Any, table: Table, *, replace: bool) -> Any:
    """An insert of either kind of database that overwrites a row with the same primary key, or leaves it as it is."""
    keys = [column.name for column in table.primary_key]
    others = {column.name: insert.excluded[column.name] for column in table.columns if column.name not in keys}
    if replace and others:
        return insert.on_conflict_do_update(index_elements=keys, set_=others)
    return insert.on_conflict_do_nothing()


class RowInserts:
    """Inserts into a file: a prepared statement for all rows."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, bool], str] = {}

    def insert(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, replace: bool) -> None:
        """Insert rows that have all columns of the table; see `ArrayInserts.insert`."""
        statement = self._made.get((table.name, replace))
        if statement is None:
            made = upsert(sqlite.insert(table), table, replace=replace)
            statement = self._made[table.name, replace] = str(made.compile(dialect=_SQLITE))
        columns = [_stored(column, [row[column.name] for row in rows]) for column in table.columns]
        connection.exec_driver_sql(statement, list(zip(*columns, strict=True)))


def _stored(column: Column[Any], values: list[Any]) -> list[Any]:
    """The values of a column as a driver takes them."""
    kind = column.type
    return [kind.process_bind_param(value, _SQLITE) for value in values] if isinstance(kind, TypeDecorator) else values


class ArrayInserts:
    """Inserts of many rows in one short statement, each column an array: a server reads and plans it once.

    Rows are sorted by their keys, so that two writers of the same rows meet in the same order and don't deadlock.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[str, bool], Insert] = {}

    def insert(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, replace: bool) -> None:
        """Insert rows that have all columns of the table. Of rows with the same key the last counts."""
        keys = [column.name for column in table.primary_key]
        by_key = {tuple(row[name] for name in keys): row for row in rows}
        ordered = [by_key[key] for key in sorted(by_key)]
        statement = self._made.get((table.name, replace))
        if statement is None:
            statement = self._made[table.name, replace] = _from_arrays(table, replace=replace)
        values = {f"{c.name}_": _array(c, [row[c.name] for row in ordered]) for c in table.columns}
        connection.execute(statement, values)


def _array(column: Column[Any], values: Sequence[Any]) -> str:
    """An array as PostgreSQL reads it. The driver's way costs a third more of a writer's time."""
    kind = column.type
    if isinstance(kind, TypeDecorator):
        values = [kind.process_bind_param(value, _POSTGRESQL) for value in values]
        write: Callable[[Any], str] = _quoted
    else:
        write = next(write for family, write in _WRITTEN if isinstance(kind, family))
    return "{" + ",".join(["NULL" if value is None else write(value) for value in values]) + "}"


def _quoted(value: str) -> str:
    return '"' + value.replace("\\", r"\\").replace('"', r"\"") + '"'


_WRITTEN: tuple[tuple[type[TypeEngine[Any]], Callable[[Any], str]], ...] = (
    (Boolean, str),
    (Integer, lambda value: str(int(value))),
    (Float, lambda value: repr(float(value))),  # judges compute with numpy's scalars
    (LargeBinary, lambda value: r'"\\x' + value.hex() + '"'),
    (Text, _quoted),
)
"""Family of types → how a value stands in an array; `Integer` takes in those with more bits."""


def _from_arrays(table: Table, *, replace: bool) -> Insert:
    names = [column.name for column in table.columns]
    kinds = {c.name: c.type.impl_instance if isinstance(c.type, TypeDecorator) else c.type for c in table.columns}
    arrays = [cast(bindparam(f"{name}_", type_=Text), ARRAY(kind)) for name, kind in kinds.items()]
    rows = func.unnest(*arrays).table_valued(*names).render_derived()
    insert = postgresql.insert(table).from_select(names, select(*(rows.c[name] for name in names)))
    return upsert(insert, table, replace=replace)  # type: ignore[no-any-return]  # of either kind


FOLDER = ".ragtriage"
FILE = "runs.sqlite"
TIMEOUT = 10.0
"""Seconds to wait for another writer's transaction."""

PAUSE = 0.01
"""Seconds between two tries of what SQLite doesn't wait for by itself."""

IN_ONE_STATEMENT = 400
"""Keys that are looked up or deleted together."""

SQLITE = "sqlite:///"
KINDS_OF_STORES = "a folder, a file that ends in .sqlite or .db, sqlite:///FILE, or postgresql://USER@HOST/NAME"

T = TypeVar("T")


class Database:
    """A database and its address for messages; every method raises a `StoreError` for whatever goes wrong with it.

    `file` is checked before whatever is written, and None for a server. Without a `schema` the server chooses one.
    """

    def __init__(
        self,
        engine: Engine,
        where: str,
        file: StoreFile | None = None,
        schema: str | None = None,
        retries: Retries | None = None,
    ) -> None:
        self.engine = engine
        self.where = where
        self.file = file
        self.schema = schema
        self.is_sqlite = engine.dialect.name == "sqlite"
        self._retries = retries or Retries()
        self._inserts = RowInserts() if self.is_sqlite else ArrayInserts()

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction: committed at the end, rolled back by an exception, and never tried again."""
        with store_errors(self.where), self._transaction() as connection:
            yield connection

    def read(self, work: Callable[[Connection], T]) -> T:
        """What some reading gives, begun anew where the connection to a server is lost meanwhile."""

        def once() -> T:
            with self.engine.connect() as connection:
                return work(connection)

        with store_errors(self.where):
            return self._retries.carry_out(once)

    def all(self, query: Select[*tuple[Any, ...]]) -> Sequence[Row[*tuple[Any, ...]]]:
        """The rows that a query gives."""
        return self.read(lambda connection: connection.execute(query).all())

    def scalar(self, query: Select[T]) -> T | None:
        """The first column of the first row that a query gives; None without a row."""
        return self.read(lambda connection: connection.execute(query).scalar())

    def lookup(
        self, query: Select[*tuple[Any, ...]], column: ColumnElement[Any], keys: Iterable[Any]
    ) -> Iterator[Row[*tuple[Any, ...]]]:
        """The rows that a query gives with one of these keys in a column, of however many."""
        for some in in_chunks(keys):
            yield from self.all(query.where(column.in_(some)))

    def execute(self, statement: Executable, *, patient: bool = True) -> None:
        """Carry out one statement as by `write`."""
        self.write(lambda connection: connection.execute(statement), patient=patient)

    def write(self, work: Callable[[Connection], T], *, patient: bool = True) -> T:
        """Do some writing in one transaction, and again in another one where a server broke it off.

        It must be harmless when it is done twice, since a commit may have happened though nobody heard of it. A lost
        connection isn't waited for where nobody is `patient`, as it is done again soon anyway.
        """

        def once() -> T:
            with self._transaction() as connection:
                return work(connection)

        with store_errors(self.where):
            return self._retries.carry_out(once, patient=patient)

    def close(self) -> None:
        """Close all connections; the next use opens new ones."""
        self.engine.dispose()
        if self.file:
            self.file.forget()

    def upsert(self, table: Table, *, replace: bool = True) -> Insert:
        """An insert that overwrites the row with the same primary key, or leaves it as it is."""
        insert = sqlite.insert(table) if self.is_sqlite else postgresql.insert(table)
        return upsert(insert, table, replace=replace)  # type: ignore[no-any-return]  # of either kind

    def insert(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]], *, replace: bool) -> None:
        """Insert many rows, each with all columns; what has the same key is replaced, or stays."""
        if rows:
            self._inserts.insert(connection, table, rows, replace=replace)

    def time(self) -> ColumnElement[float]:
        """The time that counts for who holds what, in seconds since 1970: that of the server, if there is one."""
        return literal(time.time(), Double) if self.is_sqlite else server_time()

    def lock(self, connection: Connection, lock: Lock, *, shared: bool = False) -> None:
        """Hold a lock to the end of the transaction; one that writes to a file holds the whole file anyway."""
        if not self.is_sqlite:
            take_lock(connection, lock, self.schema, shared=shared)

    def named(self, name: str) -> str:
        """A table or a function as it is written in what the driver gets as it is (`exec_driver_sql`)."""
        return f"{self.quoted(self.schema)}.{self.quoted(name)}" if self.schema else self.quoted(name)

    def quoted(self, name: str) -> str:
        """Any name as it is written in what the driver gets as it is (`exec_driver_sql`)."""
        return self.engine.dialect.identifier_preparer.quote_identifier(name)

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        if self.file:
            self.file.check()
        with self.engine.execution_options(writes=True).begin() as connection:
            yield connection


def in_chunks(items: Iterable[T]) -> Iterator[list[T]]:
    """The items in lists of at most `IN_ONE_STATEMENT`."""
    rest = list(items)
    return (rest[start : start + IN_ONE_STATEMENT] for start in range(0, len(rest), IN_ONE_STATEMENT))


def store_address(where: str | Path | None) -> str:
    """The URL or the path of the SQLite file that was given, else that of the environment, else a folder here."""
    given = str(where if where is not None else os.environ.get(VARIABLE) or FOLDER)
    if not given.removeprefix(SQLITE).strip():
        raise ConfigError(f"the store {given!r} names no place: give {KINDS_OF_STORES}")
    if given.startswith(SQLITE):
        return given.removeprefix(SQLITE)
    if "://" in given:
        kind = given.partition("://")[0]
        if kind not in ("postgresql", DRIVER):
            raise ConfigError(f"the store {shown(given)}: {kind or 'it'} is no kind of store: give {KINDS_OF_STORES}")
        return given.replace("postgresql://", f"{DRIVER}://", 1)
    path = Path(given)
    return str(path if path.is_file() or path.suffix in {".sqlite", ".db"} else path / FILE)


def open_database(
    address: str,
    *,
    create: bool,
    timeout: float = TIMEOUT,
    read_only: bool | None = None,
    retries: Retries | None = None,
    told: Told = lambda _: None,
) -> Database:
    """Open the database at an address that `store_address` gave; its tables may not be there yet.

    Where it isn't there, `create` makes its folder, with a `.gitignore`, since it holds customers' texts. `timeout` are
    seconds to wait for another writer's transaction; whether it can only be read is found out where `read_only` is
    None.
    """
    if "://" in address:
        where = shown(address)
        with store_errors(where):
            database = Database(server_engine(address), where, None, schema_of(address), retries or Retries(told=told))
        if holds_password(address):
            told("note: the store's address holds a password, which others may see: use ~/.pgpass or PGPASSWORD")
        return database
    with store_errors(address):
        path = Path(address)
        if not path.exists():
            if not create:
                raise NotStoredError(f"there is no store at {path}: evaluate a file first, or {ELSEWHERE}")
            made = not path.parent.is_dir()
            private_folder(path.parent)
            ignore = path.parent / ".gitignore"
            # a user's own folder is left as it is, but one of our name is ours also where it stood empty
            if (made or path.parent.name == FOLDER) and not ignore.exists():
                with open_private(ignore) as rules:
                    rules.write(b"*\n")
            private_file(path)  # SQLite gives the files beside it the same mode
        if read_only is None:
            read_only = path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))
        file = StoreFile(path.parent.resolve() / path.name, address)
        return Database(_embedded(file, timeout, read_only=read_only), address, file)


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
            _write_ahead(connection, timeout)
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


def _write_ahead(connection: sqlite3.Connection, timeout: float) -> None:
    """Make a file use a log; where another program does the same at this moment, SQLite doesn't wait by itself."""
    until = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(PAUSE)
        else:
            return
