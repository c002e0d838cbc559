"""Rows that stand within another value: in a list that `--map rows=PATH` names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ragtriage.readers.paths import NotThere, ValuePath
from ragtriage.readers.problems import RawRow
from ragtriage.readers.text_values import described, unpacked


def row_of(value: Any, line: int | None, size: int = 0, repeated: str | None = None) -> RawRow:
    """The row that a value is; its number is given to it later."""
    if not isinstance(value, Mapping):
        return RawRow(0, line, problem=f"is {described(value)}, not an object: the list should hold one object a row")
    return RawRow(0, line, values=value, size=size, repeated=repeated)


def rows_within(rows: Iterable[RawRow], nested: ValuePath) -> Iterator[RawRow]:
    """The rows that stand at a path in each of these, numbered through; one that can't be read stays as it is."""
    number = 0
    within = f"the rows stand at {nested.text!r} in every row of the file; what stands beside them was not kept"
    for outer in rows:
        for found in [outer] if outer.values is None else rows_at(outer.values, nested, outer.line):
            number += 1
            yield replace(found, row=number, within=within, repeated=outer.repeated)


def rows_at(value: Any, nested: ValuePath, line: int | None) -> Iterator[RawRow]:
    """The rows that stand at a path in a value: an object, or a list of objects."""
    try:
        found = unpacked(nested.of(value))
    except NotThere as problem:
        yield RawRow(0, line, problem=f"has no {nested.text!r} (--map rows): {problem}")
        return
    if isinstance(found, list | tuple | Mapping):
        yield from (row_of(item, line) for item in _flat(found))
    else:
        yield RawRow(0, line, problem=f"has {described(found)} at {nested.text!r} (--map rows), not a list of objects")


def _flat(found: Any) -> Iterator[Any]:
    if isinstance(found, list | tuple):
        for item in found:
            yield from _flat(item)
    else:
        yield found
