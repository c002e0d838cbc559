"""Values for the placeholders of a template: combinations that occur together, sampled by the database's keys."""

from __future__ import annotations  # without the extra, its names stand for nothing

import heapq
import json
import math
import random
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from math import prod
from typing import Any, Literal

from ragtriage.testset.generation import exp
from ragtriage.testset.generation.database import OpenedDatabase
from ragtriage.testset.generation.query_templates import SQLGLOT, QueryTemplate, QueryValue, digest
from ragtriage.testset.generation.schema import Schema, Table
from ragtriage.testset.generation.sql_checks import ParsedTemplate, parse_template


def storable(value: Any) -> QueryValue | None:
    """A database's value as a parameter that JSON can hold and that finds the same rows; None if there is none.

    NULL, texts of blanks only and binary values have none: nobody can name them in a question.
    """
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, str):
        return value if value.strip() and "\x00" not in value else None
    return value if isinstance(value, int) or (isinstance(value, float) and math.isfinite(value)) else None


LARGE = 100_000
"""Rows: the values of a larger table are drawn by its key, and never all read."""
_DRAWN = 400
"""Keys in one query."""

CombinationKind = Literal["occurring", "product"]


@dataclass(frozen=True, slots=True)
class Combinations:
    """Values for the placeholders of a template, in a random but fixed order."""

    values: tuple[dict[str, QueryValue], ...]
    occurring: int
    """How many occur together, of the rows that were looked at."""
    product: int
    """How many there would be if every value were combined with every other."""
    skipped: int
    """Combinations with NULL, an empty text or something binary in them."""
    sampled: bool
    """Whether only drawn rows of a large table were looked at, so that the counts are of these."""


class CombinationSampler:
    """Samples combinations of values from a database.

    Tables of more than `large` rows are sampled; `seed` fixes what is drawn.
    """

    def __init__(self, database: OpenedDatabase, schema: Schema, seed: int = 0, large: int = LARGE) -> None:
        self._database = database
        self._schema = schema
        self._dialect = SQLGLOT[schema.dialect]
        self._tables = schema.by_name
        self._seed = seed
        self._most = large
        self._is_large: dict[str, bool] = {}
        self._keys: dict[tuple[str, int], list[int]] = {}

    def combinations(self, template: QueryTemplate, most: int, kind: CombinationKind = "occurring") -> Combinations:
        """At most so many combinations of values."""
        parsed = parse_template(template.sql, self._schema)
        columns, others = _split(parsed)
        if len(columns) != len(parsed.placeholders):
            return self._product(template, most, None)
        tree = _joined_rows(parsed, columns, others)
        large = next((name for name in template.tables if self._large(name)), None)
        if large is None:
            rows = self._database.rows(tree.distinct().sql(self._dialect))
        else:
            alias = next(one.alias_or_name for one in tree.find_all(exp.Table) if one.name.lower() == large.lower())
            rows = self._by_keys(self._tables[large], tree.sql(self._dialect), most, str(alias))
        order = [parsed.placeholders[number] for number in sorted(columns)]
        distinct: dict[str, dict[str, QueryValue]] = {}
        skipped: set[str] = set()
        for row in rows:
            values = {name: storable(value) for name, value in zip(order, row, strict=True)}
            known = {name: value for name, value in values.items() if value is not None}
            if len(known) == len(values):
                distinct.setdefault(_text(known), known)
            else:
                skipped.add(repr(row))
        # drawn by their digest: the same ones in whatever order they come
        chosen = heapq.nsmallest(most, distinct, key=lambda key: digest(f"{self._seed} {template.id} {key}"))
        occurring = Combinations(
            values=tuple(distinct[key] for key in chosen),
            occurring=len(distinct),
            product=prod(len({_text(one[name]) for one in distinct.values()}) for name in template.placeholders),
            skipped=len(skipped),
            sampled=large is not None,
        )
        return occurring if kind == "occurring" else self._product(template, most, occurring)

    def _product(self, template: QueryTemplate, most: int, occurring: Combinations | None) -> Combinations:
        found = [self._column(placeholder, most) for placeholder in template.placeholders]
        columns = [values for values, _, _ in found]
        count = prod(map(len, columns))
        generator = random.Random(f"{self._seed} {template.id}")  # noqa: S311  # a draw, no secret
        chosen = sorted(generator.sample(range(count), min(most, count))) if count else []
        generator.shuffle(chosen)
        drawn = []
        for number in chosen:
            one = {}
            for placeholder, values in zip(template.placeholders, columns, strict=True):
                number, place = divmod(number, len(values))  # noqa: PLW2901  # a number in a system of mixed bases
                one[placeholder] = values[place]
            drawn.append(one)
        return Combinations(
            values=tuple(drawn),
            occurring=occurring.occurring if occurring else 0,
            product=count,
            skipped=sum(skipped for _, skipped, _ in found),
            sampled=any(sampled for _, _, sampled in found),
        )

    def _column(self, placeholder: str, most: int) -> tuple[list[QueryValue], int, bool]:
        table, name = next(
            (t, c.name) for t in self._schema.tables for c in t.columns if f"{t.name}.{c.name}" == placeholder
        )
        of = self._database.quoted(table.name)
        column = self._database.quoted(name)
        sampled = self._large(table.name)
        if sampled:
            rows = self._by_keys(table, f"SELECT {column} FROM {of}", most)  # noqa: S608  # quoted names
        else:
            rows = self._database.rows(f"SELECT DISTINCT {column} FROM {of}")  # noqa: S608  # quoted names
        values = [storable(row[0]) for row in rows]
        known = {_text({"": value}): value for value in values if value is not None}
        return [known[key] for key in sorted(known)], sum(value is None for value in values), sampled

    def _by_keys(self, table: Table, sql: str, most: int, alias: str = "") -> list[tuple[Any, ...]]:
        """The rows of a query that belong to drawn rows of a large table."""
        key = self._key(table)
        glue = " AND " if " WHERE " in sql else " WHERE "
        if key is None:  # nothing to draw by: the first rows, which the counts call sampled
            return self._database.rows(sql, limit=most)
        at = f"{self._database.quoted(alias)}.{key}" if alias else key
        found: list[tuple[Any, ...]] = []
        drawn = self._drawn(table, key, most)
        for start in range(0, len(drawn), _DRAWN):
            names = {f"key_{number}": value for number, value in enumerate(drawn[start : start + _DRAWN])}
            marks = ", ".join(f":{name}" for name in names)
            found += self._database.rows(f"{sql}{glue}{at} IN ({marks})", names)
        return found

    def _key(self, table: Table) -> str | None:
        """What rows are drawn by: a whole number that is the primary key, or the number that a file gives every row."""
        types = {column.name: column.type for column in table.columns}
        if len(table.primary_key) == 1 and types.get(table.primary_key[0]) == "integer":
            return self._database.quoted(table.primary_key[0])
        if self._dialect == "duckdb" or (self._dialect == "sqlite" and not table.primary_key):
            return "rowid"
        return None

    def _drawn(self, table: Table, key: str, most: int) -> list[int]:
        """Keys of rows, the next ones from evenly drawn points: gaps make the rows behind them likelier."""
        if (table.name, most) not in self._keys:
            of = self._database.quoted(table.name)
            low, high = self._database.rows(f"SELECT MIN({key}), MAX({key}) FROM {of}")[0]  # noqa: S608  # quoted names
            generator = random.Random(f"{self._seed} {table.name}")  # noqa: S311  # a draw, no secret
            step = f"SELECT {key} FROM {of} WHERE {key} >= :least ORDER BY {key} LIMIT 1"  # noqa: S608  # quoted names
            points = [generator.randint(int(low), int(high)) for _ in range(most)]
            self._keys[table.name, most] = sorted({self._database.rows(step, {"least": p})[0][0] for p in points})
        return self._keys[table.name, most]

    def _large(self, name: str) -> bool:
        if name not in self._is_large:
            of = self._database.quoted(name)
            sql = f"SELECT COUNT(*) FROM (SELECT 1 FROM {of} LIMIT {self._most + 1}) AS counted"  # noqa: S608  # quoted names
            self._is_large[name] = self._database.rows(sql)[0][0] > self._most
        return self._is_large[name]


def _split(parsed: ParsedTemplate) -> tuple[dict[int, exp.Column], list[exp.Expr]]:
    """Parameter → the column that it is equal to, and the other conditions."""
    where = parsed.tree.args.get("where")
    every = where.this if where else None
    columns: dict[int, exp.Column] = {}
    others: list[exp.Expr] = []
    for one in every.flatten() if isinstance(every, exp.And) else [every] if every else []:
        sides = (one.left, one.right) if isinstance(one, exp.EQ) else ()
        column = next((side for side in sides if isinstance(side, exp.Column)), None)
        parameter = next((side for side in sides if isinstance(side, exp.Placeholder)), None)
        if column is not None and parameter is not None:
            columns[int(str(parameter.this)[1:])] = column
        else:
            others.append(one)
    return columns, others


def _joined_rows(parsed: ParsedTemplate, columns: dict[int, exp.Column], others: list[exp.Expr]) -> exp.Select:
    """The joined rows of a template: the filtered columns selected, the filters gone."""
    tree = parsed.tree.copy()
    for clause in ("where", "group", "having", "order", "limit", "offset", "distinct"):
        tree.set(clause, None)
    tree.set("expressions", [columns[number].copy() for number in sorted(columns)])
    return tree.where(*(one.copy() for one in others)) if others else tree


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True)
