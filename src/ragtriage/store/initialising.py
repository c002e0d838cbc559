"""Making a store before it is used, which a server's owner does."""

from __future__ import annotations

from ragtriage.store.database import open_database, store_address
from ragtriage.store.migrations import prepare
from ragtriage.store.postgresql import Told, default_schema


def initialise_store(where: str, told: Told = lambda _: None) -> str:
    """Make a store's tables, and on a server its schema, which nothing else makes.

    Args:
        where: as in `open_store`.
        told: is called with what the user should know.

    Returns:
        The version of the tables that was found, empty where there were none.

    Raises:
        ConfigError: a server's database can't hold every text.
        StoreError: this user may not make them, or they are another program's.
    """
    database = open_database(store_address(where), create=True, told=told)
    try:
        return prepare(database, initialise=True, told=told)
    finally:
        database.close()


def schema_in_use(where: str) -> str:
    """The schema of a server in which a store's tables are: the one that its URL names, else the user's default.

    Raises:
        StoreError: the server can't be reached.
    """
    database = open_database(store_address(where), create=False)
    try:
        return database.schema or database.read(default_schema)
    finally:
        database.close()
