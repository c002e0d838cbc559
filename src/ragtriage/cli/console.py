"""What every command prints to, and the codes they exit with."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from ragtriage.report.document import Document


class ExitCode(IntEnum):
    """The exit codes of every command, beside 0."""

    GATE_FAILED = 1
    """A mean is outside the limit that was asked for."""
    USAGE = 2
    """Usage or input."""
    INCOMPLETE = 3
    """A later call can bring what is missing: failures, too many unusable rows, an interruption, a full disk."""


def exit_if(*, incomplete: object = False, gate_failed: object = False) -> None:
    """End the command with the code that is due, if any: 3 where something is missing, else 1 where a gate failed."""
    if incomplete:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if gate_failed:
        raise typer.Exit(ExitCode.GATE_FAILED)


def show(*documents: Document) -> None:
    """Documents on standard output."""
    from rich.console import Console  # noqa: PLC0415  # help is instant without it

    from ragtriage.report.terminal import print_document  # noqa: PLC0415  # as above

    console = Console()
    for document in documents:
        print_document(console, document)


def print_found(value: Callable[[], Any], document: Callable[[], Document], *, as_json: bool) -> None:
    """What a command found: one JSON value, or a document for people."""
    if as_json:
        print_json(value())
    else:
        show(document())


def print_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def tell(*lines: str) -> None:
    """Lines on standard error."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))
