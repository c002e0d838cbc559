"""JSON: an object a line, of which memory doesn't hold more than one, or a document with many rows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from json import JSONDecodeError
from typing import Any, BinaryIO

from ragtriage.core.display import plural
from ragtriage.readers.columns import ROW_LISTS
from ragtriage.readers.field_values import field_named
from ragtriage.readers.paths import ValuePath, row_of, rows_at
from ragtriage.readers.problems import RawRow, RowLimits
from ragtriage.readers.text_values import described, parse, value_at

_BOM = b"\xef\xbb\xbf"
_SOLID = re.compile(r"[^ \t\r\n]")
_WITHIN = "the rows are the list {!r}; what stands beside it in the file was not kept"


def json_lines(stream: BinaryIO, limits: RowLimits, *, starts: bool = True) -> Iterator[RawRow]:
    """The rows of a JSON Lines stream, where a broken line costs only itself; blank lines are skipped.

    Where the file `starts` here, a byte order mark may stand first.
    """
    row = line = 0
    while raw := stream.readline(limits.max_row + 1):
        line += 1
        if line == 1 and starts:
            raw = raw.removeprefix(_BOM)
        if len(raw) > limits.max_row and not raw.endswith(b"\n"):
            row += 1
            while (chunk := stream.readline(1 << 20)) and not chunk.endswith(b"\n"):
                pass
            yield RawRow(row, line, problem=f"is longer than {limits.max_row:,} bytes: split it or leave it out")
        elif raw.strip():
            row += 1
            yield _raw_row(row, line, raw)


def without_line(problem: str, line: int) -> str:
    """A problem of a row that names its line, without that: it counts from where a part of the file begins."""
    return problem.replace(f" at line {line},", ",", 1)


def _raw_row(row: int, line: int, raw: bytes) -> RawRow:
    try:
        value = parse(raw.decode())
    except UnicodeDecodeError as error:
        problem = f"byte {error.start + 1} of the line (0x{raw[error.start]:02x}) is not UTF-8: save the file as UTF-8"
        return RawRow(row, line, problem=problem)
    except JSONDecodeError as error:
        return RawRow(row, line, problem=f"broken JSON at line {line}, column {error.pos + 1}: {error.msg}")
    if not isinstance(value, dict):
        return RawRow(row, line, problem=f"is {described(value)}, not a JSON object: write one object {{…}} a line")
    return RawRow(row, line, values=value, size=len(raw))


class _Broken(Exception):
    """The document can't be used; says why, and on which line."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line


def json_document(stream: BinaryIO, limits: RowLimits, nested: ValuePath | None = None) -> Iterator[RawRow]:
    """The rows of a JSON document, all of which is held in memory.

    That is a list of objects; or an object that holds such a list at one of `ROW_LISTS`, or one of lists beside the
    names of its columns; or an object of columns, or of rows by their ids; or one object or several, one behind the
    other, each a row. With `nested` it is what stands at that path. A broken document gives one row, which says so.
    """
    try:
        for row, found in enumerate(_rows(_values(stream, limits), nested), 1):
            yield replace(found, row=row)
    except _Broken as error:
        yield RawRow(1, error.line, problem=str(error), ends=True)


def _values(stream: BinaryIO, limits: RowLimits) -> list[Any]:
    """What stands in the document, one value behind the other."""
    raw = bytearray()
    while chunk := stream.read(1 << 20):
        raw += chunk
        if len(raw) > limits.max_document:
            size = f"is a JSON document of more than {limits.max_document:,} bytes"
            raise _Broken(f"{size}: write an object a line, as  jq -c '.[]'  does")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"byte {error.start + 1} (0x{error.object[error.start]:02x})"
        raise _Broken(f"{where} is not UTF-8: save the file as UTF-8") from None
    found: list[Any] = []
    end = 0
    while solid := _SOLID.search(text, end):
        try:
            value, end = value_at(text, solid.start())
        except JSONDecodeError as error:
            place = f"broken JSON at line {error.lineno}, column {error.colno}: {error.msg}"
            raise _Broken(f"{place}: repair the file, nothing of it was read", error.lineno) from None
        found.append(value)
    return found


def _rows(values: Sequence[Any], nested: ValuePath | None) -> Iterator[RawRow]:
    if nested is not None:
        within = _WITHIN.format(nested.text)
        for value in values:
            yield from (replace(row, within=within) for row in rows_at(value, nested, None))
    elif len(values) == 1 and isinstance(values[0], list):
        yield from _elements(values[0])
    elif all(isinstance(value, dict) for value in values):
        for value in values:
            yield from _of_object(value)
    else:
        raise _Broken("it is neither the list of rows nor an object: repair the file, nothing of it was read")


def _of_object(members: dict[str, Any]) -> Iterator[RawRow]:
    """The rows of the lists that an object holds, the rows or columns that it is, or the one row."""
    lists = [(text, group, *found) for group in ROW_LISTS for text in group if (found := _list_at(members, text))]
    if lists:
        keys = list(members)
        lists.sort(key=lambda one: keys.index(one[0].split(".")[0]))  # rows are numbered as they stand in the file
        first, group, *_ = lists[0]
        if other := next((text for text, own, *_ in lists if own != group), None):
            which = f"which one holds the rows? --map rows={first} or --map rows={other}"
            raise _Broken(f"it has two lists, {first!r} and {other!r}: {which}")
        for text, _, items, beside in lists:
            yield from (replace(row, within=_WITHIN.format(text)) for row in _elements(items, beside))
    elif _holds_rows(members):
        within = "the file holds an object of rows, whose keys became ids"
        for key, row in members.items():
            named = {"id": key} if _without_id(row) else {}
            yield RawRow(0, values=named | row, within=within)
    elif (columns := _columns(members)) is not None:
        within = "the file holds columns, not rows; it was turned round"
        for cells in zip(*columns, strict=True):
            yield RawRow(0, values=dict(zip(members, cells, strict=True)), within=within)
    else:
        yield row_of(members, None)


def _list_at(members: dict[str, Any], text: str) -> tuple[list[Any], dict[str, Any]] | None:
    """The list at a path of keys, and the object that holds it."""
    *way, last = text.split(".")
    for key in way:
        inner = members.get(key)
        if not isinstance(inner, dict):
            return None
        members = inner
    found = members.get(last)
    return (found, members) if isinstance(found, list) else None


def _elements(items: Sequence[Any], beside: Mapping[str, Any] | None = None) -> Iterator[RawRow]:
    """The rows of a list; `beside` is the object that holds it."""
    header = _header(beside or {})
    for number, item in enumerate(items):
        if header is None or not isinstance(item, list):
            yield row_of(item, None)
            continue
        columns, ids = header
        if len(item) != len(columns):
            cells, named = plural(len(item), "cell"), plural(len(columns), "column")
            yield RawRow(0, problem=f"has {cells}, but there are {named}")
            continue
        own_id = {} if number >= len(ids) else {"id": ids[number]}
        yield row_of(own_id | dict(zip(columns, item, strict=True)), None)


def _header(beside: Mapping[str, Any]) -> tuple[list[str], list[Any]] | None:
    """The columns of a table whose rows are lists, as pandas splits it; its index, where no column holds ids."""
    columns, index = beside.get("columns"), beside.get("index")
    if not isinstance(columns, list) or not all(isinstance(name, str) for name in columns):
        return None
    return columns, index if isinstance(index, list) and _without_id(columns) else []


def _without_id(columns: Iterable[str]) -> bool:
    return all(field_named(column) != "id" for column in columns)


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
