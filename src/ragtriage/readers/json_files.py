"""JSON: an object a line, or one document with many rows; memory doesn't grow with their number."""

from __future__ import annotations

import codecs
import heapq
import re
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha1
from json import JSONDecodeError
from typing import Any, BinaryIO, NamedTuple

from ragtriage.core.display import plural
from ragtriage.readers.columns import ROW_LISTS
from ragtriage.readers.field_values import field_named
from ragtriage.readers.paths import ValuePath, row_of, rows_at
from ragtriage.readers.problems import RawRow, RowLimits
from ragtriage.readers.text_values import JsonReader, described, first_invalid_byte

_BOM = b"\xef\xbb\xbf"
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
    repeated: int
    """Those that are an earlier one again, byte for byte; none of them is drawn."""
    drawn: tuple[RawRow, ...]
    """In the order of the stream."""
    ranks: tuple[int, ...]
    """Numbers by which the drawn rows are in random order; they follow from what a row holds alone."""


def json_lines(stream: BinaryIO, limits: RowLimits, *, starts: bool = True) -> Iterator[RawRow]:
    """The rows of a JSON Lines stream, where a broken line costs only itself; blank lines are skipped.

    Where the file `starts` here, a byte order mark may stand first.
    """
    reader = JsonReader()
    return (_raw_row(reader, one, limits) for one in _lines(stream, limits, starts=starts))


def without_line(problem: str, line: int) -> str:
    """A problem of a row that names its line, without that: it counts from where a part of the file begins."""
    return problem.replace(f" at line {line},", ",", 1)


def drawn_lines(stream: BinaryIO, limits: RowLimits, most: int, advance: Callable[[int], None]) -> DrawnRows:
    """Count the rows of a JSON Lines stream and draw at most so many, each row with the same chance.

    Which ones are drawn depends on what the lines hold and not on their order. Now and then `advance` is called with
    how many rows were read since.
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


def _lines(stream: BinaryIO, limits: RowLimits, *, starts: bool = True) -> Iterator[_Line]:
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


def _raw_row(reader: JsonReader, one: _Line, limits: RowLimits) -> RawRow:
    row, line, raw = one
    if not raw:
        return RawRow(row, line, problem=f"is longer than {limits.max_row:,} bytes: split it or leave it out")
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


_CHUNK = 1 << 16
_LONGEST_CUT = 16  # a literal or an escape that the end of the window cut is at most this long
_SOLID = re.compile(r"[^ \t\r\n]")


class _Broken(Exception):
    """The document is broken; says where, and nothing behind that can be read."""


class _Value(NamedTuple):
    value: Any
    size: int
    bad: str | None
    """The first of its bytes that isn't UTF-8."""
    repeated: str | None
    """A key that comes twice in one of its objects."""


class _Window:
    """The part of the document that is being looked at; it moves on and never back."""

    def __init__(self, stream: BinaryIO, limits: RowLimits) -> None:
        self._stream = stream
        self._limits = limits
        self._reader = JsonReader()
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

    def value(self) -> _Value:
        """The next value."""
        self.peek()
        while True:
            try:
                value, end = self._reader.value_at(self._text, self._at)
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
            return _Value(value, len(raw), first_invalid_byte(raw), self._reader.repeated)


@dataclass(frozen=True, slots=True)
class _List:
    text: str
    group: frozenset[str]
    """The paths of the lists that belong to one file with it."""


_Lists = Mapping[tuple[str | int | None, ...], _List]
"""What is left of the path of each list, seen from some value of the document."""

_NOTHING = _Value(None, 0, None, None)

_KNOWN: _Lists = {tuple(text.split(".")): _List(text, group) for group in ROW_LISTS for text in group}


def json_document(stream: BinaryIO, limits: RowLimits, nested: ValuePath | None = None) -> Iterator[RawRow]:
    """The rows of a JSON document.

    That is a list of objects; or an object that holds such a list at one of `ROW_LISTS`, or one of lists beside the
    names of its columns; or an object of columns, or of rows by their ids (these are held in memory); or one object or
    several, one behind the other, each a row. With `nested` it is what stands at that path. Broken JSON ends the
    reading: what comes behind it has no known place.
    """
    window = _Window(stream, limits)
    row = 0
    try:
        for row, found in enumerate(_rows(window, nested), 1):
            yield replace(found, row=row)
    except _Broken as error:
        problem = f"{error}: repair the file, nothing after this place was read"
        yield RawRow(row + 1, window.line, problem=problem, ends=True)


def _rows(window: _Window, nested: ValuePath | None) -> Iterator[RawRow]:
    if nested is not None:
        own = _List(nested.text, frozenset({nested.text}))
        line = window.line
        whole = yield from _search(window, {nested.parts: own}, [])
        if whole is not None:
            for row in rows_at(whole.value, nested, line):
                yield replace(row, repeated=whole.repeated)
    elif window.peek() == "[":
        yield from _elements(window)
    else:
        is_row = True
        while window.peek() == "{" and is_row:
            line = window.line
            whole = yield from _search(window, _KNOWN, [])
            is_row = whole is not None and (yield from _one(line, whole))
    if window.peek():
        raise window.broken("this is neither the list of rows nor an object")


def _row(line: int, one: _Value) -> RawRow:
    """The row that a value is; its number is given to it later."""
    if one.bad is not None:
        return RawRow(0, line, problem=f"byte {one.bad} in it is not UTF-8: save the file as UTF-8", undecodable=True)
    return row_of(one.value, line, one.size, one.repeated)


def _elements(window: _Window, beside: Mapping[str, Any] | None = None) -> Iterator[RawRow]:
    """The rows of a list; `beside` is what stood before it in the object that holds it."""
    header = _header(beside or {})
    for number in _items(window):
        line, one = window.line, window.value()
        if header is not None and isinstance(one.value, list):
            columns, ids = header
            if len(one.value) != len(columns):
                yield RawRow(0, line, problem=_uneven(one.value, columns))
                continue
            named = {} if number >= len(ids) else {"id": ids[number]}
            one = one._replace(value=named | dict(zip(columns, one.value, strict=True)))
        yield _row(line, one)


def _uneven(cells: Sequence[Any], columns: Sequence[str]) -> str:
    return f"has {plural(len(cells), 'cell')}, but there are {plural(len(columns), 'column')}"


def _header(beside: Mapping[str, Any]) -> tuple[list[str], list[Any]] | None:
    """The columns of a table whose rows are lists, as pandas splits it; its index, where no column holds ids."""
    columns, index = beside.get("columns"), beside.get("index")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        return None
    return columns, index if isinstance(index, list) and _without_id(columns) else []


def _without_id(columns: Iterable[str]) -> bool:
    return all(field_named(column) != "id" for column in columns)


def _items(window: _Window) -> Iterator[int]:
    """Step to each item of a list, which the caller reads."""
    window.skip("[")
    number = 0
    while window.peek() != "]":
        if number:
            window.skip(",")
            window.peek()
        yield number
        number += 1
    window.skip("]")


def _keys(window: _Window) -> Iterator[tuple[str, str | None]]:
    """Step to each value of an object, which the caller reads: its key, and the key's first byte that isn't UTF-8."""
    window.skip("{")
    first = True
    while window.peek() != "}":
        if not first:
            window.skip(",")
        first = False
        if window.peek() != '"':
            raise window.broken("Expecting a key in double quotes")
        key, _, bad, _ = window.value()
        window.skip(":")
        yield key, bad
    window.skip("}")


def _search(
    window: _Window, lists: _Lists, found: list[_List], beside: Mapping[str, Any] | None = None
) -> Generator[RawRow, None, _Value | None]:
    """The rows of the lists within the next value; returns the value if there is no such list in it.

    `lists` says where to look; those that are found are added to `found`. `beside` is what stands before the value in
    its object.
    """
    kind = window.peek()
    here = lists.get(())
    if here is not None and kind == "[":
        if found and found[0].group != here.group:
            first, second = found[0].text, here.text
            which = f"which one holds them? --map rows={first} or --map rows={second}"
            raise window.broken(f"a second list, {second!r}, follows the rows of {first!r}: {which}")
        found.append(here)
        within = f"the rows are the list {here.text!r}; what stands beside it in the file was not kept"
        for row in _elements(window, beside):
            yield replace(row, within=within)
        return None
    if kind == "{" and any(isinstance(part, str) for part, *_ in filter(None, lists)):
        return (yield from _search_object(window, lists, found))
    if kind == "[" and any(not isinstance(part, str) for part, *_ in filter(None, lists)):
        return (yield from _search_list(window, lists, found))
    return window.value()


def _search_object(window: _Window, lists: _Lists, found: list[_List]) -> Generator[RawRow, None, _Value | None]:
    whole: dict[str, Any] = {}
    total, bad, repeated = 0, None, None
    before = len(found)
    for key, bad_key in _keys(window):
        inner = yield from _search(window, _below(lists, key), found, whole)
        value, size, bad_value, repeated_inside = inner or _NOTHING
        bad = bad or bad_key or bad_value
        repeated = repeated or (key if key in whole else repeated_inside)
        total += size
        whole[key] = value if len(found) == before else None  # beside the rows nothing is kept
    return _Value(whole, total, bad, repeated) if len(found) == before else None


def _search_list(window: _Window, lists: _Lists, found: list[_List]) -> Generator[RawRow, None, _Value | None]:
    whole: list[Any] = []
    total, bad, repeated = 0, None, None
    before = len(found)
    for number in _items(window):
        inner = yield from _search(window, _below(lists, number), found)
        value, size, bad_value, repeated_inside = inner or _NOTHING
        bad = bad or bad_value
        repeated = repeated or repeated_inside
        total += size
        whole.append(value if len(found) == before else None)
    return _Value(whole, total, bad, repeated) if len(found) == before else None


def _below(lists: _Lists, key: str | int) -> _Lists:
    return {
        path[1:]: one
        for path, one in lists.items()
        if path and (path[0] == key or (path[0] is None and isinstance(key, int)))
    }


def _one(line: int, one: _Value) -> Generator[RawRow, None, bool]:
    """The row that an object is, or the rows or columns that it holds; returns whether it was itself one row."""
    if one.bad is None and _holds_rows(one.value):
        within = "the file holds an object of rows, whose keys became ids; all of it is held in memory"
        for key, row in one.value.items():
            named = {"id": key} if _without_id(row) else {}
            yield RawRow(0, line, values=named | row, within=within, repeated=one.repeated)
        return False
    columns = _columns(one.value) if one.bad is None else None
    if columns is None:
        yield _row(line, one)
        return True
    within = "the file holds columns, not rows; it was turned round, for which all of it is held in memory"
    for cells in zip(*columns, strict=True):
        yield RawRow(0, line, values=dict(zip(one.value, cells, strict=True)), within=within, repeated=one.repeated)
    return False


def _holds_rows(members: dict[str, Any]) -> bool:
    """Whether an object holds rows by their ids: every member is one, and none has the name of a field."""
    return bool(members) and all(
        isinstance(row, dict)
        and field_named(key) is None
        and (key.isdecimal() or any(field_named(column) == "query" for column in row))
        for key, row in members.items()
    )


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
