"""The file of one partition: Parquet, a row a case, in the order of the input.

The columns are those of the store's tables (`ragtriage.runs.case_row`) and what the run's own criteria say of the
case. A metric has its value under its name, and beside it `NAME.reason`, `NAME.failed`, `NAME.judged`, `NAME.unknown`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from ragtriage.core.case import Case
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Outcome
from ragtriage.diagnosis import Finding, headline
from ragtriage.runs.case_row import case_from, case_values, outcome_from, outcome_values, texts_of
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store.schema import escaped, unescaped

AT_ONCE = 1_000
"""Records of a row group at most."""
AT_ONCE_BYTES = 16_000_000
"""Characters and bytes after which a row group ends before, so that long texts don't fill the memory."""
IN_MEMORY = 16_000_000
"""Bytes of a part from which on it is gathered in a temporary file."""
_PORTION = 1 << 20
OUTCOME = ("reason", "failed", "judged", "unknown")
"""What stands beside a metric's value."""
_FIXED = frozenset(
    {
        "position", "row", "id", "id_digest", "content", "failed", "language", "seconds", "weight", "time", "trace_id",
        "relevant_ids", "tags", "kind", "component", "rules", "sure", "steps", "texts",
    }
)  # fmt: skip
LIGHT = ("position", "id", "tags", "weight", "language")
"""The columns that a table of scores needs."""


@dataclass(frozen=True, slots=True)
class PlacedRecord:
    """A record, and where its case stands in its partition."""

    position: int
    """Among the usable rows, from 0."""
    row: int
    """Among all rows, from 1."""
    record: Record


class PartWriter:
    """Gathers the records of a partition: a few in memory, many in a temporary file without a name.

    Args:
        config: the metrics, and the criteria by which findings are told.
        texts: whether the cases' texts are kept.
    """

    def __init__(self, config: EvaluationConfig, *, texts: bool) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        self._config = config
        self._schema = _schema([m.name for m in config.metrics], texts=texts)
        self._texts = texts
        self._waiting: list[dict[str, Any]] = []
        self._size = 0
        self._file = cast("BinaryIO", SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115  # `close` closes it
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def add(self, placed: PlacedRecord, findings: Sequence[Finding]) -> None:
        """Take one record in; they come in the order of their positions."""
        record, config = placed.record, self._config
        values = case_values(record)
        head = headline(record, findings, config.thresholds, config.rules, config.metrics)
        row: dict[str, Any] = values | {
            "position": placed.position,
            "row": placed.row,
            **{name: None if values[name] is None else escaped(values[name]) for name in ("id", "time", "trace_id")},
            "tags": [(escaped(key), json.dumps(value, default=str)) for key, value in values["tags"].items()],
            "relevant_ids": None if values["relevant_ids"] is None else json.dumps(list(values["relevant_ids"])),
            "kind": head.kind,
            "component": head.component,
            "rules": [finding.rule for finding in findings],
            "sure": [finding.sure for finding in findings],
        }
        for name, outcome in record.outcomes.items():
            found = outcome_values(outcome)
            reason = None if found["reason"] is None else escaped(found["reason"])
            told = (found["value"], reason, found["failed"], found["judged"], found["unknown"])
            row |= zip(columns_of(name), told, strict=True)
        if self._texts:
            row["texts"] = [
                {"role": role, "label": None if label is None else escaped(label), "text": escaped(text)}
                for role, _, label, text in texts_of(record.case)
            ]
        self._take(row)

    def whole(self) -> BinaryIO:
        """The whole file, at its beginning; nothing can be added after it. `close` closes it."""
        self._flush()
        self._writer.close()
        self._file.seek(0)
        return self._file

    def close(self) -> None:
        """Let go what was gathered."""
        with suppress(OSError):  # what is let go needn't be on the disk
            self._writer.close()  # before its file, to which it would write at last
        self._file.close()

    def _take(self, row: dict[str, Any]) -> None:
        self._waiting.append(row)
        self._size += len(row["steps"]) + sum(len(one["text"]) for one in row.get("texts") or ())
        if len(self._waiting) >= AT_ONCE or self._size >= AT_ONCE_BYTES:
            self._flush()

    def _flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415  # an extra

        if self._waiting:
            self._writer.write_table(pa.Table.from_pylist(self._waiting, self._schema))
            self._waiting.clear()
            self._size = 0


def file_checksum(file: BinaryIO) -> str:
    """The checksum of a file from its beginning, where it stands again afterwards: 32 hexadecimal digits."""
    found = hashlib.blake2b(digest_size=16)
    file.seek(0)
    while portion := file.read(_PORTION):
        found.update(portion)
    file.seek(0)
    return found.hexdigest()


def read_part(file: BinaryIO, columns: Sequence[str] | None = None, rows: int = 64) -> Iterator[dict[str, Any]]:
    """The rows of a part as they stand there, a portion at a time.

    Args:
        file: the file.
        columns: which are read; all if None.
        rows: of a portion.
    """
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    with pq.ParquetFile(file) as part:
        for batch in part.iter_batches(rows, columns=None if columns is None else list(columns), use_threads=False):
            yield from batch.to_pylist()


def read_numbers(file: BinaryIO, columns: Sequence[str]) -> dict[str, Any]:
    """Columns of numbers of a part, as arrays; nan where there is none."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    table = pq.read_table(file, columns=list(columns), use_threads=False)
    return {name: table[name].to_numpy() for name in columns}


def values_of(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a case as `ragtriage.runs.case_row` knows them; what wasn't read is left out."""
    found = dict(row)
    for name in ("id", "time", "trace_id"):
        if found.get(name) is not None:
            found[name] = unescaped(found[name])
    if "tags" in found:
        found["tags"] = {unescaped(key): json.loads(value) for key, value in found["tags"]}
    if found.get("relevant_ids") is not None:
        found["relevant_ids"] = json.loads(found["relevant_ids"])
    return found


def outcomes_of(row: Mapping[str, Any], metrics: Iterable[str]) -> dict[str, Outcome]:
    """The scores of a case, by metric."""
    found: dict[str, Outcome] = {}
    for name in metrics:
        value, reason, failed, judged, unknown = (row[column] for column in columns_of(name))
        if value is not None or reason is not None:
            told = None if reason is None else unescaped(reason)
            found[name] = outcome_from(value, told, bool(failed), judged, unknown)
    return found


def columns_of(metric: str) -> list[str]:
    """The columns of a metric; one of a user's own that is called like another column stands apart from it."""
    name = f"{metric}.value" if metric in _FIXED else metric
    return [name, *(f"{metric}.{column}" for column in OUTCOME)]


def case_of(values: Mapping[str, Any]) -> Case:
    """The case of a row with texts, from `values_of`."""
    texts = (
        (one["role"], None if one["label"] is None else unescaped(one["label"]), unescaped(one["text"]))
        for one in values["texts"]
    )
    return case_from(values, texts)


def _schema(metrics: Sequence[str], *, texts: bool) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # an extra

    fields = [
        ("position", pa.int64()), ("row", pa.int64()), ("id", pa.string()), ("id_digest", pa.binary(16)),
        ("content", pa.binary(16)), ("failed", pa.bool_()), ("language", pa.string()), ("seconds", pa.float64()),
        ("weight", pa.float64()), ("time", pa.string()), ("trace_id", pa.string()), ("relevant_ids", pa.string()),
        ("tags", pa.map_(pa.string(), pa.string())), ("kind", pa.string()), ("component", pa.string()),
        ("rules", pa.list_(pa.string())), ("sure", pa.list_(pa.bool_())), ("steps", pa.binary()),
    ]  # fmt: skip
    for name in metrics:
        kinds = (pa.float64(), pa.string(), pa.bool_(), pa.int32(), pa.int32())
        fields += zip(columns_of(name), kinds, strict=True)
    if texts:
        text = pa.struct([("role", pa.string()), ("label", pa.string()), ("text", pa.string())])
        fields.append(("texts", pa.list_(text)))
    return pa.schema(fields)
