"""Where in a row something stands: a column, a path as in `answer.text` or `hits[*].text`, or several of these."""

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError
from ragtriage.readers.problems import RawRow
from ragtriage.readers.text_values import described, list_in, unpacked

_PART = re.compile(r"""\.?([^.\[\]'"*]+)|\[(\d{1,9})\]|\[(\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_LIKE = "answer.text, hits[0].text or hits[*].text"


class NotThere(Exception):
    """Nothing stands at a path; `str()` says where it stops and what is there instead, without the path itself.

    `absent`: a key is absent or null, which may mean that there is no value; else something of another kind stands in
    the way.
    """

    def __init__(self, reason: str, *, absent: bool) -> None:
        super().__init__(reason)
        self.absent = absent


@dataclass(frozen=True, slots=True)
class ValuePath:
    """Where in a value something stands."""

    text: str
    """As the user wrote it."""
    parts: tuple[str | int | None, ...]
    """Keys, indices, and None for every item of a list."""
    lenient: bool = False
    """`[*]` passes over items that don't have what follows it; it is never so in a path that a user wrote."""

    @property
    def gathers(self) -> bool:
        """Whether the path has a `[*]`, so that it gives a list."""
        return None in self.parts

    def of(self, value: Any) -> Any:
        """What stands there; a list if the path has a `[*]`. A text on the way that holds a list or an object is read.

        Raises:
            NotThere: nothing does.
        """
        return self._below(value, 0, "")

    def _below(self, value: Any, at: int, way: str) -> Any:
        if at == len(self.parts):
            return value
        part = self.parts[at]
        value = unpacked(value)
        if part is None:
            return self._every_item(value, at, way)
        if isinstance(value, Mapping) and part in value:
            return self._below(value[part], at + 1, f"{way}.{part}" if way else str(part))
        if isinstance(part, str) and isinstance(value, Mapping):
            raise _not_there(way, f"has the keys {keys_of(value)}", absent=True)
        index = int(part[:9]) if isinstance(part, str) and part.isdecimal() else part
        if not isinstance(index, int):
            raise _not_there(way, f"is {described(value)}, not an object", absent=value is None)
        items = list_in(value)
        if items is None or index >= len(items):
            raise _not_there(way, f"is {described(value)}", absent=value is None)
        return self._below(items[index], at + 1, f"{way}[{index}]")

    def _every_item(self, value: Any, at: int, way: str) -> list[Any]:
        items = list_in(value)
        if items is None:
            raise _not_there(way, f"is {described(value)}, not a list", absent=value is None)
        found: list[Any] = []
        for index, item in enumerate(items):
            try:
                below = self._below(item, at + 1, f"{way}[{index}]")
            except NotThere:
                if not self.lenient:
                    raise
            else:
                found += below if None in self.parts[at + 1 :] else [below]
        return found


def _not_there(way: str, instead: str, *, absent: bool) -> NotThere:
    return NotThere(f"{f'its {way!r}' if way else 'it'} {instead}", absent=absent)


def in_one_piece(path: ValuePath, found: Any) -> Any:
    """A text in pieces, as some interfaces return it, as one text; anything else as it is."""
    pieces = path.gathers and isinstance(found, list) and all(isinstance(one, str) for one in found)
    return "".join(found) if pieces else found


def keys_of(value: Mapping[Any, Any]) -> str:
    """The keys of an object, for a message."""
    names = [one_line(str(key), 40) for key in list(value)[:20]]
    return (", ".join(names) + (" …" if len(value) > 20 else "")) or "(none)"


def path_from(text: str, flag: str, *, lenient: bool = False) -> ValuePath:
    """Read a path, given by a flag.

    It has names with dots between them, `[0]` for an item of a list, `[*]` for every one, `['a.b']` for a name with a
    dot in it; a leading `$` or `$.` is allowed.
    """
    rest = re.sub(r"^\$\.?", "", text.strip())
    parts: list[str | int | None] = []
    at = 0
    while at < len(rest):
        found = _PART.match(rest, at)
        if found is None or (at == 0 and rest.startswith(".")):
            raise ConfigError(f"{flag} {text!r} can't be read at {rest[at:]!r}: write it like {_LIKE}")
        name, index, star, *quoted = found.groups()
        parts.append(None if star else int(index) if index else next((q for q in quoted if q is not None), name))
        at = found.end()
    if not parts:
        raise ConfigError(f"{flag} {text!r} is empty: write it like {_LIKE}")
    return ValuePath(text, tuple(parts), lenient)


LISTS = ("sources", "source_ids", "samples", "relevant_ids")
"""The fields that may stand in several columns, one value or more in each."""


@dataclass(frozen=True, slots=True)
class FieldPlace:
    """Where in a row a field stands."""

    text: str
    """As it is shown, and as the user writes it."""
    members: tuple[ValuePath, ...]
    """The columns, or paths into them, one behind the other; a column's whole name comes before a path."""

    @property
    def columns(self) -> frozenset[str]:
        """The columns that are taken whole, if they are there."""
        return frozenset(member.text for member in self.members)

    @property
    def is_column(self) -> bool:
        """Whether it is a single name of a column."""
        return len(self.members) == 1 and len(self.members[0].parts) == 1

    def of(self, values: Mapping[str, Any]) -> Any:
        """What a row holds there; of several columns a list, without what is null, empty or absent.

        Raises:
            NotThere: nothing does, or in one of several places something of another kind.
        """
        if len(self.members) == 1:
            return _value(values, self.members[0])
        found: list[Any] = []
        absent: NotThere | None = None
        given = False
        for member in self.members:
            try:
                value = _value(values, member)
            except NotThere as error:
                if not error.absent:
                    raise
                absent = absent or error
            else:
                given = True
                items = list_in(value)
                found += [value] if items is None else items
        if absent is not None and not given:
            raise absent
        return [item for item in found if not is_missing(item) and item != ""]

    def text_of(self, values: Mapping[str, Any]) -> Any:
        """What a row holds there, as `of`; a text in pieces (`content[*].text`) as one."""
        return in_one_piece(self.members[0], self.of(values))


def is_missing(value: Any) -> bool:
    """Whether a value says that there is none: null, or NaN, which tables hold in its place."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def column_place(column: str) -> FieldPlace:
    """The place that a column is."""
    return FieldPlace(column, (ValuePath(column, (column,)),))


def place_from(text: str, field: str, columns: Collection[str], *, lenient: bool = False) -> FieldPlace:
    """Read a place: the name of a column, a path into one (`docs[*].page_content`), or several for a list.

    A name of one of the `columns` of the file is never read as a path; `lenient`: see `ValuePath.lenient`.
    """
    if text in columns:
        return column_place(text)
    flag = f"--map {field}="
    parts = [part.strip() for part in _split(text)]
    if len(parts) > 1 and field not in LISTS:
        raise ConfigError(f"{flag}{text}: names {len(parts)} columns, but the {field} is one value: name one of them")
    if not all(parts):
        raise ConfigError(f"{flag}{text}: there is nothing between two commas: write it like context_1,context_2")
    members = (
        ValuePath(part, (part,)) if part in columns else path_from(part, f"--map {field}", lenient=lenient)
        for part in parts
    )
    return FieldPlace(text, tuple(members))


def _value(values: Mapping[str, Any], member: ValuePath) -> Any:
    return values[member.text] if member.text in values else member.of(values)


def _split(text: str) -> Iterator[str]:
    """The parts between commas that stand outside of brackets."""
    start = depth = 0
    for at, char in enumerate(text):
        depth += (char == "[") - (char == "]")
        if char == "," and depth <= 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def row_of(value: Any, line: int | None) -> RawRow:
    """The row that a value is; its number is given to it later."""
    if not isinstance(value, Mapping):
        return RawRow(0, line, problem=f"is {described(value)}, not an object: the list should hold one object a row")
    return RawRow(0, line, values=value)


def rows_within(rows: Iterable[RawRow], nested: ValuePath) -> Iterator[RawRow]:
    """The rows that stand at a path in each of these, numbered through; one that can't be read stays as it is."""
    number = 0
    within = f"the rows stand at {nested.text!r} in every row of the file; what stands beside them was not kept"
    for outer in rows:
        for found in [outer] if outer.values is None else rows_at(outer.values, nested, outer.line):
            number += 1
            yield replace(found, row=number, within=within)


def rows_at(value: Any, nested: ValuePath, line: int | None) -> Iterator[RawRow]:
    """The rows that stand at a path in a value: an object, or a list of objects."""
    try:
        found = unpacked(nested.of(value))
    except NotThere as problem:
        yield RawRow(0, line, problem=f"has no {nested.text!r} (--map rows): {problem}")
        return
    if isinstance(found, list | tuple | Mapping):
        yield from (row_of(item, line) for item in _flat(found))
    else:
        yield RawRow(0, line, problem=f"has {described(found)} at {nested.text!r} (--map rows), not a list of objects")


def _flat(found: Any) -> Iterator[Any]:
    if isinstance(found, list | tuple):
        for item in found:
            yield from _flat(item)
    else:
        yield found
