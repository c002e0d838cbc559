"""Many combinations of values asked about with one query, where a query for each would read the whole table."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.placeholders import Value
from ragtriage.testset.generation.query_templates import QueryTemplate, Shape, quoted
from ragtriage.testset.generation.schema import Schema
from ragtriage.testset.generation.true_answers import storable

SPARE = 4
"""How many times as many combinations are drawn where only some are needed, since few names occur twice."""

Rows = list[tuple[Any, ...]]


def rows_at_once(
    wide: str, columns: Sequence[str], shape: Shape, some: Sequence[Mapping[str, Value]], database: Database
) -> dict[int, Rows]:
    """Place in `some` → the rows of this combination of values, as `wide` would give them, from one query.

    A combination is left out, and is to be asked by itself, where the database may call values equal that Python
    doesn't (by case, accents or blanks), and where no row came back. `wide` is the template's SQL with parameters, a
    clause on each line: its first line selects, its last one filters. `columns` has the SQL of each filtered column.
    """
    names = shape.placeholders
    condition, parameters = _among(columns, names, some)
    first, *middle, _ = wide.split("\n")
    lines = [f"SELECT {', '.join(columns)}, {first.removeprefix('SELECT ')}", *middle, condition]
    if shape.aggregate:
        lines.append(f"GROUP BY {', '.join(columns)}")
    found = database.rows("\n".join(lines), parameters)
    if len(found) == database.limits.rows:  # there may be more
        return {}
    exact: dict[tuple[Any, ...], Rows] = defaultdict(list)
    alike: Counter[tuple[Any, ...]] = Counter()
    for row in found:
        key = tuple(storable(value) for value in row[: len(columns)])
        exact[key].append(row[len(columns) :])
        alike[_folded(key)] += 1
    keys = [tuple(one[name] for name in names) for one in some]
    return {
        place: exact[key] for place, key in enumerate(keys) if key in exact and alike[_folded(key)] == len(exact[key])
    }


def overspecified(template: QueryTemplate, schema: Schema) -> bool:
    """Whether an enumerated template says more of a row than its name: the album of a named track.

    Templates that somebody wrote are never overspecified: their author wants them so.
    """
    shape = template.shape
    if shape is None or shape.aggregate or template.made_by != "enumerated":
        return False
    own = {one.column for one in shape.filters if one.occurrence == 0}
    names = schema.by_name[shape.table].names
    return bool(names) and own >= set(names) and len(shape.filters) > len(names)


def ambiguously_named(
    template: QueryTemplate, schema: Schema, database: Database, some: Sequence[Mapping[str, Value]]
) -> Sequence[Mapping[str, Value]]:
    """Of an overspecified template, the combinations in which several rows share the name; only these need more."""
    shape = template.shape
    if shape is None or not some:
        return some
    names = schema.by_name[shape.table].names
    placeholders = [f"{shape.table}.{name}" for name in names]
    columns = [quoted(name, schema.dialect) for name in names]
    condition, parameters = _among(columns, placeholders, some)
    said = ", ".join(columns)
    sql = f"SELECT {said}, COUNT(*) FROM {quoted(shape.table, schema.dialect)} {condition} GROUP BY {said}"  # noqa: S608  # quoted names
    rows: Counter[tuple[Any, ...]] = Counter()
    for *own, count in database.rows(sql, parameters):
        rows[_folded(tuple(storable(value) for value in own))] += count
    return [one for one in some if rows[_folded(tuple(one[name] for name in placeholders))] != 1]


def _among(
    columns: Sequence[str], placeholders: Sequence[str], some: Sequence[Mapping[str, Value]]
) -> tuple[str, dict[str, Value]]:
    """A clause by which every column has one of its placeholder's values, and its parameters."""
    parameters: dict[str, Value] = {}
    conditions = []
    for number, (name, column) in enumerate(zip(placeholders, columns, strict=True)):
        known = {f"v{number}_{place}": value for place, value in enumerate(dict.fromkeys(one[name] for one in some))}
        parameters |= known
        conditions.append(f"{column} IN ({', '.join(f':{key}' for key in known)})")
    return f"WHERE {' AND '.join(conditions)}", parameters


def _folded(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values without what a collation may overlook: case, accents, blanks around."""

    def bare(text: str) -> str:
        plain = unicodedata.normalize("NFKD", text.casefold())
        return "".join(character for character in plain if not unicodedata.combining(character)).strip()

    return tuple(bare(value) if isinstance(value, str) else value for value in key)
