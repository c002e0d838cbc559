"""A run written for other programs: JSONL, CSV or Parquet, one row a case."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TextIO

from ragtriage.core.errors import ConfigError, InputError, MissingExtraError
from ragtriage.core.files import atomic_path, atomic_write
from ragtriage.runs.export import ExportedFields, json_row, table_columns, table_row
from ragtriage.runs.tally import Diagnosed
from ragtriage.text.sanitize import sanitize

ExportFormat = Literal["jsonl", "csv", "parquet"]
FORMATS: Mapping[str, ExportFormat] = {".jsonl": "jsonl", ".csv": "csv", ".parquet": "parquet"}
"""A file's ending → the format that it names."""
Cases = Callable[[], Iterable[Diagnosed]]
"""Gives the cases of a run with their findings, from the first one on at every call."""
FORMULA = ("=", "+", "-", "@", "＝", "＋", "－", "＠", "\t", "\r", "\n")
"""What a cell begins with that a spreadsheet would run as a formula (OWASP, "CSV Injection")."""
BATCH = 1000
"""Rows written together to a Parquet file."""


def format_of(path: Path) -> ExportFormat:
    """The format that a file's ending names.

    Raises:
        ConfigError: it names none.
    """
    if (known := FORMATS.get(path.suffix)) is not None:
        return known
    raise ConfigError(f"{path.name!r}: name the file .jsonl, .csv or .parquet, or give --format")


def export_file(path: Path, format: ExportFormat, cases: Cases, fields: ExportedFields, *, raw: bool = False) -> int:  # noqa: A002  # as the flag is called
    """Write a run to a file, whole or not at all.

    Args:
        path: where to.
        format: `jsonl`: see `json_row`. `csv` and `parquet`: see `table_row`; CSV has a column `tag.NAME` for every tag
            besides, Parquet one map column `tags`.
        cases: the run.
        fields: what of each case.
        raw: see `write_csv`.

    Returns:
        How many rows were written.

    Raises:
        InputError: the file can't be written.
        MissingExtraError: Parquet without its extra.
    """
    try:
        if format == "parquet":
            return _write_parquet(path, cases, fields)
        with atomic_write(path, errors="backslashreplace", newline="") as out:
            return write_jsonl(out, cases, fields) if format == "jsonl" else write_csv(out, cases, fields, raw=raw)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def write_jsonl(out: TextIO, cases: Cases, fields: ExportedFields) -> int:
    """Write one line of JSON a case: see `json_row`. Returns how many."""
    count = 0
    for count, (record, findings) in enumerate(cases(), 1):  # noqa: B007  # the last one is returned
        out.write(json_row(record, findings, fields) + "\n")
    return count


def write_csv(out: TextIO, cases: Cases, fields: ExportedFields, *, raw: bool = False) -> int:
    """Write a table with a header: see `table_row`. Returns how many cases there are.

    The cases are read twice, because the header names every tag.

    Args:
        out: where to; it must not translate the ends of lines.
        cases: the run.
        fields: what of each case.
        raw: whether texts are written as they are. Else a cell that a spreadsheet would run as a formula begins with an
            apostrophe, and control characters are replaced.
    """
    tags = {f"tag.{name}": name for record, _ in cases() for name in record.case.tags}
    cell = _plain if raw else _safe
    writer = csv.writer(out)
    writer.writerow(map(cell, [*table_columns(fields), *tags]))
    count = 0
    for count, (record, findings) in enumerate(cases(), 1):  # noqa: B007  # the last one is returned
        row = table_row(record, findings, fields)
        writer.writerow(map(cell, [*row.values(), *(record.case.tags.get(name) for name in tags.values())]))
    return count


def _write_parquet(path: Path, cases: Cases, fields: ExportedFields) -> int:
    try:
        import pyarrow as pa  # noqa: PLC0415  # an extra
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise MissingExtraError("Parquet files", "parquet") from error
    types = {"sources": pa.list_(pa.string())} | dict.fromkeys((m.name for m in fields.metrics), pa.float64())
    columns = [(name, types.get(name, pa.string())) for name in table_columns(fields)]
    schema = pa.schema([*columns, ("tags", pa.map_(pa.string(), pa.string()))])
    rows = (
        table_row(record, findings, fields) | {"tags": [(n, _text(v)) for n, v in record.case.tags.items()]}
        for record, findings in cases()
    )
    count = 0
    with atomic_path(path) as beside, pq.ParquetWriter(beside, schema) as writer:
        while batch := list(islice(rows, BATCH)):
            writer.write_table(pa.Table.from_pylist(batch, schema))
            count += len(batch)
    return count


def _text(value: Any) -> str | None:
    return None if value is None else str(_plain(value))


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, str | int | float | bool) else json.dumps(value, default=str)


def _safe(value: Any) -> Any:
    text = _plain(value)
    if not isinstance(text, str):
        return text
    return ("'" if text.startswith(FORMULA) else "") + sanitize(text)
