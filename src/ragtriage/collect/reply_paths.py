"""Paths into a reply: `a.b[0].text`, `hits[*].text`, `['a.b']`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ragtriage.core.errors import ConfigError
from ragtriage.readers.text_values import shortened, shown

_PART = re.compile(r"""\.?([^.\[\]'"*]+)|\[(\d{1,9})\]|\[(\*)\]|\[(?:'([^']*)'|"([^"]*)")\]""")


class NotThere(Exception):
    """A reply has nothing at a path; the text says what it has instead."""


@dataclass(frozen=True, slots=True)
class Path:
    """Where in a reply something stands.

    Attributes:
        text: as the user wrote it.
        parts: keys, indices, and None for every item of a list.
    """

    text: str
    parts: tuple[str | int | None, ...]

    @property
    def several(self) -> bool:
        """Whether it leads to a list, by a `[*]`."""
        return None in self.parts

    def of(self, reply: Any) -> Any:
        """What stands there; a list if the path has a `[*]`.

        Raises:
            NotThere: nothing does.
        """
        return self._below(reply, 0, "")

    def _below(self, value: Any, at: int, way: str) -> Any:
        if at == len(self.parts):
            return value
        part = self.parts[at]
        if part is None:
            if not isinstance(value, list):
                raise NotThere(f"{self._no()}: {_named(way)} is {shown(value)}, not a list")
            below = [self._below(item, at + 1, f"{way}[{i}]") for i, item in enumerate(value)]
            return [one for many in below for one in many] if None in self.parts[at + 1 :] else below
        if isinstance(part, int):
            if not isinstance(value, list) or part >= len(value):
                raise NotThere(f"{self._no()}: {_named(way)} is {shown(value)}")
            return self._below(value[part], at + 1, f"{way}[{part}]")
        if not isinstance(value, Mapping):
            raise NotThere(f"{self._no()}: {_named(way)} is {shown(value)}, not an object")
        if part not in value:
            raise NotThere(f"{self._no()}: {_named(way)} has the keys {keys_of(value)}")
        return self._below(value[part], at + 1, f"{way}.{part}" if way else part)

    def _no(self) -> str:
        return f"the reply has no {self.text!r}"


def keys_of(value: Mapping[Any, Any]) -> str:
    """The keys of an object, for a message."""
    names = [shortened(str(key), 40) for key in list(value)[:20]]
    return (", ".join(names) + (" …" if len(value) > 20 else "")) or "(none)"


def _named(way: str) -> str:
    return f"its {way!r}" if way else "it"


def path_from(text: str, flag: str) -> Path:
    """Read a path.

    Args:
        text: names with dots between them, `[0]` for an item of a list, `[*]` for every one, `['a.b']` for a name with
            a dot in it; a leading `$` or `$.` is allowed.
        flag: which flag it was given by, for the message.

    Raises:
        ConfigError: it can't be read.
    """
    rest = re.sub(r"^\$\.?", "", text.strip())
    parts: list[str | int | None] = []
    at = 0
    while at < len(rest):
        found = _PART.match(rest, at)
        if found is None or (at == 0 and rest.startswith(".")):
            like = "answer.text, hits[0].text or hits[*].text"
            raise ConfigError(f"{flag} {text!r} can't be read at {rest[at:]!r}: write it like {like}")
        name, index, star, *quoted = found.groups()
        parts.append(None if star else int(index) if index else next((q for q in quoted if q is not None), name))
        at = found.end()
    if not parts:
        raise ConfigError(f"{flag} {text!r} is empty: write it like answer.text or hits[*].text")
    return Path(text, tuple(parts))
