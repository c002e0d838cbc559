"""JSON Lines, and one JSON document with many rows; memory doesn't grow with the length of either."""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator
from dataclasses import replace
from json import JSONDecodeError
from typing import Any, BinaryIO

from ragtriage.readers.field_names import KEYS, field_named
from ragtriage.readers.json_values import parse, parse_at
from ragtriage.readers.problems import Limits, RawRow
from ragtriage.readers.text_values import described, first_invalid_byte

_BOM = b"\xef\xbb\xbf"


def json_lines(stream: BinaryIO, limits: Limits) -> Iterator[RawRow]:
    """The rows of a JSON Lines stream, where a broken line costs only itself; blank lines are skipped."""
    row = line = 0
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
            yield _json_line(raw, row, line)


def _json_line(raw: bytes, row: int, line: int) -> RawRow:
    try:
        value = parse(raw.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8: save the file as UTF-8"
        return RawRow(row, line, problem=problem, undecodable=True)
    except JSONDecodeError as error:
        return RawRow(row, line, problem=f"broken JSON at line {line}, column {error.pos + 1}: {error.msg}")
    if not isinstance(value, dict):
        return RawRow(row, line, problem=f"is {described(value)}, not a JSON object: write one object {{…}} a line")
    return RawRow(row, line, values=value, size=len(raw))


_CHUNK = 1 << 16
_LONGEST_CUT = 16  # a literal or an escape that the end of the window cut is at most this long
_SOLID = re.compile(r"[^ \t\r\n]")


class _Broken(Exception):
    """The document is broken; says where, and nothing behind that can be read."""


class _Window:
    """The part of the document that is being looked at; it moves on and never back."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text = ""
        self._at = 0
        self._ended = False
        self._line_start = 0  # below 0 if it was left behind
        self.line = 1

    def _more(self) -> bool:
        """Read on, twice as much each time that one value needs it; False at the end of the stream."""
        if self._ended:
            return False
        self._text = self._text[self._at :]
        self._line_start -= self._at
        self._at = 0
        raw = self._stream.read(max(_CHUNK, len(self._text)))
        self._ended = not raw
        self._text += self._decoder.decode(raw, final=self._ended)
        return True

    def _line_at(self, at: int) -> tuple[int, int]:
        """The line of a character of the window, and where it starts."""
        newlines = self._text.count("\n", self._at, at)
        return self.line + newlines, self._text.rfind("\n", 0, at) + 1 if newlines else self._line_start

    def _move(self, end: int) -> None:
        self.line, self._line_start = self._line_at(end)
        self._at = end

    def peek(self) -> str:
        """The next character that isn't white space; empty at the end."""
        while True:
            found = _SOLID.search(self._text, self._at)
            self._move(found.start() if found else len(self._text))
            if found or not self._more():
                return found[0] if found else ""

    def skip(self, wanted: str) -> None:
        """Step over one character, which must be this one."""
        if self.peek() != wanted:
            raise self.broken(f"Expecting {wanted!r}")
        self._move(self._at + 1)

    def broken(self, reason: str, at: int | None = None) -> _Broken:
        """The error that names the line and the column of a character of the window, by default the next one."""
        at = self._at if at is None else at
        line, start = self._line_at(at)
        return _Broken(f"broken JSON at line {line}, column {at - start + 1}: {reason}")

    def value(self) -> tuple[Any, int, str | None]:
        """The next value, how many characters it took, and the first of its bytes that isn't UTF-8, if there is one."""
        self.peek()
        while True:
            try:
                value, end = parse_at(self._text, self._at)
            except JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or error.pos >= len(self._text) - _LONGEST_CUT
                fits = len(self._text) - self._at <= self._limits.max_row
                if cut and fits and self._more():
                    continue
                reason = error.msg if fits else f"a row longer than {self._limits.max_row:,} bytes"
                raise self.broken(reason, error.pos) from None
            if end == len(self._text) and self._more():  # a number may go on
                continue
            raw = self._text[self._at : end]
            self._move(end)
            return value, len(raw), first_invalid_byte(raw)


def json_document(stream: BinaryIO, limits: Limits) -> Iterator[RawRow]:
    """The rows of a JSON document.

    That is a list of objects; or an object that holds such a list under one of `KEYS["rows"]`; or an object of columns
    (this one is held in memory); or one object or several, one behind the other, each a row. Broken JSON ends the
    reading: what comes behind it has no known place.
    """
    window = _Window(stream, limits)
    row = 0
    try:
        for row, found in enumerate(_rows(window), 1):
            yield replace(found, row=row)
    except _Broken as error:
        problem = f"{error}: repair the file, nothing after this place was read"
        yield RawRow(row + 1, window.line, problem=problem, ends=True)


def _rows(window: _Window) -> Iterator[RawRow]:
    if window.peek() == "[":
        yield from _elements(window)
    else:
        whole = True
        while window.peek() == "{" and whole:
            whole = yield from _members(window)
    if window.peek():
        raise window.broken("this is neither the list of rows nor an object")


def _row(line: int, value: Any, size: int, bad: str | None) -> RawRow:
    """The row that a value is; its number is given to it later."""
    if bad is not None:
        return RawRow(0, line, problem=f"byte {bad} in it is not UTF-8: save the file as UTF-8", undecodable=True)
    if not isinstance(value, dict):
        return RawRow(0, line, problem=f"is {described(value)}, not an object: the list should hold one object a row")
    return RawRow(0, line, values=value, size=size)


def _elements(window: _Window) -> Iterator[RawRow]:
    window.skip("[")
    first = True
    while window.peek() != "]":
        if not first:
            window.skip(",")
            window.peek()
        first = False
        yield _row(window.line, *window.value())
    window.skip("]")


def _members(window: _Window) -> Generator[RawRow, None, bool]:
    """The rows of one object; returns whether it was itself one row."""
    window.skip("{")
    line, total, bad = window.line, 0, None
    members: dict[str, Any] = {}
    rows_key: str | None = None
    while window.peek() != "}":
        if members or rows_key is not None:
            window.skip(",")
        if window.peek() != '"':
            raise window.broken("Expecting a key in double quotes")
        key, _, bad_key = window.value()
        window.skip(":")
        if key in KEYS["rows"] and window.peek() == "[":
            if rows_key is not None:
                raise window.broken(f"a second list, {key!r}, follows the rows of {rows_key!r}: which one holds them?")
            rows_key = key
            within = f"the rows are the list {key!r}; what stands beside it in the file was not kept"
            for row in _elements(window):
                yield replace(row, within=within)
        else:
            value, size, bad_value = window.value()
            bad = bad or bad_key or bad_value
            total += size
            members[key] = value if rows_key is None else None
    window.skip("}")
    if rows_key is not None:
        return False
    columns = _columns(members) if bad is None else None
    if columns is None:
        yield _row(line, members, total, bad)
        return True
    within = "the file holds columns, not rows; it was turned round, for which all of it is held in memory"
    for cells in zip(*columns, strict=True):
        yield RawRow(0, line, values=dict(zip(members, cells, strict=True)), within=within)
    return False


def _columns(members: dict[str, Any]) -> list[list[Any]] | None:
    """The columns of a table, if an object holds those: lists of one length, the queries among them texts.

    Where pandas wrote them, they are objects with the same keys.
    """
    if members and all(isinstance(value, dict) for value in members.values()):
        if len({tuple(value) for value in members.values()}) > 1:
            return None
        members = {key: list(value.values()) for key, value in members.items()}
    queries = [value for key, value in members.items() if field_named(key) == "query" and isinstance(value, list)]
    are_columns = (
        all(isinstance(value, list) for value in members.values())
        and len({len(value) for value in members.values()}) == 1
        and any(all(isinstance(query, str) for query in value) for value in queries)
    )
    return list(members.values()) if are_columns else None
