"""Query templates, how their SQL is written, and which of them a schema alone gives, the most useful first.

They and the phrasings of one have placeholders `[album.title]`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import blake2b
from typing import Any, ClassVar

from ragtriage.core.validation import STRICT
from ragtriage.testset.generation import exp
from ragtriage.testset.generation.schema import Column, ForeignKey, Schema, Table


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
class QueryShape:
    """How a query is put together: select, project and join."""

    table: str
    """What is selected from; occurrence 0."""
    select: str
    """The column of it that is the answer; where rows are counted, the primary key's."""
    filters: tuple[Filter, ...]
    joined: tuple[Join, ...] = ()
    counted: bool = False
    """Whether the answer is how many rows there are."""

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
    shape: QueryShape | None = None
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


def sql_of(shape: QueryShape, schema: Schema) -> str:
    """The SQL of a shape, in canonical form: one shape has one SQL, a clause on each line."""
    dialect = schema.dialect
    aliases = aliases_of(shape.tables, [table.name for table in schema.tables])

    def column(occurrence: int, name: str) -> str:
        bare = quoted(name, dialect)
        return f"{quoted(aliases[occurrence], dialect)}.{bare}" if shape.joined else bare

    selected = column(0, shape.select)
    if shape.counted:
        selected = f"COUNT({selected})"
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


def _in_order(shape: QueryShape, schema: Schema) -> QueryShape:
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


def template_of(shape: QueryShape, schema: Schema, made_by: str = "enumerated") -> QueryTemplate:
    """A shape as a template, its filters in their canonical order."""
    shape = _in_order(shape, schema)
    sql = sql_of(shape, schema)
    tables, placeholders = (tuple(dict.fromkeys(names)) for names in (shape.tables, shape.placeholders))
    return QueryTemplate(digest(sql), sql, shape, tables, placeholders, made_by)


SLOT = re.compile(r"\[([^\[\]]+)\]")
"""A placeholder; its name in the first group."""
_MIDNIGHT = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00(?::00(?:\.0+)?)?")
"""A day as databases store it in a column of moments."""

QueryValue = str | int | float | bool
"""What a placeholder stands for, as JSON can hold it."""


@dataclass(frozen=True, slots=True)
class ParameterizedSql:
    """SQL with named parameters."""

    sql: str
    """Its parameters are written `:name`."""
    names: Mapping[str, str]
    """Placeholder → name of its parameter."""

    def parameters(self, values: Mapping[str, QueryValue]) -> dict[str, QueryValue]:
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


def fill_placeholders(text: str, template: QueryTemplate, values: Mapping[str, QueryValue]) -> str:
    """A phrasing with its values, in one pass: a value that looks like a placeholder stays what it is."""
    return _pattern(template).sub(lambda match: shown_value(values[match[1]]), text)


def shown_value(value: QueryValue) -> str:
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
    said = SLOT.findall(text)
    for name in template.placeholders:
        if said.count(name) != 1:
            times = "is missing" if name not in said else f"stands there {said.count(name)} times"
            return f"the placeholder [{name}] {times}"
    if added := set(said) - set(template.placeholders):
        return f"it has a placeholder that the query hasn't: [{min(added)}]"
    return "it has a square bracket that belongs to no placeholder" if re.search(r"[\[\]]", SLOT.sub("", text)) else ""


MOST = 1_000
"""Templates, by default."""
DEPTH = 2
"""References that are followed, to find what names a row that has no name of its own."""
_WIDEST = 4
"""Tables in one query."""
_UNCOUNTED = frozenset("address email mail phone telephone fax url link description comment notes code image".split())
"""Words of columns by whose values nobody counts rows."""


@dataclass(frozen=True, slots=True)
class TemplateEnumeration:
    """Templates, and how many were left out by the limit."""

    templates: tuple[QueryTemplate, ...]
    left_out: int


_Tables = Mapping[str, Table]
_Way = tuple[tuple[Join, ...], tuple[Filter, ...]]
"""How a row is found: what is joined, and the columns that say which row is meant."""


def enumerate_templates(schema: Schema, *, aggregates: bool = False, most: int = MOST) -> TemplateEnumeration:
    """Templates of select, project and join whose filters name a row, so that answers are mostly single.

    The order is fixed: columns of a named row; of what it refers to, over one reference and over two; of rows that
    are named by what they refer to (those of bridge tables among them); rows by what they refer to, directly or over
    a bridge table; and counts. Surrogate columns are neither asked for nor asked about. Of more than `most` the least
    useful are left out.
    """
    tables = schema.by_name
    found: dict[str, QueryTemplate] = {}
    for ways, selected, counted in (*_FAMILIES, *(_AGGREGATES if aggregates else ())):
        for table, (joined, filters) in ((one, way) for one in schema.tables for way in ways(one, tables)):
            for column in selected(table):
                shape = QueryShape(table.name, column, filters, joined, counted)
                if filters and _allowed(shape):
                    template = template_of(shape, schema)
                    found.setdefault(template.id, template)
    templates = tuple(found.values())
    return TemplateEnumeration(templates[:most], max(0, len(templates) - most))


def _askable(table: Table) -> list[Column]:
    """The columns that may be an answer."""
    return [column for column in table.columns if not column.surrogate and column.type != "other"]


def _allowed(shape: QueryShape) -> bool:
    """Not what it filters on, no way that comes back to it, and no placeholder that would mean two things."""
    asks_itself = Filter(0, shape.select) in shape.filters or any(_comes_back(shape, one) for one in shape.filters)
    return not asks_itself and len(set(shape.placeholders)) == len(shape.filters)


def _comes_back(shape: QueryShape, one: Filter) -> bool:
    """Whether a filter is on the selected column, over other tables: the department of the head of a department.

    A reference of a table to itself leads to another row: the manager of an employee.
    """
    same = one.occurrence and (shape.tables[one.occurrence], one.column) == (shape.table, shape.select)
    return bool(same) and shape.joined[one.occurrence - 1].to != 0


def _names(table: Table, at: int) -> tuple[Filter, ...]:
    return tuple(Filter(at, name) for name in table.names)


def _outward(fk: ForeignKey, at: int) -> Join:
    """The row that a row at an occurrence refers to."""
    return Join(fk.table, at, tuple(zip(fk.columns, fk.referred, strict=True)), outward=True)


def _inward(owner: Table, fk: ForeignKey, at: int) -> Join:
    """The rows of a table that refer to a row at an occurrence."""
    return Join(owner.name, at, tuple(zip(fk.referred, fk.columns, strict=True)), outward=False)


def _references(table: Table, tables: _Tables) -> Iterator[tuple[ForeignKey, Table]]:
    """Its foreign keys to other tables, one for each of these."""
    seen = {table.name}
    for fk in table.foreign_keys:
        if fk.table not in seen and fk.table in tables:
            seen.add(fk.table)
            yield fk, tables[fk.table]


def _referring(table: Table, tables: Iterable[Table]) -> Iterator[tuple[Table, ForeignKey]]:
    for owner in tables:
        for fk in owner.foreign_keys:
            if fk.table == table.name:
                yield owner, fk


def _by_references(table: Table, tables: _Tables, at: int, way: _Way, depth: int = DEPTH) -> _Way:
    """Names the row at an occurrence by all that it refers to, or by what that refers to."""
    for fk, target in _references(table, tables):
        before, filters = way
        if len(before) + 1 >= _WIDEST or any(one.table == target.name for one in before):
            continue
        joined = (*before, _outward(fk, at))
        if target.names:
            way = joined, (*filters, *_names(target, len(joined)))
        elif depth > 1:
            further = _by_references(target, tables, len(joined), (joined, filters), depth - 1)
            way = further if len(further[1]) > len(filters) else way
    return way


def _itself(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`hire date OF employee BY name`."""
    del tables
    yield (), _names(table, 0)


def _referred(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`name OF artist BY title of album`; over several references to one table, each of them."""
    for owner, fk in _referring(table, tables.values()):
        yield (_inward(owner, fk, 0),), _names(owner, 1)


def _referred_twice(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`name OF artist BY name of track`, over its album."""
    for owner, fk in _referring(table, tables.values()):
        for further, second in _referring(owner, tables.values()):
            if not owner.name == further.name == table.name:
                yield (_inward(owner, fk, 0), _inward(further, second, 1)), _names(further, 2)


def _through_references(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`years OF employment BY name of company AND name of person`; also with a date of its own."""
    joined, filters = ((), ()) if table.names else _by_references(table, tables, 0, ((), ()))
    dates = [column.name for column in _askable(table) if column.type in {"date", "datetime"}]
    if filters:
        yield joined, filters
        yield from ((joined, (*filters, Filter(0, date))) for date in dates[:1])


def _referring_to(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`title OF album BY name of artist`: single where an artist has one album."""
    for fk in table.foreign_keys:
        if fk.table in tables:
            yield (_outward(fk, 0),), _names(tables[fk.table], 1)


def _over_bridges(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`name OF track BY name of playlist`."""
    for bridge, fk in _referring(table, tables.values()):
        for other, target in _references(bridge, tables) if not bridge.names else ():
            if other != fk and target.name != table.name:
                yield (_inward(bridge, fk, 0), _outward(other, 1)), _names(target, 2)


def _by_value(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`COUNT customers BY country`."""
    del tables
    for column in _askable(table):
        if column.type == "text" and column.name not in table.names and not _UNCOUNTED & set(column.words.split()):
            yield (), (Filter(0, column.name),)


def _asked(table: Table) -> Iterable[str]:
    return (column.name for column in _askable(table))


def _named(table: Table) -> Iterable[str]:
    return table.names


def _key(table: Table) -> tuple[str, ...]:
    """What is counted: the first column of the primary key, or one that is never empty."""
    return (table.primary_key or tuple(column.name for column in table.columns if not column.nullable))[:1]


def _key_of_named(table: Table) -> tuple[str, ...]:
    return _key(table) if table.names else ()


def _key_of_asked(table: Table) -> tuple[str, ...]:
    return _key(table) if table.names or _askable(table) else ()


_Family = tuple[Callable[[Table, _Tables], Iterator[_Way]], Callable[[Table], Iterable[str]], bool]
"""How rows are found, the columns that are asked for, and whether they are counted."""
_FAMILIES: tuple[_Family, ...] = (
    (_itself, _asked, False),
    (_referred, _asked, False),
    (_referred_twice, _named, False),
    (_through_references, _asked, False),
    (_referring_to, _named, False),
    (_over_bridges, _named, False),
)
"""The most useful templates first."""
_AGGREGATES: tuple[_Family, ...] = (
    (_referring_to, _key_of_asked, True),
    (_over_bridges, _key_of_named, True),
    (_by_value, _key, True),
)
