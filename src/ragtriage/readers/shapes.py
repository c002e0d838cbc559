"""The shapes in which other tools write their files: `shapes.toml`, read, and looked for in the first rows."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.readers.field_values import ALIASES, is_usable, normalized
from ragtriage.readers.paths import NotThere, Place, is_missing, keys_of, place_from
from ragtriage.readers.text_values import unpacked

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Shape:
    """How a tool writes its rows; the keys are explained in `shapes.toml`."""

    name: str
    has: Sequence[str]
    rows: Sequence[str] = ()
    places: Mapping[str, Sequence[str]] = field(default_factory=dict)
    under: str | None = None
    lenient: bool = False
    fallback: bool = False
    unread: Mapping[str, str] = field(default_factory=dict)
    left_out: Sequence[str] = ()
    refused: str | None = None

    def fits(self, rows: Rows, columns: Sequence[str]) -> bool:
        """Whether one of the rows has all that this shape has."""
        needed = [self._place("sources", text, columns) for text in self.has]
        return any(all(_holds_something(place, row) for place in needed) for row in rows)

    def found_in(self, rows: Rows, columns: Sequence[str]) -> dict[str, Place]:
        """Our fields to where they stand in these rows."""
        found: dict[str, Place] = {}
        for name in ALIASES:
            candidates = (self._place(name, text, columns) for text in self._texts(name))
            usable = (p for p in candidates if any(is_usable(name, value) for value in _values(p, rows)))
            if place := next(usable, None):
                found[name] = place
        return found

    def describes(self, name: str) -> bool:
        """Whether it says where a field stands."""
        return name in self.places or self.under is not None

    def looked_for(self, name: str, rows: Rows) -> str:
        """Where a field was looked for in vain, and what is there instead."""
        keys = next((keys_of(held) for row in rows if isinstance(held := self._under(row), Mapping)), None)
        instead = "" if keys is None else f"; {self.under!r} has {keys}"
        shown = self._texts(name)[:6]
        return f"The rows are {self.name}, where it was looked for at {', '.join(shown)}{instead}." if shown else ""

    def _texts(self, name: str) -> tuple[str, ...]:
        usual = ALIASES[name] if self.under is not None else ()
        return tuple(self.places.get(name, [f"{self.under}.{alias}" for alias in usual]))

    def _under(self, row: Mapping[str, Any]) -> Any:
        return None if self.under is None else unpacked(row.get(self.under))

    def _place(self, name: str, text: str, columns: Sequence[str]) -> Place:
        return place_from(spelled(text, columns), name, columns, lenient=self.lenient)


_TABLE = tomllib.loads(files(__package__).joinpath("shapes.toml").read_text("utf-8"))

SHAPES: tuple[Shape, ...] = tuple(Shape(**shape) for shape in _TABLE["shapes"])
"""Every shape that is recognised."""

ROW_LISTS: tuple[frozenset[str], ...] = (
    *(frozenset({path}) for path in _TABLE["rows"]),
    *(frozenset(shape.rows) for shape in SHAPES if shape.rows),
)
"""Where in a JSON document the rows may stand, as paths of keys; those of one set belong to one file."""

_NUMBERED = re.compile(rf"({'|'.join(_TABLE['numbered'])})s?[_.\[]?(\d{{1,3}})\]?")


def spelled(name: str, columns: Sequence[str]) -> str:
    """A column's name as it is spelled in the file; the name itself if it has no such column."""
    return name if name in columns else next((column for column in columns if normalized(column) == name), name)


def shapes_of(rows: Rows, columns: Sequence[str]) -> list[Shape]:
    """The shapes that rows are recognised as: mostly none or one."""
    return [shape for shape in SHAPES if shape.fits(rows, columns)]


def places_of(
    shapes: Sequence[Shape], rows: Rows, columns: Sequence[str], wanted: Mapping[str, str], name: str
) -> dict[str, Place]:
    """Our fields to where these shapes have them, but for those that the user names.

    Raises:
        InputError: two shapes have a field at different places.
    """
    found: dict[str, tuple[Shape, Place]] = {}
    for shape in shapes:
        for field_name, place in shape.found_in(rows, columns).items():
            other, there = found.setdefault(field_name, (shape, place))
            if there.text != place.text and field_name not in wanted:
                raise InputError(
                    f"{name}: the rows look like {other.name} and like {shape.name}: is the {field_name} at "
                    f"{there.text!r} or at {place.text!r}? Say which: --map {field_name}={there.text}"
                )
    return {field_name: place for field_name, (_, place) in found.items() if field_name not in wanted}


def number_of(column: str) -> tuple[str, int] | None:
    """The name and the number of a column that holds one of several sources; None if it is named otherwise."""
    match = _NUMBERED.fullmatch(normalized(column))
    return None if match is None else (match[1], int(match[2]))


def numbered_sources(columns: Sequence[str], name: str) -> tuple[str, Place] | None:
    """The columns that hold one source each: the name that they have in common, and they in the order of their numbers.

    Raises:
        InputError: there are two such series.
    """
    series: dict[str, dict[str, int]] = {}
    for column in columns:
        if numbered := number_of(column):
            series.setdefault(numbered[0], {})[column] = numbered[1]
    texts = {stem: ",".join(sorted(members, key=members.__getitem__)) for stem, members in series.items()}
    if len(texts) > 1:
        first, *others = texts.values()
        raise InputError(
            f"{name}: are the sources in {first} or in {' or '.join(others)}? Say which: --map sources={first}"
        )
    return next(((stem, place_from(text, "sources", columns)) for stem, text in texts.items()), None)


def _values(place: Place, rows: Rows) -> Iterator[Any]:
    """What the rows hold at a place, without what is null or empty."""
    for row in rows:
        try:
            value = place.of(row)
        except NotThere:
            continue
        if not is_missing(value) and value not in ("", []):
            yield value


def _holds_something(place: Place, row: Mapping[str, Any]) -> bool:
    return next(_values(place, [row]), None) is not None
