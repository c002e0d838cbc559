"""Query templates out of a schema alone, in a fixed order, the most useful first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ragtriage.testset.generation.query_templates import (
    Aggregate,
    Filter,
    Join,
    QueryTemplate,
    Shape,
    template_of,
)
from ragtriage.testset.generation.schema import Column, ForeignKey, Schema, Table

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

    The order is fixed: columns of a named row; of what it refers to, over one reference and over two; of rows that are
    named by what they refer to (those of bridge tables among them); of rows named by themselves and what they refer
    to; rows by what they refer to, directly or over a bridge table; and counts.

    Args:
        schema: its surrogate columns are neither asked for nor asked about.
        aggregates: also count rows.
        most: how many at most; the least useful are left out.
    """
    tables = schema.by_name
    found: dict[str, QueryTemplate] = {}
    for ways, selected, aggregate in (*_FAMILIES, *(_AGGREGATES if aggregates else ())):
        for table, (joined, filters) in ((one, way) for one in schema.tables for way in ways(one, tables)):
            for column in selected(table):
                shape = Shape(table.name, column, filters, joined, aggregate)
                if filters and _allowed(shape):
                    template = template_of(shape, schema)
                    found.setdefault(template.id, template)
    templates = tuple(found.values())
    return TemplateEnumeration(templates[:most], max(0, len(templates) - most))


def _askable(table: Table) -> list[Column]:
    """The columns that may be an answer."""
    return [column for column in table.columns if not column.surrogate and column.type != "other"]


def _allowed(shape: Shape) -> bool:
    """Not what it filters on, no way that comes back to it, and no placeholder that would mean two things."""
    asks_itself = Filter(0, shape.select) in shape.filters or any(_comes_back(shape, one) for one in shape.filters)
    return not asks_itself and len(set(shape.placeholders)) == len(shape.filters)


def _comes_back(shape: Shape, one: Filter) -> bool:
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


def _with_reference(table: Table, tables: _Tables) -> Iterator[_Way]:
    """`composer OF track BY its name AND title of its album`: names that occur twice are told apart."""
    for fk, target in _references(table, tables):
        if table.names and target.names:
            yield (_outward(fk, 0),), (*_names(table, 0), *_names(target, 1))
            return


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


_Family = tuple[Callable[[Table, _Tables], Iterator[_Way]], Callable[[Table], Iterable[str]], Aggregate | None]
"""How rows are found, the columns that are asked for, and whether they are counted."""
_FAMILIES: tuple[_Family, ...] = (
    (_itself, _asked, None),
    (_referred, _asked, None),
    (_referred_twice, _named, None),
    (_through_references, _asked, None),
    (_with_reference, _asked, None),
    (_referring_to, _named, None),
    (_over_bridges, _named, None),
)
"""The most useful templates first."""
_AGGREGATES: tuple[_Family, ...] = (
    (_referring_to, _key_of_asked, "count"),
    (_over_bridges, _key_of_named, "count"),
    (_by_value, _key, "count"),
)
