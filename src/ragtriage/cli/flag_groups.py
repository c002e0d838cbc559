"""Flags that several commands share: groups of them as the fields of a data class, and single ones as types."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from ragtriage.config import Settings, find_settings
from ragtriage.core.errors import ConfigError
from ragtriage.store.connection import VARIABLE

AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]
Run = Annotated[str, typer.Argument(help="The run's number, or last.")]
StoreFlag = Annotated[
    str | None,
    typer.Option("--store", help="Folder or database URL of the store [default: $RAGTRIAGE_STORE, else .ragtriage]."),
]
ConfigFlag = Annotated[
    Path | None,
    typer.Option(
        "--config", help="Settings file [default: ragtriage.toml or pyproject.toml here or in a folder above]."
    ),
]
By = Annotated[str | None, typer.Option(help="A tag: also show the table for each of its values.")]
ReportFlag = Annotated[Path | None, typer.Option("--report", help="Path of the HTML report [default: in the store].")]


def with_flag_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Let typer see a flag for every field of each parameter that is a data class, and check `Literal` types.

    The fields are annotated as typer wants it and have defaults; the command gets each group as one value. A value
    that isn't one of a `Literal`'s is told in one sentence, without a usage text.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    signature = inspect.signature(command)
    choices: dict[str, tuple[str, ...]] = {}
    shown: list[inspect.Parameter] = []

    def show(name: str, parameter: inspect.Parameter, hint: Any) -> None:
        found = _choices(hint)
        if found:
            choices[name] = found
            hint = Annotated[str | None, *get_args(hint)[1:]]
        shown.append(parameter.replace(name=name, annotation=hint))

    for name, parameter in signature.parameters.items():
        if group := groups.get(name):
            types = get_type_hints(group, include_extras=True)
            for field in fields(group):
                show(field.name, parameter.replace(default=field.default), types[field.name])
        else:
            show(name, parameter, hints[name])

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        for name, known in choices.items():
            if kwargs.get(name) not in {None, *known}:
                raise ConfigError(f"--{name.replace('_', '-')} {kwargs[name]}: use {_or(known)}")
        given = {
            name: group(**{f.name: kwargs.pop(f.name) for f in fields(group) if f.name in kwargs})
            for name, group in groups.items()
        }
        command(*args, **given, **kwargs)

    run.__signature__ = signature.replace(parameters=shown)  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {p.name: p.annotation for p in shown}
    return run


def _choices(hint: Any) -> tuple[str, ...]:
    """The values of a flag's `Literal` type; none for any other type."""
    for part in (hint, *get_args(hint)):
        if get_origin(part) is Literal:
            return get_args(part)
        for inner in get_args(part) if part is not hint else ():
            if get_origin(inner) is Literal:
                return get_args(inner)
    return ()


def _or(names: Sequence[str]) -> str:
    """`a`, `a or b`, `a, b or c`."""
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def store_address(store: str | None, settings: Settings | None = None) -> str | None:
    """Where the store is: by the flag, else the environment (None), else the settings (the nearest if None).

    Raises:
        ConfigError: a setting is wrong.
    """
    if store or os.environ.get(VARIABLE):
        return store
    return (settings or find_settings(Path.cwd())).store


def names_in(given: str | None) -> tuple[str, ...]:
    """`"a, b"` → its names."""
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def pairs(items: Collection[str] | None, flag: str) -> dict[str, str]:
    """`["query=question"]` → `{"query": "question"}`.

    Raises:
        ConfigError: an item has no `=`.
    """
    found = {}
    for item in items or ():
        name, sign, value = item.partition("=")
        if not sign or not name.strip():
            raise ConfigError(f"{flag} {item!r}: write it as field=column, for example query=question")
        found[name.strip()] = value.strip()
    return found
