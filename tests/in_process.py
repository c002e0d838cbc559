"""The command, run in this process as the console script does it."""

import io
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

from ragtriage.cli import main


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The one object on standard output."""
        return json.loads(self.out)


def said_by(command: Sequence[object], typed: bytes | None = None) -> Said:
    """What a command says.

    Args:
        command: its arguments, without the program's name.
        typed: standard input; None leaves it as it is.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    before = sys.argv, sys.stdin
    sys.argv = ["ragtriage", *map(str, command)]
    if typed is not None:
        sys.stdin = io.TextIOWrapper(io.BytesIO(typed), encoding="utf-8")
    code = 0
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.argv, sys.stdin = before
    return Said(code, *(stream.buffer.getvalue().decode("utf-8") for stream in (out, err)))  # type: ignore[attr-defined]


@contextmanager
def plain_environment(**more: str) -> Iterator[None]:
    """The same terminal everywhere, no store and no server that this machine names, and these variables."""
    before = dict(os.environ)
    for name in ("RAGTRIAGE_STORE", "OPENAI_BASE_URL", "OTEL_PYTHON_TRACER_PROVIDER", "FORCE_COLOR", "LINES"):
        os.environ.pop(name, None)
    os.environ.update({"COLUMNS": "120", "NO_COLOR": "1", "TERM": "dumb", **more})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
