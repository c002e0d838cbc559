"""JSON Lines, an object a line: all rows as a stream, or some at random while the others are only counted."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha1
from json import JSONDecodeError
from typing import BinaryIO, NamedTuple

from ragtriage.readers.json_values import JsonReader
from ragtriage.readers.problems import Limits, RawRow
from ragtriage.readers.text_values import described

_BOM = b"\xef\xbb\xbf"
_AT_LINE = "broken JSON at line {},"
_AT_ONCE = 1000
"""Lines that are counted between two reports of progress."""


class _Line(NamedTuple):
    """A line that isn't blank."""

    row: int
    line: int
    raw: bytes
    """Empty for one that is too long."""


@dataclass(frozen=True, slots=True)
class DrawnRows:
    """Some rows of a stream, drawn at random."""

    rows: int
    """How many rows the stream has."""
    repeated: int
    """Those that are an earlier one again, byte for byte; none of them is drawn."""
    drawn: tuple[RawRow, ...]
    """In the order of the stream."""
    ranks: tuple[int, ...]
    """Numbers by which the drawn rows are in random order; they follow from what a row holds alone."""


def json_lines(
    stream: BinaryIO, limits: Limits, *, starts: bool = True, counted: Callable[[int], None] = lambda _: None
) -> Iterator[RawRow]:
    """The rows of a JSON Lines stream, where a broken line costs only itself; blank lines are skipped.

    Args:
        stream: the bytes.
        limits: how much a row may hold.
        starts: whether the file starts here, so that a byte order mark may stand first.
        counted: called at the end with how many lines there are.
    """
    reader = JsonReader()
    return (_raw_row(reader, one, limits) for one in _lines(stream, limits, starts=starts, counted=counted))


def moved_line(problem: str, line: int, by: int) -> str:
    """A problem of a row that names its line, told of a line that stands further down."""
    return problem.replace(_AT_LINE.format(line), _AT_LINE.format(line + by), 1)


def drawn_lines(stream: BinaryIO, limits: Limits, most: int, advance: Callable[[int], None]) -> DrawnRows:
    """Count the rows of a JSON Lines stream and draw so many, each row with the same chance.

    Which ones are drawn depends on what the lines hold and not on their order.

    Args:
        stream: the bytes.
        limits: how much a row may hold.
        most: how many rows are drawn; all if there are no more.
        advance: called now and then with how many rows were read since.
    """
    kept: list[tuple[int, _Line]] = []
    known: set[int] = set()
    row = repeated = 0
    for one in _lines(stream, limits):
        row = one.row
        rank = int.from_bytes(sha1(one.raw.strip() or str(row).encode(), usedforsecurity=False).digest()[:8])
        if rank in known:
            repeated += 1
        else:
            known.add(rank)
            keep = heapq.heappush if len(kept) < most else heapq.heappushpop
            keep(kept, (-rank, one))
        if row % _AT_ONCE == 0:
            advance(_AT_ONCE)
    advance(row % _AT_ONCE)
    kept.sort(key=lambda item: item[1].row)
    reader = JsonReader()
    rows = tuple(_raw_row(reader, one, limits) for _, one in kept)
    return DrawnRows(row, repeated, rows, tuple(-rank for rank, _ in kept))


def _lines(
    stream: BinaryIO, limits: Limits, *, starts: bool = True, counted: Callable[[int], None] = lambda _: None
) -> Iterator[_Line]:
    row = line = 0
    while raw := stream.readline(limits.max_row + 1):
        line += 1
        if line == 1 and starts:
            raw = raw.removeprefix(_BOM)
        if len(raw) > limits.max_row and not raw.endswith(b"\n"):
            row += 1
            while (chunk := stream.readline(1 << 20)) and not chunk.endswith(b"\n"):
                pass
            yield _Line(row, line, b"")
        elif raw.strip():
            row += 1
            yield _Line(row, line, raw)
    counted(line)


def _raw_row(reader: JsonReader, one: _Line, limits: Limits) -> RawRow:
    row, line, raw = one
    if not raw:
        return RawRow(row, line, problem=f"is longer than {limits.max_row:,} bytes: split it or leave it out")
    try:
        value = reader.value(raw.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8: save the file as UTF-8"
        return RawRow(row, line, problem=problem, undecodable=True)
    except JSONDecodeError as error:
        return RawRow(row, line, problem=f"{_AT_LINE.format(line)} column {error.pos + 1}: {error.msg}")
    if not isinstance(value, dict):
        return RawRow(row, line, problem=f"is {described(value)}, not a JSON object: write one object {{…}} a line")
    return RawRow(row, line, values=value, size=len(raw), repeated=reader.repeated)
