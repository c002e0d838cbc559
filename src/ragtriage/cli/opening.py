"""A file named on the command line, opened, and what is said of it before anything is judged."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ragtriage.assessment import Criteria
from ragtriage.metrics import THELMA
from ragtriage.metrics.carried import offer
from ragtriage.readers import CaseFile
from ragtriage.running import Survey


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


def say_carried(survey: Survey, criteria: Criteria) -> None:
    """Which further metrics the rows allow, where nobody has chosen any."""
    if [m.name for m in criteria.metrics] == [m.name for m in THELMA] and (line := offer(survey.carried, "thelma")):
        sys.stderr.write(f"note: {line}\n")
