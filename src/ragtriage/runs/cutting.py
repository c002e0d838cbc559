"""An input cut into parts: descriptions of some hundred bytes that travel in place of rows."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, BinaryIO

from ragtriage.core.errors import InputError
from ragtriage.core.files import Stamp, listed, open_input, stamp_of
from ragtriage.readers.files import ByteRange, RowGroups
from ragtriage.runs.manifest import InputFile, PartPlan, ReadOptions, part_id

AT_ONCE = 16
MOST_CASES, FEWEST_CASES = 1_000, 16
"""Of a part: what a lost node costs at most, and what is worth a file of its own."""
WANTED_PARTS = 64
"""A small input is cut into about so many, so that all processes have work to the end."""
MOST_OF_A_GROUP = 20_000
"""Rows of a row group from which on it is cut although there is enough to share out: every part of it has to read the
group from its start."""
_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class Survey:
    """The files of an input, in the order of their names, and its parts, in the order of the files and rows."""

    files: tuple[InputFile, ...]
    plan: tuple[PartPlan, ...]
    rows: int
    """About how many rows there are; those of files that are one part aren't known and count as none."""
    notes: tuple[str, ...] = ()


def survey(inputs: Sequence[str], reading: ReadOptions, size: int | None = None) -> Survey:
    """Look at the files of an input and cut them into parts.

    A part has about `size` cases; by default what suits the input.
    """
    found = list(dict.fromkeys(one for pattern in inputs for one in listed(pattern)))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        looked = list(threads.map(partial(_look_at, reading=reading), found))
    if all(one.file.problem for one in looked):
        raise InputError(looked[0].file.problem)
    rows = round(sum(one.rows or 0 for one in looked))
    wanted = size or cases_a_part(rows)
    most = None if size or not _enough(looked, wanted) else MOST_OF_A_GROUP
    with ThreadPoolExecutor(AT_ONCE) as threads:
        cut = threads.map(partial(_cut, size=wanted, most=most), looked)
        parts = [
            PartPlan(part_id(one.file.address, one.file.stamp, part), at, part, count, first)
            for at, (one, parts) in enumerate(zip(looked, cut, strict=True))
            for part, count, first in parts
        ]
    return Survey(tuple(one.file for one in looked), tuple(parts), rows, tuple(_notes(looked)))


@dataclass(frozen=True, slots=True)
class _Looked:
    file: InputFile
    rows: float | None = None
    """About how many rows it has; None where that isn't known."""
    groups: tuple[int, ...] = ()
    """The rows of each row group of a Parquet file."""
    line: float | None = None
    """Bytes of a line of a JSONL file that isn't packed."""


def _look_at(found: tuple[str, str], reading: ReadOptions) -> _Looked:
    address, name = found
    stamp = Stamp(0, "")
    try:
        stamp = stamp_of(address) or stamp
        cases = reading.open(address, name)
        file = InputFile(address, name, stamp.size, stamp.version, cases.format, dict(cases.mapping), tuple(cases.tags))
        if cases.format not in {"parquet", "jsonl"}:
            return _Looked(file)
        with open_input(address) as stream:
            if cases.format == "parquet":
                groups = _row_groups(stream)
                return _Looked(file, sum(groups), groups)
            if stream.read(2) == b"\x1f\x8b":
                return _Looked(file)
            line = bytes_a_line(stream)
            return _Looked(file, stamp.size / line, line=line)
    except InputError as error:
        return _Looked(InputFile(address, name, stamp.size, stamp.version, problem=str(error)))
    except OSError as error:
        raise InputError(f"{name}: can't be read: {error.strerror or error}") from error


def _row_groups(stream: BinaryIO) -> tuple[int, ...]:
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    with pq.ParquetFile(stream) as file:
        return tuple(file.metadata.row_group(at).num_rows for at in range(file.num_row_groups))


def _enough(looked: Sequence[_Looked], size: int) -> bool:
    """Whether there are enough parts where row groups are cut only if they are very large."""
    parts = 0
    for one in looked:
        if one.groups:
            parts += sum(1 for _ in cut_row_groups(one.groups, size, MOST_OF_A_GROUP))
        else:
            parts += round((one.rows or 0) / size) or 1
    return parts >= WANTED_PARTS


def _cut(one: _Looked, size: int, most: int | None) -> list[tuple[Any, int | None, int | None]]:
    if one.file.problem:
        return []
    if one.groups:
        return [*cut_row_groups(one.groups, size, most)]
    if one.line is None:
        return [(None, None, 1)]
    with open_input(one.file.address) as stream:
        ranges = cut_lines(stream, one.file.size, max(1, round(size * one.line)))
        return [(part, None, None) for part in ranges]


def _notes(looked: Sequence[_Looked]) -> Iterator[str]:
    large = [(max(one.groups), one.file.name) for one in looked if one.groups and max(one.groups) > MOST_OF_A_GROUP]
    if large:
        rows, name = max(large)
        yield (
            f"{name} has row groups of up to {rows:,} rows: every part reads its row group from the start, so "
            "they are read again and again; write it with row_group_size=1000"
        )
    whole = [one.file for one in looked if not one.file.problem and one.line is None and not one.groups]
    if whole and len(whole) < len(looked):
        yield f"{whole[0].name} and other CSV, JSON and gzip files are one part each"
    elif whole:
        yield (
            f"{whole[0].name} is one part, on which one process works: CSV, JSON and gzip files aren't cut; "
            "Parquet and JSONL files are"
            if len(whole) == 1
            else "CSV, JSON and gzip files are one part each; Parquet and JSONL files are cut"
        )


def cases_a_part(rows: int) -> int:
    """How many cases a part should have; it follows from the input alone, so that every start cuts alike."""
    return max(FEWEST_CASES, min(MOST_CASES, rows // WANTED_PARTS))


def cut_row_groups(sizes: Sequence[int], size: int, most: int | None = None) -> Iterator[tuple[RowGroups, int, int]]:
    """Neighbouring small row groups of a Parquet file together, large ones by rows: (part, rows, first row).

    A part has about `size` rows; a group is cut from `most` rows on, or twice the size.
    """
    most = 2 * size if most is None else most
    first = count = rows = before = 0
    for group, own in enumerate(sizes):
        if own > most:
            if count:
                yield RowGroups(first, count), rows, before - rows + 1
            parts = -(-own // size)
            ends = [own * place // parts for place in range(parts + 1)]
            for start, end in pairwise(ends):
                yield RowGroups(group, 1, start, end - start), end - start, before + start + 1
            first, count, rows = group + 1, 0, 0
        else:
            if count and rows + own > 1.5 * size:
                yield RowGroups(first, count), rows, before - rows + 1
                first, count, rows = group, 0, 0
            count, rows = count + 1, rows + own
        before += own
    if count:
        yield RowGroups(first, count), rows, before - rows + 1


def cut_lines(stream: BinaryIO, length: int, step: int) -> Iterator[ByteRange]:
    """A JSONL file by bytes, each part beginning behind a line break."""
    start = 0
    while start < length:
        end = length if start + 1.5 * step >= length else _behind_line(stream, start + step, length)
        yield ByteRange(start, end)
        start = end


def bytes_a_line(stream: BinaryIO) -> float:
    """About how many bytes a line of a JSONL file takes, by its beginning."""
    stream.seek(0)
    head = stream.read(_READ)
    return len(head) / max(1, head.count(b"\n"))


def _behind_line(stream: BinaryIO, at: int, length: int) -> int:
    """The place behind the first line break from a place on."""
    stream.seek(at)
    while at < length:
        chunk = stream.read(_READ)
        if not chunk:
            break
        found = chunk.find(b"\n")
        if found >= 0:
            return at + found + 1
        at += len(chunk)
    return length
