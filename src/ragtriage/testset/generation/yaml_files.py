"""YAML that a person edits: read with errors that name file, entry and field, written at once with a header."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.testset.generation.optional_packages import yaml


@dataclass(frozen=True, slots=True)
class Entry:
    """One mapping of a file, and where it stands."""

    file: Path
    where: str
    """As people find it: `tables[2] (Album), columns[1]`; empty for the whole file."""
    values: Mapping[str, Any]

    def error(self, field: str, reason: str) -> InputError:
        """What is wrong with a field."""
        return InputError(f"{self.file}: {self.where + ': ' if self.where else ''}{field} {reason}")

    def only(self, known: Collection[str]) -> None:
        """Refuse fields that aren't known.

        Raises:
            InputError: there is one.
        """
        for name in self.values:
            if name not in known:
                near = get_close_matches(str(name), known, 1)
                hint = f": did you mean {near[0]}?" if near else f": use {', '.join(sorted(known))}"
                raise self.error(str(name), f"is no field here{hint}")

    def text(self, field: str, default: str | None = None) -> str:
        """A text; it must be there unless there is a default.

        Raises:
            InputError: it is missing, empty or something else.
        """
        value = self.values.get(field, default)
        if value is None:
            raise self.error(field, "is missing")
        if not isinstance(value, str) or (not value.strip() and default is None):
            raise self.error(field, f"is {value!r}: write a text, in quotes if it looks like something else")
        return value

    def flag(self, field: str, *, default: bool) -> bool:
        """True or false.

        Raises:
            InputError: it is something else.
        """
        value = self.values.get(field, default)
        if not isinstance(value, bool):
            raise self.error(field, f"is {value!r}: write true or false")
        return value

    def texts(self, field: str) -> tuple[str, ...]:
        """A list of texts, empty if it isn't there.

        Raises:
            InputError: it is something else.
        """
        value = self.values.get(field) or []
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.error(field, f"is {value!r}: write a list of texts, for example [name]")
        return tuple(value)

    def entries(self, field: str, named: str = "name") -> list[Entry]:
        """A list of mappings, empty if it isn't there.

        Raises:
            InputError: it is something else.
        """
        value = self.values.get(field) or []
        if not isinstance(value, list):
            raise self.error(field, "isn't a list: begin every entry with a dash")
        found = []
        for number, one in enumerate(value, 1):
            place = f"{self.where + ', ' if self.where else ''}{field}[{number}]"
            if not isinstance(one, dict):
                raise InputError(f"{self.file}: {place}: is {one!r}: write fields as `name: value`")
            name = f" ({one[named]})" if isinstance(one.get(named), str) else ""
            found.append(Entry(self.file, place + name, one))
        return found


def read_yaml(path: Path) -> Entry:
    """The mapping that a file holds.

    Raises:
        InputError: it isn't there, or can't be read.
    """
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file: the step before this one writes it") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: isn't UTF-8") from None
    except OSError as error:
        raise InputError(f"{path}: can't be read: {error.strerror or error}") from None
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        raise InputError(f"{path}{line}: isn't YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(values, dict):
        raise InputError(f"{path}: holds no fields: it is to look as `ragtriage testset` writes it")
    return Entry(path, "", values)


def yaml_text(values: Mapping[str, Any], header: str) -> str:
    """Values as YAML under a header of comments; texts of several lines stand as blocks."""

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
        """Blocks for texts of several lines, lists of texts in one line."""

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    def sequence(dumper: Any, value: tuple[Any, ...]) -> Any:
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)

    Dumper.add_representer(str, text)
    Dumper.add_representer(tuple, sequence)
    body = yaml.dump(dict(values), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
    return "".join(f"# {line}".rstrip() + "\n" for line in header.strip().splitlines()) + str(body)


def write_whole(path: Path, text: str) -> None:
    """Write a file at once: a reader, and a kill, sees the old one or the new one.

    Raises:
        InputError: it can't be written.
    """
    beside = path.with_name(path.name + ".new")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from None
