"""The parts of a run in a folder: the file of each, and all of them as one input, of which some rows don't count.

A file is Parquet, a row a case, in the order of the input, then the rejected rows. A metric has its value under its
name, and beside it `NAME.reason`, `NAME.failed`, `NAME.judged`, `NAME.unknown`. A row that couldn't be used has no
position, and says why in `field` and `reason`. Cases with the id of an earlier one don't count.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

import numpy as np

from ragtriage.core.case import Case
from ragtriage.core.verdicts import Outcome
from ragtriage.readers import Rejected
from ragtriage.readers.case_rows import twin_problem
from ragtriage.runs.case_row import CaseHeading, CaseRow, CaseText, Columns, digest, outcome_columns, outcome_from
from ragtriage.runs.manifest import CommittedPart, Manifest, PartPlan
from ragtriage.runs.run import RejectedRow
from ragtriage.store.schema import escaped, unescaped

AT_ONCE, LIGHT_AT_ONCE = 64, 1_000
"""Cases that are read together, with their steps and without."""
ROW_GROUP = 1_000
"""Rows of a row group at most."""
ROW_GROUP_BYTES = 16_000_000
"""Characters and bytes after which a row group ends before, so that long texts don't fill the memory."""
IN_MEMORY = 16_000_000
"""Bytes of a part from which on it is gathered in a temporary file."""
_PORTION = 1 << 20
_DISORDER = "its cases aren't in order"
"""What is said of a damaged file in which a case is missing, or stands elsewhere."""
_OUTCOME = ("reason", "failed", "judged", "unknown")
"""What stands beside a metric's value."""
_FACTS = ("position", "row", "id", "id_digest", "content", "language", "weight", "relevant_ids", "tags")
_STEPS = ("failed", "seconds", "time", "trace_id", "kind", "component", "rules", "sure", "steps")
_REJECTED = ("row", "field", "reason")
_FIXED = frozenset({*_FACTS, *_STEPS, *_REJECTED, "texts"})
_ESCAPED = ("id", "time", "trace_id")

Entries = np.ndarray[Any, np.dtype[np.void]]
ENTRY = np.dtype([("high", "<u8"), ("low", "<u8"), ("position", "<i8"), ("row", "<i8")])
"""Both halves of an id's digest, and the case's place among the part's cases and rows."""


class PartFile:
    """Gathers the rows of a part: a few in memory, many in a temporary file without a name."""

    def __init__(self, metrics: Sequence[str], *, texts: bool) -> None:
        import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

        self._schema = _schema(metrics, texts=texts)
        self._texts = texts
        self._waiting: list[dict[str, Any]] = []
        self._size = 0
        self._file = cast("BinaryIO", SpooledTemporaryFile(max_size=IN_MEMORY))  # noqa: SIM115  # `close` closes it
        self._writer = pq.ParquetWriter(self._file, self._schema, compression="zstd")

    def add(self, case: CaseRow) -> None:
        """Take a case in; they come in the order of their positions."""
        row: dict[str, Any] = {name: getattr(case, name) for name in (*_FACTS, *_STEPS) if hasattr(case, name)}
        row |= {name: None if row[name] is None else escaped(row[name]) for name in _ESCAPED}
        row["tags"] = [(escaped(key), json.dumps(value, default=str)) for key, value in case.tags.items()]
        row["relevant_ids"] = None if case.relevant_ids is None else json.dumps(list(case.relevant_ids))
        if case.heading:
            row |= {name: getattr(case.heading, name) for name in ("kind", "component", "rules", "sure")}
        for name, outcome in case.outcomes.items():
            value, reason, *others = outcome_columns(outcome)
            told = (value, None if reason is None else escaped(reason), *others)
            row |= zip(columns_of(name), told, strict=True)
        if self._texts:
            row["texts"] = [
                {
                    "role": one.role,
                    "label": None if one.label is None else escaped(one.label),
                    "text": escaped(one.text),
                }
                for one in case.texts
                if one.text is not None
            ]
        self._waiting.append(row)
        self._size += len(case.steps) + sum(len(one["text"]) for one in row.get("texts") or ())
        if len(self._waiting) >= ROW_GROUP or self._size >= ROW_GROUP_BYTES:
            self._flush()

    def reject(self, rows: Iterable[Rejected]) -> None:
        """Take in what couldn't be used, behind all cases."""
        for one in rows:
            row = {name: getattr(one, name) for name in _REJECTED}
            self._waiting.append(row | {"reason": escaped(one.reason)})
            self._size += len(one.reason)
            if len(self._waiting) >= ROW_GROUP or self._size >= ROW_GROUP_BYTES:
                self._flush()

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

    def _flush(self) -> None:
        import pyarrow as pa  # noqa: PLC0415  # an extra

        if self._waiting:
            self._writer.write_table(pa.Table.from_pylist(self._waiting, self._schema))
            self._waiting.clear()
            self._size = 0


def checksum(file: BinaryIO) -> str:
    """The checksum of a file from its beginning, where it stands again afterwards: 32 hexadecimal digits."""
    found = hashlib.blake2b(digest_size=16)
    file.seek(0)
    while portion := file.read(_PORTION):
        found.update(portion)
    file.seek(0)
    return found.hexdigest()


def read_cases(file: BinaryIO, what: Columns, metrics: Sequence[str]) -> Iterator[CaseRow]:
    """The cases of a part, a portion at a time; texts only where the file has them."""
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    names = metrics if what.scores else ()
    columns = [*_FACTS, *(_STEPS if what.steps else ()), *(column for name in names for column in columns_of(name))]
    with pq.ParquetFile(file) as part:
        if what.texts is not None and "texts" in part.schema_arrow.names:
            columns.append("texts")
        portion, due = AT_ONCE if what.steps or what.texts else LIGHT_AT_ONCE, 0
        for batch in part.iter_batches(portion, columns=columns, use_threads=False):
            for row in batch.to_pylist():
                if row["position"] is not None:
                    if row["position"] != due:
                        raise ValueError(_DISORDER)
                    yield _case(row, names)
                    due += 1


def read_numbers(file: BinaryIO, columns: Sequence[str]) -> dict[str, Any]:
    """The positions of the cases of a part, and columns of numbers, as arrays; nan where there is none."""
    names = ["position", *columns]
    table = _read(file, names)
    cases = table.filter(table["position"].is_valid())
    found = {name: cases[name].to_numpy() for name in names}
    _in_order(found["position"])
    return found


def read_scores(file: BinaryIO, metric: str) -> Iterator[tuple[int, float | None, bool]]:
    """(position, value, whether the judge failed) of the cases of a part that have an outcome of a metric."""
    value, reason, failed, *_ = columns_of(metric)
    for row in _read(file, ["position", value, reason, failed]).to_pylist():
        if row[value] is not None or row[reason] is not None:
            yield row["position"], row[value], bool(row[failed])


def read_ids(file: BinaryIO) -> Entries:
    """The ids of the cases of a part, in their order."""
    table = _read(file, ["position", "row", "id_digest"])
    cases = table.filter(table["position"].is_valid())
    found = np.empty(len(cases), ENTRY)
    halves = np.frombuffer(b"".join(cases["id_digest"].to_pylist()), ">u8").reshape(-1, 2)
    found["high"], found["low"] = halves[:, 0], halves[:, 1]
    for name in ("position", "row"):
        found[name] = cases[name].to_numpy()
    _in_order(found["position"])
    return found


def read_rejected(file: BinaryIO) -> list[Rejected]:
    """The rows of a part that couldn't be used, in their order."""
    table = _read(file, ["position", *_REJECTED])
    rows = table.filter(table["position"].is_null()).to_pylist()
    return [Rejected(row["row"], row["field"], unescaped(row["reason"])) for row in rows]


def columns_of(metric: str) -> list[str]:
    """The columns of a metric; one of a user's own that is called like another column stands apart from it."""
    name = f"{metric}.value" if metric in _FIXED else metric
    return [name, *(f"{metric}.{column}" for column in _OUTCOME)]


def _in_order(positions: np.ndarray[Any, Any]) -> None:
    if not np.array_equal(positions, np.arange(len(positions))):
        raise ValueError(_DISORDER)


def _read(file: BinaryIO, columns: list[str]) -> Any:
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    return pq.read_table(file, columns=columns, use_threads=False)


def _case(row: Mapping[str, Any], metrics: Sequence[str]) -> CaseRow:
    """A case from its columns; what wasn't read has its default."""
    values = {name: row[name] for name in (*_FACTS, *_STEPS) if name in row}
    values |= {name: None if values[name] is None else unescaped(values[name]) for name in _ESCAPED if name in values}
    heading = [values.pop(name, None) for name in ("kind", "component", "rules", "sure")]
    values["tags"] = {unescaped(key): json.loads(value) for key, value in row["tags"]}
    if row["relevant_ids"] is not None:
        values["relevant_ids"] = json.loads(row["relevant_ids"])
    if heading[0] is not None:
        values["heading"] = CaseHeading(heading[0], heading[1], tuple(heading[2]), heading[3])
    return CaseRow(**values, outcomes=_outcomes(row, metrics), texts=tuple(_texts(row.get("texts") or ())))


def _texts(told: Iterable[Mapping[str, Any]]) -> Iterator[CaseText]:
    places: dict[str, int] = {}
    for one in told:
        ordinal = places[one["role"]] = places.get(one["role"], -1) + 1
        text, label = unescaped(one["text"]), one["label"]
        yield CaseText(one["role"], ordinal, None if label is None else unescaped(label), digest(text), text)


def _outcomes(row: Mapping[str, Any], metrics: Iterable[str]) -> dict[str, Outcome]:
    found: dict[str, Outcome] = {}
    for name in metrics:
        value, reason, failed, judged, unknown = (row[column] for column in columns_of(name))
        if value is not None or reason is not None:
            told = None if reason is None else unescaped(reason)
            found[name] = outcome_from(value, told, bool(failed), judged, unknown)
    return found


def _schema(metrics: Sequence[str], *, texts: bool) -> Any:
    import pyarrow as pa  # noqa: PLC0415  # an extra

    fields = [
        ("position", pa.int64()), ("row", pa.int64()), ("id", pa.string()), ("id_digest", pa.binary(16)),
        ("content", pa.binary(16)), ("failed", pa.bool_()), ("language", pa.string()), ("seconds", pa.float64()),
        ("weight", pa.float64()), ("time", pa.string()), ("trace_id", pa.string()), ("relevant_ids", pa.string()),
        ("tags", pa.map_(pa.string(), pa.string())), ("kind", pa.string()), ("component", pa.string()),
        ("rules", pa.list_(pa.string())), ("sure", pa.bool_()), ("steps", pa.binary()),
        ("field", pa.string()), ("reason", pa.string()),
    ]  # fmt: skip
    for name in metrics:
        kinds = (pa.float64(), pa.string(), pa.bool_(), pa.int32(), pa.int32())
        fields += zip(columns_of(name), kinds, strict=True)
    if texts:
        text = pa.struct([("role", pa.string()), ("label", pa.string()), ("text", pa.string())])
        fields.append(("texts", pa.list_(text)))
    return pa.schema(fields)


PARTS_AT_ONCE = 32
"""Parts that are read together."""
AT_A_TIME = 4_000_000
"""Ids that are compared together; of more, those with the same first bits."""
MOST_GOES = 256
EARLIER = "an earlier row"
"""What a row with the id of another one says that it repeats: which one that is isn't known within a part."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A case whose id an earlier one has."""

    part: int
    """The place of its part among those that are done."""
    position: int
    row: int


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A part that is done, and what stands before it."""

    plan: PartPlan
    part: CommittedPart
    rows_before: int
    """Rows of its file before it, as far as these are done."""
    all_before: int
    """Rows of the whole input before it; a file of which no row can be used counts as one."""


def laid_out(manifest: Manifest, parts: Mapping[str, CommittedPart]) -> tuple[PlacedPart, ...]:
    """The parts that are done, in the order of the input."""
    found = []
    rows: dict[int, int] = defaultdict(int)
    unusable = list(accumulate((bool(file.problem) for file in manifest.files), initial=0))
    before = 0
    for plan in manifest.plan:
        part = parts.get(plan.id)
        if plan.first is not None and plan.first > 1 and not manifest.read_options.mapping.get("rows"):
            before += max(0, plan.first - 1 - rows[plan.file])
            rows[plan.file] = plan.first - 1
        if part is None:
            continue
        found.append(PlacedPart(plan, part, rows[plan.file], before + unusable[plan.file]))
        rows[plan.file] += part.rows
        before += part.rows
    return tuple(found)


def find_duplicates(placed: Sequence[PlacedPart], ids_of: Callable[[PlacedPart], Entries]) -> list[Duplicate]:
    """Compare the ids of all parts, in as many goes as keep them in memory."""
    goes, total = 1, sum(one.part.cases for one in placed)
    while goes < MOST_GOES and total > goes * AT_A_TIME:
        goes *= 2

    def slice_of(one: PlacedPart, go: int) -> Entries:
        entries = ids_of(one)
        first = (entries["high"] >> np.uint64(56)).astype(int)
        return entries if goes == 1 else entries[(first * goes // MOST_GOES) == go]

    found: list[Duplicate] = []
    with ThreadPoolExecutor(PARTS_AT_ONCE) as threads:
        for go in range(goes):
            found += duplicates_in(list(threads.map(slice_of, placed, [go] * len(placed))))
    return sorted(found, key=lambda one: (one.part, one.position))


def duplicates_in(parts: Sequence[Entries]) -> Iterator[Duplicate]:
    """Cases whose id an earlier one has, in the order of the input.

    Given are the ids of every part, or the same slice of each by digest, in the order of the input.
    """
    whole = np.concatenate(parts) if parts else np.empty(0, ENTRY)
    owner = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    order = np.lexsort((whole["position"], owner, whole["low"], whole["high"]))
    ids = whole[["high", "low"]][order]
    same = np.zeros(len(order), bool)
    same[1:] = ids[1:] == ids[:-1]
    for later in np.sort(order[same]):
        entry = whole[later]
        yield Duplicate(int(owner[later]), int(entry["position"]), int(entry["row"]))


def starts(placed: Sequence[PlacedPart], duplicates: Sequence[Duplicate]) -> list[int]:
    """How many cases stand before each part, duplicates left out; one number more than parts: all of them."""
    lost = [0] * len(placed)
    for one in duplicates:
        lost[one.part] += 1
    return list(accumulate((one.part.cases - lost[at] for at, one in enumerate(placed)), initial=0))


def rejected_rows(
    manifest: Manifest,
    placed: Sequence[PlacedPart],
    duplicates: Sequence[Duplicate],
    rejected_of: Callable[[PlacedPart], Sequence[Rejected]],
    case_of: Callable[[int, int], Case],
) -> Iterator[RejectedRow]:
    """All rows that can't be used: of files, of parts, and those whose id came before.

    `case_of` reads the case of a part (its place among those that are done) at a position, without its texts.
    """

    def told(one: PlacedPart, row: int, field: str | None, reason: str) -> RejectedRow:
        """A row of a part, with the file and the row in it where there are several files."""
        place = f"{manifest.file_of(one.plan).name}, row {one.rows_before + row}: " if len(manifest.files) > 1 else ""
        return RejectedRow(one.all_before + row, field, place + reason)

    yield from _of_files(manifest, placed)
    for one in placed:
        for row in rejected_of(one) if one.part.rejected else ():
            yield told(one, row.row, row.field, row.reason)
    for again in duplicates:
        one = placed[again.part]
        has_ids = "id" in manifest.file_of(one.plan).mapping
        yield told(one, again.row, *twin_problem(case_of(again.part, again.position), EARLIER, has_ids=has_ids))


def _of_files(manifest: Manifest, placed: Sequence[PlacedPart]) -> Iterator[RejectedRow]:
    """Files of which no row can be used."""
    for at, file in enumerate(manifest.files):
        if file.problem:
            before = [one.all_before + one.part.rows for one in placed if one.plan.file < at]
            since = manifest.files[placed[len(before) - 1].plan.file if before else 0 : at]
            yield RejectedRow(max(before, default=0) + sum(bool(one.problem) for one in since) + 1, None, file.problem)
