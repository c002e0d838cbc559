"""What an address holds: its files, how their columns are read, and the partitions that they are cut into."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, BinaryIO

from ragtriage.core.errors import InputError
from ragtriage.readers import CaseFile, RowLimits, open_cases
from ragtriage.readers.files import InputFile
from ragtriage.scale.partitions import (
    MOST_OF_A_GROUP,
    WANTED_PARTITIONS,
    Partition,
    bytes_a_line,
    cases_a_partition,
    cut_lines,
    cut_row_groups,
    partition_id,
)
from ragtriage.scale.places import REMOTE, Stamp, listed, open_input, stamp_of

AT_ONCE = 16
"""Files that are looked at together."""


@dataclass(frozen=True, slots=True)
class Reading:
    """How files of cases are read: the arguments of `ragtriage.readers.open_cases`."""

    mapping: Mapping[str, str] = field(default_factory=dict)
    split_sources: str | None = None
    citation_mark: str | None = None
    format: str | None = None
    max_text: int = RowLimits().max_text
    max_sources: int = RowLimits().max_sources

    def open(self, address: str, name: str) -> CaseFile:
        """Open a file; its first rows are read.

        Raises:
            InputError: it can't be used.
            ConfigError: the mapping is wrong.
        """
        path = address.partition("?")[0] if REMOTE in address else address
        opener = partial(open_input, address) if REMOTE in address else None
        return open_cases(
            InputFile(path, name, opener),
            mapping=self.mapping,
            split_sources=self.split_sources,
            limits=RowLimits(max_text=self.max_text, max_sources=self.max_sources),
            format=self.format,
            citation_mark=self.citation_mark,
        )


@dataclass(frozen=True, slots=True)
class PlannedFile:
    """A file of the input."""

    address: str
    name: str
    """As the user knows it."""
    size: int
    version: str
    """See `Stamp`."""
    format: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    """Our field to the column that holds it."""
    tags: tuple[str, ...] = ()
    problem: str = ""
    """Why none of its rows can be used; empty if some may."""

    @property
    def stamp(self) -> Stamp:
        """What it was when it was planned."""
        return Stamp(self.size, self.version)

    def as_json(self) -> dict[str, Any]:
        """As the plan keeps it."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> PlannedFile:
        """Undo `as_json`."""
        return cls(**{"size": 0, **told, "tags": tuple(told.get("tags", ()))})


@dataclass(frozen=True, slots=True)
class Survey:
    """The files of an input, in the order of their names, and its partitions, in the order of the files and rows."""

    files: tuple[PlannedFile, ...]
    partitions: tuple[Partition, ...]
    rows: int
    """About how many rows there are; those of files that are one partition aren't known and count as none."""
    notes: tuple[str, ...] = ()


def survey(inputs: Sequence[str], reading: Reading, size: int | None = None) -> Survey:
    """Look at the files of an input and cut them into partitions.

    Args:
        inputs: paths, globs, folders, URLs.
        reading: how they are read.
        size: about how many cases a partition should have; by default what suits the input.

    Raises:
        InputError: nothing was found, or no file can be used.
        ConfigError: the mapping is wrong.
        MissingExtraError: pyarrow isn't installed.
    """
    found = list(dict.fromkeys(one for pattern in inputs for one in listed(pattern)))
    with ThreadPoolExecutor(AT_ONCE) as threads:
        looked = list(threads.map(partial(_look_at, reading=reading), found))
    if all(one.file.problem for one in looked):
        raise InputError(looked[0].file.problem)
    rows = round(sum(one.rows or 0 for one in looked))
    wanted = size or cases_a_partition(rows)
    most = None if size or not _enough(looked, wanted) else MOST_OF_A_GROUP
    with ThreadPoolExecutor(AT_ONCE) as threads:
        cut = threads.map(partial(_cut, size=wanted, most=most), looked)
        partitions = [
            Partition(partition_id(one.file.address, one.file.stamp, part), at, part, count, first)
            for at, (one, parts) in enumerate(zip(looked, cut, strict=True))
            for part, count, first in parts
        ]
    return Survey(tuple(one.file for one in looked), tuple(partitions), rows, tuple(_notes(looked)))


@dataclass(frozen=True, slots=True)
class _Looked:
    """A file, and what its cutting needs."""

    file: PlannedFile
    rows: float | None = None
    """About how many rows it has; None where that isn't known."""
    groups: tuple[int, ...] = ()
    """The rows of each row group of a Parquet file."""
    line: float | None = None
    """Bytes of a line of a JSONL file that isn't packed."""


def _look_at(found: tuple[str, str], reading: Reading) -> _Looked:
    address, name = found
    stamp = Stamp(0, "")
    try:
        stamp = stamp_of(address) or stamp
        cases = reading.open(address, name)
        file = PlannedFile(
            address, name, stamp.size, stamp.version, cases.format, dict(cases.mapping), tuple(cases.tags)
        )
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
        return _Looked(PlannedFile(address, name, stamp.size, stamp.version, problem=str(error)))
    except OSError as error:
        raise InputError(f"{name}: can't be read: {error.strerror or error}") from error


def _row_groups(stream: BinaryIO) -> tuple[int, ...]:
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    with pq.ParquetFile(stream) as file:
        return tuple(file.metadata.row_group(at).num_rows for at in range(file.num_row_groups))


def _enough(looked: Sequence[_Looked], size: int) -> bool:
    """Whether there are enough partitions where row groups are cut only if they are very large."""
    parts = 0
    for one in looked:
        if one.groups:
            parts += sum(1 for _ in cut_row_groups(one.groups, size, MOST_OF_A_GROUP))
        else:
            parts += round((one.rows or 0) / size) or 1
    return parts >= WANTED_PARTITIONS


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
            f"{name} has row groups of up to {rows:,} rows: every partition reads its row group from the start, so "
            "they are read again and again; write it with row_group_size=1000"
        )
    whole = [one.file for one in looked if not one.file.problem and one.line is None and not one.groups]
    if whole and len(whole) < len(looked):
        yield f"{whole[0].name} and other CSV, JSON and gzip files are one partition each"
    elif whole:
        yield (
            f"{whole[0].name} is one partition, on which one process works: CSV, JSON and gzip files aren't cut; "
            "Parquet and JSONL files are"
            if len(whole) == 1
            else "CSV, JSON and gzip files are one partition each; Parquet and JSONL files are cut"
        )
