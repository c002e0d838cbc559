"""Fitted values in the text of a settings file, of which nothing else is changed."""

import copy
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
    """
    try:
        for name, judge in replaced.items():
            text = _without(text, name, judge)
        document = tomlkit.parse(text)
    except TOMLKitError as error:
        raise ValueError(str(error)) from error
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


def _without(text: str, name: str, judge: str) -> str:
    """The text without a table, if it is there and names this judge; comments around it stay."""
    whole = tomllib.loads(text)
    before = copy.deepcopy(whole)
    _take_out(whole, name.split("."), judge)
    if whole == before:
        return text
    lines = text.splitlines(keepends=True)
    begin = next((at for at, line in enumerate(lines) if line.partition("#")[0].strip() == f"[{name}]"), len(lines))
    end = begin + 1
    while end < len(lines) and lines[end].strip() and not lines[end].lstrip().startswith(("#", "[")):
        end += 1
    end += end < len(lines) and not lines[end].strip()
    after = "".join(lines[:begin] + lines[end:])
    if tomllib.loads(after) != whole:
        raise ValueError(f"[{name}] has to go, and it isn't clear where it ends: take it out")
    return after


def _take_out(inside: dict[str, Any], path: Sequence[str], judge: str) -> None:
    """Take a table out that names this judge, and those around it that are empty then."""
    first, *rest = path
    found = inside.get(first)
    if isinstance(found, dict):
        if rest:
            _take_out(found, rest, judge)
        if not found or (not rest and found.get("judge") == judge):
            del inside[first]


def _table(inside: MutableMapping[str, Any], key: str, empty: Table) -> MutableMapping[str, Any]:
    found = inside.setdefault(key, empty)
    if not isinstance(found, MutableMapping):
        raise ValueError(f"{key} is no table")  # noqa: TRY004  # what is wrong is the text of the file
    return found
