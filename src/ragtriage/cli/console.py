"""What every command prints to, and the codes they exit with."""

from __future__ import annotations

import json
import sys
from enum import IntEnum
from typing import Any

import typer


class ExitCode(IntEnum):
    """The exit codes of every command, beside 0."""

    GATE_FAILED = 1
    """A mean is outside the limit that was asked for."""
    USAGE = 2
    """Usage or input."""
    INCOMPLETE = 3
    """A later call can bring what is missing: failures, too many unusable rows, an interruption, a full disk."""


def new_typer(**settings: Any) -> typer.Typer:
    """A command or group with the settings that all of ours share."""
    return typer.Typer(
        no_args_is_help=True, add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False, **settings
    )


def print_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def tell(*lines: str) -> None:
    """Lines on standard error."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))
