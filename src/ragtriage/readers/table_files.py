"""Tables: CSV with comma, semicolon or tab and a header, and Parquet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ragtriage.core.display import plural
from ragtriage.core.errors import InputError, MissingExtraError
from ragtriage.core.files import open_input
from ragtriage.readers.field_values import field_named
from ragtriage.readers.problems import RawRow, RowLimits
from ragtriage.readers.text_values import first_invalid_byte

if TYPE_CHECKING:
    from _csv import Reader  # exists for type checkers alone

_DELIMITERS = (",", ";", "\t")
_BATCH_BYTES = 16_000_000
_BATCH_ROWS = 256
_BUFFER = 1 << 20


def csv_table(stream: io.BufferedReader, limits: RowLimits, name: str) -> Iterator[RawRow]:
    """The rows of a CSV stream."""
    delimiter = _delimiter(stream.peek(1 << 16)[: 1 << 16])
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", errors="surrogateescape", newline="")
    try:
        lines = _csv_lines(csv.reader(text, delimiter=delimiter), limits)
        if first := next(lines, None):
            header = _header(first[1], name, first[2])
            for row, (line, cells, problem) in enumerate(lines, 1):
                yield _csv_row(cells, header, row, line, problem)
    finally:
        text.detach()  # so that whoever opened the stream closes it


def _csv_lines(rows: Reader, limits: RowLimits) -> Iterator[tuple[int, list[str], str | None]]:
    """Line number, cells and what is wrong of every row that isn't blank, the header among them."""
    while True:
        line, problem = rows.line_num + 1, None
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
            return
        if cells or problem is not None:
            yield line, cells, problem


def _csv_row(cells: list[str], header: list[str], row: int, line: int, problem: str | None) -> RawRow:
    if problem is not None:
        return RawRow(row, line, problem=problem)
    if (bad := first_invalid_byte("".join(cells))) is not None:
        return RawRow(row, line, problem=f"byte {bad} in it is not UTF-8: save the file as UTF-8")
    if len(cells) != len(header):
        many = "more" if len(cells) > len(header) else "fewer"
        problem = (
            f"has {plural(len(cells), 'cell')}, {many} than the {len(header)} of the header: "
            "quote cells that hold the delimiter, a quote or a line break"
        )
        return RawRow(row, line, problem=problem)
    return RawRow(row, line, values=dict(zip(header, cells, strict=True)), size=sum(map(len, cells)))


def _header(cells: list[str], name: str, problem: str | None) -> list[str]:
    if problem is not None:
        raise InputError(f"{name}: the header can't be read: {problem}")
    if (bad := first_invalid_byte("".join(cells))) is not None:
        raise InputError(f"{name}: byte {bad} in the header (line 1) is not UTF-8: save the file as UTF-8")
    header = [cell.strip() or f"column {number}" for number, cell in enumerate(cells, 1)]
    if twice := _twice(header):
        raise InputError(f"{name}: the header names {twice} more than once: rename one of them")
    return header


def _twice(names: list[str]) -> str:
    return ", ".join(map(repr, sorted({name for name in names if names.count(name) > 1})))


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


def parquet_table(
    path: str,
    first: int = 0,
    count: int | None = None,
    skip: int = 0,
    take: int | None = None,
) -> Iterator[RawRow]:
    """The rows of a Parquet file or of some of its row groups, read batch by batch.

    Of the rows of these groups the first `skip` are left out, and `take` of the others are read.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("Parquet files", "parquet") from None
    row, end = 0, None if take is None else skip + take
    with open_input(path) as stream:
        if stream.read(2) == b"\x1f\x8b":
            raise InputError(f"{path}: is Parquet packed by gzip: unpack it")
        stream.seek(0)
        try:
            # a buffer, so that a column of a large row group isn't read as a whole
            file = pq.ParquetFile(stream, buffer_size=_BUFFER, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"{path}: not a readable Parquet file: {error}") from None
        with file:
            if twice := _twice(file.schema_arrow.names):
                raise InputError(f"{path}: columns named more than once: {twice}")
            last = file.num_row_groups if count is None else first + count
            try:
                for batch in file.iter_batches(
                    _rows_a_batch(file.metadata), row_groups=[*range(first, last)], use_threads=False
                ):
                    wanted = batch.slice(max(0, skip - row), None if end is None else max(0, end - max(row, skip)))
                    yield from _parquet_rows(wanted, max(row, skip) - skip)
                    row += batch.num_rows
                    if end is not None and row >= end:
                        return
            except (pa.ArrowException, OSError) as error:
                problem = f"the file is damaged here ({error}): nothing after this row was read"
                yield RawRow(max(row - skip, 0) + 1, problem=problem, ends=True)


def _rows_a_batch(metadata: Any) -> int:
    size: int = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    rows: int = metadata.num_rows
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // max(size, 1)))


def _parquet_rows(batch: Any, before: int) -> Iterator[RawRow]:
    """The rows of a batch, one by one where not all of them can be read together."""
    try:
        found = batch.to_pylist()
    except ValueError as error:
        if batch.num_rows > 1:
            for at in range(batch.num_rows):
                yield from _parquet_rows(batch.slice(at, 1), before + at)
            return
        utf8 = "some of its bytes are not UTF-8: write the file with UTF-8 texts"
        not_utf8 = isinstance(error, UnicodeDecodeError)
        yield RawRow(before + 1, problem=utf8 if not_utf8 else f"a value can't be read: {error}")
    else:
        yield from (RawRow(row, values=values) for row, values in enumerate(found, before + 1))
