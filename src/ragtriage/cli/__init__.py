"""The command `ragtriage`: parses, calls, prints. A command's module is only imported when it is called."""

import atexit
import codecs
import contextlib
import ctypes
import gc
import io
import os
import sys
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from ragtriage import __version__
from ragtriage.cli.console import ExitCode, tell
from ragtriage.cli.flags import REGISTERED, CommandGroup, flags_of, new_typer
from ragtriage.core.errors import ApplicationError, JudgeError, NotStoredError, RagtriageError, StoreError

COMMANDS: dict[str, tuple[str, str]] = {
    "evaluate": ("evaluate", "Evaluate the answers in FILES, tell which component to repair, and store the run."),
    "collect": ("collect", "Ask your own application all QUESTIONS and write its answers as cases."),
    "plan": ("evaluate", "Show what evaluating FILES would take: requests, tokens, price and time."),
    "traces": ("traces", "Show what the traces in FILES are taken for, and write their cases; nothing is judged."),
    "demo": ("evaluate", "Evaluate the example cases and show which of their known faults were found."),
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
    "view": ("view", "Look through runs in a browser: lists, cases, versions, comparisons."),
    "watch": ("watch", "Judge traffic window by window, and raise an alarm where answers get worse."),
    "windows": ("watch", "List the windows of watched traffic, the newest first, and the open alarms."),
    "send": ("send", "Send a run's scores back to where its traces came from."),
    "runs": ("results", "List the stored runs, the newest first; or give one a name or a note."),
    "store": ("store", "Stores for a team: make one, bring it up to date, copy runs, look it through, delete runs."),
    "forget": ("forget", "Delete the texts of a run, of some of its cases, or of old runs; scores and verdicts stay."),
    "testset": (
        "testset testset_templates testset_score testset_reliability",
        "Test sets with known answers: what they reveal about an application.",
    ),
    "judge": ("judge", "Check a decision model."),
    "trust": (
        "trust trust_pairs trust_labels",
        "Can the judge be trusted? Measure it on pairs, labels and your own cases.",
    ),
}
"""Command → (modules of this package, first line of its help); a test holds them together."""
_ORDER = {
    "testset": "schema templates write phrase fill sample build example score reliability",
    "trust": "exam test table1 agreement label calibrate card",
}
"""Group → its commands, where they aren't in the order in which they are defined."""
CTRL_C = 130
"""What typer exits with after Ctrl-C, where a command didn't see to it itself."""
_MOST_HEAPS = -8
"""`M_ARENA_MAX` of glibc's malloc.h."""


class Commands(CommandGroup):
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
    modules, line = COMMANDS[name]
    for module in modules.split():
        import_module(f"ragtriage.cli.{module}")
    own = REGISTERED.get(name)
    within = [one.removeprefix(f"{name} ") for one in REGISTERED if one.startswith(f"{name} ")]
    made = new_typer(
        help=line if within else None, no_args_is_help=not own, invoke_without_command=bool(own and within)
    )
    if own:
        (made.callback() if within else made.command(name))(own)
    elif len(within) == 1:
        made.callback()(lambda: None)  # a group, though it has one command
    for one in _ORDER[name].split() if name in _ORDER else within:
        made.command(one)(REGISTERED[f"{name} {one}"])
    return get_command(made)


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


def main() -> None:
    """The console script: run the command; an expected error is one sentence on stderr, never a traceback.

    Commands let errors pass: only this function tells them.

    Exit codes: 0 all is well; 1 a gate failed; 2 usage or input; 3 incomplete (failures, too many unusable rows, a
    judge or an application that can't work, a store that can't be written, interrupted).
    """
    # What is loaded stays. To look for garbage in it again and again takes a tenth of a short command, and to do so
    # once more at the end half a second where a provider's package is loaded.
    gc.set_threshold(10_000)
    atexit.register(gc.freeze)
    _share_heaps()
    codecs.register_error(_in_other_signs.__name__, _in_other_signs)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_in_other_signs.__name__)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except RagtriageError as error:
        tell(f"ragtriage: {error}{flags_of(error)}")
        later = isinstance(error, StoreError | JudgeError | ApplicationError) and not isinstance(error, NotStoredError)
        sys.exit(ExitCode.INCOMPLETE if later else ExitCode.USAGE)
    except (BrokenPipeError, SystemExit) as end:
        # The reader of a pipe (`| head`) has gone: nothing is wrong, and nothing more may be written. Where typer sees
        # it first it exits with 1, which would say that a gate failed.
        if isinstance(end, SystemExit) and end.code == CTRL_C:
            tell("ragtriage: interrupted: give the same command again")
            sys.exit(ExitCode.INCOMPLETE)
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
            raise
        _discard_output()
        sys.exit(0)
    except OSError as error:
        tell(f"ragtriage: {error.filename or 'the output'} failed: {error.strerror or error}")
        _discard_output()
        sys.exit(ExitCode.INCOMPLETE)


def _in_other_signs(error: UnicodeError) -> tuple[str, int]:
    """What stands for characters that the terminal's encoding hasn't: a sign like it, or a question mark."""
    from ragtriage.report.words import TABLES  # noqa: PLC0415  # hardly ever needed

    if not isinstance(error, UnicodeEncodeError):
        raise error
    return "".join(TABLES["ascii"].get(c, "?") for c in error.object[error.start : error.end]), error.end


def _share_heaps() -> None:
    """Two heaps for all threads, where the C library gives each its own: what a thread frees serves the others too."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_MOST_HEAPS, 2)


def _discard_output() -> None:
    """What is still buffered must not fail once more when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["COMMANDS", "app", "main"]
