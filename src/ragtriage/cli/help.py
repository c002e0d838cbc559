"""The help of every command: its texts are in flags.toml; a long one lists its options in groups."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from ragtriage.core.validation import near_names

TABLES = tomllib.loads(Path(__file__).with_name("flags.toml").read_text(encoding="utf-8"))
"""A command, a group of commands or `shared` → name of a parameter → help text, or a table with it."""
GROUPS: dict[str, str] = {name: group for group, names in TABLES.pop("groups").items() for name in names}
"""Parameter → the group of options that it belongs to."""
GROUPED_FROM = 12
"""Options of a command from which on its help lists them in groups."""


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


class Group(TyperGroup):
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
        cls=settings.pop("cls", Group),
        no_args_is_help=no_args_is_help,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        **settings,
    )
