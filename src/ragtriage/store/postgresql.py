"""A database on a PostgreSQL server, as a team uses it: often behind a pooler, so nothing rests on a session's state.

A schema is named in the address (`?schema=search`) and written into every statement; nothing is prepared on the server.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Literal

from sqlalchemy import URL, ColumnElement, Connection, Double, Engine, cast, create_engine, func, literal, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from ragtriage.core.errors import ConfigError, StoreError

DRIVER = "postgresql+psycopg"
SCHEMA = "schema"
"""The part of an address that names the schema; the rest of what follows `?` is for the driver."""

Lock = Literal["tables", "texts", "copy", "begin"]
"""What a transaction holds to its end: the making of tables; that texts stay, or are deleted; the copying of runs; the
beginning of a run."""

_OURS = 0x72616774
"""The first half of every lock's key."""
_SHOWN = frozenset(
    f"{SCHEMA} host hostaddr port dbname user passfile service options application_name fallback_application_name "
    "connect_timeout client_encoding keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout "
    "sslmode sslnegotiation sslcompression sslcert sslkey sslcertmode sslrootcert sslcrl sslcrldir sslsni requirepeer "
    "ssl_min_protocol_version ssl_max_protocol_version channel_binding require_auth gssencmode krbsrvname gsslib "
    "gssdelegation target_session_attrs load_balance_hosts".split()
)
"""Parts of an address that messages show. Another one may be a password whose name is misspelt."""
_CONNECTING = {
    "connect_timeout": 10,
    "keepalives": 1,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""By which a connection that goes silent is noticed within a minute (libpq's names), unless the address says other."""
_HOW = "write it like postgresql://USER@HOST/NAME"


def parsed(address: str) -> URL:
    """An address that begins with `postgresql://`.

    Raises:
        ConfigError: it can't be read, or names another driver; the message shows no password.
    """
    try:
        url = make_url(address)
    except (ArgumentError, ValueError) as error:  # the latter where a port is no number
        raise ConfigError(f"the store's address can't be read: {shown(address)}: {_HOW}") from error
    return url.set(drivername=DRIVER) if url.drivername == "postgresql" else url


def shown(address: str) -> str:
    """An address for people: without a password, wherever in it one stands."""
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        return "(an address that can't be read)"
    if url.drivername == DRIVER:
        url = url.set(drivername="postgresql")
    if not url.password:
        url = URL.create(url.drivername, url.username, None, url.host, url.port, url.database, url.query)
    return url.difference_update_query(set(url.query) - _SHOWN).render_as_string(hide_password=True)


def without_password(address: str) -> str:
    """An address as it may be typed again: one of a server without its password, any other as it is."""
    if not address.startswith("postgresql"):
        return address
    url = parsed(address)
    url = URL.create("postgresql", url.username, None, url.host, url.port, url.database, url.query)
    return url.difference_update_query(filter(_secret, url.query)).render_as_string(hide_password=False)


def holds_password(address: str) -> bool:
    """Whether a password stands in an address, where others may read it."""
    url = parsed(address)
    return bool(url.password) or any(map(_secret, url.query))


def _secret(name: str) -> bool:
    """Whether a part of an address may hold a password."""
    return name not in _SHOWN and any(mark in name.lower() for mark in ("pass", "secret", "key"))


def schema_of(address: str) -> str | None:
    """The schema that an address names; None leaves it to the server, which takes `public` unless told otherwise."""
    named = parsed(address).query.get(SCHEMA)
    return str(named if isinstance(named, str | None) else named[-1]) if named else None


def server_engine(address: str) -> Engine:
    """The engine of a server; nothing is sent yet.

    Raises:
        ConfigError: the address can't be used.
        StoreError: the driver isn't installed.
    """
    url, schema = parsed(address), schema_of(address)
    try:
        engine = create_engine(
            url.difference_update_query([SCHEMA]),
            pool_pre_ping=True,
            connect_args={"prepare_threshold": None, "client_encoding": "utf8", **_connecting(url)},
        )
    except ModuleNotFoundError as error:
        raise StoreError(f"the store {shown(address)} needs a package: pip install 'ragtriage[postgresql]'") from error
    except (ArgumentError, ValueError) as error:
        raise ConfigError(f"the store's address can't be read: {shown(address)}: {_HOW}") from error
    return engine.execution_options(schema_translate_map={None: schema}) if schema else engine


def _connecting(url: URL) -> dict[str, int]:
    given = {*url.query, *(["connect_timeout"] if os.environ.get("PGCONNECT_TIMEOUT") else [])}
    return {name: value for name, value in _CONNECTING.items() if name not in given}


def server_time() -> ColumnElement[float]:
    """The server's time in seconds since 1970, as it is when a row is looked at."""
    return cast(func.extract("epoch", func.clock_timestamp()), Double)


def take_lock(connection: Connection, lock: Lock, schema: str | None, *, shared: bool = False) -> None:
    """Wait for a lock of this schema, else of the user's default, and hold it to the end of the transaction."""
    function = func.pg_advisory_xact_lock_shared if shared else func.pg_advisory_xact_lock
    own = literal(schema) if schema else func.coalesce(func.current_schema(), "")
    connection.execute(select(function(_OURS, func.hashtext(func.concat(f"{lock} ", own)))))


def has_schema(connection: Connection, schema: str) -> bool:
    """Whether there is a schema of this name."""
    found = connection.execute(text("SELECT 1 FROM pg_namespace WHERE nspname = :schema"), {"schema": schema})
    return found.first() is not None


def default_schema(connection: Connection) -> str:
    """The schema in which tables are where an address names none."""
    return str(connection.execute(select(func.coalesce(func.current_schema(), "public"))).scalar_one())


def encoding_of(connection: Connection) -> str:
    """The encoding in which the database keeps texts."""
    return str(connection.execute(text("SHOW server_encoding")).scalar_one())


def user_of(connection: Connection) -> str:
    """Who is connected."""
    return str(connection.execute(select(func.current_user())).scalar_one())


def owns(connection: Connection, table: str, schema: str | None) -> bool:
    """Whether who is connected may change how a table is made."""
    found = connection.execute(
        text(
            "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace "
            "WHERE relname = :table AND nspname = coalesce(:schema, current_schema())"
        ),
        {"table": table, "schema": schema},
    )
    return bool(found.scalar())


Told = Callable[[str], None]
"""Is called with what the user should know, a sentence."""
