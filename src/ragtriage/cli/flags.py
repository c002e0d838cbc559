"""The flags of every command, and its help: a long one lists its options in groups.

Types and defaults come from a command's signature, texts and bounds of a setting from the table of settings, of all
else from flags.toml.
"""

import functools
import inspect
import math
import tomllib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass, make_dataclass
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Literal, TypeVar, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from ragtriage.config import SETTINGS
from ragtriage.core.display import listed
from ragtriage.core.errors import ConfigError, RagtriageError
from ragtriage.core.validation import near_names

TABLES = tomllib.loads(Path(__file__).with_name("flags.toml").read_text(encoding="utf-8"))
"""A command, a group of commands, `settings` or `shared` → name of a parameter → help text, or a table with it."""
TABLES["settings"] = {
    name: {"help": one.text} | ({"names": [*one.names]} if one.names else {}) for name, one in SETTINGS.items()
}
GROUPS: dict[str, str] = {name: group for group, names in TABLES.pop("groups").items() for name in names}
"""Parameter → the group of options that it belongs to."""
GROUPED_FROM = 12
"""Options of a command from which on its help lists them in groups."""

Command = Callable[..., None]
REGISTERED: dict[str, Command] = {}
"""What is typed, for example `trust test` → the command, of all modules that were imported."""
N = TypeVar("N", int, float)


def command(name: str) -> Callable[[Command], Command]:
    """Make a function a command: parameters before the `*` are arguments, those after it are flags.

    A parameter whose type is a data class stands for a flag for each of its fields; the function gets them as one
    value. A value that isn't one of a `Literal`'s is told in one sentence, without a usage text. The name is what is
    typed, for example "trust test", by which the command is found.
    """

    def register(function: Command) -> Command:
        REGISTERED[name] = made = _command(name, function)
        return made

    return register


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
        if hints[key] is typer.Context:
            shown[key] = parameter.replace(annotation=typer.Context)
            continue
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
    """What is said of a parameter: by the command, its group, the table of settings, or for all commands."""
    tables = (TABLES.get(place, {}) for place in (command, command.partition(" ")[0], "settings", "shared"))
    found = next(table[parameter.name] for table in tables if parameter.name in table)
    return {"help": found} if isinstance(found, str) else dict(found)


def _typer_info(command: str, parameter: inspect.Parameter, hint: Any) -> Any:
    """What typer is to know of a parameter beside its type."""
    entry = _entry(command, parameter)
    if parameter.kind is not parameter.KEYWORD_ONLY:
        return typer.Argument(**entry)
    names = entry.pop("names", ["--" + parameter.name.replace("_", "-")] if hint is bool else [])
    return typer.Option(*names, **entry)


def setting_flags(*names: str) -> Any:
    """A data class with the flags of these settings; None, or False, stands for what wasn't given."""
    kinds = {name: _flag_type(SETTINGS[name].kind) for name in names}
    return make_dataclass(
        "SettingFlags", [(name, kind, False if kind is bool else None) for name, kind in kinds.items()], frozen=True
    )


def _flag_type(kind: Any) -> Any:
    """The type of a flag by that of its setting: what holds several values is given several times, or as a text."""
    plain = get_args(kind)[0] if NoneType in get_args(kind) else kind
    if plain is bool:
        return bool
    if get_origin(plain) in {tuple, Mapping}:
        return list[str] | None
    return plain | None if plain in {int, float, Path} or get_origin(plain) is Literal else str | None


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


def flags_of(error: RagtriageError) -> str:
    """The flags by which the settings that an error is about are given, in brackets; empty if it names none."""
    settings = error.settings if isinstance(error, ConfigError) else ()
    known = {one.name: one.flag for one in SETTINGS.values()}
    flags = [known.get(setting, f"--{setting.replace('_', '-')}") for setting in settings]
    return f" ({', '.join(flags)})" if flags else ""


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


class GroupedHelp(TyperCommand):
    """A command whose help lists many options in groups: those that flags.toml puts them into."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, a section a group."""
        for title, params in help_sections(self.get_params(ctx)).items():
            with formatter.section(title):
                formatter.write_dl([record for param in params if (record := param.get_help_record(ctx))])


def help_sections(params: Sequence[Any]) -> dict[str, list[Any]]:
    """A command's parameters by the section of its help, the groups in their order in flags.toml."""
    options = [param for param in params if param.param_type_name == "option"]
    found: dict[str, list[Any]] = {"Arguments": [param for param in params if param.param_type_name == "argument"]}
    found |= {group: [] for group in dict.fromkeys(GROUPS.values())} | {"Options": []}
    for option in options:
        found[GROUPS.get(option.name, "Options") if len(options) >= GROUPED_FROM else "Options"].append(option)
    return {title: inside for title, inside in found.items() if inside}


class CommandGroup(TyperGroup):
    """A group of commands that suggests one for a misspelt name.

    Types of click are written as Any: some versions of typer carry their own copy of it, others need the package.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not args[0].startswith("-"):
            near = near_names(args[0], names)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
            ctx.fail(f"there is no command {args[0]!r}: {hint}")
        return super().resolve_command(ctx, args)


class _Typer(typer.Typer):
    def command(self, name: str | None = None, **settings: Any) -> Any:
        return super().command(name, cls=GroupedHelp, **settings)


def new_typer(*, no_args_is_help: bool = True, **settings: Any) -> typer.Typer:
    """A command or group with the settings that all of ours share."""
    return _Typer(
        cls=settings.pop("cls", CommandGroup),
        no_args_is_help=no_args_is_help,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )
