"""A small library in three kinds of database, with all that makes trouble: keys of two columns, odd values, NULLs."""

import sqlite3
from pathlib import Path

import pytest

from postgresql_server import new_database

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
    connection.executescript(";\n".join(statements()))
    connection.close()
    return f"sqlite:///{path}"


def library(dialect: str, folder: Path) -> str:
    """The URL of a library in one kind of database."""
    if dialect == "sqlite":
        return sqlite_library(folder / "library.sqlite")
    made = ";\n".join(statements())
    if dialect == "duckdb":
        duckdb = pytest.importorskip("duckdb", reason="DuckDB isn't installed")
        pytest.importorskip("duckdb_engine", reason="DuckDB's engine for SQLAlchemy isn't installed")
        connection = duckdb.connect(str(folder / "library.duckdb"))
        connection.execute(made)
        connection.close()
        return f"duckdb:///{folder / 'library.duckdb'}"
    psycopg = pytest.importorskip("psycopg")
    url = new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(made)
    return url
