"""JSON Lines: an object a line; memory doesn't grow with the length of the file."""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONDecodeError
from typing import BinaryIO

from ragtriage.readers.json_values import JsonReader
from ragtriage.readers.problems import Limits, RawRow
from ragtriage.readers.text_values import described

_BOM = b"\xef\xbb\xbf"


def json_lines(stream: BinaryIO, limits: Limits) -> Iterator[RawRow]:
    """The rows of a JSON Lines stream, where a broken line costs only itself; blank lines are skipped."""
    row = line = 0
    reader = JsonReader()
    while raw := stream.readline(limits.max_row + 1):
        line += 1
        if line == 1:
            raw = raw.removeprefix(_BOM)
        if len(raw) > limits.max_row and not raw.endswith(b"\n"):
            row += 1
            while (chunk := stream.readline(1 << 20)) and not chunk.endswith(b"\n"):
                pass
            yield RawRow(row, line, problem=f"is longer than {limits.max_row:,} bytes: split it or leave it out")
        elif raw.strip():
            row += 1
            yield _json_line(reader, raw, row, line)


def _json_line(reader: JsonReader, raw: bytes, row: int, line: int) -> RawRow:
    try:
        value = reader.value(raw.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8: save the file as UTF-8"
        return RawRow(row, line, problem=problem, undecodable=True)
    except JSONDecodeError as error:
        return RawRow(row, line, problem=f"broken JSON at line {line}, column {error.pos + 1}: {error.msg}")
    if not isinstance(value, dict):
        return RawRow(row, line, problem=f"is {described(value)}, not a JSON object: write one object {{…}} a line")
    return RawRow(row, line, values=value, size=len(raw), repeated=reader.repeated)
