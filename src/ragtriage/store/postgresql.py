"""What only a server does: its addresses, roles and locks, and transactions that are carried out again."""

import os
import random
import re
import time
from collections.abc import Callable
from typing import Literal, TypeVar

from sqlalchemy import URL, ColumnElement, Connection, Double, Engine, cast, create_engine, func, literal, select, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, SQLAlchemyError

from ragtriage.core.errors import ConfigError, StoreError, how_to_install

PATIENCE = 300.0
"""Seconds that a server which was there before is waited for."""

CONFLICTS = 5
"""How often a transaction that met another one is tried again."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two tries to connect; they double."""

_CONFLICT = frozenset({"40P01", "40001"})
"""SQLSTATE of a deadlock, and of transactions that can't be put into an order."""

_AWAY = frozenset({"57P01", "57P02", "57P03", "53300"})
"""SQLSTATE of a server that shuts down, crashed or starts, or has no connection left; so is all of class 08."""

_FORBIDDEN = "42501"
"""SQLSTATE of what a role may not do."""

REFUSED = (
    r"FATAL:\s+(?:.*authentication failed|role .* (?:does not exist|is not permitted)|database .* does not exist|"
    r"no pg_hba.conf entry|pg_hba.conf rejects|permission denied for database)|no password supplied|"
    r"server does not support SSL|root certificate file|certificate verify failed|server certificate"
)
"""What a server, or the client's check of it, says to an address that isn't going to be let in later either."""

T = TypeVar("T")


def lost(error: BaseException) -> bool:
    """Whether the connection was lost or couldn't be made, so that a later one may do."""
    if not isinstance(error, DBAPIError) or not type(error.orig).__module__.startswith("psycopg"):
        return False  # nothing comes back to a file by waiting
    state = _state(error)
    if state is None:  # the client's own words: nothing came from the server
        away = error.connection_invalidated or "OperationalError" in (
            kind.__name__ for kind in type(error.orig).__mro__
        )
        return away and re.search(REFUSED, str(error.orig)) is None
    return error.connection_invalidated or state in _AWAY or state.startswith("08")


def forbidden(error: BaseException) -> bool:
    """Whether the server doesn't let its user do this."""
    return isinstance(error, DBAPIError) and _state(error) == _FORBIDDEN


def _state(error: DBAPIError) -> str | None:
    return getattr(error.orig, "sqlstate", None)


class Retries:
    """Tries transactions on a server again. All of them must be harmless when they are carried out twice.

    A lost server is waited for `patience` seconds, which `told` says when that begins.
    """

    def __init__(self, patience: float = PATIENCE, told: Callable[[str], None] = lambda _: None) -> None:
        self._patience = patience
        self._told = told
        self._reached = False
        self._given_up = False

    def carry_out(self, work: Callable[[], T], *, patient: bool = True) -> T:
        """Do some work until it succeeds, or what is wrong isn't going to pass by.

        A server that was never reached isn't waited for: its address may be wrong. Neither is one that was waited for
        in vain, so that a command ends.

        A lost connection isn't waited for where nobody is `patient`, as the work is done again soon anyway.
        """
        met, since, pause = 0, None, FIRST_PAUSE
        while True:
            try:
                done = work()
            except SQLAlchemyError as error:
                if isinstance(error, DBAPIError) and _state(error) in _CONFLICT and met < CONFLICTS:
                    met += 1
                    time.sleep(random.uniform(0.0, 0.02 * 2**met))  # noqa: S311  # so that two don't meet again
                    continue
                if not (patient and self._reached and not self._given_up and lost(error)):
                    raise
                if since is None:
                    since = time.monotonic()
                    self._told(f"the connection was lost, and is tried again for {self._patience / 60:g} minutes")
                if time.monotonic() - since + pause > self._patience:
                    self._given_up = True
                    raise
                self._wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                self._reached, self._given_up = True, False
                return done

    def _wait(self, seconds: float) -> None:
        try:
            time.sleep(seconds)
        except BaseException:
            self._given_up = True  # whoever interrupts the waiting doesn't want to wait again when the store is closed
            raise


DRIVER = "postgresql+psycopg"
SCHEMA = "schema"
"""The part of an address that names the schema; the rest of what follows `?` is for the driver."""

Lock = Literal["tables", "texts", "copy", "begin"]
"""What a transaction holds to its end: the making of tables; that texts stay, or are deleted; the copying of runs; the
beginning of a run."""

_OURS = 0x72616774
"""The first half of every lock's key."""
_SHOWN = frozenset({SCHEMA, "host", "port", "dbname", "user", "service", "sslmode"})
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
    """An address that begins with `postgresql://`."""
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
    return name not in {"passfile", "sslkey"} and any(mark in name.lower() for mark in ("pass", "secret", "key"))


def schema_of(address: str) -> str | None:
    """The schema that an address names; None leaves it to the server, which takes `public` unless told otherwise."""
    named = parsed(address).query.get(SCHEMA)
    return str(named if isinstance(named, str | None) else named[-1]) if named else None


def server_engine(address: str) -> Engine:
    """The engine of a server; nothing is sent yet."""
    url, schema = parsed(address), schema_of(address)
    try:
        engine = create_engine(
            url.difference_update_query([SCHEMA]),
            pool_pre_ping=True,
            connect_args={"prepare_threshold": None, "client_encoding": "utf8", **_connecting(url)},
        )
    except ModuleNotFoundError as error:
        raise StoreError(f"the store {shown(address)} needs a package: {how_to_install('postgresql')}") from error
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
