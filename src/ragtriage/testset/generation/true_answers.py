"""What a database gives as a true answer: a typed value, and what becomes of none, several and NULL."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any, Literal

from ragtriage.testset.answered_rows import AnswerType
from ragtriage.testset.generation.placeholders import Value
from ragtriage.testset.generation.schema import ColumnType

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
