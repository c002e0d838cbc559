"""A file named on the command line, opened, and what is said of it before anything is judged."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ragtriage.metrics import GROUPS
from ragtriage.metrics.optional import suggest_metrics
from ragtriage.readers import CaseFile
from ragtriage.runs.execute import Survey


@contextmanager
def readable(file: str) -> Iterator[str]:
    """The file's path; what comes through a pipe is put into a file first, since rows are read more than once."""
    if file != "-" and not Path(file).is_fifo():
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="ragtriage-") as folder:
        path = Path(folder) / "stdin.jsonl"
        with path.open("wb") as copy, sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
            shutil.copyfileobj(stream, copy)
        yield str(path)


def say_columns(file: str, cases: CaseFile) -> None:
    """What was found in the file."""
    sys.stderr.write(f"{file} ({cases.format})\n")
    sys.stderr.write("".join(f"  {line}\n" for line in cases.describe()))


def say_rejected(survey: Survey) -> None:
    """How many rows can't be used, and the first of them."""
    if not survey.rejected:
        return
    total = survey.selected + survey.rejected
    sys.stderr.write(f"{survey.rejected} of {total} rows can't be used:\n")
    sys.stderr.write("".join(f"  {row}\n" for row in survey.first_rejected))
    more = survey.rejected - len(survey.first_rejected)
    if more:
        sys.stderr.write(f"  and {more} more\n")


def say_carried(survey: Survey, by_default: Sequence[str]) -> None:
    """What is computed because the rows carry what it needs, and what else they allow, where nobody named metrics.

    Args:
        survey: of the rows.
        by_default: the groups that are computed; empty where somebody named metrics.
    """
    if not by_default:
        return
    if by_default[1:]:
        names = ", ".join(m.name for group in by_default[1:] for m in GROUPS[group])
        sys.stderr.write(f"note: computed too, as the rows carry what it needs: {names} (not with --metrics thelma)\n")
    if line := suggest_metrics(survey.carried, by_default):
        sys.stderr.write(f"note: {line}\n")
