"""A database's structure as a `Schema`: what it declares, and the words that a person would use for it."""

import re
import tomllib
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from sqlalchemy import Inspector, inspect
from sqlalchemy import types as sa
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.testset.generation.database import OpenedDatabase, cause_of
from ragtriage.testset.generation.phrasing.nouns import singular
from ragtriage.testset.generation.schema import Column, ColumnType, ForeignKey, Schema, Table

SAMPLE = 5_000
"""Rows that are looked at for columns that name a row, where the schema alone doesn't tell."""
MOSTLY = 0.5
"""Of the sampled rows: as many values must differ for a column that is called a name."""
NEARLY = 0.9
"""The same, for a column that isn't."""
LONGEST = 80
"""Characters, on average: what is longer is a description."""

_TABLE = tomllib.loads(files(__package__).joinpath("identifiers.toml").read_text("utf-8"))
_ABBREVIATIONS: dict[str, str] = _TABLE["abbreviations"]
_ROLES: dict[str, str] = _TABLE["roles"]
_KEY_WORDS = frozenset(_TABLE["key_words"].split())
_ROW_NAMES = _TABLE["row_names"]
_NO_NAMES, _LAST_RESORT = (frozenset(_ROW_NAMES[name].split()) for name in ("never", "last_resort"))
_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")


def words_of(name: str) -> str:
    """The words of a name: `HireDate`, `hire_date` and `HIRE_DATE` are "hire date", `qty` is "quantity"."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    return " ".join(_ABBREVIATIONS.get(part, part) for part in parts) or name.strip()


def column_words(name: str, table: str) -> str:
    """The words of a column, without its table's where they stand before it: `StadiumName` of a stadium is "name"."""
    words, owner = words_of(name), words_of(table)
    before = next((one for one in (singular(owner), owner) if words.startswith(f"{one} ")), "")
    return words.removeprefix(f"{before} ")


def reference_words(columns: Sequence[str], table: str, referred: str) -> str:
    """What the referred row is to the one that refers: `RepId` is "representative", `ReportsTo` "manager"."""
    target = singular(words_of(referred))
    if len(columns) != 1:
        return target
    words = words_of(columns[0])
    if words in _ROLES:
        return _ROLES[words] or target
    parts = words.split()
    while parts and parts[-1] in _KEY_WORDS:
        parts.pop()
    role = " ".join(parts)
    if not role or role in {target, words_of(referred)} or role == singular(words_of(table)):
        return target if singular(words_of(table)) != target else f"parent {target}"
    return f"parent {target}" if role == "parent" else role


def is_identifier_name(name: str) -> bool:
    """Whether a column's name says that it holds an identifier, or something nobody should be asked about."""
    parts = [part.lower() for part in _PARTS.findall(name)]
    return bool(parts) and (
        parts[-1] in {"id", "ids", "uuid", "guid", "pk", "fk", "oid", "rowid", "key", "hash", "checksum", "token"}
        or bool({"password", "passwd", "pwd", "secret", "salt"} & set(parts))
    )


def naming_columns(table: Table, database: OpenedDatabase) -> tuple[str, ...]:
    """The columns by which a person names a row: none, one or two.

    In this order: a first and a last name; a column that is called a name or title; a unique text; a column whose name
    ends in name; a text whose values nearly all differ; and at last a unique code or e-mail address.
    """
    texts = [column for column in table.columns if column.type == "text" and not column.surrogate]
    first = next((c for words in _ROW_NAMES["first"] for c in texts if c.words == words), None)
    last = next((c for words in _ROW_NAMES["last"] for c in texts if c.words == words), None)
    if first and last:
        return (first.name, last.name)
    unique = {columns[0] for columns in (table.primary_key, *table.unique) if len(columns) == 1}
    human = [c for c in texts if not _NO_NAMES & set(c.words.split())]
    called = [c for words in _ROW_NAMES["names"] for c in human if c.words == words]
    ending = [c for c in human if c.words.endswith((" name", " title"))]
    ranked: list[tuple[Column, float]] = [
        *((c, MOSTLY) for c in called),
        *((c, 0.0) for c in human if c.name in unique),
        *((c, MOSTLY) for c in ending),
    ]
    shares = _distinct_shares(table, list(dict.fromkeys([*(c for c, _ in ranked), *human])), database)
    ranked += [(c, NEARLY) for c in human if c.name in shares]
    last_resort = [c for c in texts if c.name in unique and _LAST_RESORT & set(c.words.split())]
    found = [c for c, least in ranked if c.name in unique or shares.get(c.name, 1.0) >= least] + last_resort
    return (found[0].name,) if found else ()


def _distinct_shares(table: Table, columns: list[Column], database: OpenedDatabase) -> dict[str, float]:
    """How many of the sampled values of a column differ, as a share; 0 if they are long, nothing without rows."""
    if not columns:
        return {}
    chosen = ", ".join(database.quoted(column.name) for column in columns)
    try:
        sql = f"SELECT {chosen} FROM {database.quoted(table.name)} LIMIT {SAMPLE}"  # noqa: S608  # quoted names
        rows = database.rows(sql)
    except InputError:
        return {}
    found: dict[str, float] = {}
    for place, column in enumerate(columns if rows else ()):
        values = [str(row[place]) for row in rows if row[place] not in {None, ""}]
        short = bool(values) and sum(map(len, values)) <= LONGEST * len(values)
        found[column.name] = len(set(values)) / len(rows) if short else 0.0
    return found


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


def reflect(database: OpenedDatabase, tables: Collection[str] = (), exclude: Collection[str] = ()) -> Reflection:
    """The structure of an open database.

    Of some tables alone, if they are named, and without those and the columns (`table.column`) to exclude.
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


def _reflected(database: OpenedDatabase) -> dict[str, Table]:
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


def _sqlite_unique(database: OpenedDatabase) -> dict[str, list[tuple[str, ...]]]:
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


def _duckdb(database: OpenedDatabase) -> dict[str, Table]:
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
