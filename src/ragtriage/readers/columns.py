"""Which column holds which of our fields, by its name or by the shapes in which other tools write (`shapes.toml`)."""

import dataclasses
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import near_names
from ragtriage.readers.field_values import (
    ALIASES,
    HOLDS,
    JUDGED,
    NOT_SOURCES,
    field_named,
    is_message_list,
    is_usable,
    normalized,
)
from ragtriage.readers.likely_places import likely_places
from ragtriage.readers.paths import FieldPlace, NotThere, column_place, is_missing, keys_of, place_from
from ragtriage.readers.text_values import unpacked

FileRows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Shape:
    """How a tool writes its rows; the keys are explained in `shapes.toml`."""

    name: str
    has: Sequence[str]
    rows: Sequence[str] = ()
    places: Mapping[str, Sequence[str]] = dataclasses.field(default_factory=dict)
    under: str | None = None
    lenient: bool = False
    fallback: bool = False
    unread: Mapping[str, str] = dataclasses.field(default_factory=dict)
    left_out: Sequence[str] = ()
    refused: str | None = None

    def fits(self, rows: FileRows, columns: Sequence[str]) -> bool:
        """Whether one of the rows has all that this shape has."""
        needed = [self._place("sources", text, columns) for text in self.has]
        return any(all(next(_values(place, [row]), None) is not None for place in needed) for row in rows)

    def found_in(self, rows: FileRows, columns: Sequence[str]) -> dict[str, FieldPlace]:
        """Our fields to where they stand in these rows."""
        found: dict[str, FieldPlace] = {}
        for name in ALIASES:
            candidates = (self._place(name, text, columns) for text in self._texts(name))
            usable = (p for p in candidates if any(is_usable(name, value) for value in _values(p, rows)))
            if place := next(usable, None):
                found[name] = place
        return found

    def describes(self, name: str) -> bool:
        """Whether it says where a field stands."""
        return name in self.places or self.under is not None

    def looked_for(self, name: str, rows: FileRows) -> str:
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

    def _place(self, name: str, text: str, columns: Sequence[str]) -> FieldPlace:
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


def places_of(
    shapes: Sequence[Shape], rows: FileRows, columns: Sequence[str], wanted: Mapping[str, str], name: str
) -> dict[str, FieldPlace]:
    """Our fields to where these shapes have them, but for those that the user names."""
    found: dict[str, tuple[Shape, FieldPlace]] = {}
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


def numbered_sources(columns: Sequence[str], name: str) -> tuple[str, FieldPlace] | None:
    """The columns that hold one source each: their common name, and they in the order of their numbers."""
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


def _values(place: FieldPlace, rows: FileRows) -> Iterator[Any]:
    """What the rows hold at a place, without what is null or empty."""
    for row in rows:
        try:
            value = place.of(row)
        except NotThere:
            continue
        if not is_missing(value) and value not in ("", []):
            yield value


def wanted_places(
    rows: FileRows, columns: Sequence[str], wanted: Mapping[str, str], name: str, first_row: int
) -> dict[str, FieldPlace]:
    """The places that a user names, by our field; `rows` are the readable ones of the head of the file."""
    places: dict[str, FieldPlace] = {}
    for field, text in wanted.items():
        if field not in ALIASES:
            close = near_names(field, ALIASES)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"--map {field}={text}: there is no field {field!r}.{hint} Fields: {', '.join(ALIASES)}.")
        if text:
            places[field] = place = place_from(text, field, columns)
            _check_there(place, field, rows, columns, f"{name}: --map {field}={text}", first_row)
            _check_is_text(place, field, rows, f"{name}: --map {field}={text}")
    return places


def _check_there(
    place: FieldPlace, field: str, rows: FileRows, columns: Sequence[str], flag: str, first_row: int
) -> None:
    """Raise an InputError if no row has a column or a path that the user names."""
    for member in place.members:
        only = FieldPlace(member.text, (member,))
        problem = missing_in_all(only, rows)
        if problem is None:
            continue
        if only.is_column:
            close = near_names(member.text, columns, 3)
            hint = f" Close: {', '.join(map(repr, close))}." if close else ""
            raise InputError(f"{flag}: there is no column {member.text!r}.{hint} {listed(columns)}")
        every = "" if len(rows) == 1 else f", as none of the first {len(rows)} rows has"
        raise InputError(f"{flag}: row {first_row}, field {field!r}: has no {member.text!r}{every}: {problem}")


def _check_is_text(place: FieldPlace, field: str, rows: FileRows, flag: str) -> None:
    """Raise an InputError if all that a query is taken from are objects."""
    held = [unpacked(value) for value in _values(place, rows)]
    if field != "query" or not held or not all(isinstance(value, Mapping) for value in held):
        return
    likely = likely_places([{place.text: value} for value in held], [field]).get(field)
    advice = f": name the text in it, {_flag(field, likely)}" if likely else ", not a text"
    raise InputError(f"{flag}: is an object with the keys {keys_of(held[0])}{advice}")


def missing_in_all(place: FieldPlace, rows: FileRows) -> NotThere | None:
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


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a file holds our fields."""

    places: Mapping[str, FieldPlace]
    """Our field to where it stands in a row."""
    columns: tuple[str, ...]
    """Every column that the head of the file has."""
    notes: tuple[str, ...] = ()
    switched_off: frozenset[str] = frozenset()
    query_is_messages: bool = False
    beside: frozenset[str] = frozenset()
    """Columns that are named like a field that was taken from another one, and aren't another spelling of it."""
    shapes: tuple[Shape, ...] = ()
    series: str | None = None
    """The name that columns with one source each have in common, apart from their numbers."""

    @property
    def mapping(self) -> dict[str, str]:
        """Our field to its place, as it is shown."""
        return {name: place.text for name, place in self.places.items()}

    @property
    def left_out(self) -> frozenset[str]:
        """Columns that become neither a field nor a tag."""
        return frozenset(spelled(name, self.columns) for shape in self.shapes for name in shape.left_out)

    @property
    def tags(self) -> tuple[str, ...]:
        """The columns that no field was taken from whole."""
        taken = self.left_out.union(*(place.columns for place in self.places.values()))
        return tuple(column for column in self.columns if column not in taken)


def find_layout(
    rows: FileRows, wanted: Mapping[str, str], name: str, *, first_row: int = 1, questions: bool = False
) -> Layout:
    """Find our fields in the readable rows of the head of a file, of which there is one at least.

    `wanted` is the `mapping` of `open_cases`, without its `rows`; that says what is raised, too.
    """
    columns = tuple(dict.fromkeys(column for row in rows for column in row))
    if questions:
        wanted = {**wanted, **_from_application(wanted)}
    needed = ("query",) if questions else ("query", "sources")
    places = wanted_places(rows, columns, wanted, name, first_row)
    shapes = [shape for shape in SHAPES if shape.fits(rows, columns)]
    _check_refused(shapes, wanted, needed, name)
    certain = [shape for shape in shapes if not shape.fallback]
    places |= places_of(certain, rows, columns, wanted, name)
    notes = _add_named(places, rows, columns, wanted, certain)
    series: str | None = None
    if "sources" in places or "sources" in wanted:
        shapes = certain
    else:
        places |= places_of([shape for shape in shapes if shape.fallback], rows, columns, wanted, name)
        if "sources" not in places and (numbered := numbered_sources(columns, name)):
            series, places["sources"] = numbered
    if lacking := [field for field in needed if field not in places]:
        raise InputError(_nothing_found(lacking, columns, rows, certain, name, places, wanted))
    layout = Layout(
        {field: places[field] for field in ALIASES if field in places},
        columns,
        switched_off=frozenset(field for field, column in wanted.items() if not column),
        query_is_messages=any(is_message_list(_held(row, places["query"])) for row in rows),
        beside=frozenset(_beside(rows, columns, places, wanted)),
        shapes=tuple(shapes),
        series=series,
    )
    return replace(layout, notes=(*notes, *([] if questions else _pitfalls(layout, rows)), *_left_out(layout)))


def _from_application(wanted: Mapping[str, str]) -> dict[str, str]:
    """The fields that an application that is asked gives, as not wanted."""
    for field in ("sources", "response"):
        if column := wanted.get(field):
            raise ConfigError(f"--map {field}={column}: the {field} comes from the application that is asked")
    return {"sources": "", "response": ""}


def _add_named(
    places: dict[str, FieldPlace],
    rows: FileRows,
    columns: Sequence[str],
    wanted: Mapping[str, str],
    shapes: Sequence[Shape],
) -> list[str]:
    """Add the fields that are found by the names of columns; returns what the user should know about the choice."""
    notes: list[str] = []
    for field in ALIASES:
        if field in wanted:
            continue
        taken = frozenset[str]().union(*(place.columns for place in places.values()))
        free = [column for column in columns if column not in taken]
        if (place := places.get(field)) is not None:
            beside = [column for column in _candidates(field, free) if _fits(field, column, rows)]
            notes += _alternatives(field, place.text, beside)
            continue
        guess = not any(shape.describes(field) for shape in shapes)
        column = _choose(field, free, rows, notes, guess=guess)
        if column is not None:
            places[field] = column_place(column)
    if "query" not in places and "query" not in wanted and "history" in places and "history" not in wanted:
        place = places["query"] = places.pop("history")
        notes.append(f"the query is the user's last message in {place.text!r}, the messages before it the history")
    return notes


def _held(row: Mapping[str, Any], place: FieldPlace) -> Any:
    try:
        return place.of(row)
    except NotThere:
        return None


def _check_refused(shapes: Iterable[Shape], wanted: Mapping[str, str], needed: Iterable[str], name: str) -> None:
    """Raise an InputError for a shape that can't be read, unless the user says where things are."""
    for shape in shapes:
        if shape.refused is not None and not all(field in wanted for field in needed):
            raise InputError(f"{name}: the rows are {shape.name}: {shape.refused}")


def _choose(field: str, free: Iterable[str], rows: FileRows, notes: list[str], *, guess: bool) -> str | None:
    """The column that a field is taken from, by its name and by what it holds; by its name alone if `guess`."""
    candidates = _candidates(field, free)
    fitting = [column for column in candidates if _fits(field, column, rows)]
    notes += [
        f"{column!r} is named like the {field} but doesn't hold {HOLDS[field]}; it became a tag"
        for column in candidates
        if column not in fitting and (fitting or field not in JUDGED)
    ]
    chosen = next(iter(fitting or (candidates if guess and field in JUDGED else [])), None)
    if chosen is not None:
        notes += _alternatives(field, chosen, fitting[1:])
    return chosen


def _candidates(field: str, free: Iterable[str]) -> list[str]:
    """The columns that have a name of the field, the preferred one first, and its exact spelling before others."""
    names = ALIASES[field]
    return sorted(
        (column for column in free if field_named(column) == field),
        key=lambda column: (names.index(normalized(column)), column not in names),
    )


def _alternatives(field: str, chosen: str, others: Iterable[str]) -> list[str]:
    notes: list[str] = []
    for column in others:
        other = f"; if it is the true answer: --map reference={column}" if field == "response" else ""
        how = f"--map {field}={column} takes it{other}"
        verb = "are" if field.endswith("s") else "is"
        notes.append(f"the {field} {verb} taken from {chosen!r}; {column!r} became a tag ({how})")
    return notes


def _fits(field: str, column: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether at least one row of the head holds the kind of value that the field needs, or none holds any."""
    values = [value for row in rows if not is_missing(value := row.get(column)) and value != ""]
    return not values or any(is_usable(field, value) for value in values)


def _beside(
    rows: FileRows, columns: Iterable[str], places: Mapping[str, FieldPlace], wanted: Mapping[str, str]
) -> Iterable[str]:
    for column in columns:
        name = field_named(column)
        place = places.get(name) if name is not None else None
        if name in wanted or (
            place is not None and any(column in row and missing_in_all(place, [row]) is None for row in rows)
        ):
            yield column


def _nothing_found(  # what is lacking, and all that may tell where it is
    lacking: Sequence[str],
    columns: Sequence[str],
    rows: FileRows,
    shapes: Sequence[Shape],
    name: str,
    places: Mapping[str, FieldPlace],
    wanted: Mapping[str, str],
) -> str:
    there = {field_named(column) or normalized(column): column for column in reversed(columns)}
    hints = [described for field in lacking for shape in shapes if (described := shape.looked_for(field, rows))]
    if "sources" in lacking:
        hints += [hint.format(column=there[other]) for other, hint in NOT_SOURCES.items() if other in there][:1]
    likely = _likely(rows, [*lacking, *(["response"] if "response" not in {*places, *wanted} else [])], places)
    within = _rows_within(rows)
    if within and not set(lacking) <= set(likely):
        hints.append(f"{within!r} is a list of objects; if these are the rows: --map rows={within}.")
    looked = "" if shapes else f"Looked for: {'; '.join(', '.join(ALIASES[field]) for field in lacking)}."
    told = " ".join([listed(columns), *([looked] if looked else []), *hints])
    said = [_flag(field, likely.get(field, "COLUMN")) for field in JUDGED if field in lacking or field in likely]
    how = "Likely" if likely else "Say which one it is" if len(lacking) == 1 else "Say which ones they are"
    return f"{name}: no column holds the {' or the '.join(lacking)}. {told} {how}: {' '.join(said)}"


def _likely(rows: FileRows, fields: Iterable[str], places: Mapping[str, FieldPlace]) -> dict[str, str]:
    """Where these fields likely stand, beside the columns that others were taken from."""
    return likely_places(rows, fields, frozenset[str]().union(*(place.columns for place in places.values())))


def _flag(field: str, place: str) -> str:
    """The flag that names a place, as a shell takes it."""
    return f"--map {shlex.quote(f'{field}={place}') if set(place) & set(' []*') else f'{field}={place}'}"


def _rows_within(rows: FileRows) -> str | None:
    """A column, or a key within one, that holds a list of objects, where there is one row only."""
    if len(rows) > 1:
        return None
    nested = {
        f"{column}.{key}": held
        for column, value in rows[0].items()
        if isinstance(value, Mapping)
        for key, held in value.items()
    }
    return next(
        (
            place
            for place, held in {**rows[0], **nested}.items()
            if isinstance(held, list) and held and all(isinstance(item, Mapping) for item in held)
        ),
        None,
    )


def _pitfalls(layout: Layout, rows: FileRows) -> list[str]:
    notes = [
        f"{column!r} became a tag: in DeepEval's files it is the ideal context, not what was retrieved "
        f"(--map sources={column} takes it)"
        for column in layout.tags
        if normalized(column) == "context"
    ]
    if "response" not in layout.places:
        wanted = [] if "response" in layout.switched_off else ["response"]
        likely = _likely(rows, wanted, layout.places).get("response")
        how = f"; {likely!r} may hold it: {_flag('response', likely)}" if likely else " (--map response=COLUMN)"
        notes.append(
            "no column holds the response: the scores that need one are undefined. "
            f"Looked for: {', '.join(ALIASES['response'])}{how}"
        )
    return notes


def _left_out(layout: Layout) -> list[str]:
    columns = [column for column in layout.columns if column in layout.left_out]
    if not columns:
        return []
    many = "1 column repeats texts or holds" if len(columns) == 1 else f"{len(columns)} columns repeat texts or hold"
    return [f"{many} the tool's own workings, and became no tag: {', '.join(columns)}"]
