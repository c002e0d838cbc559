"""The command `ragtriage`: parses, calls, prints."""

from __future__ import annotations

import sys

from ragtriage.cli.app import app
from ragtriage.cli.exits import INCOMPLETE, USAGE
from ragtriage.errors import RagtriageError, StoreError


def main() -> None:
    """The console script: run the command; an expected error is one sentence on stderr, never a traceback.

    Exit codes: 0 all is well; 1 a gate failed; 2 usage or input; 3 incomplete (failures, too many unusable rows, a
    store that can't be written, interrupted).
    """
    try:
        app()
    except RagtriageError as error:
        sys.stderr.write(f"ragtriage: {error}\n")
        sys.exit(INCOMPLETE if isinstance(error, StoreError) else USAGE)
    except BrokenPipeError:
        # the reader of a pipe (`| head`) has gone: nothing is wrong, and nothing more may be written
        sys.stderr.close()
        sys.exit(0)


__all__ = ["app", "main"]
