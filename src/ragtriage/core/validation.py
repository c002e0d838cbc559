"""Values from outside (settings, YAML, JSON) held against the type that they are to have, by pydantic.

What comes back is a value of that type; what doesn't fit is one sentence that names the place, the field and the value,
and says what to write instead. Numbers, texts and booleans are never turned into each other.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Hashable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from functools import cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeVar, cast, get_args, get_type_hints

from ragtriage.core.errors import ConfigError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails


T = TypeVar("T")

STRICT = {"extra": "forbid"}
"""What a dataclass names as its `__pydantic_config__` so that a field that it doesn't have is a problem."""

_MUST_BE = {
    "string_type": "a text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "mapping_type": "a table",
    "dataclass_type": "a table",
    "path_type": "a text",
}
"""pydantic's name of a problem → what the value has to be."""
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


class Invalid(ValueError):
    """A value doesn't fit its type; `str` names every problem, separated by "; "."""


def validated(shape: type[T], value: object, called: str = "field") -> T:
    """The value as one of this type: a dataclass, or any other type that pydantic knows.

    A dataclass with the class attribute `__pydantic_config__ = STRICT` refuses fields that it doesn't have. `called` is
    what a message calls a field: "setting", "field", "column".

    Raises:
        Invalid: it doesn't fit; the message has the path of every field that is wrong, and what to write there.
        RagtriageError: what the type's own `__post_init__` raises.
    """
    from pydantic import ValidationError  # noqa: PLC0415  # a tenth of a second that most commands can do without
    from pydantic_core import PydanticSerializationError, to_json  # noqa: PLC0415  # as above

    try:
        found: T = _adapter(cast("Hashable", shape)).validate_json(
            to_json(value, inf_nan_mode="constants", fallback=str), strict=True
        )
    except ValidationError as error:
        problems = dict.fromkeys(_problem(shape, detail, called) for detail in error.errors(include_url=False))
        raise Invalid("; ".join(problems)) from None
    except PydanticSerializationError:
        raise Invalid("it holds half of a surrogate pair, which no UTF-8 text can hold") from None
    return found


def as_builtins(value: object) -> Any:
    """A dataclass, with all that it holds, as dicts, lists, texts and numbers that can be written as JSON."""
    from pydantic_core import to_jsonable_python  # noqa: PLC0415  # as in `validated`

    return to_jsonable_python(value)


@cache
def _adapter(shape: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter  # noqa: PLC0415  # as in `validated`

    return TypeAdapter(shape)


def _problem(shape: Any, detail: ErrorDetails, called: str) -> str:
    place, kind, given = detail["loc"], detail["type"], detail["input"]
    context = detail.get("ctx", {})
    where = _path(place)
    if kind == "missing":
        holder = _path(place[:-1])
        return f"{holder}{' ' if holder else ''}lacks {place[-1]!r}"
    if kind in {"unexpected_keyword_argument", "extra_forbidden"}:
        return _unknown(shape, place, called)
    if kind in _MUST_BE:
        return f"{where or 'it'} must be {_MUST_BE[kind]}, not {given!r:.80}"
    if kind == "literal_error":
        return f"{where} is {given!r:.80}: use {context['expected']}"
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        return f"{where} is {given!r}: give {words} {context[key]:g}"
    said = str(context.get("error", detail["msg"]))
    return f"{where}: {said}" if where else said


def _unknown(shape: Any, place: Sequence[int | str], called: str) -> str:
    known = list(_fields_at(shape, place[:-1]))
    holder, name = _path(place[:-1]), str(place[-1])
    near = near_names(name, known)
    hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known)}"
    return f"{holder}{': ' if holder else ''}no {called} is called {name!r}: {hint}"


def _fields_at(shape: Any, place: Sequence[int | str]) -> Iterator[str]:
    """The fields of the dataclasses that stand at a place of a type."""
    if dataclasses.is_dataclass(shape):
        if not place:
            yield from (one.name for one in dataclasses.fields(shape))
        elif place[0] in (hints := get_type_hints(shape)):
            yield from _fields_at(hints[str(place[0])], place[1:])
        return
    inside = place[1:] if isinstance(shape, type) or getattr(shape, "__origin__", None) else place
    for part in get_args(shape):
        yield from _fields_at(part, place if dataclasses.is_dataclass(part) and not place else inside)


def _path(place: Sequence[int | str]) -> str:
    """`("rules", 0, "when")` → `rules[1].when`; people count from 1."""
    text = ""
    for part in place:
        text += f"[{part + 1}]" if isinstance(part, int) else f"{'.' if text else ''}{part}"
    return text


@dataclasses.dataclass(frozen=True, slots=True)
class Setting:
    """What is known of a field of a data class that a user may set, for the settings file and the command line."""

    help: str
    """What its flag's help says, without the default and the full stop; empty where it has no flag."""
    parameter: str
    """What commands call it: `threshold` of `thresholds`."""
    names: tuple[str, ...]
    """Its flags, where they aren't `--parameter`."""
    least: float | None
    empty: str
    """What to do instead of giving an empty text, where a settings file may hold none."""
    name: str = ""
    """The field's, which is the key in the file."""
    kind: Any = None
    """Its type."""
    default: Any = None

    @property
    def flag(self) -> str:
        """As it is typed."""
        return self.names[-1] if self.names else f"--{self.parameter.replace('_', '-')}"

    @property
    def text(self) -> str:
        """The help with the default, where that is a text or a number."""
        default = self.default[0] if self.default and isinstance(self.default, tuple) else self.default
        if isinstance(default, bool) or not isinstance(default, str | int | float):
            return f"{self.help}."
        return f"{self.help} [default: {f'{default:g}' if isinstance(default, float) else default}]."


def setting(
    text: str = "",
    *,
    default: Any = None,
    parameter: str = "",
    names: tuple[str, ...] = (),
    least: float | None = None,
    empty: str = "",
) -> Any:
    """A field of a frozen data class that a user may set; see `Setting`. A default that can be called is a factory."""
    known = {"setting": Setting(text, parameter, names, least, empty)}
    if callable(default):
        return dataclasses.field(default_factory=default, metadata=known)
    return dataclasses.field(default=default, metadata=known)


@cache
def settings_of(shape: type) -> tuple[Setting, ...]:
    """The fields of a data class that users may set, in its order."""
    hints = get_type_hints(shape)
    found = ((one, one.metadata.get("setting")) for one in dataclasses.fields(shape))
    return tuple(
        dataclasses.replace(
            known, parameter=known.parameter or one.name, name=one.name, kind=hints[one.name], default=one.default
        )
        for one, known in found
        if known
    )


def check_bounds(value: DataclassInstance) -> None:
    """Hold the fields of a value against the bounds of its settings."""
    for one in settings_of(type(value)):
        given = getattr(value, one.name)
        if one.least is not None and given is not None and not given >= one.least:
            raise ConfigError(f"{one.name} is {given}: give at least {one.least:g}", one.name)


CUTOFF = 0.65
"""How alike two names are at least, by `difflib.SequenceMatcher`: one wrong letter in three of a short name."""


def near_names(name: str, known: Iterable[str], most: int = 1) -> list[str]:
    """The known names that are like this one, each once, the nearest first; upper and lower case are the same."""
    by_folded: dict[str, str] = {}
    for one in known:
        by_folded.setdefault(one.casefold(), one)
    return [by_folded[one] for one in get_close_matches(name.casefold(), by_folded, most, CUTOFF)]


def near_files(name: str, known: Iterable[str]) -> list[str]:
    """The same for names of files, whose endings say nothing about what was meant."""
    stems: dict[str, list[str]] = {}
    for one in known:
        stems.setdefault(PurePath(one).stem.casefold(), []).append(one)
    near = near_names(PurePath(name).stem, stems)
    return [one for stem in near for one in stems[stem]][:3]


def seconds_to_wait(retry_after: str | None) -> float | None:
    """What a `Retry-After` header asks for, as seconds or as a date; None where it can't be read."""
    if retry_after is None:
        return None
    text = retry_after.strip()
    if text.isascii() and text.isdecimal():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError):
        return None
