"""Whether SQL may be a template: parsed in the database's dialect, held against the schema, refused with the reason."""

from __future__ import annotations  # without the extra, its names stand for nothing

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.validation import near_names
from ragtriage.testset.generation import SqlglotError, exp, scopes, sqlglot
from ragtriage.testset.generation.query_templates import (
    SQLGLOT,
    Filter,
    Join,
    QueryShape,
    QueryTemplate,
    digest,
    template_of,
)
from ragtriage.testset.generation.schema import Schema, Table

_Places = Callable[["exp.Expr"], tuple[int, str] | None]
"""Finds the occurrence and the column of a part of the SQL."""
_CLAUSES = frozenset({"kind", "expressions", "from_", "joins", "where"})


def shape_of(
    tree: exp.Select, placeholders: Sequence[str], resolved: Mapping[int, tuple[str, str]], schema: Schema
) -> QueryShape | None:
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
    selected, counted = _selected(tree.expressions[0].unalias())
    key = schema.by_name[names[0]].primary_key
    # every row has a key, so counting rows is counting keys
    place = (0, key[0]) if isinstance(selected, exp.Star) and key else place_of(selected)
    if len(known) != len(filters) or not known or place is None or place[0] != 0:
        return None
    return QueryShape(names[0], place[1], tuple(known), tuple(joined), counted)


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


def _selected(one: exp.Expr) -> tuple[exp.Expr, bool]:
    """What is selected, and whether it is counted."""
    return (one.this, True) if isinstance(one, exp.Count) and one.this is not None else (one, False)


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


_IN_SQL = re.compile(r"'\[([^\[\]']+\.[^\[\]']+)\]'|\[([^\[\]]+\.[^\[\]]+)\]")
_PURE = frozenset(
    "Abs And Avg Case Cast Ceil Coalesce Concat Count Day Extract Floor If Length Lower Max Min Month Nullif Or "
    "Quarter Round Substring Sum Trim Upper Week Xor Year".split()
)
"""sqlglot's names of the functions that may stand in a template: they change nothing and give the same every time."""


class RefusedSql(InputError):
    """SQL that can't be a template."""


@dataclass(frozen=True, slots=True)
class ParsedTemplate:
    """A template's SQL as a tree, its placeholders being parameters: `p0` and so on."""

    tree: exp.Select
    placeholders: tuple[str, ...]
    """Of each parameter: `table.column`."""


def check_template(sql: str, schema: Schema, made_by: str = "written") -> QueryTemplate:
    """A template from SQL that anybody wrote.

    It must be one SELECT of one column, of tables and columns of the schema, without `*` but in COUNT(*), without
    functions that could change anything, with at least one placeholder `[table.column]` in its conditions, and may not
    select what it filters on.
    """
    parsed = parse_template(sql, schema)
    resolved = _resolved(parsed.tree, schema)
    _check_functions(parsed.tree)
    _check_filters(parsed, resolved)
    shape = shape_of(parsed.tree, parsed.placeholders, resolved, schema)
    if shape is not None:
        return template_of(shape, schema, made_by)
    canonical = _canonical(parsed, schema)
    tables = dict.fromkeys(table for table, _ in resolved.values())
    return QueryTemplate(
        digest(canonical), canonical, None, tuple(tables), tuple(dict.fromkeys(parsed.placeholders)), made_by
    )


def parse_template(sql: str, schema: Schema) -> ParsedTemplate:
    """SQL with placeholders as a tree."""
    known = {f"{table.name}.{column.name}".lower(): f"{table.name}.{column.name}"
             for table in schema.tables for column in table.columns}  # fmt: skip
    found: list[str] = []

    def parameter(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if name.lower() not in known:
            near = near_names(name, known.values())
            hint = f": did you mean [{near[0]}]?" if near else ""
            raise RefusedSql(f"the placeholder [{name}] is no column of the schema{hint}")
        found.append(known[name.lower()])
        return f":p{len(found) - 1}"

    marked = _IN_SQL.sub(parameter, sql.strip().rstrip(";"))
    try:
        statements = sqlglot.parse(marked, dialect=SQLGLOT[schema.dialect])
    except SqlglotError as error:
        raise RefusedSql(f"it can't be read as SQL: {str(error).splitlines()[0]}") from None
    if len(statements) != 1 or not isinstance(statements[0], exp.Select):
        raise RefusedSql("it isn't one SELECT")
    tree = statements[0]
    if any(tree.find(kind) for kind in (exp.Into, exp.Lock, exp.Insert, exp.Update, exp.Delete, exp.DDL, exp.Command)):
        raise RefusedSql("it could change something: write a SELECT that only reads")
    if any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)):
        raise RefusedSql("it has a * outside of COUNT(*): name the column")
    if len(tree.expressions) != 1:
        raise RefusedSql(f"it selects {len(tree.expressions)} columns: select one, since a question has one answer")
    parameters = list(tree.find_all(exp.Placeholder))
    if not found:
        raise RefusedSql("it has no placeholder: write the value that a question names as [table.column]")
    if sorted(str(p.this) for p in parameters) != sorted(f"p{i}" for i in range(len(found))):
        raise RefusedSql("a placeholder stands inside a longer text, or there is another kind of parameter")
    return ParsedTemplate(tree, tuple(found))


def _resolved(tree: exp.Select, schema: Schema) -> dict[int, tuple[str, str]]:
    """The identity of every column of the tree → table and column of the schema.

    Columns of a subquery that aren't plain columns of a table are left out.
    """
    found: dict[int, tuple[str, str]] = {}
    settled: set[int] = set()
    try:
        found_scopes = scopes.traverse_scope(tree)
    except SqlglotError as error:
        raise RefusedSql(f"it can't be read as SQL: {error}") from None
    for scope in found_scopes:
        sources = {alias.lower(): _source(source, schema) for alias, source in scope.sources.items()}
        for column in scope.columns:
            if id(column) in settled:  # a subquery comes before the query around it, which lists its columns too
                continue
            owners = [column.table.lower()]
            if not column.table:
                owners = [alias for alias, (_, names, dialect) in sources.items() if _named(column, names, dialect)]
            if len(owners) != 1 or owners[0] not in sources:
                if scope.parent is not None and len(owners) <= 1:  # the query around it may have it
                    continue
                what = "could be of several tables: write table.column" if len(owners) > 1 else "is no column there"
                raise RefusedSql(f"{column.sql()} {what}")
            settled.add(id(column))
            table, names, dialect = sources[owners[0]]
            name = _named(column, names, dialect)
            if name is None:
                where = f"the table {table} has no column {column.name}" if table else ""
                raise RefusedSql(where or f"{column.sql()} is no column there")
            if table:
                found[id(column)] = table, name
    return found


def _source(source: Any, schema: Schema) -> tuple[str, Sequence[str], str]:
    """A table's name, empty for a subquery; its columns; and the dialect by whose rules they are named."""
    if not isinstance(source, exp.Table):
        return "", [str(name) for name in source.expression.named_selects], ""
    if source.args.get("db") or not isinstance(source.this, exp.Identifier):
        raise RefusedSql(f"{source.sql()} is no table of the schema: name tables without their schema")
    tables = schema.by_name
    table = _named(source, list(tables), schema.dialect)
    if table is None:
        near = near_names(source.name, tables)
        hint = f": did you mean {near[0]}?" if near else f": there are {', '.join(sorted(tables)[:8])}"
        raise RefusedSql(f"there is no table {source.name}{hint}")
    return table, [column.name for column in tables[table].columns], schema.dialect


def _named(said: exp.Column | exp.Table, names: Sequence[str], dialect: str) -> str | None:
    """Which name is meant: PostgreSQL takes quoted ones letter by letter, and others as small; else case is nothing."""
    if dialect != "postgresql":
        return next((name for name in names if name.lower() == said.name.lower()), None)
    exact = said.name if said.this.args.get("quoted") else said.name.lower()
    return exact if exact in names else None


def _check_functions(tree: exp.Select) -> None:
    for call in tree.find_all(exp.Func):
        if type(call).__name__ not in _PURE:
            raise RefusedSql(f"the function {call.sql().split('(')[0]} isn't one that only computes: leave it out")


def _check_filters(parsed: ParsedTemplate, resolved: dict[int, tuple[str, str]]) -> None:
    """Placeholders stand in conditions, and what they are compared with isn't selected."""
    where = parsed.tree.args.get("where")
    inside = {id(one) for one in where.find_all(exp.Placeholder)} if where else set()
    joins = {id(one) for join in parsed.tree.find_all(exp.Join, exp.Where) for one in join.find_all(exp.Placeholder)}
    if any(id(one) not in inside | joins for one in parsed.tree.find_all(exp.Placeholder)):
        raise RefusedSql("a placeholder stands outside of the conditions: write it behind WHERE")
    selected = parsed.tree.expressions[0].unalias()

    def identity(column: exp.Column) -> tuple[str, tuple[str, str]]:
        return column.table.lower(), resolved.get(id(column), ("", column.name.lower()))

    wanted = {identity(column) for column in selected.find_all(exp.Column)}
    for column in _compared(parsed.tree):
        if identity(column) in wanted:
            raise RefusedSql(f"it selects {column.sql()}, which it filters on: the question would hold its answer")


def _compared(tree: exp.Select) -> Iterator[exp.Column]:
    """The columns that stand in a comparison with a placeholder."""
    for placeholder in tree.find_all(exp.Placeholder):
        node = placeholder.parent
        while node is not None and not isinstance(node, exp.Predicate | exp.Where):
            node = node.parent
        if node is not None:
            yield from node.find_all(exp.Column)


def _canonical(parsed: ParsedTemplate, schema: Schema) -> str:
    """The SQL in one spelling, its placeholders in brackets."""
    tree = parsed.tree.copy()
    for one in list(tree.find_all(exp.Placeholder)):
        one.replace(exp.Var(this=f"[{parsed.placeholders[int(str(one.this)[1:])]}]"))
    return tree.sql(dialect=SQLGLOT[schema.dialect], comments=False)
