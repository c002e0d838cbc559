"""Finding a file, telling its format, and reading its rows as they stand there."""

from __future__ import annotations

import gzip
import io
import re
import shlex
import zlib
from collections.abc import Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from ragtriage.core.display import listed
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.files import REMOTE, open_input
from ragtriage.core.validation import near_files
from ragtriage.readers.json_files import json_document, json_lines
from ragtriage.readers.paths import ValuePath, rows_within
from ragtriage.readers.problems import RawRow, RowLimits
from ragtriage.readers.table_files import csv_table, parquet_table
from ragtriage.readers.text_values import parse

Format = Literal["jsonl", "json", "csv", "parquet"]
FORMATS: tuple[Format, ...] = ("jsonl", "json", "csv", "parquet")
_SUFFIXES: dict[str, Format] = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
}
_LOOK_AHEAD = 1 << 16
_ZSTD = b"\x28\xb5\x2f\xfd"
UNPACK = (
    """pip install zstandard; python -c 'import sys, zstandard; f = open(sys.argv[1], "rb"); """
    """put = sys.stdout.buffer.write; packed = iter(lambda: f.read(int.from_bytes(f.read(4), "big")), b""); """
    """all_of = map(zstandard.ZstdDecompressor().decompress, packed); """
    """[put(m + b"\\n" if m[:1] == b"{" else len(m).to_bytes(4, "big") + m) for m in all_of]' """
)
"""Shell command that unpacks what a collector's file exporter packed, message by message; the file follows."""
TO_JSON = (
    """pip install opentelemetry-proto; python -c 'import re, sys, base64; """
    """from google.protobuf.json_format import MessageToJson as as_json; """
    """from opentelemetry.proto.trace.v1.trace_pb2 import TracesData; f = open(sys.argv[1], "rb"); """
    """ids = re.compile(r"(\\x22(?:traceId|spanId|parentSpanId)\\x22: \\x22)([^\\x22]*)"); """
    """as_hex = lambda m: m[1] + base64.b64decode(m[2]).hex(); """
    """messages = iter(lambda: f.read(int.from_bytes(f.read(4), "big")), b""); """
    """[print(ids.sub(as_hex, as_json(TracesData.FromString(m), indent=None))) for m in messages]' """
)
"""Shell command that turns length-prefixed `proto` of a collector's file exporter into OTLP JSON; the file follows."""
STDIN = "-"
STDIN_NAME = "standard input"
"""What messages call it."""


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file to be read; as a text, what messages call it."""

    path: str
    """Where it is, or its address: see `ragtriage.core.files`; `-` is the standard input."""
    name: str
    parts: tuple[OpenedFile, ...] = ()
    """The files that it stands for, where several are read as one."""

    def __str__(self) -> str:
        return self.name


InputPath = str | Path | OpenedFile


def input_file(path: InputPath) -> OpenedFile:
    """A file under the name by which a user knows it."""
    if isinstance(path, OpenedFile):
        return path
    return OpenedFile(str(path), STDIN_NAME if str(path) == STDIN else str(path))


def open_bytes(path: InputPath) -> io.BufferedReader:
    """The file's bytes, unpacked if they are gzip."""
    file = input_file(path)
    raw: BinaryIO | None = None
    if not file.path:
        raise InputError("the name of a file is empty: name the file to read")
    try:
        raw = open_input(file.path)
        stream = (
            raw if isinstance(raw, io.BufferedReader) else io.BufferedReader(cast("io.RawIOBase", raw), _LOOK_AHEAD)
        )
        if stream.peek(2)[:2] == b"\x1f\x8b":
            stream = io.BufferedReader(cast("io.RawIOBase", _Unpacked(stream)), _LOOK_AHEAD)
            stream.peek(1)
    except FileNotFoundError:
        raise InputError(f"{file}: there is no such file.{_near(Path(file.path))}") from None
    except IsADirectoryError:
        raise InputError(f"{file}: is a folder: name a file in it.") from None
    except PermissionError:
        raise InputError(f"{file}: may not be read: change its permissions (chmod +r)") from None
    except (OSError, EOFError, zlib.error, ValueError) as error:
        if raw is not None:
            raw.close()
        reason = (isinstance(error, OSError) and error.strerror) or error
        raise InputError(f"{file}: can't be read: {reason}") from None
    return stream


class _Unpacked(gzip.GzipFile):
    """A gzip stream that closes what it reads from."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        super().__init__(fileobj=packed, mode="rb")

    def close(self) -> None:
        super().close()
        self._packed.close()


def is_pipe(path: str) -> bool:
    """Whether it can be read only once: the standard input, a named pipe, a device."""
    there = Path(path)
    try:
        return path == STDIN or (there.exists() and not there.is_file() and not there.is_dir())
    except OSError:  # a name that is too long: told when the file is opened
        return False


def _near(path: Path) -> str:
    folder = path.parent
    if not folder.is_dir():
        return f" There is no folder {str(folder)!r} either."
    try:
        names = [entry.name for entry in folder.iterdir() if entry.is_file()]
    except OSError:
        return ""
    close = near_files(path.name, sorted(names))
    return f" Did you mean {listed([str(folder / name) for name in close], 'or')}?" if close else ""


def detect_format(file: OpenedFile, stream: io.BufferedReader, asked: str | None) -> Format:
    """The format of a stream, from what was asked, else from its first bytes and the file's name."""
    if asked is not None and asked not in FORMATS:
        raise ConfigError(f"there is no format {asked!r}: {', '.join(FORMATS)}")
    head = stream.peek(_LOOK_AHEAD)[:_LOOK_AHEAD]
    if not head:
        raise InputError(f"{file}: is empty")
    if head[:4] == b"PAR1":
        return "parquet"
    _check_text(file, head)
    if asked is not None:
        return asked
    path = file.path.partition("?")[0] if REMOTE in file.path else file.path
    suffixes = Path(path.lower().removesuffix(".gz")).suffixes
    named = _SUFFIXES.get(suffixes[-1]) if suffixes else None
    if named == "parquet":
        raise InputError(f"{file}: is not a Parquet file")
    return "csv" if named == "csv" else _tell_json(file, head, named)


def _tell_json(file: OpenedFile, head: bytes, named: Format | None) -> Format:
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    first, _, rest = text.partition(b"\n")
    if re.match(rb"\[\s*[\[{\]]", text) or first.strip() == b"{":
        return "json"
    if text[:1] == b"{":
        lines = _is_object(first) and (named != "json" or rest.lstrip()[:1] == b"{")
        return "jsonl" if lines else named or "json"
    if named is None:
        raise InputError(
            f"{file}: its format can't be told: use the ending .jsonl, .json, .csv or .parquet, or --format"
        )
    return named


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse(line.decode()), dict)
    except (JSONDecodeError, UnicodeDecodeError):
        return False


def _check_text(file: OpenedFile, head: bytes) -> None:
    """Raise an InputError for what isn't a text in UTF-8 at all: UTF-16, UTF-32 or another kind of file."""
    start = head[:200]
    name = "FILE" if file.name == STDIN_NAME else shlex.quote(file.name)
    if head[:4] == _ZSTD:
        raise InputError(f"{file}: is packed by zstd: unpack it with  zstd -d {name}")
    if head[:1] == b"\0" and head[4:8] == _ZSTD:
        raise InputError(f"{file}: is packed by zstd in parts: unpack them with  {UNPACK} {name} > unpacked.jsonl")
    if head[:1] == b"\0" and head[4:5] == b"\n":
        raise InputError(f"{file}: is protobuf: convert it with  {TO_JSON} {name} > traces.jsonl")
    every_other_is_nul = len(start) >= 4 and max(start[::2].count(0), start[1::2].count(0)) > len(start) // 3
    if every_other_is_nul or head[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        raise InputError(f"{file}: is UTF-16 or UTF-32: save as UTF-8")
    if head[:4] == b"PK\x03\x04":
        raise InputError(f"{file}: is a zip archive or an Excel workbook: save as CSV, or unpack it")
    if head[:5] == b"%PDF-" or head[:4] == b"BZh9" or head[:6] == b"\xfd7zXZ\x00":
        raise InputError(f"{file}: is a PDF or packed: give a JSONL, JSON, CSV or Parquet file (.gz is unpacked)")


@dataclass(frozen=True, slots=True)
class ByteRange:
    """A part of a JSONL file that begins behind a line break and ends with one, or with the file."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RowGroups:
    """A part of a Parquet file: some rows of neighbouring row groups."""

    first: int
    """The first row group, from 0."""
    count: int
    skip: int = 0
    """Rows at their beginning that belong to another part."""
    take: int | None = None
    """How many rows from there on; all if None."""


RowRange = ByteRange | RowGroups | None
"""Which rows of a file; None is all of them."""


def raw_rows(
    path: InputPath,
    form: Format = "jsonl",
    limits: RowLimits = RowLimits(),  # noqa: B008  # frozen
    nested: ValuePath | None = None,
    part: RowRange = None,
) -> Generator[RawRow, None, None]:
    """The rows of a file, or of a part of it, as they stand there; those of a part are numbered from 1 within it.

    A file that breaks off (a damaged archive, a disk error) gives a last row that says so. `nested` is where the list
    of the rows stands, in a JSON document or in every row of another file.
    """
    file = input_file(path)
    row = 0
    with open_bytes(file) as stream, closing(_parsed(file, stream, form, limits, nested, part)) as parsed:
        try:
            for found in parsed:
                row = found.row
                yield found
        except (OSError, EOFError, zlib.error) as error:
            reason = f"the file can't be read any further ({str(error) or 'it ends early'}): nothing after was read"
            yield RawRow(row + 1, problem=reason, ends=True)


def _parsed(
    file: OpenedFile,
    stream: io.BufferedReader,
    form: Format,
    limits: RowLimits,
    nested: ValuePath | None,
    part: RowRange,
) -> Generator[RawRow, None, None]:
    if form == "json":
        yield from json_document(stream, limits, nested)
        return
    rows = _flat(file, stream, form, limits, part)
    yield from rows if nested is None else rows_within(rows, nested)


def _flat(
    file: OpenedFile, stream: io.BufferedReader, form: Format, limits: RowLimits, part: RowRange
) -> Iterator[RawRow]:
    match form, part:
        case "csv", _:
            yield from csv_table(stream, limits, file.name)
        case "parquet", RowGroups(first, count, skip, take):
            yield from parquet_table(file.path, first, count, skip, take)
        case "parquet", _:
            yield from parquet_table(file.path)
        case _, ByteRange(start, end):
            stream.seek(start)
            within = io.BufferedReader(_Limited(stream, end - start), _LOOK_AHEAD)
            yield from json_lines(within, limits, starts=start == 0)
        case _:
            yield from json_lines(stream, limits)


class _Limited(io.RawIOBase):
    """So many bytes of a stream."""

    def __init__(self, stream: BinaryIO, size: int) -> None:
        self._stream, self._left = stream, size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._stream.read(min(len(buffer), self._left))
        self._left -= len(found)
        buffer[: len(found)] = found
        return len(found)
