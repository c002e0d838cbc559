"""JSON Lines: one object a line. Read as bytes and decoded line by line, so that a broken line costs only itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from ragtriage.core.json_values import BrokenJson, parse
from ragtriage.readers.problems import Limits
from ragtriage.readers.records import Record
from ragtriage.readers.text_values import shown

_BOM = b"\xef\xbb\xbf"


def json_lines(stream: BinaryIO, limits: Limits) -> Iterator[Record]:
    """The rows of a JSON Lines stream; blank lines are skipped."""
    row = line = 0
    while raw := stream.readline(limits.max_row + 1):
        line += 1
        if line == 1:
            raw = raw.removeprefix(_BOM)
        if len(raw) > limits.max_row and not raw.endswith(b"\n"):
            row += 1
            _skip_line(stream)
            yield Record(row, line, problem=f"is longer than {limits.max_row:,} bytes: split it or leave it out")
        elif raw.strip():
            row += 1
            yield _record(raw, row, line)


def _skip_line(stream: BinaryIO) -> None:
    while chunk := stream.readline(1 << 20):
        if chunk.endswith(b"\n"):
            return


def _record(raw: bytes, row: int, line: int) -> Record:
    try:
        value = parse(raw.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8: save the file as UTF-8"
        return Record(row, line, problem=problem, undecodable=True)
    except BrokenJson as error:
        return Record(row, line, problem=f"broken JSON at line {line}, column {error.at + 1}: {error.reason}")
    if not isinstance(value, dict):
        return Record(row, line, problem=f"is {shown(value)}, not a JSON object: write one object {{…}} a line")
    return Record(row, line, values=value, size=len(raw))
