"""The command's tree: a command's module is only imported when it is called, so that help is instant."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from ragtriage import __version__
from ragtriage.cli.flags import Group, new_typer

COMMANDS: dict[str, tuple[str, str]] = {
    "evaluate": ("evaluate", "Evaluate the answers in FILE, tell which component to repair, and store the run."),
    "collect": ("collect", "Ask your own application all QUESTIONS and write its answers as cases."),
    "plan": ("plan", "Show what evaluating FILE would take: requests, tokens, price and time."),
    "demo": ("demo", "Evaluate the example cases and show which of their known faults were found."),
    "report": ("results", "Write a run as one self-contained HTML file."),
    "show": ("results", "Show a run in the terminal: its numbers and worst cases, or one case in full."),
    "compare": (
        "compare",
        "Compare two runs case by case: did the last change help, where, and is that more than chance?",
    ),
    "baseline": (
        "compare",
        "Write what a run amounts to as a file, without its texts, for later runs to be compared with.",
    ),
    "export": ("results", "Write a run as rows for other programs, one row per case."),
    "runs": ("runs", "List the stored runs, the newest first."),
    "store": ("store", "Stores for a team: make one, bring it up to date, copy runs, look it through, delete runs."),
    "forget": (
        "forget",
        "Delete the texts of a run, of some of its cases, or of old runs; scores and verdicts stay.",
    ),
    "testset": ("testset", "Test sets with known answers: what they reveal about an application."),
    "readers": ("readers", "Models of a hub that read in the embedded judge's place: list them, fetch one."),
    "judge": ("judge", "Ask the judge single questions, for benchmarks."),
    "trust": ("trust", "Can the judge be trusted? Measure it on pairs, labels and your own cases."),
}
"""Command → (module of this package, first line of its help); a test holds them together."""


class Commands(Group):
    """Commands that are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  # click's signature
        """Their names, in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002  # click's signature
        """Import one."""
        return _built(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002  # click's
        """List them without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])


@cache  # typer takes 20 ms to build one
def _built(name: str) -> Any:
    """A command as typer calls it."""
    found = getattr(import_module(f"ragtriage.cli.{COMMANDS[name][0]}"), name)
    if isinstance(found, typer.Typer):
        return get_command(found)
    alone = new_typer(no_args_is_help=False)
    alone.command(name)(found)
    return get_command(alone)


app = new_typer(name="ragtriage", cls=Commands)


def _show_version(value: bool) -> None:  # noqa: FBT001  # typer's signature
    if value:
        typer.echo(f"ragtriage {__version__}")
        raise typer.Exit


@app.callback()
def root(
    *,
    version: bool = typer.Option(
        False,  # noqa: FBT003  # typer's signature
        "--version",
        callback=_show_version,
        is_eager=True,
        help="Show the version.",
    ),
) -> None:
    """How good a RAG application's answers are, and which component to repair."""
