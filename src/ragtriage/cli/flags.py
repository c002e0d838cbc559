"""The flags of every command: types and defaults from its signature, texts and bounds from flags.toml."""

from __future__ import annotations

import functools
import inspect
import math
import os
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer

from ragtriage.cli.help import TABLES
from ragtriage.config import Settings, find_settings
from ragtriage.core.display import listed
from ragtriage.core.errors import ConfigError, RagtriageError
from ragtriage.store.store_file import VARIABLE

Command = Callable[..., None]
N = TypeVar("N", int, float)


def command(name: str) -> Callable[[Command], Command]:
    """Make a function a command: parameters before the `*` are arguments, those after it are flags.

    A parameter whose type is a data class stands for a flag for each of its fields; the function gets them as one
    value. A value that isn't one of a `Literal`'s is told in one sentence, without a usage text.

    Args:
        name: as it is typed, for example "trust test".
    """
    return functools.partial(_command, name)


def _command(name: str, function: Command) -> Command:
    hints = get_type_hints(function)
    groups: dict[str, Any] = {name: hint for name, hint in hints.items() if is_dataclass(hint)}
    signature = inspect.signature(function)
    shown: dict[str, inspect.Parameter] = {}
    choices: dict[str, tuple[str, ...]] = {}
    for parameter in signature.parameters.values():
        if group := groups.get(parameter.name):
            hints |= get_type_hints(group)
            shown |= {f.name: parameter.replace(name=f.name, default=f.default) for f in fields(group)}
        else:
            shown[parameter.name] = parameter
    for key, parameter in shown.items():
        choices[key] = _choices(hints[key])
        kind: Any = str | None if choices[key] else hints[key]
        typed: Any = Annotated[kind, _typer_info(name, parameter, hints[key])]
        shown[key] = parameter.replace(annotation=typed)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> None:
        for key, parameter in shown.items():
            _check_text(kwargs.get(key), name, parameter)
        for key, known in choices.items():
            if known and kwargs.get(key) not in {None, *known}:
                raise ConfigError(f"{_shown_name(name, shown[key])} {kwargs[key]}: use {listed(known, 'or')}")
        given = {
            key: group(**{f.name: kwargs.pop(f.name) for f in fields(group) if f.name in kwargs})
            for key, group in groups.items()
        }
        function(*args, **given, **kwargs)

    run.__signature__ = signature.replace(parameters=[*shown.values()])  # type: ignore[attr-defined]  # read by typer
    run.__annotations__ = {p.name: p.annotation for p in shown.values()}
    return run


def _entry(command: str, parameter: inspect.Parameter) -> dict[str, Any]:
    """The nearest entry of flags.toml about a parameter."""
    tables = (TABLES.get(place, {}) for place in (command, command.partition(" ")[0], "shared"))
    found = next(table[parameter.name] for table in tables if parameter.name in table)
    return {"help": found} if isinstance(found, str) else dict(found)


def _typer_info(command: str, parameter: inspect.Parameter, hint: Any) -> Any:
    """What typer is to know of a parameter beside its type."""
    entry = _entry(command, parameter)
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return typer.Argument(**entry)
    names = entry.pop("names", ["--" + parameter.name.replace("_", "-")] if hint is bool else [])
    return typer.Option(*names, **entry)


def _check_text(value: Any, command: str, parameter: inspect.Parameter) -> None:
    """Refuse an empty text, and a NUL, which no path, name or address can hold."""
    if value == "" != parameter.default:
        needed = parameter.default is parameter.empty
        advice = "give it a value" + ("" if needed else ", or leave it out")
        raise ConfigError(f"{_shown_name(command, parameter)} is empty: {advice}")
    if any(isinstance(text, str) and "\0" in text for text in (value if isinstance(value, list) else [value])):
        raise ConfigError(f"{_shown_name(command, parameter)} holds a NUL character: take it out")


def _shown_name(command: str, parameter: inspect.Parameter) -> str:
    """What a message calls a parameter: `--format`, `FILE`."""
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return parameter.name.upper()
    return str(_entry(command, parameter).get("names", ["--" + parameter.name.replace("_", "-")])[-1])


def _choices(hint: Any) -> tuple[str, ...]:
    """The values of `Literal[…]` or `Literal[…] | None`; none for any other type."""
    return next((get_args(part) for part in (hint, *get_args(hint)) if get_origin(part) is Literal), ())


_FLAGS = {"headers": "--header"}
"""Setting → its flag, where that has another name."""


def flags_of(error: RagtriageError) -> str:
    """The flags by which the settings that an error is about are given, in brackets; empty if it names none."""
    settings = error.settings if isinstance(error, ConfigError) else ()
    flags = [_FLAGS.get(setting, f"--{setting.replace('_', '-')}") for setting in settings]
    return f" ({', '.join(flags)})" if flags else ""


def store_address(store: str | None, settings: Settings | None = None) -> str | None:
    """Where the store is: by the flag, else the environment (None), else the settings (the nearest if None)."""
    if store or os.environ.get(VARIABLE):
        return store
    return (settings or find_settings(Path.cwd())).store


def parse_names(given: str | None) -> tuple[str, ...]:
    """`"a, b"` → its names."""
    return tuple(name.strip() for name in (given or "").split(",") if name.strip())


def parse_pairs(items: Collection[str] | None, flag: str) -> dict[str, str]:
    """`["query=question"]` → `{"query": "question"}`."""
    split = [(item, *item.partition("=")) for item in items or ()]
    for item, name, sign, _ in split:
        if not sign or not name.strip():
            raise ConfigError(f"{flag} {item!r}: write it as field=column, for example query=question")
    found: dict[str, str] = {}
    for _, name, _, value in split:
        if name.strip() in found:
            first, second = found[name.strip()] or "nothing", value.strip() or "nothing"
            raise ConfigError(f"{flag} names {name.strip()} twice, as {first} and as {second}: give one of them")
        found[name.strip()] = value.strip()
    return found


def parse_numbers(items: Collection[str] | None, flag: str, example: str, read: Callable[[str], N]) -> dict[str, N]:
    """`["short=2"]` → `{"short": 2}`; names may contain `=`."""
    found: dict[str, N] = {}
    for item in items or ():
        name, _, value = item.rpartition("=")
        if name.strip() in found:
            raise ConfigError(f"{flag} names {name.strip()} twice: give one number")
        try:
            found[name.strip()] = read(value)
        except ValueError:
            name = ""
        if not name.strip() or not math.isfinite(found[name.strip()]):
            raise ConfigError(f"{flag} {item!r}: write it as NAME=NUMBER, for example {flag} {example}")
    return found
