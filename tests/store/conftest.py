"""Where the tests of the store keep theirs: in a file, and on a server."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from postgresql_server import new_schema, run_sql


class Place:
    """The address of a store, as a text, and what plain SQL finds there."""

    def __init__(self, address: str, schema: str | None = None) -> None:
        self._address = address
        self._schema = schema

    @property
    def on_server(self) -> bool:
        """Whether it is a server's."""
        return self._schema is not None

    def sql(self, statement: str, *values: Any) -> list[Any]:
        """The rows that a statement with `?` gives, committed."""
        if self._schema is not None:
            return run_sql(statement.replace("?", "%s"), values, self._schema)
        connection = sqlite3.connect(Path(self._address) / "runs.sqlite")
        with connection:
            found = connection.execute(statement, values).fetchall()
        connection.close()
        return found

    def __str__(self) -> str:
        return self._address


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    """A place for a store, of either kind of database."""
    return Place(*new_schema()) if request.param == "postgresql" else Place(str(tmp_path / "store"))


@pytest.fixture
def server_place() -> Place:
    """A place for a store on a server."""
    return Place(*new_schema())
