"""The shape of SQL that is made of select, project and join along foreign keys; None for any other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ragtriage.testset.making.schema import Schema, Table
from ragtriage.testset.making.sql import FUNCTIONS, in_order, tables_by_name
from ragtriage.testset.making.template import Aggregate, Filter, Joined, Shape

if TYPE_CHECKING:
    from sqlglot import exp

_CLAUSES = frozenset({"kind", "expressions", "from_", "from", "joins", "where"})


def shape_of(
    tree: exp.Select, placeholders: Sequence[str], resolved: Mapping[int, tuple[str, str]], schema: Schema
) -> Shape | None:
    """How a checked SELECT is put together, or None if it has another form.

    Args:
        tree: with parameters `p0`, `p1`, …
        placeholders: `table.column` of each.
        resolved: the identity of each of its columns → table and column.
        schema: where its foreign keys stand.
    """
    from sqlglot import exp

    if any(value for name, value in tree.args.items() if name not in _CLAUSES):
        return None
    start = tree.args.get("from_") or tree.args.get("from")
    joins = tree.args.get("joins") or []
    plain = [start.this if start else None, *(join.this for join in joins)]
    if not all(isinstance(one, exp.Table) and not one.args.get("joins") for one in plain):
        return None
    aliases = [str(one.alias_or_name).lower() for one in plain if one is not None]
    tables = tables_by_name(schema)
    names = [next((t for t in tables if t.lower() == str(one.name).lower()), "") for one in plain if one is not None]
    if len(set(aliases)) != len(aliases) or "" in names:
        return None

    def place_of(column: exp.Expression) -> tuple[int, str] | None:
        if not isinstance(column, exp.Column) or id(column) not in resolved:
            return None
        table, name = resolved[id(column)]
        alias = column.table.lower()
        if alias:
            return aliases.index(alias), name
        return (names.index(table), name) if table in names else None

    joined = []
    for number, join in enumerate(joins, 1):
        if any(join.args.get(part) for part in ("side", "using", "method")) or join.kind not in {"", "INNER"}:
            return None
        pairs = [_pair(condition, place_of) for condition in _conjuncts(join.args.get("on"))]
        one = _joined(pairs, number, names, tables)
        if one is None:
            return None
        joined.append(one)
    filters = [_filter(condition, placeholders, place_of, names) for condition in _conjuncts(tree.args.get("where"))]
    known = [one for one in filters if one is not None]
    selected, aggregate = _selected(tree.expressions[0].unalias())
    place = place_of(selected)
    if len(known) != len(filters) or not known or place is None or place[0] != 0:
        return None
    return Shape(names[0], place[1], in_order(known, names, schema), tuple(joined), aggregate)


def _conjuncts(condition: exp.Expression | None) -> Iterator[exp.Expression]:
    from sqlglot import exp

    match condition:
        case None:
            return
        case exp.Where():
            yield from _conjuncts(condition.this)
        case exp.And():
            yield from _conjuncts(condition.left)
            yield from _conjuncts(condition.right)
        case exp.Paren():
            yield from _conjuncts(condition.this)
        case _:
            yield condition


def _selected(one: exp.Expression) -> tuple[exp.Expression, Aggregate | None]:
    from sqlglot import exp

    if isinstance(one, exp.Count | exp.Sum | exp.Avg | exp.Min | exp.Max) and one.this is not None:
        name = type(one).__name__.upper()
        return one.this, next((known for known, function in FUNCTIONS.items() if function == name), None)
    return one, None


def _pair(condition: exp.Expression, place_of: _Places) -> tuple[tuple[int, str], tuple[int, str]] | None:
    from sqlglot import exp

    if not isinstance(condition, exp.EQ):
        return None
    left, right = place_of(condition.left), place_of(condition.right)
    return (left, right) if left is not None and right is not None else None


def _joined(
    pairs: Sequence[tuple[tuple[int, str], tuple[int, str]] | None],
    number: int,
    names: Sequence[str],
    tables: Mapping[str, Table],
) -> Joined | None:
    """The join of an occurrence, if it follows a foreign key to or from one that stands before it."""
    sorted_pairs = []
    for pair in pairs:
        if pair is None:
            return None
        earlier, here = sorted(pair)
        if here[0] != number or earlier[0] >= number:
            return None
        sorted_pairs.append((earlier, here))
    if not sorted_pairs or len({earlier[0] for earlier, _ in sorted_pairs}) != 1:
        return None
    to = sorted_pairs[0][0][0]
    columns = {(earlier[1], here[1]) for earlier, here in sorted_pairs}
    for outward, owner, target in ((True, names[to], names[number]), (False, names[number], names[to])):
        for fk in tables[owner].foreign_keys:
            along = list(zip(fk.columns, fk.referred, strict=True))
            directed = along if outward else [(b, a) for a, b in along]
            if fk.table == target and set(directed) == columns:
                return Joined(names[number], to, tuple(directed), outward)
    return None


def _filter(
    condition: exp.Expression, placeholders: Sequence[str], place_of: _Places, names: Sequence[str]
) -> Filter | None:
    from sqlglot import exp

    if not isinstance(condition, exp.EQ):
        return None
    sides = [condition.left, condition.right]
    values = [side for side in sides if isinstance(side, exp.Placeholder)]
    places = [place for place in map(place_of, sides) if place is not None]
    if len(values) != 1 or len(places) != 1:
        return None
    occurrence, column = places[0]
    if placeholders[int(str(values[0].this)[1:])] != f"{names[occurrence]}.{column}":
        return None
    return Filter(occurrence, column)


if TYPE_CHECKING:
    from collections.abc import Callable

    _Places = Callable[[exp.Expression], tuple[int, str] | None]
