"""One JSON document with many rows, read element by element so that memory doesn't grow with its length."""

from __future__ import annotations

import codecs
from collections.abc import Generator, Iterable, Iterator
from dataclasses import replace
from typing import Any, BinaryIO

from ragtriage.core.json_values import BrokenJson, parse_at
from ragtriage.readers.field_names import field_named
from ragtriage.readers.problems import Limits
from ragtriage.readers.records import Record
from ragtriage.readers.text_values import bad_byte, shown

LIST_NAMES = ("data", "samples", "rows", "cases", "results", "test_cases")
_CHUNK = 1 << 16
NOT_UTF8 = "byte {byte} in it is not UTF-8: save the file as UTF-8"
_LONGEST_CUT = 16  # a literal or an escape that the end of the window cut is at most this long
_SPACE = " \t\r\n"


class _Window:
    """The part of the document that is being looked at; it moves on and never back."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self._stream = stream
        self._limits = limits
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")
        self._text = ""
        self._at = 0
        self._ended = False
        self._column = 1
        self.line = 1

    def _more(self) -> bool:
        """Read on, twice as much each time that one value needs it; False at the end of the stream."""
        if self._ended:
            return False
        self._text = self._text[self._at :]
        self._at = 0
        raw = self._stream.read(max(_CHUNK, len(self._text)))
        self._ended = not raw
        self._text += self._decoder.decode(raw, final=self._ended)
        return True

    def _move(self, end: int) -> None:
        newlines = self._text.count("\n", self._at, end)
        self.line += newlines
        self._column = end - self._text.rfind("\n", 0, end) if newlines else self._column + end - self._at
        self._at = end

    def peek(self) -> str:
        """The next character that isn't white space; empty at the end."""
        while True:
            end = self._at
            while end < len(self._text) and self._text[end] in _SPACE:
                end += 1
            self._move(end)
            if end < len(self._text):
                return self._text[end]
            if not self._more():
                return ""

    def skip(self, wanted: str) -> None:
        """Step over one character.

        Raises:
            BrokenJson: it is another one.
        """
        if self.peek() != wanted:
            raise BrokenJson(self.place(f"Expecting {wanted!r}", None), 0)
        self._move(self._at + 1)

    def place(self, reason: str, at: int | None) -> str:
        """The reason with the line and the column of a character of the window, by default the next one."""
        at = self._at if at is None else at
        newlines = self._text.count("\n", self._at, at)
        column = at - self._text.rfind("\n", 0, at) if newlines else self._column + at - self._at
        return f"broken JSON at line {self.line + newlines}, column {column}: {reason}"

    def value(self) -> tuple[Any, int, str | None]:
        """The next value, how many characters it took, and the first of its bytes that isn't UTF-8, if there is one.

        Raises:
            BrokenJson: there is none.
        """
        self.peek()
        while True:
            try:
                value, end = parse_at(self._text, self._at)
            except BrokenJson as error:
                cut = error.reason.startswith("Unterminated") or error.at >= len(self._text) - _LONGEST_CUT
                fits = len(self._text) - self._at <= self._limits.max_row
                if cut and fits and self._more():
                    continue
                reason = error.reason if fits else f"a row longer than {self._limits.max_row:,} bytes"
                raise BrokenJson(self.place(reason, error.at), error.at) from None
            if end == len(self._text) and self._more():  # a number may go on
                continue
            raw = self._text[self._at : end]
            self._move(end)
            return value, len(raw), bad_byte(raw)


def json_document(stream: BinaryIO, limits: Limits) -> Iterator[Record]:
    """The rows of a JSON document.

    That is a list of objects; or an object that holds such a list under one of `LIST_NAMES`; or an object of columns
    (this one is held in memory); or one object or several, one behind the other, each a row. Broken JSON ends the
    reading: what comes behind it has no known place.
    """
    window = _Window(stream, limits)
    row = 0
    try:
        for row, record in enumerate(_rows(window), 1):
            yield replace(record, row=row)
    except BrokenJson as error:
        problem = f"{error.reason}: repair the file, nothing after this place was read"
        yield Record(row + 1, window.line, problem=problem, ends=True)


def _rows(window: _Window) -> Iterator[Record]:
    if window.peek() == "[":
        yield from _elements(window)
    else:
        whole = True
        while window.peek() == "{" and whole:
            whole = yield from _members(window)
    if window.peek():
        raise BrokenJson(window.place("this is neither the list of rows nor an object", None), 0)


def _elements(window: _Window) -> Iterator[Record]:
    window.skip("[")
    first = True
    while window.peek() != "]":
        if not first:
            window.skip(",")
            window.peek()
        first = False
        line = window.line
        value, size, bad = window.value()
        if bad is not None:
            yield Record(0, line, problem=NOT_UTF8.format(byte=bad), undecodable=True)
        elif not isinstance(value, dict):
            yield Record(0, line, problem=f"is {shown(value)}, not an object: the list should hold one object a row")
        else:
            yield Record(0, line, values=value, size=size)
    window.skip("]")


def _members(window: _Window) -> Generator[Record, None, bool]:
    """The rows of one object; returns whether it was itself one row."""
    window.skip("{")
    line, total, bad = window.line, 0, None
    members: dict[str, Any] = {}
    taken: str | None = None
    while window.peek() != "}":
        if members or taken is not None:
            window.skip(",")
        key, bad_key = _key(window)
        if key in LIST_NAMES and window.peek() == "[":
            if taken is not None:
                reason = f"a second list, {key!r}, follows the rows of {taken!r}: which one holds the rows?"
                raise BrokenJson(window.place(reason, None), 0)
            taken = key
            within = f"the rows are the list {key!r}; what stands beside it in the file was not kept"
            for record in _elements(window):
                yield replace(record, within=within)
        else:
            value, size, bad_value = window.value()
            bad = bad or bad_key or bad_value
            total += size
            members[key] = value if taken is None else None
    window.skip("}")
    if taken is not None:
        return False
    if bad is not None:
        yield Record(0, line, problem=NOT_UTF8.format(byte=bad), undecodable=True)
        return True
    columns = _columns(members)
    if columns is None:
        yield Record(0, line, values=members, size=total)
        return True
    yield from _turned(members, columns, line)
    return False


def _key(window: _Window) -> tuple[str, str | None]:
    if window.peek() != '"':
        raise BrokenJson(window.place("Expecting a key in double quotes", None), 0)
    key, _, bad = window.value()
    window.skip(":")
    return str(key), bad


def _turned(names: Iterable[str], columns: list[list[Any]], line: int) -> Iterator[Record]:
    within = "the file holds columns, not rows; it was turned round, for which all of it is held in memory"
    for row in zip(*columns, strict=True):
        yield Record(0, line, values=dict(zip(names, row, strict=True)), within=within)


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
