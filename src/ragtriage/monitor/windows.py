"""Stretches of traffic: files of cases are looked through once, sorted by time and cut; how long windows are kept."""

from __future__ import annotations

import pickle
import re
import tempfile
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from ragtriage.core.case import Case
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.monitor.lots import CONVERSATION, NOT_RECORDED, VERSION, Lots, Shares, as_text, is_drawn, moment_of
from ragtriage.readers import CaseFile, Rejected
from ragtriage.runs.case_row import SIZE, content_hash, digest
from ragtriage.runs.selection import RowCounts
from ragtriage.store import Store
from ragtriage.store.forgetting import cases_with_texts
from ragtriage.store.watch_tables import WatchTables, WindowRow

MOST_VERSIONS = 5
"""Versions of the application that a window names."""
DRAWN, COUNTS = 1, 2
_UNITS = {"m": 60, "h": 3600, "d": 86400, "w": 604800}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class WindowSize:
    """How long a window is: so many seconds of UTC, or so many judged cases."""

    seconds: int = 0
    """0 where cases are counted."""
    cases: int = 0

    @classmethod
    def parse(cls, text: str) -> WindowSize:
        """`1h`, `1d`, `500`."""
        found = re.fullmatch(r"([1-9][0-9]{0,8})([mhdw]?)", text.strip())
        if not found:
            raise ConfigError(f"--window {text!r}: write 30m, 1h, 1d or 1w, or a number of cases, for example 500")
        number = int(found[1])
        return cls(seconds=number * _UNITS[found[2]]) if found[2] else cls(cases=number)


@dataclass(slots=True)
class Window:
    """Cases that are one run."""

    starts: str | None = None
    """ISO 8601, UTC; None where no case has a time, as is `ends`."""
    ends: str | None = None
    arrivals: int = 0
    """Usable cases, whether they are judged or not."""
    judged: int = 0
    """Cases that are judged."""
    versions: dict[str, None] = field(default_factory=dict)
    rejected: list[Rejected] = field(default_factory=list)
    content: int = 0
    """The sum of the digests of all its cases, so that the order of a file doesn't matter."""
    marks: bytearray = field(default_factory=bytearray)
    """For each judged case, in order, `DRAWN` if its lot was drawn, `COUNTS` if the detectors look at it too: it is the
    first of its conversation, and its response was recorded if there was one; else 0."""
    ids: bytearray = field(default_factory=bytearray)
    """Digests of the ids of its judged cases, in order, `SIZE` bytes each."""

    def identity(self, watch: str) -> str:
        """What its run is known again by, beside metrics and judge: 32 hexadecimal digits."""
        return digest(f"{watch}\0{self.starts}\0{self.ends}\0{self.content:x}").hex()

    def digests(self) -> Iterator[bytes]:
        """The digests of the ids of its judged cases, in order."""
        return (bytes(self.ids[at : at + SIZE]) for at in range(0, len(self.ids), SIZE))

    def add(self, case: Case, *, counts: bool) -> None:
        """A judged case, in the order of time."""
        self.judged += 1
        self.marks.append(COUNTS if counts else DRAWN if is_drawn(case.weight) else 0)
        self.ids += digest(case.id)
        self.content += int.from_bytes(content_hash(case), "big")
        version = case.tags.get(VERSION)
        if version is not None and len(self.versions) < MOST_VERSIONS:
            self.versions[as_text(version)] = None


@dataclass(slots=True)
class Traffic:
    """What a set of files holds, cut into windows."""

    files: Sequence[CaseFile]
    lots: Lots
    size: WindowSize
    windows: list[Window] = field(default_factory=list)
    counts: RowCounts = field(default_factory=RowCounts)
    """`selected` are all usable ones, whether they are judged or not."""
    repeated: int = 0
    """Cases whose id an earlier file has too; they are left out."""
    others: int = 0
    """Values of the tag that have no share of their own; see `Shares`."""
    _times: array[float] = field(default_factory=lambda: array("d"))
    """Of every usable case, seconds since 1970; one without a time has that of the case before it."""
    _order: Any = None
    """The places of the cases in the order of time; None where they arrived in it."""
    _behind: list[Rejected] = field(default_factory=list)
    """Rows that can't be used behind the last case."""

    @property
    def name(self) -> str:
        """What messages and lists call the files."""
        first, more = self.files[0].name, len(self.files) - 1
        return f"{first} and {more} more" if more else first

    def look(self) -> None:
        """Read the files once, and cut them into windows."""
        self._read_times()
        self.counts.require_some(self.name)
        times = np.frombuffer(self._times, dtype=np.float64)
        timed = ~np.isnan(times)
        if self.size.seconds and not timed.any():
            raise ConfigError(
                f"{self.name}: no case has a time: give windows of so many cases, for example --window 500"
            )
        if self.lots.at_least and not timed.any():
            raise ConfigError(f"{self.name}: no case has a time, so --at-least has no minutes: leave it out")
        # a case without a time stands where it arrived, behind the one before it, or before the first that has one
        last = np.maximum.accumulate(np.where(timed, np.arange(len(times)), -1))
        first = int(np.argmax(timed)) if timed.any() else 0
        self._times = array("d", np.nan_to_num(times[np.where(last < 0, first, last)]))
        order = np.argsort(np.frombuffer(self._times, dtype=np.float64), kind="stable")
        self._order = None if np.array_equal(order, np.arange(len(order))) else order
        self._cut()

    def _read_times(self) -> None:
        """Count the rows, and note the times of the usable ones."""
        for case in self._usable(lambda row, _: self.counts.reject(row)):
            self.counts.select(case)
            moment = moment_of(case.time)
            self._times.append(float("nan") if moment is None else (moment - _EPOCH).total_seconds())

    def _usable(self, on_rejected: Callable[[Rejected, int], None]) -> Iterator[Case]:
        """Every usable case, in the order of arrival; one that an earlier file holds too is left out.

        `on_rejected` gets the others, with how many rows the files before theirs have.
        """
        seen: set[bytes] = set()
        self.repeated = 0
        before = rows = 0
        for file in self.files:
            before = rows
            for row in file.rows():
                rows += 1
                if isinstance(row, Rejected):
                    on_rejected(row, before)
                    continue
                if len(self.files) > 1:  # within one file the reader sees to it
                    own = digest(row.id)
                    if own in seen:
                        self.repeated += 1
                        continue
                    seen.add(own)
                yield row

    def _arriving(self) -> Iterator[tuple[int, Case, list[Rejected]]]:
        """Usable cases in the order of time: their place in the order of arrival, and the rows rejected before them."""
        waiting: list[Rejected] = []

        def wait(row: Rejected, before: int) -> None:
            """Rows of a run have numbers of their own, and no file."""
            told = f"{row.file}, row {row.row}: {row.reason}" if len(self.files) > 1 else row.reason
            waiting.append(replace(row, row=before + row.row, reason=told))

        arriving = enumerate(self._usable(wait))
        if self._order is None:
            for place, case in arriving:
                yield place, case, waiting[:]
                waiting.clear()
            self._behind = waiting
            return
        # what isn't in the order of time is written to a file without a name, which ends with this process
        with tempfile.TemporaryFile(prefix="ragtriage-") as spool:
            offsets = array("q")
            for _, case in arriving:
                offsets.append(spool.tell())
                pickle.dump((case, waiting[:]), spool, pickle.HIGHEST_PROTOCOL)
                waiting.clear()
            self._behind = waiting
            for place in self._order:
                spool.seek(offsets[place])
                case, rejected = pickle.load(spool)  # noqa: S301  # written above
                yield int(place), case, rejected

    def _chosen(self) -> Iterator[tuple[int, Case, Case | None, list[Rejected]]]:
        shares = Shares(self.lots)
        for place, case, rejected in self._arriving():
            yield place, case, self.lots.choose(case, shares.of(case, self._times[place])), rejected
        self.others = len(shares.others)

    def _cut(self) -> None:
        conversations: set[bytes] = set()
        slot: int | None = None
        for place, arrived, case, rejected in self._chosen():
            moment = self._times[place]
            if self._begins(moment, slot):
                slot = int(moment // self.size.seconds) if self.size.seconds else 0
                self.windows.append(Window(*self._bounds(slot)))
            window = self.windows[-1]
            window.arrivals += 1
            window.rejected += rejected
            if not self.size.seconds and arrived.time is not None:
                window.starts, window.ends = window.starts or _told(moment), _told(moment)
            if case is not None:
                window.add(case, counts=_counts(case, conversations))
        self.windows[-1].rejected += self._behind

    def _begins(self, moment: float, slot: int | None) -> bool:
        if not self.windows:
            return True
        if self.size.seconds:
            return int(moment // self.size.seconds) != slot
        return self.windows[-1].judged >= self.size.cases

    def _bounds(self, slot: int) -> tuple[str | None, str | None]:
        if not self.size.seconds:
            return None, None
        return _told(slot * self.size.seconds), _told((slot + 1) * self.size.seconds)

    def read(self) -> Iterator[tuple[Window, Iterator[Case]]]:
        """Every window with its judged cases, in the order of time; what isn't read of a window is passed over."""
        cases = (case for _, _, case, _ in self._chosen() if case is not None)
        for window in self.windows:
            own = islice(cases, window.judged)
            yield window, map(partial(_same, window.digests()), own)
            for _ in own:
                pass

    @property
    def days(self) -> float:
        """How many days the cases span; 0 where they have no times."""
        return (max(self._times) - min(self._times)) / _UNITS["d"] if self._times else 0.0


def _same(ids: Iterator[bytes], case: Case) -> Case:
    if next(ids) != digest(case.id):
        raise InputError(f"case {case.id!r}: the file has changed while it was read: give the command again")
    return case


def _counts(case: Case, conversations: set[bytes]) -> bool:
    """Whether the detectors look at a case; notes its conversation."""
    if not is_drawn(case.weight) or case.tags.get(NOT_RECORDED):
        return False
    conversation = case.tags.get(CONVERSATION)
    if conversation is None or conversation == "":
        return True
    own = digest(as_text(conversation))
    if own in conversations:
        return False
    conversations.add(own)
    return True


def _told(seconds: float) -> str:
    return (_EPOCH + timedelta(seconds=seconds)).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True)
class Keeping:
    """For how many days; None keeps them."""

    texts: int | None = None
    """0 deletes the texts of a window as soon as it is closed."""
    runs: int | None = None

    @classmethod
    def parse(cls, texts: str | None, runs: str | None) -> Keeping:
        """`30d`, for texts also `0`."""
        return cls(_days(texts, "--keep-texts"), _days(runs, "--keep-runs"))

    def apply(self, store: Store, tables: WatchTables) -> None:
        """Delete what is older, by the end of its window, or where it has none, by when it was judged."""
        now = datetime.now(UTC)
        windows = [(one, _ended(store, one)) for one in tables.windows()]
        if self.texts is not None:
            old = [one.run for one, end in windows if end < now - timedelta(days=self.texts)]
            if texts := [run for run in old if cases_with_texts(store.database, run)]:
                store.forget_texts(texts)
        if self.runs is not None and (
            old := [one.run for one, end in windows if end < now - timedelta(days=self.runs)]
        ):
            store.delete(old)


def _ended(store: Store, window: WindowRow) -> datetime:
    if (ended := moment_of(window.ends)) is not None:
        return ended
    info = store.run(window.run).info
    return datetime.fromisoformat(info.finished or info.created)


def _days(text: str | None, flag: str) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]{1,6})d|0", text.strip())
    if not found:
        raise ConfigError(f"{flag} {text}: write a number of days, for example 30d")
    return int(found[1] or 0)
