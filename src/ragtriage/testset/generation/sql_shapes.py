"""The shape of SQL that is made of select, project and join along foreign keys; None for any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from ragtriage.testset.generation.optional_packages import exp
from ragtriage.testset.generation.query_templates import FUNCTIONS, Aggregate, Filter, Join, Shape
from ragtriage.testset.generation.schema import Schema, Table

_Places = Callable[["exp.Expr"], tuple[int, str] | None]
"""Finds the occurrence and the column of a part of the SQL."""
_CLAUSES = frozenset({"kind", "expressions", "from_", "joins", "where"})


def shape_of(
    tree: exp.Select, placeholders: Sequence[str], resolved: Mapping[int, tuple[str, str]], schema: Schema
) -> Shape | None:
    """How a checked SELECT is put together, or None if it has another form.

    `placeholders` has the `table.column` of its parameters `p0`, `p1`, …; `resolved` has the table and column of each
    of its columns by their identity.
    """
    places = _places_in(tree, resolved, schema)
    if places is None:
        return None
    names, place_of = places
    joined = []
    for number, join in enumerate(tree.args.get("joins") or [], 1):
        pairs = [_equal(condition, place_of)[0] for condition in _conjuncts(join.args.get("on"))]
        one = _joined(pairs, number, names, schema.by_name)
        if one is None:
            return None
        joined.append(one)
    filters = [_filter(condition, placeholders, place_of, names) for condition in _conjuncts(tree.args.get("where"))]
    known = [one for one in filters if one is not None]
    selected, aggregate = _selected(tree.expressions[0].unalias())
    key = schema.by_name[names[0]].primary_key
    # every row has a key, so counting rows is counting keys
    place = (0, key[0]) if isinstance(selected, exp.Star) and key else place_of(selected)
    if len(known) != len(filters) or not known or place is None or place[0] != 0:
        return None
    return Shape(names[0], place[1], tuple(known), tuple(joined), aggregate)


def _places_in(
    tree: exp.Select, resolved: Mapping[int, tuple[str, str]], schema: Schema
) -> tuple[list[str], _Places] | None:
    """The table of each occurrence, and what finds a column's; None if the query is made of more than plain joins."""
    joins = tree.args.get("joins") or []
    plain = [tree.args["from_"].this if tree.args.get("from_") else None, *(join.this for join in joins)]
    other = any(value for name, value in tree.args.items() if name not in _CLAUSES)
    outer = any(join.args.get(part) for join in joins for part in ("side", "using", "method"))
    if other or outer or any(join.kind not in {"", "INNER"} for join in joins):
        return None
    if not all(isinstance(one, exp.Table) and not one.args.get("joins") for one in plain):
        return None
    aliases = [str(one.alias_or_name).lower() for one in plain]
    tables = {table.name.lower(): table.name for table in schema.tables}
    names = [tables.get(str(one.name).lower(), "") for one in plain]
    if len(set(aliases)) != len(aliases) or "" in names:
        return None

    def place_of(column: exp.Expr) -> tuple[int, str] | None:
        if not isinstance(column, exp.Column) or id(column) not in resolved:
            return None
        table, name = resolved[id(column)]
        return (aliases.index(column.table.lower()) if column.table else names.index(table)), name

    return names, place_of


def _conjuncts(condition: exp.Expr | None) -> Iterator[exp.Expr]:
    """The conditions that all must hold, without AND and parentheses."""
    inner = condition.this if isinstance(condition, exp.Where) else condition
    inner = inner.unnest() if inner is not None else None
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.left)
        yield from _conjuncts(inner.right)
    elif inner is not None:
        yield inner


def _selected(one: exp.Expr) -> tuple[exp.Expr, Aggregate | None]:
    if isinstance(one, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max) and one.this is not None:
        name = type(one).__name__.upper()
        return one.this, next((known for known, function in FUNCTIONS.items() if function == name), None)
    return one, None


def _equal(condition: exp.Expr, place_of: _Places) -> tuple[list[tuple[int, str]], list[int]]:
    """The places and the parameters on both sides of a condition that says that they are equal."""
    sides = [condition.left, condition.right] if isinstance(condition, exp.EQ) else []
    parameters = [int(str(side.this)[1:]) for side in sides if isinstance(side, exp.Placeholder)]
    return sorted(place for place in map(place_of, sides) if place is not None), parameters


def _joined(
    pairs: Sequence[Sequence[tuple[int, str]]], number: int, names: Sequence[str], tables: Mapping[str, Table]
) -> Join | None:
    """The join of an occurrence, if it follows a foreign key to or from one that stands before it."""
    plain = all(len(pair) == 2 and pair[0][0] < number == pair[1][0] for pair in pairs)
    if not plain or len({pair[0][0] for pair in pairs}) != 1:
        return None
    to = pairs[0][0][0]
    columns = {(one[1], here[1]) for one, here in pairs}
    for outward, owner, target in ((True, names[to], names[number]), (False, names[number], names[to])):
        for fk in tables[owner].foreign_keys:
            along = list(zip(fk.columns, fk.referred, strict=True))
            directed = along if outward else [(b, a) for a, b in along]
            if fk.table == target and set(directed) == columns:
                return Join(names[number], to, tuple(directed), outward)
    return None


def _filter(condition: exp.Expr, placeholders: Sequence[str], place_of: _Places, names: Sequence[str]) -> Filter | None:
    places, parameters = _equal(condition, place_of)
    if len(places) != 1 or len(parameters) != 1:
        return None
    occurrence, column = places[0]
    named = placeholders[parameters[0]] == f"{names[occurrence]}.{column}"
    return Filter(occurrence, column) if named else None
