"""Where in a nested value something stands: `answer.text`, `hits[0].text`, `hits[*].text`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.readers.text_values import described, list_in, unpacked
from ragtriage.text.sanitize import one_line

_PART = re.compile(r"""\.?([^.\[\]'"*]+)|\[(\d{1,9})\]|\[(\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")
_LIKE = "answer.text, hits[0].text or hits[*].text"


class NotThere(Exception):
    """Nothing stands at a path; `str()` says where it stops and what is there instead.

    Args:
        reason: that sentence, without the path itself.
        absent: a key is absent or null, which may mean that there is no value; else something of another kind stands
            in the way.
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
    """Read a path.

    Args:
        text: names with dots between them, `[0]` for an item of a list, `[*]` for every one, `['a.b']` for a name with
            a dot in it; a leading `$` or `$.` is allowed.
        flag: which flag it was given by, for the message.
        lenient: see `ValuePath.lenient`.

    Raises:
        ConfigError: it can't be read.
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
