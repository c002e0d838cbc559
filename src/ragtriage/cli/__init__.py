"""The command `ragtriage`: parses, calls, prints."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import io
import os
import sys

from ragtriage.cli.app import app
from ragtriage.cli.console import ExitCode, tell
from ragtriage.cli.flags import flags_of
from ragtriage.core.errors import ApplicationError, JudgeError, NotStoredError, RagtriageError, StoreError

CTRL_C = 130
"""What typer exits with after Ctrl-C, where a command didn't see to it itself."""
_MOST_HEAPS = -8
"""`M_ARENA_MAX` of glibc's malloc.h."""


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
    for stream in (sys.stdout, sys.stderr):
        # a user's text may hold what the terminal's encoding can't show: a question mark is better than a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
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


def _share_heaps() -> None:
    """Two heaps for all threads, where the C library gives each its own: what a thread frees serves the others too."""
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        ctypes.CDLL(None).mallopt(_MOST_HEAPS, 2)


def _discard_output() -> None:
    """What is still buffered must not fail once more when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


__all__ = ["app", "main"]
