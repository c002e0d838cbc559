"""Where in a row a field stands: a column, a path into one, or several of these."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.readers.paths import NotThere, ValuePath, in_one_piece, path_from
from ragtriage.readers.text_values import list_in

LISTS = ("sources", "source_ids", "samples", "relevant_ids")
"""The fields that may stand in several columns, one value or more in each."""


@dataclass(frozen=True, slots=True)
class Place:
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


def column_place(column: str) -> Place:
    """The place that a column is."""
    return Place(column, (ValuePath(column, (column,)),))


def place_from(text: str, field: str, columns: Collection[str], *, lenient: bool = False) -> Place:
    """Read a place.

    Args:
        text: the name of a column; a path into one (`docs[*].page_content`); or several of these with commas between
            them, for a field that holds a list.
        field: whose place it is.
        columns: those of the file; a name of one of them is never read as a path.
        lenient: see `ValuePath.lenient`.

    Raises:
        ConfigError: it can't be read, or there are several for a field that holds one value.
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
    return Place(text, tuple(members))


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
