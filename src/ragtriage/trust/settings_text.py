"""Fitted values in the text of a settings file, of which nothing else is changed."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from ragtriage.core.errors import InputError
from ragtriage.core.files import ORDINARY_FILE, atomic_write

SettingValue = float | str | list[list[float]]
Tables = Mapping[str, Mapping[str, SettingValue]]
"""Name of a table of the settings, its parts by dots → key → value."""


def write_settings(path: Path, tables: Tables, replaced: Mapping[str, str] = MappingProxyType({})) -> None:
    """Put these values into a settings file; it is made if it isn't there, and is never half written.

    `replaced`, name of a table → the judge that it names, is taken out if it is there.

    In `pyproject.toml` they go under `[tool.ragtriage]`.

    Raises:
        InputError: it can't be read or written, or not be changed safely; says what to put in.
    """
    prefix = "tool.ragtriage." if path.name == "pyproject.toml" else ""
    wanted = {prefix + table: values for table, values in tables.items()}
    place = path.resolve()
    try:
        before = place.read_bytes().decode("utf-8") if place.exists() else ""
        after = with_values(before, wanted, {prefix + name: judge for name, judge in replaced.items()})
        with atomic_write(place, newline="", mode=ORDINARY_FILE) as out:
            out.write(after)
    except OSError as error:
        said = f"can't be written: {error.strerror or error}; it was to hold"
        raise InputError(f"{path} {said}:\n{as_toml(wanted)}") from error
    except ValueError as error:
        said = f"can't be changed safely ({error}): put this in yourself"
        raise InputError(f"{path} {said}:\n{as_toml(wanted)}") from error


def as_toml(tables: Tables) -> str:
    """These values as they stand in a settings file."""
    return with_values("", tables).strip()


def with_values(text: str, tables: Tables, replaced: Mapping[str, str] = MappingProxyType({})) -> str:
    """The text of a TOML file with these values in it, and without the tables `replaced`.

    A table that names a judge is that judge's: what it held before goes.

    Raises:
        ValueError: it isn't TOML, or holds something else in the place of a table.
    """
    try:
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
    for name, judge in replaced.items():
        _take_out(document, name.split("."), judge)
    for name, values in tables.items():
        table: MutableMapping[str, Any] = document
        *outer, last = name.split(".")
        for part in outer:
            table = _table(table, part, tomlkit.table(is_super_table=True))
        new = last not in table
        table = _table(table, last, tomlkit.table())
        for key in [key for key in table if "judge" in values and key not in values]:
            del table[key]
        table.update({key: round(value, 6) if isinstance(value, float) else value for key, value in values.items()})
        if new and isinstance(table, Table):
            table.add(tomlkit.nl())  # what follows it keeps its distance
    after = tomlkit.dumps(document).rstrip() + "\n"
    if "\r\n" in text:
        after = re.sub(r"(?<!\r)\n", "\r\n", after)
    if tomllib.loads(after) != document.unwrap():
        raise ValueError("its layout is one that isn't understood")
    return after


def _take_out(inside: MutableMapping[str, Any], path: Sequence[str], judge: str) -> None:
    first, *rest = path
    found = inside.get(first)
    if not isinstance(found, MutableMapping):
        return
    if rest:
        _take_out(found, rest, judge)
    elif found.get("judge") == judge:
        del inside[first]


def _table(inside: MutableMapping[str, Any], key: str, empty: Table) -> MutableMapping[str, Any]:
    found = inside.setdefault(key, empty)
    if not isinstance(found, MutableMapping):
        raise ValueError(f"{key} is no table")  # noqa: TRY004  # what is wrong is the text of the file
    return found
