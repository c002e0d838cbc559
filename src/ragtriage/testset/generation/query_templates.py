"""Query templates and how their SQL is written, and the phrasings of one: both have placeholders `[album.title]`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar, Literal

from ragtriage.core.validation import STRICT
from ragtriage.testset.generation.optional_packages import exp
from ragtriage.testset.generation.schema import Schema

Aggregate = Literal["count", "sum", "average", "minimum", "maximum"]


@dataclass(frozen=True, slots=True)
class Join:
    """One more occurrence of a table in a query, joined along a foreign key to an earlier one."""

    table: str
    to: int
    """Which occurrence it is joined to: 0 is the table that is selected from, 1 the first joined one."""
    columns: tuple[tuple[str, str], ...]
    """Pairs that must be equal: a column of the earlier occurrence, a column of this one."""
    outward: bool
    """Whether the earlier occurrence holds the foreign key (a track's album), or this one does (an album's tracks)."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A column whose value the question names; its placeholder is `[table.column]`."""

    occurrence: int
    """Of the table: 0 is the one that is selected from, 1 the first joined one."""
    column: str


@dataclass(frozen=True, slots=True)
class Shape:
    """How a query is put together: select, project and join."""

    table: str
    """What is selected from; occurrence 0."""
    select: str
    """The column of it that is the answer; with the aggregate `count`, rows are counted and it is the primary key's."""
    filters: tuple[Filter, ...]
    joined: tuple[Join, ...] = ()
    aggregate: Aggregate | None = None

    @property
    def tables(self) -> list[str]:
        """The table of each occurrence."""
        return [self.table, *(one.table for one in self.joined)]

    @property
    def placeholders(self) -> list[str]:
        """The placeholder of each filter."""
        return [f"{self.tables[one.occurrence]}.{one.column}" for one in self.filters]


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """SQL with placeholders `[table.column]`, where values will stand."""

    id: str
    """A digest of the SQL in its canonical form."""
    sql: str
    shape: Shape | None = None
    """None for SQL that somebody wrote and that doesn't have this shape."""
    tables: tuple[str, ...] = ()
    """Each once, in the order of the query."""
    placeholders: tuple[str, ...] = ()
    """Each once, in the order of the query, without brackets: `album.title`."""
    made_by: str = "enumerated"
    """`enumerated`, `written` (by hand), or the name of the model that wrote it."""


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """One phrasing of a query template, with the same placeholders."""

    __pydantic_config__: ClassVar[Any] = STRICT
    template: str
    """The query template's id."""
    criterion: str
    """The linguistic criterion that it fulfils: `short`, `long`, `casual`, …"""
    text: str
    made_by: str = "written"
    """`rules`, `written` (by hand), or the name of the model that wrote it."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """What was measured of it, such as `words` and `edits`."""


SQLGLOT = {"sqlite": "sqlite", "postgresql": "postgres", "duckdb": "duckdb"}
"""SQLAlchemy's name of a dialect → sqlglot's."""
FUNCTIONS: dict[Aggregate, str] = {"count": "COUNT", "sum": "SUM", "average": "AVG", "minimum": "MIN", "maximum": "MAX"}


@lru_cache(maxsize=65_536)
def quoted(name: str, dialect: str) -> str:
    """A name as the dialect quotes it."""
    return exp.to_identifier(name, quoted=True).sql(dialect=SQLGLOT.get(dialect, dialect))


def aliases_of(tables: Sequence[str], taken: Sequence[str]) -> list[str]:
    """A name for each occurrence of a table: its own, and for further ones `Employee_2`, which no table has taken."""
    used: list[str] = []
    for table in tables:
        alias, number = table, 1
        while alias in used or (number > 1 and alias in taken):
            number += 1
            alias = f"{table}_{number}"
        used.append(alias)
    return used


def sql_of(shape: Shape, schema: Schema) -> str:
    """The SQL of a shape, in canonical form: one shape has one SQL, a clause on each line."""
    dialect = schema.dialect
    aliases = aliases_of(shape.tables, [table.name for table in schema.tables])

    def column(occurrence: int, name: str) -> str:
        bare = quoted(name, dialect)
        return f"{quoted(aliases[occurrence], dialect)}.{bare}" if shape.joined else bare

    selected = column(0, shape.select)
    if shape.aggregate:
        selected = f"{FUNCTIONS[shape.aggregate]}({selected})"
    lines = [f"SELECT {selected}", f"FROM {quoted(shape.table, dialect)}"]
    for place, one in enumerate(shape.joined, 1):
        renamed = f" AS {quoted(aliases[place], dialect)}" if aliases[place] != one.table else ""
        pairs = " AND ".join(f"{column(one.to, a)} = {column(place, b)}" for a, b in one.columns)
        lines.append(f"JOIN {quoted(one.table, dialect)}{renamed} ON {pairs}")
    conditions = [
        f"{column(one.occurrence, one.column)} = [{placeholder}]"
        for one, placeholder in zip(shape.filters, shape.placeholders, strict=True)
    ]
    return "\n".join([*lines, f"WHERE {' AND '.join(conditions)}"])


def _in_order(shape: Shape, schema: Schema) -> Shape:
    """The shape, its filters in their canonical order: by occurrence, and there as a person says a name."""
    tables = schema.by_name

    def place(one: Filter) -> tuple[int, int]:
        table = tables[shape.tables[one.occurrence]]
        if one.column in table.names:
            return one.occurrence, table.names.index(one.column)
        names = [column.name for column in table.columns]
        return one.occurrence, len(table.names) + names.index(one.column)

    return replace(shape, filters=tuple(sorted(shape.filters, key=place)))


def digest(canonical: str) -> str:
    """What a canonical text goes by: 16 hexadecimal digits."""
    return blake2b(canonical.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def template_of(shape: Shape, schema: Schema, made_by: str = "enumerated") -> QueryTemplate:
    """A shape as a template, its filters in their canonical order."""
    shape = _in_order(shape, schema)
    sql = sql_of(shape, schema)
    tables, placeholders = (tuple(dict.fromkeys(names)) for names in (shape.tables, shape.placeholders))
    return QueryTemplate(digest(sql), sql, shape, tables, placeholders, made_by)


PLACEHOLDER = re.compile(r"\[([^\[\]]+\.[^\[\]]+)\]")
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0+)?)?")
"""A day as databases store it in a column of moments."""

Value = str | int | float | bool
"""What a placeholder stands for, as JSON can hold it."""


@dataclass(frozen=True, slots=True)
class ParameterizedSql:
    """SQL with named parameters."""

    sql: str
    """Its parameters are written `:name`."""
    names: Mapping[str, str]
    """Placeholder → name of its parameter."""

    def parameters(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Values by placeholder → values by parameter."""
        return {self.names[placeholder]: values[placeholder] for placeholder in self.names}


def parameterized_sql(template: QueryTemplate) -> ParameterizedSql:
    """The SQL of a template with named parameters: `[Album.Title]` becomes `:Album_Title`."""
    names: dict[str, str] = {}
    for placeholder in template.placeholders:
        name = re.sub(r"[^A-Za-z0-9_]", "_", placeholder)
        name = f"p_{name}" if not name[:1].isalpha() else name
        while name in names.values() or f":{name}" in template.sql:
            name += "_"
        names[placeholder] = name
    return ParameterizedSql(_pattern(template).sub(lambda match: f":{names[match[1]]}", template.sql), names)


def fill_placeholders(text: str, template: QueryTemplate, values: Mapping[str, Value]) -> str:
    """A phrasing with its values, in one pass: a value that looks like a placeholder stays what it is."""
    return _pattern(template).sub(lambda match: shown_value(values[match[1]]), text)


def shown_value(value: Value) -> str:
    """A value as a person writes it in a question: a day without its midnight, a whole number without its point."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    midnight = _MIDNIGHT.fullmatch(value) if isinstance(value, str) else None
    return midnight[1] if midnight else str(value)


def _pattern(template: QueryTemplate) -> re.Pattern[str]:
    return re.compile(rf"\[({'|'.join(re.escape(name) for name in template.placeholders)})\]")


def placeholder_problem(text: str, template: QueryTemplate) -> str:
    """What is wrong with the placeholders of a phrasing; empty if nothing is."""
    for name in template.placeholders:
        if f"[{name}]" not in text:
            return f"lacks the placeholder [{name}]"
    added = sorted(set(PLACEHOLDER.findall(text)) - set(template.placeholders))
    return f"has the placeholder [{added[0]}], which its template hasn't" if added else ""
