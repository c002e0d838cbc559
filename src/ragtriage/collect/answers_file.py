"""The file of collected cases: one line a case, appended as it becomes known, gone on with after any end."""

from __future__ import annotations

import json
import os
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from ragtriage.collect.application import TIMED_OUT
from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.core.files import atomic_path
from ragtriage.readers.json_objects import append, open_to_append

COLLECTED_COLUMNS = {"id": "id", "query": "query", "response": "response", "sources": "sources"}
"""Where our fields are in a file of collected cases, whatever the columns of its questions are called."""


class CollectedLines:
    """A file of collected cases; use it as a context manager.

    Opening it reads what is there. A last line that was cut off is taken away; every whole one counts as asked.

    Args:
        path: the file; it is made if it isn't there.
        retry_failed: take away the cases without a response, so that they are asked again.
        flag: by which a user names the file.

    Attributes:
        path: the file.
        tally: its cases in numbers.
        before: how many cases it held when it was opened.

    Raises:
        ConfigError: its name doesn't end in `.jsonl`.
        InputError: it can't be read or written, or holds something else than collected cases.
    """

    def __init__(self, path: Path, *, retry_failed: bool = False, flag: str = "-o") -> None:
        self.path = path
        self._flag = flag
        self.tally = CollectionTally()
        self._queries: dict[bytes, bytes] = {}
        self._file = open_to_append(path, "collected cases")
        try:
            self._take_up(retry_failed=retry_failed)
        except BaseException:
            os.close(self._file)
            raise
        self.before = self.tally.asked

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        os.close(self._file)

    def has(self, case: Case) -> bool:
        """Whether a case was asked.

        Raises:
            InputError: a case with its id was, but another query.
        """
        query = self._queries.get(_digest(case.id))
        if query is not None and query != _digest(case.query):
            raise InputError(
                f"{self.path}: holds another query under the id {case.id!r}: the questions have changed; "
                f"name another file with {self._flag}"
            )
        return query is not None

    def add(self, row: Mapping[str, Any]) -> None:
        """Append one case; when this returns, the operating system has it, and a kill can't take it away.

        Raises:
            OSError: the disk is full, or gone.
        """
        append(self._file, row)
        self._note(row)

    def _note(self, row: Mapping[str, Any]) -> None:
        self._queries[_digest(str(row["id"]))] = _digest(str(row["query"]))
        self.tally.add(row)

    def _take_up(self, *, retry_failed: bool) -> None:
        """Read what is there, mend its end, and leave out what is to be asked again."""
        failed = False
        for row in self._rows():
            if retry_failed and row["response"] is None:
                failed = True
            else:
                self._note(row)
        if not failed:
            return
        with atomic_path(self.path) as kept:  # at once, so that a kill leaves the one file or the other
            with kept.open("wb", buffering=0) as file:
                for row in self._rows():
                    if row["response"] is not None:
                        append(file.fileno(), row)
            os.close(self._file)
        self._file = os.open(self.path, os.O_RDWR | os.O_APPEND | getattr(os, "O_BINARY", 0))

    def _rows(self) -> Iterator[dict[str, Any]]:
        with self.path.open("rb") as stream:
            begin = 0
            for number, line in enumerate(stream, 1):
                row = _parsed(line)
                if row is None and not line.endswith(b"\n"):
                    os.ftruncate(self._file, begin)
                    return
                if row is None:
                    raise InputError(
                        f"{self.path}, line {number}: is no collected case (an object with id, query and response): "
                        f"name another file with {self._flag}"
                    )
                begin += len(line)
                yield row
                if not line.endswith(b"\n"):
                    os.write(self._file, b"\n")
                    return


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) and row.keys() >= {"id", "query", "response"} else None


def _digest(text: str) -> bytes:
    """16 bytes for a text, so that a million cases cost little memory."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


@dataclass
class CollectionTally:
    """Counts collected rows as they come."""

    asked: int = 0
    answered: int = 0
    empty: int = 0
    """Those of the answered whose response is empty or blank."""
    failures: Counter[str] = field(default_factory=Counter)
    """Cause → rows without a response."""
    _seconds: array[float] = field(default_factory=lambda: array("d"))

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one row."""
        self.asked += 1
        response = row.get("response")
        if response is None:
            self.failures[str(row.get("failure") or "no answer")] += 1
            return
        self.answered += 1
        self.empty += not str(response).strip()
        if isinstance(seconds := row.get("seconds"), int | float):
            self._seconds.append(seconds)

    def seconds(self, percent: float) -> float | None:
        """So many per cent of the answers took at most this long (linear between neighbours); None without any."""
        return float(np.percentile(self._seconds, percent)) if self._seconds else None

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines; `median` and `p95` are seconds, null where nothing was answered."""
        others = {cause: count for cause, count in self.failures.most_common() if cause != TIMED_OUT}
        return {
            "asked": self.asked,
            "answered": self.answered,
            "empty": self.empty,
            "timed_out": self.failures[TIMED_OUT],
            "failed": others,
            "seconds": {"median": self.seconds(50), "p95": self.seconds(95)},
        }

    def lines(self) -> list[str]:
        """All of it, for people."""
        found = self.as_json()
        empty = f", {self.empty:,} of them with an empty text" if self.empty else ""
        causes = ", ".join(f"{cause} {count:,}" for cause, count in found["failed"].items())
        lines = [
            f"asked {self.asked:,}",
            f"answered {self.answered:,}{empty}",
            f"timed out {found['timed_out']:,}",
            f"failed {sum(found['failed'].values()):,}" + (f": {causes}" if causes else ""),
        ]
        if self._seconds:
            lines.append("seconds an answer: median {median:.2f}, p95 {p95:.2f}".format(**found["seconds"]))
        return lines
