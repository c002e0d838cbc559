"""What a database gives as a true answer: a typed value, and what becomes of none, several and NULL."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal

from ragtriage.testset.answered_rows import AnswerType
from ragtriage.testset.generation.database import Database
from ragtriage.testset.generation.query_templates import QueryTemplate, Shape, Value, quoted
from ragtriage.testset.generation.schema import ColumnType, Schema

_DAY = re.compile(r"(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d(?::\d\d)?)(?:\.0+)?)?")


@dataclass(frozen=True, slots=True)
class AnswerPolicies:
    """What becomes of a query that gives no single value."""

    none: Literal["drop", "no-answer"] = "drop"
    """No row."""
    several: Literal["drop", "list"] = "drop"
    null: Literal["drop", "no-answer"] = "drop"
    """One row, and nothing in it."""


@dataclass(frozen=True, slots=True)
class TypedAnswer:
    """A true answer."""

    value: Value | tuple[Value, ...]
    """Dates in ISO form, as exact as they are stored; the empty tuple says that there is no answer."""
    type: AnswerType


def typed_answer(value: Any, column: ColumnType | None) -> TypedAnswer | None:
    """A driver's value as an answer; None if it is NULL, empty, or nothing that a text can say."""
    if isinstance(value, bool) or (column == "boolean" and isinstance(value, int) and value in {0, 1}):
        return TypedAnswer(bool(value), "yes/no")
    if isinstance(value, int | Decimal | float):
        return _number(value, column)
    if isinstance(value, datetime):
        return _moment(value.date().isoformat(), value.time().isoformat("seconds"))
    if isinstance(value, date | time):
        return TypedAnswer(value.isoformat(), "date" if isinstance(value, date) else "time")
    return _text(value, column) if isinstance(value, str) and value.strip() else None


def storable(value: Any) -> Value | None:
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


def _number(value: Decimal | float, column: ColumnType | None) -> TypedAnswer | None:
    if not math.isfinite(value):
        return None
    whole = isinstance(value, int) or (column == "integer" and value == int(value))
    if whole:
        return TypedAnswer(int(value), "number" if column == "number" else "integer")
    return TypedAnswer(float(value), "number")


def _text(value: str, column: ColumnType | None) -> TypedAnswer:
    day = _DAY.fullmatch(value.strip())
    if day:
        return _moment(day[1], day[2] or "")
    return TypedAnswer(value, "time" if column == "time" else "text")


def _moment(day: str, clock: str) -> TypedAnswer:
    """A day alone where the time is midnight, since that is how databases store days."""
    if clock.removesuffix(":00") in {"", "00:00"}:
        return TypedAnswer(day, "date")
    return TypedAnswer(f"{day} {clock}", "datetime")


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
