"""All traces of an input of any size, in the order in which they began, in bounded memory.

A trace's spans may stand anywhere in a file, so everything is put aside by trace first, in a temporary database beside
the system's other temporary files, readable by its owner alone, and gone when the input is closed. It takes about as
much room as the input.
"""

import marshal
import sqlite3
import tempfile
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ragtriage.core.errors import InputError
from ragtriage.readers.problems import RawRow
from ragtriage.readers.text_values import as_json_value
from ragtriage.readers.traces.pieces import TraceFormat
from ragtriage.readers.traces.spans import Trace

MOST_SPANS, MOST_BYTES = 5_000, 256_000_000
"""Of one trace; a larger one is rejected."""
LATEST = 1 << 62
"""Nanoseconds: no trace began later."""
ODD = (AttributeError, TypeError, ValueError, KeyError, IndexError, OverflowError, RecursionError)
"""What a value that is nothing a tool writes can bring about."""
_TABLES = """
create table pieces (trace text not null, start integer not null, size integer not null, data blob not null);
create table traces (trace text primary key, start integer not null, pieces integer not null, size integer not null);
"""


@dataclass(frozen=True, slots=True)
class UnreadTrace:
    """A trace that is larger than one may be, or that has values which its format doesn't have."""

    id: str
    reason: str
    spans: int = 0
    """As many as are known."""


HeldTrace = Trace | UnreadTrace


class TraceIndex:
    """The traces of some rows. Reading them may be repeated.

    Attributes:
        refused: why how many spans or traces can't be used.
        problems: the rows that can't be read.
    """

    def __init__(self, rows: Iterable[RawRow], form: TraceFormat) -> None:
        self._form = form
        self.refused: Counter[str] = Counter()
        self.problems: list[RawRow] = []
        folder = tempfile.TemporaryDirectory(prefix="ragtriage-traces-", ignore_cleanup_errors=True)
        self._database = sqlite3.connect(Path(folder.name) / "traces.sqlite", isolation_level=None)
        self._closing = weakref.finalize(self, _close, self._database, folder)
        try:
            self._fill(rows)
        except sqlite3.Error as error:
            self._closing()
            raise InputError(
                f"the traces can't be put in order in {tempfile.gettempdir()}: {error}: make room there, or set TMPDIR"
            ) from None

    def __len__(self) -> int:
        count: int = self._database.execute("select count(*) from traces").fetchone()[0]
        return count

    def _fill(self, rows: Iterable[RawRow]) -> None:
        database = self._database
        database.execute("pragma journal_mode = off")
        database.execute("pragma synchronous = off")
        database.executescript(_TABLES)
        database.execute("begin")
        database.executemany("insert into pieces values (?, ?, ?, ?)", self._pieces(rows))
        database.execute("create index by_trace on pieces (trace)")
        # a piece that has no time says nothing of when its trace began
        database.execute(
            "insert into traces select trace, coalesce(min(nullif(start, 0)), 0), count(*), sum(size) from pieces "
            "group by trace"
        )
        database.execute("commit")

    def _pieces(self, rows: Iterable[RawRow]) -> Iterator[tuple[str, int, int, bytes]]:
        for row in rows:
            if row.values is None:
                self.problems.append(row)
                continue
            before = self.refused.total()
            try:
                pieces = list(self._form.pieces(row.values, self._refuse))
            except (AttributeError, TypeError, ValueError):
                self.problems.append(replace(row, values=None, problem=f"is no row of {self._form.title}"))
                continue
            if not pieces and before == self.refused.total():
                self._refuse(f"a row holds no {self._form.title}")
            for trace, start, piece in pieces:
                data = _bytes(piece)
                name = trace.encode("utf-8", "replace").decode()
                yield name, start if 0 <= start < LATEST else 0, len(data), data

    def _refuse(self, reason: str) -> None:
        self.refused[reason] += 1

    def traces(self) -> Iterator[HeldTrace]:
        """Every trace, by when it began, then by its id."""
        found = self._database.execute("select trace, pieces, size from traces order by start, trace")
        for trace, count, size in found:
            yield self._whole(trace, count, size)

    def trace(self, trace_id: str) -> HeldTrace | None:
        """One trace, by its id, or by how that begins if that tells it; None if there is none."""
        known = "select trace, pieces, size from traces where trace = ? or substr(trace, 1, ?) = ? order by 1 limit 2"
        for name in dict.fromkeys((trace_id, trace_id.partition("/")[0], trace_id.partition("/")[0].lower())):
            rows = self._database.execute(known, (name, len(name), name)).fetchall()
            exact = [row for row in rows if row[0] == name] or rows
            if len(exact) == 1:
                return self._whole(*exact[0])
        return None

    def _whole(self, trace: str, count: int, size: int) -> HeldTrace:
        if count > MOST_SPANS or size > MOST_BYTES:
            return _too_large(trace, count, size)
        held = self._database.execute("select data from pieces where trace = ? order by rowid", (trace,))
        pieces = [marshal.loads(data) for (data,) in held]  # noqa: S302  # written above
        try:
            made = self._form.trace(trace, pieces)
        except ODD as error:
            return UnreadTrace(trace, f"can't be read as {self._form.title}: {type(error).__name__}: {error}")
        return _too_large(trace, len(made.spans), size) if len(made.spans) > MOST_SPANS else made


def _too_large(trace: str, spans: int, size: int) -> UnreadTrace:
    most = f"at most {MOST_SPANS:,} spans and {MOST_BYTES // 10**6} MB are read"
    return UnreadTrace(trace, f"has {spans:,} spans in {size:,} bytes: {most}", spans)


def _bytes(piece: Any) -> bytes:
    try:
        return marshal.dumps(piece)
    except ValueError:  # rows of a table hold times
        return marshal.dumps(as_json_value(piece, []))


def _close(database: sqlite3.Connection, folder: tempfile.TemporaryDirectory[str]) -> None:
    database.close()
    folder.cleanup()
