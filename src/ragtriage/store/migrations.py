"""The version of the tables, and the way from every earlier version to this one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sqlalchemy import Connection, Engine, inspect, select

from ragtriage.core.errors import StoreError
from ragtriage.store.connection import reading, replacing, writing
from ragtriage.store.schema import VERSION_KEY, meta, metadata

Migration = Callable[[Connection], None]
"""Changes the tables of one version into those of the next, inside a transaction."""


def _to_second(connection: Connection) -> None:
    """Requests and tokens of runs, repeated runs, the request that an answer travelled in, tickets."""
    for name in ("requests", "tokens_in", "tokens_out", "trial"):
        connection.exec_driver_sql(f"ALTER TABLE runs ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")
    connection.exec_driver_sql("ALTER TABLE runs ADD COLUMN repeats INTEGER")
    connection.exec_driver_sql("ALTER TABLE answers ADD COLUMN batch TEXT")
    blob = "BYTEA" if connection.dialect.name == "postgresql" else "BLOB"
    connection.exec_driver_sql(
        f"CREATE TABLE tickets (key {blob} NOT NULL, fingerprint TEXT NOT NULL, batch TEXT NOT NULL, "
        f"submitted FLOAT NOT NULL, PRIMARY KEY (key))"
    )


MIGRATIONS: tuple[Migration, ...] = (_to_second,)
"""The function at place i leads from version i + 1 to version i + 2; a release never changes an earlier one."""


def prepare(engine: Engine, where: str, migrations: Sequence[Migration] = MIGRATIONS) -> int:
    """Bring the tables to the version that this program knows, creating them in an empty database.

    Each step is a transaction of its own, so that a kill between two steps leaves a version that is whole.

    Returns:
        The version, at least 1.

    Raises:
        StoreError: the tables were written by a newer program, the database holds something else, or can't be used.
    """
    newest = 1 + len(migrations)
    found = version(engine, where)
    if found is None:
        with writing(engine, where) as connection:
            metadata.create_all(connection)
            _mark(connection, newest)
        return newest
    if found > newest:
        raise StoreError(
            f"the store {where} was written by a newer ragtriage (its schema has version {found}, this program knows "
            f"{newest}): update ragtriage"
        )
    for earlier in range(found, newest):
        with writing(engine, where) as connection:
            if _version(connection) == earlier:  # else another process was quicker
                migrations[earlier - 1](connection)
                _mark(connection, earlier + 1)
    return newest


def version(engine: Engine, where: str) -> int | None:
    """The version of the tables, None if the database is empty.

    Raises:
        StoreError: it holds tables, but not this program's.
    """
    with reading(engine, where) as connection:
        names = inspect(connection).get_table_names()
        if not names:
            return None
        found = _version(connection) if meta.name in names else None
    if found is None:
        raise StoreError(
            f"the database {where} holds tables that aren't ragtriage's: choose another place for the store"
        )
    return found


def _version(connection: Connection) -> int | None:
    value = connection.execute(select(meta.c.value).where(meta.c.key == VERSION_KEY)).scalar()
    return int(value) if value and value.isdigit() else None


def _mark(connection: Connection, number: int) -> None:
    connection.execute(replacing(connection.engine, meta), {"key": VERSION_KEY, "value": str(number)})
