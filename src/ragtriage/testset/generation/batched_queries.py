"""Many combinations of one template asked at once, for tables in which every query would read all rows."""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.placeholders import Value
from ragtriage.testset.generation.query_templates import Shape
from ragtriage.testset.generation.true_answers import storable

Rows = list[tuple[Any, ...]]


def rows_at_once(
    wide: str, columns: Sequence[str], shape: Shape, some: Sequence[Mapping[str, Value]], database: Database
) -> dict[int, Rows]:
    """The rows of several combinations, from one query.

    A combination is left out, and is to be asked by itself, where the database may call values equal that Python
    doesn't (by case, accents or blanks), and where no row came back.

    Args:
        wide: the template's SQL with parameters, a clause on each line; its first line selects, its last one filters.
        columns: the SQL of each filtered column.
        shape: of the template.
        some: values by placeholder.
        database: what is asked.

    Returns:
        Place in `some` → rows, as `wide` would give them.

    Raises:
        InputError: the database refuses the query, or it takes too long.
    """
    names = [f"{shape.table_of(f.occurrence)}.{f.column}" for f in shape.filters]
    parameters: dict[str, Value] = {}
    conditions = []
    for number, (name, column) in enumerate(zip(names, columns, strict=True)):
        distinct = list(dict.fromkeys(one[name] for one in some))
        known = {f"v{number}_{place}": value for place, value in enumerate(distinct)}
        parameters |= known
        conditions.append(f"{column} IN ({', '.join(f':{key}' for key in known)})")
    first, *middle, _ = wide.split("\n")
    lines = [f"SELECT {', '.join(columns)}, {first.removeprefix('SELECT ')}", *middle]
    lines.append(f"WHERE {' AND '.join(conditions)}")
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
        alike[folded(key)] += 1
    keys = [tuple(one[name] for name in names) for one in some]
    return {
        place: exact[key] for place, key in enumerate(keys) if key in exact and alike[folded(key)] == len(exact[key])
    }


def folded(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """Values without what a collation may overlook: case, accents, blanks around."""
    return tuple(_bare(value) if isinstance(value, str) else value for value in key)


def _bare(text: str) -> str:
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(character for character in plain if not unicodedata.combining(character)).strip()
