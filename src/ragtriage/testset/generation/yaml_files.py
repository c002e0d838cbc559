"""YAML files that people edit: errors name file, entry and field; writing is atomic."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_write
from ragtriage.core.validation import Invalid, validated
from ragtriage.testset.generation import yaml

T = TypeVar("T", bound=Any)


@dataclass(frozen=True, slots=True)
class YamlEntry:
    """One mapping of a file, and where it stands."""

    file: Path
    where: str
    """As people find it: `tables[2] (Album), columns[1] (Title)`; empty for the whole file."""
    values: Mapping[str, Any]

    def error(self, reason: str) -> InputError:
        """What is wrong with it, as an error that says where."""
        return InputError(f"{self.file}: {self.where + ': ' if self.where else ''}{reason}")

    def fitted(self, shape: type[T]) -> T:
        """The entry as one of these dataclasses."""
        for one in fields(shape):
            value = self.values.get(one.name)
            if one.default is MISSING and isinstance(value, str) and not value.strip():
                raise self.error(f"{one.name} is empty: write a text")
        try:
            return validated(shape, self.values)
        except Invalid as problem:
            raise self.error(str(problem)) from None

    def entries(self, field: str, named: str = "name") -> list[YamlEntry]:
        """The mappings of a list; none if it isn't there."""
        listed = self.values.get(field, [])
        if not isinstance(listed, list):
            raise self.error(f"{field} isn't a list: begin every entry with a dash")
        found = []
        for number, one in enumerate(listed, 1):
            place = f"{self.where + ', ' if self.where else ''}{field}[{number}]"
            if not isinstance(one, dict):
                raise InputError(f"{self.file}: {place}: is {one!r}: write fields as `name: value`")
            name = f" ({one[named]})" if isinstance(one.get(named), str) else ""
            found.append(YamlEntry(self.file, place + name, one))
        return found


def read_yaml(path: Path) -> YamlEntry:
    """The mapping that a file holds; fields without a value are left out."""
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
    return YamlEntry(path, "", _with_values(values))


def _with_values(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _with_values(one) for name, one in value.items() if one is not None}
    return [_with_values(one) for one in value] if isinstance(value, list) else value


def yaml_text(values: Mapping[str, Any], header: str) -> str:
    """Values as YAML under a header of comments; texts of several lines stand as blocks, tuples in one line."""

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]  # chosen at run time
        """Has representers of its own."""

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style="|" if "\n" in value else None)

    def sequence(dumper: Any, value: tuple[Any, ...]) -> Any:
        return dumper.represent_sequence("tag:yaml.org,2002:seq", value, flow_style=True)

    Dumper.add_representer(str, text)
    Dumper.add_representer(tuple, sequence)
    body = yaml.dump(dict(values), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=110)
    return "".join(f"# {line}".rstrip() + "\n" for line in header.strip().splitlines()) + str(body)


def write_whole(path: Path, text: str) -> None:
    """Write a file at once: a reader, and a kill, sees the old one or the new one."""
    try:
        with atomic_write(path, "replace", newline="\n") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: can't be written: {error.strerror or error}") from None
