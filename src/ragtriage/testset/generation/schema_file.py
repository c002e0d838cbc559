"""`schema.yaml`: a schema as a person edits it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast, get_args

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.schema import Column, ColumnType, ForeignKey, Schema, Table
from ragtriage.testset.generation.sql import SQLGLOT
from ragtriage.testset.generation.yaml_files import Entry, read_yaml, yaml_text

HEADER = """
The part of a database that questions are made from. You may edit all of it, and give `ragtriage testset templates`
again. words: what a person calls a table's row, a column, or the row that a foreign key refers to. names: the columns
by which a person names a row. surrogate: true keeps a column out of all questions; so does deleting it.
foreign_keys may be added where the database declares none.
"""


def schema_text(schema: Schema) -> str:
    """A schema as the text of its file."""
    return yaml_text({"dialect": schema.dialect, "tables": [_table(table) for table in schema.tables]}, HEADER)


def read_schema(path: Path) -> Schema:
    """The schema of a file, hand-edited or not.

    Raises:
        InputError: it can't be read; the sentence names entry and field.
    """
    whole = read_yaml(path)
    whole.only({"dialect", "tables"})
    dialect = whole.text("dialect")
    if dialect not in SQLGLOT:
        raise whole.error("dialect", f"is {dialect!r}: use {', '.join(SQLGLOT)}")
    entries = whole.entries("tables")
    tables = tuple(_table_of(entry) for entry in entries)
    known = {table.name: table for table in tables}
    if len(known) != len(tables):
        raise InputError(f"{path}: tables: two have the same name")
    for entry, table in zip(entries, tables, strict=True):
        for at, fk in zip(entry.entries("foreign_keys", "words"), table.foreign_keys, strict=True):
            if fk.table not in known:
                raise at.error("table", f"is {fk.table!r}, which isn't in this file")
            _present(at, "columns", fk.columns, table)
            _present(at, "referred", fk.referred, known[fk.table])
            if len(fk.columns) != len(fk.referred) or not fk.columns:
                raise at.error("referred", "must have as many columns as columns has, at least one")
    return Schema(dialect, tables)


def _present(entry: Entry, field: str, names: tuple[str, ...], table: Table) -> None:
    known = {column.name for column in table.columns}
    for name in names:
        if name not in known:
            raise entry.error(field, f"names {name!r}, which is no column of {table.name}")


def _table(table: Table) -> dict[str, Any]:
    return {
        "name": table.name,
        "words": table.words,
        **({"comment": table.comment} if table.comment else {}),
        "names": table.names,
        "primary_key": table.primary_key,
        **({"unique": list(table.unique)} if table.unique else {}),
        "columns": [_column(column) for column in table.columns],
        **(
            {
                "foreign_keys": [
                    {"columns": fk.columns, "table": fk.table, "referred": fk.referred, "words": fk.words}
                    for fk in table.foreign_keys
                ]
            }
            if table.foreign_keys
            else {}
        ),
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "name": column.name,
        "type": column.type,
        "words": column.words,
        **({} if column.nullable else {"nullable": False}),
        **({"surrogate": True} if column.surrogate else {}),
        **({"comment": column.comment} if column.comment else {}),
    }


def _table_of(entry: Entry) -> Table:
    entry.only({"name", "words", "comment", "names", "primary_key", "unique", "columns", "foreign_keys"})
    columns = tuple(_column_of(one) for one in entry.entries("columns"))
    if len({column.name for column in columns}) != len(columns):
        raise entry.error("columns", "has two of the same name")
    unique = entry.values.get("unique") or []
    if not isinstance(unique, list) or not all(isinstance(one, list) for one in unique):
        raise entry.error("unique", "isn't a list of lists, for example [[isbn]]")
    table = Table(
        name=entry.text("name"),
        words=entry.text("words"),
        columns=columns,
        primary_key=entry.texts("primary_key"),
        unique=tuple(tuple(str(name) for name in one) for one in unique),
        foreign_keys=tuple(_foreign_key_of(one) for one in entry.entries("foreign_keys", "words")),
        names=entry.texts("names"),
        comment=entry.text("comment", ""),
    )
    for field, names in (("names", table.names), ("primary_key", table.primary_key)):
        _present(entry, field, names, table)
    return table


def _column_of(entry: Entry) -> Column:
    entry.only({"name", "type", "words", "nullable", "surrogate", "comment"})
    kind = entry.text("type")
    if kind not in get_args(ColumnType):
        raise entry.error("type", f"is {kind!r}: use {', '.join(get_args(ColumnType))}")
    return Column(
        name=entry.text("name"),
        type=cast("ColumnType", kind),
        words=entry.text("words"),
        nullable=entry.flag("nullable", default=True),
        surrogate=entry.flag("surrogate", default=False),
        comment=entry.text("comment", ""),
    )


def _foreign_key_of(entry: Entry) -> ForeignKey:
    entry.only({"columns", "table", "referred", "words"})
    return ForeignKey(entry.texts("columns"), entry.text("table"), entry.texts("referred"), entry.text("words"))
