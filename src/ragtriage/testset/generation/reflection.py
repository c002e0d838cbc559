"""A database's structure as a `Schema`: what it declares, and the words that a person would use for it."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import inspect
from sqlalchemy import types as sa
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.testset.generation.database import Database
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
class Reflected:
    """A schema, and what a reader should know of it."""

    schema: Schema
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Raw:
    """What the database declares of a table."""

    columns: tuple[tuple[str, ColumnType, bool, str], ...]
    """Name, type, nullable, comment."""
    primary_key: tuple[str, ...]
    unique: tuple[tuple[str, ...], ...]
    foreign_keys: tuple[tuple[tuple[str, ...], str, tuple[str, ...]], ...]
    comment: str


def reflect(database: Database, tables: Collection[str] = (), exclude: Collection[str] = ()) -> Reflected:
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
        raise InputError(f"{database.shown}: {str(error).splitlines()[0]}") from error
    if not declared:
        raise InputError(f"{database.shown}: has no table")
    _check_names(declared, tables, exclude)
    kept = {name: raw for name, raw in declared.items() if (not tables or name in tables) and name not in exclude}
    notes = [f"{database.shown}: {str(one.message).removeprefix('WARNING: ')}" for one in warned]
    made = tuple(_table(name, raw, kept, exclude, notes) for name, raw in kept.items())
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
    return Reflected(Schema(database.dialect, named), tuple(notes))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _check_names(declared: Mapping[str, _Raw], tables: Collection[str], exclude: Collection[str]) -> None:
    columns = {f"{name}.{column[0]}" for name, raw in declared.items() for column in raw.columns}
    for flag, given, known in (("--tables", tables, set(declared)), ("--exclude", exclude, columns | set(declared))):
        for name in given:
            if name not in known:
                raise ConfigError(f"{flag} {name}: there is no such thing; the tables are {_some(sorted(declared))}")


def _reflected(database: Database) -> dict[str, _Raw]:
    """Through SQLAlchemy's inspector."""
    inspector = inspect(database.connection)
    names = sorted(name for name in inspector.get_table_names() if not name.startswith("sqlite_"))
    columns = inspector.get_multi_columns()
    keys = inspector.get_multi_pk_constraint()
    foreign = inspector.get_multi_foreign_keys()
    unique = inspector.get_multi_unique_constraints()
    indexes = inspector.get_multi_indexes()
    comments: dict[Any, Any] = {}
    if database.dialect != "sqlite":
        comments.update(inspector.get_multi_table_comment())
    inline = _sqlite_unique(database) if database.dialect == "sqlite" else {}
    found = {}
    for name in names:
        key = (None, name)
        single = [tuple(u["column_names"]) for u in unique.get(key) or ()]
        single += [
            tuple(str(c) for c in index["column_names"])
            for index in indexes.get(key) or ()
            if index.get("unique") and not index.get("dialect_options", {}).get(f"{database.dialect}_where")
            and all(index["column_names"])
        ]  # fmt: skip
        comment: Any = comments.get(key) or {}
        primary: Any = keys.get(key) or {}
        found[name] = _Raw(
            tuple(
                (c["name"], _type_of(c["type"]), bool(c.get("nullable", True)), str(c.get("comment") or ""))
                for c in columns[key]
            ),
            tuple(primary.get("constrained_columns") or ()),
            tuple(dict.fromkeys([*single, *inline.get(name, ())])),
            tuple(
                (tuple(fk["constrained_columns"]), fk["referred_table"], tuple(fk["referred_columns"]))
                for fk in foreign.get(key) or ()
                if fk.get("referred_schema") is None
            ),
            str(comment.get("text") or ""),
        )
    return found


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


def _duckdb(database: Database) -> dict[str, _Raw]:
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
    return {
        name: _Raw(
            tuple(
                (column, _DUCKDB.get(kind.split("(")[0], "other"), bool(nullable), about or "")
                for table, column, kind, nullable, about in columns
                if table == name
            ),
            next((tuple(c[2]) for c in constraints if c[0] == name and c[1] == "PRIMARY KEY"), ()),
            tuple(dict.fromkeys(tuple(c[2]) for c in constraints if c[0] == name and c[1] == "UNIQUE")),
            tuple(
                dict.fromkeys(
                    (tuple(c[2]), c[3], tuple(c[4])) for c in constraints if c[0] == name and c[1] == "FOREIGN KEY"
                )
            ),
            comment or "",
        )
        for name, comment in comments.items()
    }


def _type_of(kind: Any) -> ColumnType:
    if isinstance(kind, sa.NullType):
        return "text"  # SQLite's columns without a type
    if isinstance(kind, sa.Uuid) or type(kind).__name__ in {"UUID", "JSON", "JSONB", "ARRAY", "BYTEA"}:
        return "other"
    return next((name for known, name in _TYPES if isinstance(kind, known)), "other")


def _table(name: str, raw: _Raw, kept: Mapping[str, _Raw], exclude: Collection[str], notes: list[str]) -> Table:
    foreign = []
    for columns, target, given in raw.foreign_keys:
        referred = given or (kept[target].primary_key if target in kept else ())
        present = target in kept and set(referred) <= {column[0] for column in kept[target].columns}
        if not present or len(referred) != len(columns):
            if target not in kept:
                continue
            notes.append(f"{name}: its foreign key ({', '.join(columns)}) to {target} names columns that aren't there")
            continue
        foreign.append(ForeignKey(columns, target, referred, reference_words(columns, name, target)))
    order = [column for column, *_ in raw.columns]
    foreign.sort(key=lambda fk: [order.index(column) for column in fk.columns])  # SQLite names the last one first
    keys = {column for fk in foreign for column in fk.columns} | {
        column for columns, *_ in raw.foreign_keys for column in columns
    }
    shortened = [column_words(column, name) for column, *_ in raw.columns]
    made = []
    for (column, kind, nullable, comment), words in zip(raw.columns, shortened, strict=True):
        made.append(
            Column(
                name=column,
                type=kind,
                words=words if shortened.count(words) == 1 else words_of(column),
                nullable=nullable,
                surrogate=f"{name}.{column}" in exclude or column in keys or _is_surrogate(column, kind, raw),
                comment=comment,
            )
        )
    return Table(
        name=name,
        words=singular(words_of(name)),
        columns=tuple(made),
        primary_key=raw.primary_key,
        unique=raw.unique,
        foreign_keys=tuple(foreign),
        comment=raw.comment,
    )


def _is_surrogate(column: str, kind: ColumnType, raw: _Raw) -> bool:
    """Identifiers by their name, and whole numbers that are the primary key (but for a year)."""
    if kind == "other" or is_identifier_name(column) or set("[]") & set(column):
        return True
    return raw.primary_key == (column,) and kind == "integer" and not words_of(column).endswith("year")
