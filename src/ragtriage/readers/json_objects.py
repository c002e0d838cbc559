"""JSONL files whose lines are something else than cases: read, and appended to so that a kill takes away no line."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.files import PRIVATE_FILE, atomic_write, private_folder
from ragtriage.core.validation import Invalid, validated
from ragtriage.readers.files import InputPath, input_file, raw_rows
from ragtriage.readers.problems import Rejected, RowProblem
from ragtriage.readers.text_values import as_json_value

_SUFFIXES = frozenset({".jsonl", ".ndjson"})

T = TypeVar("T")


def values_in(path: InputPath, make: Callable[[Mapping[str, Any], str], T]) -> tuple[list[T], list[Rejected]]:
    """What the lines of a JSONL file hold, and the lines that can't be used.

    `make` makes a value of a line's columns and number, and raises RowProblem for a line that can't be used.
    """
    made: list[T] = []
    rejected: list[Rejected] = []
    name = input_file(path).name
    for row in raw_rows(path):
        if row.values is None:
            rejected.append(row.rejected(None, row.problem or "can't be read", name))
            continue
        try:
            made.append(make(row.values, str(row.row)))
        except RowProblem as problem:
            rejected.append(row.rejected(problem.field, problem.reason, name))
    if not made:
        first = f" The first: {rejected[0]}" if rejected else " It is empty."
        raise InputError(f"{name}: no row can be used.{first}")
    return made, rejected


def row_as(shape: type[T], values: Mapping[str, Any]) -> T:
    """A row's columns as a value of this dataclass; a RowProblem names every column that is wrong."""
    try:
        return validated(shape, as_json_value(values, []), "column")
    except Invalid as problem:
        raise RowProblem(None, str(problem)) from None


def write_lines(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write a JSONL file, which is there as a whole or not at all."""
    try:
        # half a surrogate pair, which no UTF-8 can hold, becomes the escape that JSON has for it
        with atomic_write(path, "backslashreplace") as target:
            target.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def lines_by_id(path: Path) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Every line of a file that belongs to the rows of another one: where it stands, the row's id, and its columns."""
    seen: set[str] = set()
    for row in raw_rows(str(path)):
        place = f"{path}, row {row.row}"
        if row.values is None:
            raise InputError(f"{place}: {row.problem}")
        key = row.values.get("id")
        if key is None or isinstance(key, dict | list):
            raise InputError(f"{place}, field 'id': is missing: give every line the id of its row")
        if str(key) in seen:
            raise InputError(f"{place}, field 'id': {str(key)!r} comes twice: take one of the lines out")
        seen.add(str(key))
        yield place, str(key), row.values


def first_line(path: InputPath) -> Mapping[str, Any] | None:
    """The columns of a file's first line, to tell what the file holds; None where it can't be read."""
    try:
        row = next(raw_rows(path), None)
    except InputError:
        return None
    return row.values if row else None


def require_lines_name(path: Path, what: str) -> None:
    """Refuse a file that lines are to be written to and whose name isn't that of a JSONL file."""
    if path.suffix.lower() not in _SUFFIXES:
        raise ConfigError(f"{path}: {what} are JSON Lines: give the file a name that ends in .jsonl")


def open_to_append(path: Path, what: str) -> int:
    """The descriptor of a file to read and append to; it and its folders are made if they aren't there.

    `what` says for the error what it holds.
    """
    require_lines_name(path, what)
    try:
        private_folder(path.parent)
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_BINARY", 0), PRIVATE_FILE)
        with _alone(file):
            _mend_end(file)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from None
    return file


def _mend_end(file: int) -> None:
    """Remove a last line that was cut off (it is no JSON); end a whole one that lacks its end."""
    size = start = os.fstat(file).st_size
    end = b""
    while start and b"\n" not in end:
        start = max(0, start - 65536)
        os.lseek(file, start, os.SEEK_SET)
        end = os.read(file, size - start)
    last = end.rpartition(b"\n")[2]
    if not last:
        return
    try:
        json.loads(last)
    except (ValueError, RecursionError):
        os.ftruncate(file, size - len(last))
    else:
        os.write(file, b"\n")


def append(file: int, row: Mapping[str, Any]) -> None:
    """Write one row as a line; when this returns, the operating system has it."""
    line = (json.dumps(row, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    with _alone(file):
        while line:
            line = line[os.write(file, line) :]


@contextmanager
def _alone(file: int) -> Iterator[None]:
    """Where the system can, no other process mends the file's end while a line is half written, or the other way."""
    try:
        from fcntl import LOCK_EX, LOCK_UN, flock  # noqa: PLC0415  # only some systems have it

        flock(file, LOCK_EX)
    except (ImportError, OSError):
        yield
        return
    try:
        yield
    finally:
        flock(file, LOCK_UN)
