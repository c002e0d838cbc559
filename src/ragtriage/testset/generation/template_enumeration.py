"""Query templates out of a schema alone, in a fixed order, the most useful first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from ragtriage.testset.generation.query_templates import Filter, Joined, QueryTemplate, Shape, in_order, template_of
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
class Enumerated:
    """Templates, and how many were left out by the limit."""

    templates: tuple[QueryTemplate, ...]
    left_out: int


@dataclass(frozen=True, slots=True)
class _Named:
    """A query so far: what is joined, and the columns that say which row is meant."""

    joined: tuple[Joined, ...]
    filters: tuple[Filter, ...]


def enumerate_templates(schema: Schema, *, aggregates: bool = False, most: int = MOST) -> Enumerated:
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
    for family in (*_FAMILIES, *(_AGGREGATES if aggregates else ())):
        for table in schema.tables:
            for shape in family(table, tables):
                if shape.filters and _allowed(shape):
                    places = [shape.table, *(one.table for one in shape.joined)]
                    ordered = replace(shape, filters=in_order(shape.filters, places, schema))
                    template = template_of(ordered, schema)
                    found.setdefault(template.id, template)
    templates = tuple(found.values())
    return Enumerated(templates[:most], max(0, len(templates) - most))


def asked(table: Table) -> list[Column]:
    """The columns that may be an answer."""
    return [column for column in table.columns if not column.surrogate and column.type != "other"]


def _allowed(shape: Shape) -> bool:
    """Not what it filters on, no way that comes back to it, and no placeholder that would mean two things."""
    placeholders = {(shape.table_of(one.occurrence), one.column) for one in shape.filters}
    asks_itself = Filter(0, shape.select) in shape.filters or any(_comes_back(shape, one) for one in shape.filters)
    return not asks_itself and len(placeholders) == len(shape.filters)


def _comes_back(shape: Shape, one: Filter) -> bool:
    """Whether a filter is on the selected column, over other tables: the department of the head of a department.

    A reference of a table to itself leads to another row: the manager of an employee.
    """
    same = one.occurrence and (shape.table_of(one.occurrence), one.column) == (shape.table, shape.select)
    return bool(same) and shape.joined[one.occurrence - 1].to != 0


def _names(table: Table, at: int) -> tuple[Filter, ...]:
    return tuple(Filter(at, name) for name in table.names)


def _outward(fk: ForeignKey, at: int) -> Joined:
    """The row that a row at an occurrence refers to."""
    return Joined(fk.table, at, tuple(zip(fk.columns, fk.referred, strict=True)), outward=True)


def _inward(owner: Table, fk: ForeignKey, at: int) -> Joined:
    """The rows of a table that refer to a row at an occurrence."""
    return Joined(owner.name, at, tuple(zip(fk.referred, fk.columns, strict=True)), outward=False)


def _references(table: Table, tables: dict[str, Table]) -> Iterator[tuple[ForeignKey, Table]]:
    """Its foreign keys to other tables, one for each of these."""
    seen = {table.name}
    for fk in table.foreign_keys:
        if fk.table not in seen and fk.table in tables:
            seen.add(fk.table)
            yield fk, tables[fk.table]


def _by_references(table: Table, tables: dict[str, Table], at: int, named: _Named, depth: int = DEPTH) -> _Named:
    """Names the row at an occurrence by all that it refers to, or by what that refers to."""
    for fk, target in _references(table, tables):
        if len(named.joined) + 1 >= _WIDEST or any(one.table == target.name for one in named.joined):
            continue
        joined = (*named.joined, _outward(fk, at))
        place = len(joined)
        if target.names:
            named = _Named(joined, (*named.filters, *_names(target, place)))
        elif depth > 1:
            further = _by_references(target, tables, place, _Named(joined, named.filters), depth - 1)
            if len(further.filters) > len(named.filters):
                named = further
    return named


def _direct(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`SELECT hire date OF employee BY name`."""
    del tables
    for column in asked(table) if table.names else ():
        yield Shape(table.name, column.name, _names(table, 0))


def _referring(table: Table, tables: Iterable[Table]) -> Iterator[tuple[Table, ForeignKey]]:
    for owner in tables:
        for fk in owner.foreign_keys:
            if fk.table == table.name:
                yield owner, fk


def _referred(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`SELECT name OF artist BY title of album`; over several references to one table, each of them."""
    for owner, fk in _referring(table, tables.values()):
        for column in asked(table) if owner.names else ():
            yield Shape(table.name, column.name, _names(owner, 1), (_inward(owner, fk, 0),))


def _referred_twice(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`SELECT name OF artist BY name of track`, over its album."""
    for owner, fk in _referring(table, tables.values()):
        for further, second in _referring(owner, tables.values()):
            if not further.names or owner.name == further.name == table.name:
                continue
            joined = (_inward(owner, fk, 0), _inward(further, second, 1))
            for name in table.names:
                yield Shape(table.name, name, _names(further, 2), joined)


def _through_references(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`SELECT years OF employment BY name of company AND name of person`; also with a date of its own."""
    if table.names:
        return
    named = _by_references(table, tables, 0, _Named((), ()))
    if not named.filters:
        return
    dates = [column for column in asked(table) if column.type in {"date", "datetime"}]
    for extra in (None, *dates[:1]):
        filters = named.filters if extra is None else (*named.filters, Filter(0, extra.name))
        for column in asked(table):
            yield Shape(table.name, column.name, filters, named.joined)


def _with_reference(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`SELECT composer OF track BY its name AND title of its album`: names that occur twice are told apart."""
    for fk, target in _references(table, tables):
        if table.names and target.names:
            for column in asked(table):
                yield Shape(table.name, column.name, (*_names(table, 0), *_names(target, 1)), (_outward(fk, 0),))
            return


def _listed(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`SELECT title OF album BY name of artist`: single where an artist has one album."""
    for fk in table.foreign_keys:
        target = tables.get(fk.table)
        for name in table.names if target and target.names else ():
            yield Shape(table.name, name, _names(target, 1) if target else (), (_outward(fk, 0),))


def _bridged(table: Table, tables: dict[str, Table]) -> Iterator[tuple[tuple[Joined, ...], Table]]:
    """What stands on the other side of the bridge tables of a table."""
    for bridge, fk in _referring(table, tables.values()):
        if bridge.names:
            continue
        for other, target in _references(bridge, tables):
            if other != fk and target.name != table.name and target.names:
                yield (_inward(bridge, fk, 0), _outward(other, 1)), target


def _listed_over_bridges(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`SELECT name OF track BY name of playlist`."""
    for joined, target in _bridged(table, tables):
        for name in table.names:
            yield Shape(table.name, name, _names(target, 2), joined)


def _key(table: Table) -> str | None:
    """What is counted: the first column of the primary key, or one that is never empty."""
    if table.primary_key:
        return table.primary_key[0]
    return next((column.name for column in table.columns if not column.nullable), None)


def _counted(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`COUNT albums BY name of artist`."""
    key = _key(table)
    for fk in table.foreign_keys if key and (table.names or asked(table)) else ():
        target = tables.get(fk.table)
        if target and target.names:
            yield Shape(table.name, str(key), _names(target, 1), (_outward(fk, 0),), "count")


def _counted_over_bridges(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`COUNT tracks BY name of playlist`."""
    key = _key(table)
    for joined, target in _bridged(table, tables) if key and table.names else ():
        yield Shape(table.name, str(key), _names(target, 2), joined, "count")


def _counted_by_value(table: Table, tables: dict[str, Table]) -> Iterator[Shape]:
    """`COUNT customers BY country`."""
    del tables
    key = _key(table)
    for column in asked(table) if key else ():
        if column.type == "text" and column.name not in table.names and not _UNCOUNTED & set(column.words.split()):
            yield Shape(table.name, str(key), (Filter(0, column.name),), (), "count")


_FAMILIES = (_direct, _referred, _referred_twice, _through_references, _with_reference, _listed, _listed_over_bridges)
"""The most useful templates first."""
_AGGREGATES = (_counted, _counted_over_bridges, _counted_by_value)
