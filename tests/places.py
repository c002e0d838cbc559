"""Where a test keeps a store: in a file, or on a server; and what plain SQL finds there."""

import sqlite3
from pathlib import Path
from typing import Any

from postgresql_server import run_sql


class Place:
    """The address of a store, as a text, and what plain SQL finds there."""

    def __init__(self, address: str, schema: str | None = None) -> None:
        self._address = address
        self.schema = schema

    @property
    def on_server(self) -> bool:
        """Whether it is a server's."""
        return self.schema is not None

    def sql(self, statement: str, *values: Any) -> list[Any]:
        """The rows that a statement with `?` gives, committed."""
        if self.schema is not None:
            return run_sql(statement.replace("?", "%s") if values else statement, values, self.schema)
        connection = sqlite3.connect(Path(self._address) / "runs.sqlite")
        with connection:
            found = connection.execute(statement, values).fetchall()
        connection.close()
        return found

    def columns(self, table: str) -> list[str]:
        """The names of a table's columns, in their order."""
        if self.schema is None:
            return [name for (name,) in self.sql(f"SELECT name FROM pragma_table_info('{table}')")]
        columns = "SELECT column_name FROM information_schema.columns WHERE (table_schema, table_name) = (?, ?) "
        return [name for (name,) in self.sql(f"{columns}ORDER BY ordinal_position", self.schema, table)]

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table by the names of their columns; true and false as 1 and 0."""
        names = self.columns(table)
        quoted = ", ".join(f'"{name}"' for name in names)
        return [
            {name: int(v) if isinstance(v, bool) else v for name, v in zip(names, row, strict=True)}
            for row in self.sql(f"SELECT {quoted} FROM {table}")
        ]

    def holds(self, word: str) -> bool:
        """Whether a word stands somewhere in it: in any file, or in any row of any table."""
        if self.schema is None:
            return any(word.encode() in path.read_bytes() for path in Path(self._address).iterdir())
        tables = run_sql("SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (self.schema,))
        return any(
            run_sql(f"SELECT 1 FROM {self.schema}.{table} t WHERE t::text LIKE %s", (f"%{word}%",))
            for (table,) in tables
        )

    def __str__(self) -> str:
        return self._address


def older(place: Place) -> Place:
    """A store as version 2 of the tables was written: two runs, the second interrupted, answers and a ticket."""
    kind = "postgresql" if place.on_server else "sqlite"
    script = (Path(__file__).parent / "store" / f"version_2.{kind}.sql").read_text("utf-8")
    if place.on_server:
        place.sql(script.replace("{schema}", str(place.schema)))
    else:
        Path(str(place)).mkdir()
        connection = sqlite3.connect(Path(str(place)) / "runs.sqlite")
        connection.executescript(script)
        connection.close()
    return place
