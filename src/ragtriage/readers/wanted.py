"""The places of fields that a user names, held against the first rows of the file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import near_names
from ragtriage.readers.field_names import ALIASES
from ragtriage.readers.paths import NotThere
from ragtriage.readers.places import Place, place_from
from ragtriage.readers.shapes import Rows


def wanted_places(
    rows: Rows, columns: Sequence[str], wanted: Mapping[str, str], name: str, first_row: int
) -> dict[str, Place]:
    """The places that a user names.

    Args:
        rows: the readable rows of the head of the file.
        columns: its columns.
        wanted: our field to the text of its place; an empty one names none.
        name: the file, for messages.
        first_row: the number of the first of the rows.

    Raises:
        ConfigError: there is no such field, or a place can't be read.
        InputError: none of the rows has anything at a place.
    """
    places: dict[str, Place] = {}
    for field, text in wanted.items():
        if field not in ALIASES:
            close = near_names(field, ALIASES)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"--map {field}={text}: there is no field {field!r}.{hint} Fields: {', '.join(ALIASES)}.")
        if text:
            places[field] = place = place_from(text, field, columns)
            _check_there(place, field, rows, columns, f"{name}: --map {field}={text}", first_row)
    return places


def _check_there(place: Place, field: str, rows: Rows, columns: Sequence[str], flag: str, first_row: int) -> None:
    """Raise an InputError if no row has a column or a path that the user names."""
    for member in place.members:
        only = Place(member.text, (member,))
        problem = missing_in_all(only, rows)
        if problem is None:
            continue
        if only.is_column:
            close = near_names(member.text, columns, 3)
            hint = f" Close: {', '.join(map(repr, close))}." if close else ""
            raise InputError(f"{flag}: there is no column {member.text!r}.{hint} {listed(columns)}")
        every = "" if len(rows) == 1 else f", as none of the first {len(rows)} rows has"
        raise InputError(f"{flag}: row {first_row}, field {field!r}: has no {member.text!r}{every}: {problem}")


def missing_in_all(place: Place, rows: Rows) -> NotThere | None:
    """Why the first row has nothing at a place, if none of the rows has."""
    first: NotThere | None = None
    for row in rows:
        try:
            place.of(row)
        except NotThere as problem:
            first = first or problem
        else:
            return None
    return first


def listed(columns: Sequence[str]) -> str:
    """The columns of a file, for a message."""
    more = f" and {len(columns) - 40} more" if len(columns) > 40 else ""
    return f"Columns: {', '.join(columns[:40])}{more}." if columns else "It has no columns."
