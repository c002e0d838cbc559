"""The command `ragtriage`: parses, calls, prints."""

from __future__ import annotations

import io
import sys

from ragtriage.cli.app import app
from ragtriage.cli.exits import INCOMPLETE, USAGE
from ragtriage.errors import JudgeError, RagtriageError, StoreError


def main() -> None:
    """The console script: run the command; an expected error is one sentence on stderr, never a traceback.

    Exit codes: 0 all is well; 1 a gate failed; 2 usage or input; 3 incomplete (failures, too many unusable rows, a
    judge that can't work, a store that can't be written, interrupted).
    """
    for stream in (sys.stdout, sys.stderr):
        # a user's text may hold what the terminal's encoding can't show: a question mark is better than a traceback
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    try:
        app()
    except RagtriageError as error:
        sys.stderr.write(f"ragtriage: {error}\n")
        sys.exit(INCOMPLETE if isinstance(error, StoreError | JudgeError) else USAGE)
    except BrokenPipeError:
        # the reader of a pipe (`| head`) has gone: nothing is wrong, and nothing more may be written
        sys.stderr.close()
        sys.exit(0)


__all__ = ["app", "main"]
