"""Parquet, batch by batch; pyarrow is imported when a file needs it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError, MissingExtraError
from ragtriage.readers.records import Record

_BATCH_BYTES = 16_000_000
_BATCH_ROWS = 256


def parquet(path: Path) -> Iterator[Record]:
    """The rows of a Parquet file.

    Raises:
        MissingExtraError: pyarrow isn't installed.
        InputError: it isn't a Parquet file.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415 - an extra
        import pyarrow.parquet as pq  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("Parquet files", "parquet") from None
    row = 0
    try:
        file = pq.ParquetFile(path)
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path}: not a readable Parquet file: {error}") from None
    with file:
        names = file.schema_arrow.names
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise InputError(f"{path}: columns named more than once: {', '.join(map(repr, twice))}")
        try:
            for batch in file.iter_batches(batch_size=_rows_a_batch(file.metadata)):
                for record in _records(batch, row):
                    row = record.row
                    yield record
        except (pa.ArrowException, OSError) as error:
            problem = f"the file is damaged here ({error}): nothing after this row was read"
            yield Record(row + 1, problem=problem, ends=True)


def _rows_a_batch(metadata: Any) -> int:
    size: int = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    rows: int = metadata.num_rows
    return max(1, min(_BATCH_ROWS, _BATCH_BYTES * rows // max(size, 1)))


def _records(batch: Any, row: int) -> Iterator[Record]:
    try:
        for values in batch.to_pylist():
            row += 1
            yield Record(row, values=values)
    except (UnicodeDecodeError, ValueError):
        for index in range(batch.num_rows):
            yield _record(batch.slice(index, 1), row + index + 1)


def _record(one: Any, row: int) -> Record:
    try:
        return Record(row, values=one.to_pylist()[0])
    except UnicodeDecodeError:
        return Record(row, problem="some of its bytes are not UTF-8: write the file with UTF-8 texts", undecodable=True)
    except ValueError as error:
        return Record(row, problem=f"a value can't be read: {error}")
