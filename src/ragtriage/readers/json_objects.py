"""JSONL files whose lines are something else than cases: made into values, or rejected with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from ragtriage.core.errors import InputError
from ragtriage.core.validation import Invalid, validated
from ragtriage.readers.files import STDIN, open_bytes, records
from ragtriage.readers.problems import Limits, Rejected, RowProblem
from ragtriage.readers.text_values import plain

Value = TypeVar("Value")


def values_in(path: str, make: Callable[[Mapping[str, Any], str], Value]) -> tuple[list[Value], list[Rejected]]:
    """What the lines of a file hold, and the lines that can't be used.

    Args:
        path: a JSONL file, which may be gzipped; `-` is standard input.
        make: columns and the line's number to a value; it raises RowProblem for a line that can't be used.

    Raises:
        InputError: the file can't be read, or no line of it can be used.
    """
    made: list[Value] = []
    rejected: list[Rejected] = []
    name = "standard input" if path == STDIN else path
    for record in records(path, open_bytes(path), "jsonl", Limits()):
        problem = RowProblem(None, record.problem or "can't be read")
        if record.values is not None:
            try:
                made.append(make(record.values, str(record.row)))
                continue
            except RowProblem as found:
                problem = found
        rejected.append(Rejected(record.row, problem.field, problem.reason, record.line, name, record.ends))
    if not made:
        first = f" The first: {rejected[0]}" if rejected else " It is empty."
        raise InputError(f"{name}: no row can be used.{first}")
    return made, rejected


def row_as(shape: type[Value], values: Mapping[str, Any]) -> Value:
    """A row's columns as a value of this dataclass.

    Raises:
        RowProblem: they don't fit; its reason names every column that is wrong.
    """
    try:
        return validated(shape, plain(values, []), "column")
    except Invalid as problem:
        raise RowProblem(None, str(problem)) from None


def write_lines(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write a JSONL file, which is there as a whole or not at all.

    Raises:
        InputError: it can't be written.
    """
    part = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # half a surrogate pair, which no UTF-8 can hold, becomes the escape that JSON has for it
        with part.open("w", encoding="utf-8", errors="backslashreplace") as target:
            target.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def lines_by_id(path: Path) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every line of a file that belongs to the rows of another one: where it stands, the row's id, and its columns.

    Raises:
        InputError: the file can't be read, a line is broken or has no id, or an id comes twice.
    """
    seen: set[str] = set()
    for record in records(str(path), open_bytes(str(path)), "jsonl", Limits()):
        place = f"{path}, row {record.row}"
        if record.values is None:
            raise InputError(f"{place}: {record.problem}")
        key = record.values.get("id")
        if key is None or isinstance(key, dict | list):
            raise InputError(f"{place}, field 'id': is missing: give every line the id of its row")
        if str(key) in seen:
            raise InputError(f"{place}, field 'id': {str(key)!r} comes twice: take one of the lines out")
        seen.add(str(key))
        yield place, str(key), record.values


def first_line(path: str) -> Mapping[str, Any] | None:
    """The columns of a file's first line, to tell what the file holds; None where it can't be read."""
    try:
        record = next(records(path, open_bytes(path), "jsonl", Limits()), None)
    except (InputError, UnicodeDecodeError):
        return None
    return record.values if record else None
