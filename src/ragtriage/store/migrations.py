"""The tables of a store: made where there are none, brought from version to version, and the roles of a server.

All of a migration is one transaction that holds a lock, so that of several first starts one makes the tables and the
others find them. On a server only the owner of the tables may change them; everybody else is told to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, inspect, select, text

from ragtriage.core.errors import ConfigError, NotStoredError, StoreError
from ragtriage.store.database import Database, open_database, store_address
from ragtriage.store.postgresql import Told, default_schema, encoding_of, has_schema, owns, user_of
from ragtriage.store.schema import (
    SCHEMA_VERSION,
    VERSION_KEY,
    alarms,
    answers,
    case_texts,
    cases,
    claims,
    detectors,
    judged,
    meta,
    metadata,
    outbox,
    readings,
    rejected,
    runs,
    scores,
    tickets,
    watches,
    windows,
)
from ragtriage.store.schema import texts as texts_table
from ragtriage.store.store_file import ELSEWHERE

if TYPE_CHECKING:
    from sqlalchemy import Table


Migration = Callable[[Connection], None]


def prepare(database: Database, *, initialise: bool = False, told: Told = lambda _: None) -> str:
    """Make the tables in an empty database, or bring those of an earlier version up to date.

    With `initialise` the schema of a server is made too. Gives the version that was found, empty where there were no
    tables.
    """
    if not initialise:
        found = database.read(lambda connection: _version(connection, database))
        if found == SCHEMA_VERSION:
            return found
    return database.write(lambda connection: _prepare(connection, database, initialise=initialise, told=told))


def _prepare(connection: Connection, database: Database, *, initialise: bool, told: Told) -> str:
    database.lock(connection, "tables")
    if not database.is_sqlite and (encoding := encoding_of(connection)) != "UTF8":
        raise ConfigError(
            f"the database {database.where} has the encoding {encoding}, which can't hold every text: make one with "
            "ENCODING 'UTF8' TEMPLATE template0"
        )
    if initialise and database.schema and not has_schema(connection, database.schema):
        connection.exec_driver_sql(f"CREATE SCHEMA {database.quoted(database.schema)}")
    found = _version(connection, database)
    if found is None:
        _require_create(connection, database)
        metadata.create_all(connection)
        if not database.is_sqlite:
            _make_forget_texts(connection, database)
        connection.execute(database.upsert(meta), {"key": VERSION_KEY, "value": SCHEMA_VERSION})
        return ""
    if found == SCHEMA_VERSION:
        return found
    if found not in MIGRATIONS:
        raise StoreError(
            f"the store {database.where} was written by another version of ragtriage (its schema has version "
            f"{found or 'unknown'}, this program knows {SCHEMA_VERSION}): use the version that wrote it, or "
            f"{ELSEWHERE} and evaluate anew"
        )
    if not database.is_sqlite and not owns(connection, meta.name, database.schema):
        raise StoreError(
            f"the store {database.where} has tables of version {found}, this program needs version {SCHEMA_VERSION}, "
            f"and {user_of(connection)} may not change them: ask the owner: ragtriage store migrate"
        )
    told(f"bringing the store {database.where} from version {found} to {SCHEMA_VERSION}")
    for version in range(int(found), int(SCHEMA_VERSION)):
        MIGRATIONS[str(version)](connection)
    connection.execute(database.upsert(meta), {"key": VERSION_KEY, "value": SCHEMA_VERSION})
    return found


def _version(connection: Connection, database: Database) -> str | None:
    """The version of the tables, empty where it is unknown; None where there are no tables."""
    if database.schema and not has_schema(connection, database.schema):
        raise NotStoredError(
            f"there is no schema {database.schema!r} in {database.where}: make it with ragtriage store init, or give "
            "another one"
        )
    names = inspect(connection).get_table_names(schema=database.schema)
    if not names:
        return None
    if meta.name not in names:
        raise StoreError(
            f"the database {database.where} holds tables that aren't ragtriage's: choose another place for the store"
        )
    return connection.execute(select(meta.c.value).where(meta.c.key == VERSION_KEY)).scalar() or ""


def _require_create(connection: Connection, database: Database) -> None:
    """Refuse to make tables where this user may not, with what to do."""
    if database.is_sqlite:
        return
    may = text("SELECT has_schema_privilege(coalesce(:schema, current_schema()), 'CREATE')")
    if not connection.execute(may, {"schema": database.schema}).scalar():
        raise StoreError(
            f"the store {database.where} has no tables yet, and {user_of(connection)} may not make them: ask the owner "
            "of the database: ragtriage store init"
        )


def require_owner(database: Database) -> None:
    """Let only the owner of a server's tables delete runs; everybody may with a file."""

    def refused(connection: Connection) -> str | None:
        return None if owns(connection, meta.name, database.schema) else user_of(connection)

    user = None if database.is_sqlite else database.read(refused)
    if user is not None:
        raise StoreError(
            f"only the owner of the tables of {database.where} may delete runs: ask the owner ({user} isn't)"
        )


def _to_version_3(connection: Connection) -> None:
    """Windows of a watch, its detectors and alarms; what became of scores that were sent to other tools."""
    metadata.create_all(connection, [watches, windows, judged, detectors, alarms, outbox])


def _make_forget_texts(connection: Connection, database: Database) -> None:
    """The one way in which a writer of a server store may delete texts and answers: those that nobody holds any more.

    It runs with the rights of the tables' owner, in this schema alone, and only for whom it is granted to.
    """
    schema = database.quoted(database.schema or connection.execute(select(func.current_schema())).scalar_one())
    function = f"{schema}.forget_texts"
    body = (  # no value of anybody's stands in it, only names that are quoted
        f"DELETE FROM {schema}.answers WHERE key = ANY (keys); "  # noqa: S608  # see above
        f"DELETE FROM {schema}.texts t WHERE unheld AND NOT EXISTS "  # see above
        f"(SELECT FROM {schema}.case_texts c WHERE c.hash = t.hash)"
    )
    made = f"CREATE OR REPLACE FUNCTION {function}(keys bytea[], unheld boolean) RETURNS void LANGUAGE sql "
    connection.exec_driver_sql(
        f"{made} SECURITY DEFINER SET search_path = {schema}, pg_temp AS $forget$ {body} $forget$"
    )
    connection.exec_driver_sql(f"REVOKE ALL ON FUNCTION {function}(bytea[], boolean) FROM PUBLIC")


MIGRATIONS: Mapping[str, Migration] = {"2": _to_version_3}
"""The versions that can be brought up to date → what leads to the next one."""


def initialise_store(where: str, told: Told = lambda _: None) -> str:
    """Make a store's tables, and on a server its schema, which nothing else makes.

    Gives the version of the tables that was found, empty where there were none.
    """
    database = open_database(store_address(where), create=True, told=told)
    try:
        return prepare(database, initialise=True, told=told)
    finally:
        database.close()


def schema_in_use(where: str) -> str:
    """The schema of a server in which a store's tables are: the one that its URL names, else the user's default."""
    database = open_database(store_address(where), create=False)
    try:
        return database.schema or database.read(default_schema)
    finally:
        database.close()


NUMBERS, READER, WRITER = "ragtriage_numbers", "ragtriage_reader", "ragtriage_writer"

HIDDEN = (texts_table, case_texts, answers)
"""Tables that hold what customers wrote; who may see numbers alone sees nothing of them."""

HIDDEN_COLUMNS = {cases.name: {"steps"}, readings.name: {"head"}, rejected.name: {"reason"}, scores.name: {"reason"}}
"""The same by column, of tables that hold numbers beside it. A reason may quote a case."""

DELETED_FROM = (claims, tickets, meta, detectors)
"""Tables of which a writer deletes rows itself: locks, tickets, notes and what a new baseline replaces, which hold no
text and no result."""


def roles_sql(schema: str) -> str:
    """The statements that make three roles and give them their rights in a schema; they may be run again.

    - `ragtriage_numbers` reads everything but what customers wrote;
    - `ragtriage_reader` reads everything;
    - `ragtriage_writer` reads, inserts and updates, and deletes texts and answers only through `forget_texts`.
    """
    inside = _quoted(schema)
    tables = [f"{inside}.{_quoted(table.name)}" for table in metadata.sorted_tables]
    lines = ["-- Three roles for a store of ragtriage. Run this as the owner of the tables, then give people one:"]
    lines += [f"--   GRANT {WRITER} TO anna;", ""]
    for role in (NUMBERS, READER, WRITER):
        lines.append(f"DO $$ BEGIN CREATE ROLE {role} NOLOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;")
    lines.append(f"GRANT USAGE ON SCHEMA {inside} TO {NUMBERS}, {READER}, {WRITER};")
    lines += [f"GRANT SELECT ON {table} TO {READER}, {WRITER};" for table in tables]
    lines += [f"GRANT SELECT {_shown(table)}ON {inside}.{_quoted(table.name)} TO {NUMBERS};" for table in _numbers()]
    lines += [f"GRANT INSERT, UPDATE ON {table} TO {WRITER};" for table in tables]
    lines += [f"GRANT DELETE ON {inside}.{_quoted(table.name)} TO {WRITER};" for table in DELETED_FROM]
    lines.append(f"GRANT USAGE ON SEQUENCE {inside}.{_quoted(f'{runs.name}_number_seq')} TO {WRITER};")
    lines.append(f"GRANT EXECUTE ON FUNCTION {inside}.forget_texts(bytea[], boolean) TO {WRITER};")
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _numbers() -> list[Table]:
    return [table for table in metadata.sorted_tables if table not in HIDDEN]


def _shown(table: Table) -> str:
    """The columns that may be read, in brackets, where some may not."""
    hidden = HIDDEN_COLUMNS.get(table.name)
    if not hidden:
        return ""
    shown = ", ".join(f'"{column.name}"' for column in table.columns if column.name not in hidden)
    return f"({shown}) "
