"""Whether SQL may be a template: parsed in the database's dialect, held against the schema, refused with the reason."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.core.validation import near_names
from ragtriage.testset.generation.optional_packages import SqlglotError, exp, scopes, sqlglot
from ragtriage.testset.generation.query_templates import SQLGLOT, QueryTemplate, digest, template_of
from ragtriage.testset.generation.schema import Schema
from ragtriage.testset.generation.sql_shapes import shape_of

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

    Args:
        sql: with placeholders, in quotes or not.
        schema: what it may ask about.
        made_by: who wrote it.

    Raises:
        RefusedSql: it can't be a template; the sentence says why.
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
    """SQL with placeholders as a tree.

    Raises:
        RefusedSql: it isn't one SELECT, or a placeholder isn't a column of the schema.
    """
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

    Raises:
        RefusedSql: a table or column isn't there, or could be one of several.
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
