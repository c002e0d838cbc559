"""A database's structure as a `Schema`: what it declares, and the words that a person would use for it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Inspector, inspect
from sqlalchemy import types as sa
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.testset.generation.database import Database, cause_of
from ragtriage.testset.generation.display_names import (
    column_words,
    is_identifier_name,
    naming_columns,
    reference_words,
    words_of,
)
from ragtriage.testset.generation.english import singular
from ragtriage.testset.generation.schema import Column, ColumnType, ForeignKey, Schema, Table

_TYPES: tuple[tuple[type[Any], ColumnType], ...] = (
    (sa.Boolean, "boolean"),
    (sa.Integer, "integer"),
    (sa.Numeric, "number"),
    (sa.DateTime, "datetime"),
    (sa.Date, "date"),
    (sa.Time, "time"),
    (sa.String, "text"),
)
_DUCKDB: Mapping[str, ColumnType] = {
    "BOOLEAN": "boolean", "TINYINT": "integer", "SMALLINT": "integer", "INTEGER": "integer", "BIGINT": "integer",
    "HUGEINT": "integer", "UTINYINT": "integer", "USMALLINT": "integer", "UINTEGER": "integer", "UBIGINT": "integer",
    "DECIMAL": "number", "FLOAT": "number", "DOUBLE": "number", "DATE": "date", "TIME": "time", "VARCHAR": "text",
    "TIMESTAMP": "datetime", "TIMESTAMP WITH TIME ZONE": "datetime", "ENUM": "text",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Reflection:
    """A schema, and what a reader should know of it."""

    schema: Schema
    notes: tuple[str, ...]


def reflect(database: Database, tables: Collection[str] = (), exclude: Collection[str] = ()) -> Reflection:
    """The structure of an open database.

    Args:
        database: what to look at.
        tables: only these; empty takes all.
        exclude: tables, and columns as `table.column`, to leave out.

    Raises:
        ConfigError: a table or column that is named isn't there.
        InputError: there is no table, or the database can't be read.
    """
    try:
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", SAWarning)
            declared = _duckdb(database) if database.dialect == "duckdb" else _reflected(database)
    except SQLAlchemyError as error:
        raise InputError(f"{database.shown}: {cause_of(error)}") from error
    if not declared:
        raise InputError(f"{database.shown}: has no table")
    _check_names(declared, tables, exclude)
    kept = {name: one for name, one in declared.items() if (not tables or name in tables) and name not in exclude}
    notes = [f"{database.shown}: {str(one.message).removeprefix('WARNING: ')}" for one in warned]
    made = tuple(_table(one, kept, exclude, notes) for one in kept.values())
    if len(made) > 1 and not any(table.foreign_keys for table in made):
        notes.append(
            "no foreign keys are declared, so no tables are joined: add them under foreign_keys in the schema's file"
        )
    named = tuple(replace(table, names=naming_columns(table, database)) for table in made)
    unnamed = [table.name for table in named if not table.names]
    if unnamed:
        notes.append(
            f"no column names a row of {_some(unnamed)}: they are asked about through the tables they refer to; "
            "write names in the schema's file where there are any"
        )
    return Reflection(Schema(database.dialect, named), tuple(notes))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _check_names(declared: Mapping[str, Table], tables: Collection[str], exclude: Collection[str]) -> None:
    columns = {f"{table.name}.{column.name}" for table in declared.values() for column in table.columns}
    for flag, given, known in (("--tables", tables, set(declared)), ("--exclude", exclude, columns | set(declared))):
        for name in given:
            if name not in known:
                raise ConfigError(f"{flag} {name}: there is no such thing; the tables are {_some(sorted(declared))}")


def _reflected(database: Database) -> dict[str, Table]:
    """Tables without words, through SQLAlchemy's inspector."""
    inspector = inspect(database.connection)
    names = sorted(name for name in inspector.get_table_names() if not name.startswith("sqlite_"))
    sqlite = database.dialect == "sqlite"
    inline = _sqlite_unique(database) if sqlite else {}
    return {
        name: Table(
            name,
            "",
            columns=tuple(
                Column(
                    c["name"],
                    _type_of(c["type"]),
                    "",
                    nullable=bool(c.get("nullable", True)),
                    comment=str(c.get("comment") or ""),
                )
                for c in inspector.get_columns(name)
            ),
            primary_key=tuple(inspector.get_pk_constraint(name)["constrained_columns"]),
            unique=tuple(dict.fromkeys([*_unique(inspector, name, database.dialect), *inline.get(name, ())])),
            foreign_keys=tuple(
                ForeignKey(tuple(fk["constrained_columns"]), fk["referred_table"], tuple(fk["referred_columns"]), "")
                for fk in inspector.get_foreign_keys(name)
                if fk["referred_schema"] is None
            ),
            comment="" if sqlite else str(inspector.get_table_comment(name)["text"] or ""),
        )
        for name in names
    }


def _unique(inspector: Inspector, table: str, dialect: str) -> Iterator[tuple[str, ...]]:
    """The columns of unique constraints, and of unique indexes that hold for all rows."""
    for constraint in inspector.get_unique_constraints(table):
        yield tuple(constraint["column_names"])
    for index in inspector.get_indexes(table):
        partial = index.get("dialect_options", {}).get(f"{dialect}_where")
        if index["unique"] and not partial and all(index["column_names"]):
            yield tuple(str(column) for column in index["column_names"])


def _sqlite_unique(database: Database) -> dict[str, list[tuple[str, ...]]]:
    """What is declared UNIQUE behind a column, which SQLAlchemy's inspector only finds for types without a length."""
    rows = database.rows(
        "SELECT t.name, i.name, c.name FROM sqlite_master t, pragma_index_list(t.name) i, pragma_index_info(i.name) c "
        "WHERE t.type = 'table' AND i.\"unique\" AND NOT i.partial AND i.origin <> 'pk' ORDER BY 1, 2, c.seqno"
    )
    indexes: dict[tuple[str, str], list[str]] = {}
    for table, index, column in rows:
        indexes.setdefault((table, index), []).append(column)
    found: dict[str, list[tuple[str, ...]]] = {}
    for (table, _), columns in indexes.items():
        if all(columns):
            found.setdefault(table, []).append(tuple(columns))
    return found


def _duckdb(database: Database) -> dict[str, Table]:
    """From DuckDB's own catalogue: SQLAlchemy's inspector asks for PostgreSQL's, which DuckDB has in part only."""
    here = "database_name = current_database() AND schema_name = current_schema()"
    comments = dict(database.rows(f"SELECT table_name, comment FROM duckdb_tables() WHERE {here} ORDER BY 1"))  # noqa: S608  # a constant
    columns = database.rows(
        f"SELECT table_name, column_name, data_type, is_nullable, comment FROM duckdb_columns() WHERE {here} "  # noqa: S608  # a constant
        "ORDER BY table_name, column_index"
    )
    constraints = database.rows(
        "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names "  # noqa: S608  # a constant
        f"FROM duckdb_constraints() WHERE {here} ORDER BY table_name, constraint_index"
    )

    def declared(table: str, kind: str) -> list[tuple[tuple[str, ...], str, tuple[str, ...]]]:
        """Columns, and what they refer to, of each constraint of a kind."""
        return [
            (tuple(own), other, tuple(referred))
            for name, of, own, other, referred in constraints
            if (name, of) == (table, kind)
        ]

    return {
        name: Table(
            name,
            "",
            columns=tuple(
                Column(column, _DUCKDB.get(kind.split("(")[0], "other"), "", bool(nullable), comment=about or "")
                for table, column, kind, nullable, about in columns
                if table == name
            ),
            primary_key=next((own for own, *_ in declared(name, "PRIMARY KEY")), ()),
            unique=tuple(dict.fromkeys(own for own, *_ in declared(name, "UNIQUE"))),
            foreign_keys=tuple(
                ForeignKey(own, other, referred, "")
                for own, other, referred in dict.fromkeys(declared(name, "FOREIGN KEY"))
            ),
            comment=comment or "",
        )
        for name, comment in comments.items()
    }


def _type_of(kind: Any) -> ColumnType:
    if isinstance(kind, sa.NullType):
        return "text"  # SQLite's columns without a type
    if isinstance(kind, sa.Uuid) or type(kind).__name__ in {"UUID", "JSON", "JSONB", "ARRAY", "BYTEA"}:
        return "other"
    return next((name for known, name in _TYPES if isinstance(kind, known)), "other")


def _table(declared: Table, kept: Mapping[str, Table], exclude: Collection[str], notes: list[str]) -> Table:
    """A table with its words, and with the foreign keys that can be followed."""
    name = declared.name
    foreign = []
    for fk in declared.foreign_keys:
        if fk.table not in kept:
            continue
        target = kept[fk.table]
        referred = fk.referred or target.primary_key
        if len(referred) == len(fk.columns) and set(referred) <= {column.name for column in target.columns}:
            foreign.append(replace(fk, referred=referred, words=reference_words(fk.columns, name, fk.table)))
        else:
            said = ", ".join(fk.columns)
            notes.append(f"{name}: its foreign key ({said}) to {fk.table} names columns that aren't there")
    order = [column.name for column in declared.columns]
    foreign.sort(key=lambda fk: [order.index(column) for column in fk.columns])  # SQLite names the last one first
    keys = {column for fk in declared.foreign_keys for column in fk.columns}
    shortened = [column_words(column, name) for column in order]
    columns = tuple(
        replace(
            column,
            words=words if shortened.count(words) == 1 else words_of(column.name),
            surrogate=f"{name}.{column.name}" in exclude or column.name in keys or _is_surrogate(column, declared),
        )
        for column, words in zip(declared.columns, shortened, strict=True)
    )
    return replace(declared, words=singular(words_of(name)), columns=columns, foreign_keys=tuple(foreign))


def _is_surrogate(column: Column, table: Table) -> bool:
    """Identifiers by their name, and whole numbers that are the primary key (but for a year)."""
    if column.type == "other" or is_identifier_name(column.name) or set("[]") & set(column.name):
        return True
    number = table.primary_key == (column.name,) and column.type == "integer"
    return number and not words_of(column.name).endswith("year")
