"""What is known of a database's structure: tables, columns and keys, and what a person calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from ragtriage.core.validation import STRICT

Dialect = Literal["sqlite", "postgresql", "duckdb"]
"""SQLAlchemy's names of databases."""
ColumnType = Literal["text", "integer", "number", "date", "datetime", "time", "boolean", "other"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    __pydantic_config__: ClassVar[Any] = STRICT
    name: str
    type: ColumnType
    words: str
    """What a person calls it ("hire date"); made from the name, and meant to be edited."""
    nullable: bool = True
    surrogate: bool = False
    """An identifier without meaning to a person: neither asked for nor asked about."""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ForeignKey:
    """Columns of a table that refer to another table's, or to its own."""

    __pydantic_config__: ClassVar[Any] = STRICT
    columns: tuple[str, ...]
    table: str
    """The table that is referred to."""
    referred: tuple[str, ...]
    """Its columns, one for each of `columns`."""
    words: str
    """What the row that is referred to is to the row that refers ("manager", "support representative")."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table."""

    __pydantic_config__: ClassVar[Any] = STRICT
    name: str
    words: str
    """What a person calls one row of it, in the singular ("album")."""
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...] = ()
    unique: tuple[tuple[str, ...], ...] = ()
    """Sets of columns whose values occur once, beside the primary key."""
    foreign_keys: tuple[ForeignKey, ...] = ()
    names: tuple[str, ...] = ()
    """The columns by which a person names a row ("first name", "last name"); empty if none does."""
    comment: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """The part of a database that questions are made from."""

    dialect: str
    """See `Dialect`."""
    tables: tuple[Table, ...]

    @property
    def by_name(self) -> dict[str, Table]:
        """Name → table."""
        return {table.name: table for table in self.tables}
