"""What every command prints to, and the codes they exit with."""

from __future__ import annotations

import json
import sys
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """The exit codes of every command, beside 0."""

    GATE_FAILED = 1
    """A mean is outside the limit that was asked for."""
    USAGE = 2
    """Usage or input."""
    INCOMPLETE = 3
    """A later call can bring what is missing: failures, too many unusable rows, an interruption, a full disk."""


def print_json(value: Any, *, indent: int | None = None) -> None:
    """One JSON value on standard output."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=indent) + "\n")


def tell(*lines: str) -> None:
    """Lines on standard error."""
    sys.stderr.write("".join(f"{line}\n" for line in lines))
