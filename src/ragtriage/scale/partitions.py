"""The input cut into partitions: descriptions of some hundred bytes that travel in place of rows."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, BinaryIO

from ragtriage.core.display import plural
from ragtriage.core.filesystems import Stamp
from ragtriage.readers.files import ByteRange, RowGroups, RowRange

MOST_CASES, FEWEST_CASES = 1_000, 16
"""Of a partition: what a lost node costs at most, and what is worth a file of its own."""
WANTED_PARTITIONS = 64
"""A small input is cut into about so many, so that all processes have work to the end."""
MOST_OF_A_GROUP = 20_000
"""Rows of a row group from which on it is cut although there is enough to share out: every part of it has to read the
group from its start."""
MOST_COUNTED = 1_000_000_000
"""Bytes that are looked through to say at which line a part begins."""
_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class Partition:
    """Some rows of one file."""

    id: str
    """A digest of the file, its size and version, and which rows: 20 hexadecimal digits."""
    file: int
    """The place of the file in the plan."""
    part: RowRange
    rows: int | None
    """How many rows it has, where that is known before it is read."""
    first: int | None = None
    """The number of its first row in the file, from 1, where that is known."""

    def as_json(self) -> list[Any]:
        """The short form in which the plan keeps it."""
        match self.part:
            case ByteRange(start, end):
                told: list[Any] = ["bytes", start, end]
            case RowGroups(first, count, skip, take):
                told = ["groups", first, count, skip, take]
            case None:
                told = ["all"]
        return [self.id, self.file, self.rows, self.first, *told]

    @classmethod
    def from_json(cls, told: Sequence[Any]) -> Partition:
        """Undo `as_json`."""
        name, file, rows, first, kind, *numbers = told
        part = ByteRange(*numbers) if kind == "bytes" else RowGroups(*numbers) if kind == "groups" else None
        return cls(name, file, part, rows, first)

    def says(self, file: str, lines: tuple[int, int] | None = None) -> str:
        """Which rows it is, for people; `lines` are those of a part by bytes, if they are known."""
        match self.part:
            case ByteRange(start, end):
                within = f"bytes {start:,} to {end:,}"
                return f"{file}, lines {lines[0]:,} to {lines[1]:,} ({within})" if lines else f"{file}, {within}"
            case RowGroups() if self.first is not None and self.rows is not None:
                return f"{file}, rows {self.first:,} to {self.first + self.rows - 1:,}"
            case _:
                return f"{file}, {'all rows' if self.rows is None else plural(self.rows, 'row')}"


def partition_id(address: str, stamp: Stamp, part: RowRange) -> str:
    """The id of a partition."""
    whole = json.dumps([address, stamp.size, stamp.version, Partition("", 0, part, None).as_json()[4:]])
    return hashlib.blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=10).hexdigest()


def cases_a_partition(rows: int) -> int:
    """How many cases a partition should have; it follows from the input alone, so that every start cuts alike."""
    return max(FEWEST_CASES, min(MOST_CASES, rows // WANTED_PARTITIONS))


def cut_row_groups(sizes: Sequence[int], size: int, most: int | None = None) -> Iterator[tuple[RowGroups, int, int]]:
    """Neighbouring small row groups of a Parquet file together, large ones by rows: (part, rows, first row).

    Args:
        sizes: the rows of each row group.
        size: about how many rows a part should have.
        most: the rows of a group from which on it is cut; twice the size if None.
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
    """A JSONL file by bytes, each part beginning behind a line break.

    Args:
        stream: the file.
        length: its bytes.
        step: about how many bytes a part should have.
    """
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


def lines_of(stream: BinaryIO, part: ByteRange) -> tuple[int, int] | None:
    """The first and last line, from 1, of a part of a JSONL file; None where too much would have to be read for it."""
    if part.end > MOST_COUNTED:
        return None
    stream.seek(0)
    before = _line_breaks(stream, part.start)
    own = _line_breaks(stream, part.end - part.start)
    stream.seek(part.end - 1)
    return before + 1, before + own + (stream.read(1) != b"\n")


def _line_breaks(stream: BinaryIO, size: int) -> int:
    """How many line breaks are among the next bytes."""
    found = 0
    while size > 0 and (chunk := stream.read(min(_READ, size))):
        found += chunk.count(b"\n")
        size -= len(chunk)
    return found


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
