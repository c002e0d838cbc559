"""The names under which other tools' files hold our fields: `fields.toml`, read."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

_TABLE = tomllib.loads(files(__package__).joinpath("fields.toml").read_text("utf-8"))

ALIASES: Mapping[str, tuple[str, ...]] = {field: tuple(row["names"]) for field, row in _TABLE["fields"].items()}
"""Our field to its names, the one that is preferred first."""

HOLDS: Mapping[str, str] = {field: row["holds"] for field, row in _TABLE["fields"].items()}
"""Our field to the kind of value that it holds, in words."""

KEYS: Mapping[str, tuple[str, ...]] = {of: tuple(keys) for of, keys in _TABLE["keys"].items()}
"""What is looked for in an object to the keys under which it may stand there."""

NOT_SOURCES: Mapping[str, str] = _TABLE["not_sources"]
"""A column near the sources, by its normalized name or our field, to what is said where nothing else holds them."""

_FIELDS = {alias: field for field, aliases in ALIASES.items() for alias in aliases}


@lru_cache(maxsize=4096)
def normalized(name: str) -> str:
    """A column's name in one spelling: `userInput`, `User Input` and `user-input` are `user_input`."""
    return re.sub(r"[\s_-]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip())).lower()


def field_named(column: str) -> str | None:
    """Our field that a column's name stands for, or None."""
    return _FIELDS.get(normalized(column))
