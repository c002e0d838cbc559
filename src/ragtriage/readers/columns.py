"""Which column holds which of our fields."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.readers.field_names import ALIASES, HOLDS, NOT_SOURCES, field_named, normalized
from ragtriage.readers.field_values import PARSERS, is_message_list
from ragtriage.readers.problems import RowContext, RowProblem

MISSING = object()
"""What a row gives for a column that it doesn't have."""

_JUDGED = ("query", "response", "sources")


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a file holds our fields."""

    mapping: Mapping[str, str]
    """Our field to the column, or to a dotted path into one."""
    columns: tuple[str, ...]
    """Every column that the head of the file has."""
    notes: tuple[str, ...] = ()
    """What the user should know about the choice."""
    switched_off: frozenset[str] = frozenset()
    """Fields that the user doesn't want to be found."""
    query_is_messages: bool = False
    """The query is a list of messages."""
    beside: frozenset[str] = frozenset()
    """Columns that are named like a field that was taken from another one, and aren't another spelling of it."""

    @property
    def tags(self) -> tuple[str, ...]:
        """The columns that no field was taken from whole."""
        taken = set(self.mapping.values())
        return tuple(column for column in self.columns if column not in taken)


def value_at(values: Mapping[str, Any], column: str) -> Any:
    """What a row holds in a column or under a dotted path (`output.text`, `messages.0.content`); else `MISSING`."""
    if column in values:
        return values[column]
    found: Any = values
    for part in column.split("."):
        if isinstance(found, Mapping) and part in found:
            found = found[part]
        elif isinstance(found, list) and part.isdecimal() and int(part[:9]) < len(found):
            found = found[int(part[:9])]
        else:
            return MISSING
    return found


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: null, or NaN, which tables hold in its place."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def find_layout(
    rows: Sequence[Mapping[str, Any]], wanted: Mapping[str, str], name: str, *, questions: bool = False
) -> Layout:
    """Find our fields in the readable rows of the head of a file, of which there is one at least.

    `wanted` and `questions` are the `mapping` and the `questions` of `open_cases`, which raises what this raises.
    """
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    needed = ("query",) if questions else ("query", "sources")
    if questions:
        for field in ("sources", "response"):
            if column := wanted.get(field):
                raise ConfigError(f"--map {field}={column}: the {field} comes from the application that is asked")
        wanted = {**wanted, "sources": "", "response": ""}
    mapping = _wanted(rows, columns, wanted, name)
    notes: list[str] = []
    for field in ALIASES:
        if field not in wanted:
            column = _choose(field, [one for one in columns if one not in mapping.values()], rows, notes)
            if column is not None:
                mapping[field] = column
    if "query" not in mapping and "query" not in wanted and "history" in mapping and "history" not in wanted:
        mapping["query"] = mapping.pop("history")
        notes.append(
            f"the query is the user's last message in {mapping['query']!r}, the messages before it the history"
        )
    if lacking := next((field for field in needed if field not in mapping), None):
        raise InputError(_nothing_found(lacking, columns, name))
    notes += [] if questions else _pitfalls(columns, mapping)
    return Layout(
        {field: mapping[field] for field in ALIASES if field in mapping},
        columns,
        tuple(notes),
        frozenset(field for field, column in wanted.items() if not column),
        any(is_message_list(value_at(row, mapping["query"])) for row in rows),
        frozenset(_beside(rows, columns, mapping, wanted)),
    )


def _wanted(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], wanted: Mapping[str, str], name: str
) -> dict[str, str]:
    for field, column in wanted.items():
        if field not in ALIASES:
            close = get_close_matches(field, ALIASES, 1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(
                f"--map {field}={column}: there is no field {field!r}.{hint} Fields: {', '.join(ALIASES)}."
            )
        if column and all(value_at(row, column) is MISSING for row in rows):
            close = get_close_matches(column, columns, 3, 0.5)
            hint = f" Close: {', '.join(map(repr, close))}." if close else ""
            raise InputError(f"{name}: --map {field}={column}: there is no column {column!r}.{hint} {_listed(columns)}")
    return {field: column for field, column in wanted.items() if column}


def _choose(field: str, free: Iterable[str], rows: Sequence[Mapping[str, Any]], notes: list[str]) -> str | None:
    """The column that a field is taken from, by its name and by what it holds."""
    names = ALIASES[field]
    # among spellings of one name, the exact one first
    candidates = sorted(
        (column for column in free if field_named(column) == field),
        key=lambda column: (names.index(normalized(column)), column not in names),
    )
    fitting = [column for column in candidates if _fits(field, column, rows)]
    notes += [
        f"{column!r} is named like the {field} but doesn't hold {HOLDS[field]}; it became a tag"
        for column in candidates
        if column not in fitting and (fitting or field not in _JUDGED)
    ]
    chosen = next(iter(fitting or (candidates if field in _JUDGED else [])), None)
    for column in fitting[1:]:
        other = f"; if it is the true answer: --map reference={column}" if field == "response" else ""
        how = f"--map {field}={column} takes it{other}"
        notes.append(f"the {field} is taken from {chosen!r}; {column!r} became a tag ({how})")
    return chosen


def _fits(field: str, column: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether at least one row of the head holds the kind of value that the field needs, or none holds any."""
    values = [value for row in rows if not is_missing(value := row.get(column)) and value != ""]
    return not values or any(_is_usable(field, value) for value in values)


def _is_usable(field: str, value: Any) -> bool:
    if field in _JUDGED:
        shapes = str | list | tuple | dict if field == "sources" else str
        return isinstance(value, shapes) or (field == "query" and is_message_list(value))
    if field == "history" and isinstance(value, str) and not is_message_list(value):
        return False  # one text may be anything, an id for example
    try:
        found = PARSERS[field](value, RowContext())
    except RowProblem:
        return False
    return bool(found) or field not in {"history", "time"}


def _beside(
    rows: Sequence[Mapping[str, Any]], columns: Iterable[str], mapping: Mapping[str, str], wanted: Mapping[str, str]
) -> Iterable[str]:
    for column in columns:
        field = field_named(column)
        taken = mapping.get(field) if field is not None else None
        if field in wanted or (taken is not None and any(column in row and taken in row for row in rows)):
            yield column


def _nothing_found(field: str, columns: Sequence[str], name: str) -> str:
    there = {field_named(column) or normalized(column): column for column in reversed(columns)}
    near = (f" {hint.format(column=there[other])}" for other, hint in NOT_SOURCES.items() if other in there)
    return (
        f"{name}: no column holds the {field}. {_listed(columns)} Looked for: {', '.join(ALIASES[field])}."
        f"{next(near, '') if field == 'sources' else ''} Say which one it is: --map {field}=COLUMN"
    )


def _listed(columns: Sequence[str]) -> str:
    more = f" and {len(columns) - 40} more" if len(columns) > 40 else ""
    return f"Columns: {', '.join(columns[:40])}{more}."


def _pitfalls(columns: Sequence[str], mapping: Mapping[str, str]) -> list[str]:
    notes = [
        f"{column!r} became a tag: in DeepEval's files it is the ideal context, not what was retrieved "
        f"(--map sources={column} takes it)"
        for column in columns
        if normalized(column) == "context" and column not in mapping.values()
    ]
    if "response" not in mapping:
        notes.append(
            "no column holds the response: only the scores of the sources can be computed, those of the response are "
            f"undefined. Looked for: {', '.join(ALIASES['response'])} (--map response=COLUMN)"
        )
    return notes
