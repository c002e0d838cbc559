"""Whether a row's name needs what else is said of the row: a question that says more than a person would is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.testset.generation.batched_queries import folded
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.placeholders import Value
from ragtriage.testset.generation.query_templates import QueryTemplate
from ragtriage.testset.generation.schema import Schema
from ragtriage.testset.generation.sql import quoted, tables_by_name
from ragtriage.testset.generation.true_answers import storable

SPARE = 4
"""How many times as many combinations are drawn, since few names occur twice."""


def says_more(template: QueryTemplate, schema: Schema) -> bool:
    """Whether an enumerated template names its row and says something else of it: the album of a named track.

    What somebody wrote so is wanted so.
    """
    shape = template.shape
    if shape is None or shape.aggregate or template.made_by != "enumerated":
        return False
    own = {one.column for one in shape.filters if one.occurrence == 0}
    names = tables_by_name(schema)[shape.table].names
    return bool(names) and own >= set(names) and len(shape.filters) > len(names)


def needed(
    template: QueryTemplate, schema: Schema, database: Database, some: Sequence[Mapping[str, Value]]
) -> tuple[Mapping[str, Value], ...]:
    """The combinations in which several rows have the name, found with one query.

    Args:
        template: one that `says_more`.
        schema: the database's.
        database: what is asked.
        some: values by placeholder.

    Raises:
        InputError: the database refuses the query, or it takes too long.
    """
    shape = template.shape
    if shape is None or not some:
        return tuple(some)
    names = tables_by_name(schema)[shape.table].names
    columns = [quoted(name, schema.dialect) for name in names]
    parameters: dict[str, Value] = {}
    conditions = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        values = dict.fromkeys(one[f"{shape.table}.{name}"] for one in some)
        known = {f"v{number}_{place}": value for place, value in enumerate(values)}
        parameters |= known
        conditions.append(f"{column} IN ({', '.join(f':{key}' for key in known)})")
    said = ", ".join(columns)
    sql = (
        f"SELECT {said}, COUNT(*) FROM {quoted(shape.table, schema.dialect)} "  # noqa: S608  # quoted names
        f"WHERE {' AND '.join(conditions)} GROUP BY {said}"
    )
    rows: Counter[tuple[Any, ...]] = Counter()
    for *own, count in database.rows(sql, parameters):
        rows[folded(tuple(storable(value) for value in own))] += count
    return tuple(one for one in some if rows[folded(tuple(one[f"{shape.table}.{name}"] for name in names))] != 1)
