"""CSV with comma, semicolon or tab, with a header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ragtriage.core.errors import InputError
from ragtriage.readers.field_names import field_named
from ragtriage.readers.problems import Limits
from ragtriage.readers.records import Record
from ragtriage.readers.text_values import bad_byte

if TYPE_CHECKING:
    from _csv import Reader  # exists for type checkers alone

_DELIMITERS = (",", ";", "\t")


def table(stream: io.BufferedReader, limits: Limits, name: str) -> Iterator[Record]:
    """The rows of a CSV stream.

    Raises:
        InputError: there is no header, it isn't UTF-8, or it names a column twice.
    """
    delimiter = _delimiter(stream.peek(1 << 16)[: 1 << 16])
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        yield from _records(csv.reader(text, delimiter=delimiter), limits, name)
    finally:
        text.detach()  # so that whoever opened the stream closes it


def _records(rows: Reader, limits: Limits, name: str) -> Iterator[Record]:
    header: list[str] | None = None
    row = 0
    while True:
        line = rows.line_num + 1
        problem = None
        cells: list[str] | None = []
        # the limit belongs to the whole process: it is lent for one row and given back
        before = csv.field_size_limit(limits.max_row)
        try:
            cells = next(rows, None)
        except csv.Error as error:
            problem = f"broken CSV: {error}: is a quote not closed?"
        finally:
            csv.field_size_limit(before)
        if cells is None:
            break
        if not cells and problem is None:
            continue
        if header is None:
            header = _header(cells, name, problem)
            continue
        row += 1
        yield _record(cells, header, row, line, problem)


def _record(cells: list[str], header: list[str], row: int, line: int, problem: str | None) -> Record:
    if problem is not None:
        return Record(row, line, problem=problem)
    if (bad := bad_byte("".join(cells))) is not None:
        problem = f"byte {bad} in it is not UTF-8: save the file as UTF-8"
        return Record(row, line, problem=problem, undecodable=True)
    if len(cells) != len(header):
        many = "more" if len(cells) > len(header) else "fewer"
        problem = (
            f"has {len(cells)} cells, {many} than the {len(header)} of the header: "
            "quote cells that hold the delimiter, a quote or a line break"
        )
        return Record(row, line, problem=problem)
    return Record(row, line, values=dict(zip(header, cells, strict=True)), size=sum(map(len, cells)))


def _header(cells: list[str], name: str, problem: str | None) -> list[str]:
    if problem is not None:
        raise InputError(f"{name}: the header can't be read: {problem}")
    if (bad := bad_byte("".join(cells))) is not None:
        raise InputError(f"{name}: byte {bad} in the header (line 1) is not UTF-8: save the file as UTF-8")
    header = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1)]
    twice = sorted({cell for cell in header if header.count(cell) > 1})
    if twice:
        raise InputError(f"{name}: the header names {', '.join(map(repr, twice))} more than once: rename one of them")
    return header


def _delimiter(head: bytes) -> str:
    """The delimiter under which the header names most of our fields, then most columns."""
    first = head.decode("utf-8-sig", "replace").lstrip("\r\n")

    def quality(delimiter: str) -> tuple[int, int]:
        try:
            cells = next(csv.reader(io.StringIO(first, newline=""), delimiter=delimiter), [])
        except csv.Error:
            return 0, 0
        return sum(field_named(cell) is not None for cell in cells), len(cells)

    return max(_DELIMITERS, key=quality)
