"""Values put into a settings file, while everything else in it stays as it is written, comments included."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError

Tables = Mapping[str, Mapping[str, float | str]]
"""Name of a table, its parts by dots → key → value."""
_HEADER = re.compile(r"^\s*\[")


def write_settings(path: Path, tables: Tables) -> None:
    """Put these values into a settings file; it is made if it isn't there, and is never half written.

    In `pyproject.toml` they go under `[tool.ragtriage]`.

    Raises:
        InputError: it can't be read or written, or not be changed safely; says what to put in.
    """
    prefix = "tool.ragtriage." if path.name == "pyproject.toml" else ""
    wanted = {prefix + table: values for table, values in tables.items()}
    place = path.resolve()
    try:
        before = place.read_bytes().decode("utf-8") if place.exists() else ""
        after = with_values(before, wanted)
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(place.name + ".part")
        try:
            with part.open("wb") as out:
                out.write(after.encode("utf-8"))
                out.flush()
                os.fsync(out.fileno())
            if place.exists():
                shutil.copymode(place, part)
            part.replace(place)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"{path} can't be written: {error.strerror or error}; it was to hold:\n{told(wanted)}"
        ) from error
    except ValueError as error:
        raise InputError(f"{path} can't be changed safely ({error}): put this in yourself:\n{told(wanted)}") from error


def told(tables: Tables) -> str:
    """These values as they stand in a settings file."""
    blocks = []
    for table, values in tables.items():
        lines = [f"{key} = {_value(value)}" for key, value in values.items()]
        blocks.append("\n".join([f"[{table}]", *lines]))
    return "\n\n".join(blocks)


def with_values(text: str, tables: Tables) -> str:
    """The text of a TOML file with these values in it.

    Raises:
        ValueError: it isn't TOML, or holds a table in a form (inline, dotted) that isn't changed here.
    """
    before = tomllib.loads(text)
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    for table, values in tables.items():
        lines = _with_table(lines, table, values)
    after = end.join(lines) + end
    if _read(after) != _merged(before, tables):
        raise ValueError("a table that is to be changed is written in one line or by dotted keys")
    return after


def _with_table(lines: list[str], table: str, values: Mapping[str, float | str]) -> list[str]:
    header = re.compile(r"^\s*\[\s*" + r"\s*\.\s*".join(map(re.escape, table.split("."))) + r"\s*\]\s*(#.*)?$")
    start = next((at for at, line in enumerate(lines) if header.match(line)), None)
    if start is None:
        gap = [""] if lines and lines[-1].strip() else []
        return [*lines, *gap, *told({table: values}).split("\n")]
    body = lines[start + 1 :]
    stop = next((at for at, line in enumerate(body) if _HEADER.match(line)), len(body))
    body, rest = body[:stop], body[stop:]
    for key, value in values.items():
        own = re.compile(rf"""^(\s*["']?{re.escape(key)}["']?\s*=\s*)("[^"]*"|'[^']*'|[^#"']*?)(\s*(?:#.*)?)$""")
        for at, line in enumerate(body):
            if found := own.match(line):
                body[at] = f"{found[1]}{_value(value)}{found[3]}"
                break
        else:
            filled = max((at + 1 for at, line in enumerate(body) if line.strip()), default=0)
            body.insert(filled, f"{key} = {_value(value)}")
    return [*lines[: start + 1], *body, *rest]


def _value(value: float | str) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(round(float(value), 6))


def _read(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(str(error)) from error


def _merged(before: Mapping[str, Any], tables: Tables) -> dict[str, Any]:
    found = copy.deepcopy(dict(before))
    for table, values in tables.items():
        inner = found
        for part in table.split("."):
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise ValueError(f"{part} is no table")  # noqa: TRY004  # what is wrong is the text of the file
        inner.update(
            {key: value if isinstance(value, str) else round(float(value), 6) for key, value in values.items()}
        )
    return found
