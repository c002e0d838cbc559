"""The runs that are being looked at: each read once in the background, and anew where it has changed."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Protocol

from ragtriage.core.case import Record
from ragtriage.core.errors import NotPermittedError, NotStoredError, StoreError
from ragtriage.report.run_report import RunReport, stored_run_report
from ragtriage.runs.case_row import WHOLE, CaseRow, Columns
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.run import RUNNING, Run, RunInfo
from ragtriage.runs.tally import tally_of
from ragtriage.store import Store
from ragtriage.view.case_index import CaseIndex
from ragtriage.view.word_index import ChangedError, WordIndex

PATIENCE = 1.5
"""Seconds that a page waits for what is being read, before it says so."""
FEW = 1_000
"""Cases up to which a run is read whole at once, so that every probability is known."""
MOST_DRAWN_FROM = 20_000
"""Cases from which intervals are drawn; of more they are the normal approximation, which takes no time."""
MOST_OPENED = 6
"""Runs, as they are read, that are kept in memory."""
MOST_KEPT, MOST_BYTES = 60, 100_000_000
"""Results that are kept, and their bytes together; the newest always is."""
REST = 10.0
"""A run that is being written is read again after so many times what reading it took."""
BUSY = "busy "
"""Stands in the version of a run that is being written."""


class RunSource(Protocol):
    """Where runs come from: a store, or one folder."""

    @property
    def store(self) -> Store | None:
        """The store; None for a folder."""

    def runs(self) -> Sequence[RunInfo]:
        """Those that are listed, the newest first."""

    def run(self, key: str) -> Run:
        """One run by what stands for it in an address."""

    def key(self, info: RunInfo) -> str:
        """What stands for a run in an address."""


@dataclass
class OpenedRun:
    """A run as it is read by one configuration."""

    run: Run
    config: EvaluationConfig
    version: str
    index: CaseIndex
    whole: CaseIndex | None = None
    """With all probabilities, where `index` has none and they were asked for."""
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    """What reading it took; 0 until it is read."""

    @property
    def busy(self) -> bool:
        """Whether it is being written."""
        return BUSY in self.version

    def record(self, position: int) -> Record:
        """The case at a position; if there is none, a NoSuchCaseError, which knows the nearest."""
        return self.row(position, WHOLE).record()

    def row(self, position: int, what: Columns) -> CaseRow:
        """What is read of the case at a position; if there is none, a NoSuchCaseError."""
        found = next(self.run.place.read(what, range(position, position + 1)), None)
        if found is None:
            raise NoSuchCaseError(f"{self.run.info.called} has no case at {position:,}", self._nearest(position))
        return found

    def _nearest(self, position: int) -> int | None:
        """The position of the nearest case, as far as it is read."""
        index = self.index
        return index.nearest(position) if index.ready.is_set() and not index.error else None

    def close(self) -> None:
        """Let go of what was read."""
        self.index.close()
        if self.whole:
            self.whole.close()


@dataclass
class _Result:
    """What some work gives for runs of one version."""

    version: str
    future: Future[Any] = field(init=False)
    began: float = field(default_factory=time.monotonic)
    seconds: float = 0.0
    """What the work took; 0 until it is done."""
    nbytes: int = 0

    def made(self, work: Callable[[], Any], nbytes: Callable[[Any], int]) -> Any:
        """Do the work."""
        try:
            found = work()
            self.nbytes = nbytes(found)
            return found
        finally:
            self.seconds = time.monotonic() - self.began


class NoSuchCaseError(NotStoredError):
    """There is no case at a position; `nearest` is the position of the nearest one, where that is known."""

    def __init__(self, told: str, nearest: int | None) -> None:
        super().__init__(told)
        self.nearest = nearest


class NotReadYetError(Exception):
    """What is asked for is being read; `done` of `of` cases are."""

    def __init__(self, done: int, of: int) -> None:
        super().__init__(f"{done:,} of {of:,} cases are read")
        self.done, self.of = done, of


class OpenedRuns:
    """What is known of runs; safe to be used by several threads.

    `thresholds` are those by which every run is read, in the place of its own.
    """

    def __init__(self, source: RunSource, thresholds: Mapping[str, float] | None = None) -> None:
        self.source = source
        self._thresholds = dict(thresholds or {})
        self._lock = threading.RLock()
        self._opened: OrderedDict[Any, OpenedRun] = OrderedDict()
        self._results: OrderedDict[Any, _Result] = OrderedDict()
        self._readable: dict[str, bool] = {}
        self._probing = threading.Lock()
        self._pool = ThreadPoolExecutor(2, "viewer")

    def config(self, run: Run, thresholds: Mapping[str, float] | None = None) -> EvaluationConfig:
        """By what a run is read."""
        known = {m: value for m, value in {**self._thresholds, **(thresholds or {})}.items() if m in run.info.metrics}
        return config_of(run.info, known)

    def readable(self, run: Run) -> bool:
        """Whether the texts of a run may be read, which the role of a server's user may forbid: asked once a run."""
        key = self.source.key(run.info)
        with self._probing:
            if key not in self._readable:
                try:
                    next(run.place.read(WHOLE, range(1)), None)  # a server refuses even where there is no such case
                    self._readable[key] = True
                except NotPermittedError:
                    self._readable[key] = False
            return self._readable[key]

    def require_texts(self, run: Run, so: str) -> None:
        """Raise a `NotPermittedError` where the texts of a run may not be read; `so` says what can't be done then."""
        if not self.readable(run):
            raise NotPermittedError(
                f"{run.info.called}: your database role may not read texts, so {so}; the store's owner can give you "
                "ragtriage_reader"
            )

    def opened(self, key: str, thresholds: Mapping[str, float] | None = None) -> OpenedRun:
        """A run and its index, which may not be read yet: see `ready`.

        Raises:
            NotStoredError: there is no such run (any more).
            StoreError: it can't be read; a `NotPermittedError` by other thresholds without its texts.
        """
        run = self.source.run(key)
        version, readable = version_of(run), self.readable(run)
        name = key, tuple(sorted((thresholds or {}).items()))
        with self._lock:
            known = self._opened.get(name)
            if known and not _due(known, version):
                self._opened.move_to_end(name)
                return known
            if known:
                self._opened.pop(name).close()
            config = self.config(run, thresholds)
            own = config.counts_like(config_of(run.info))
            if not own:
                self.require_texts(run, "its findings can't be read by other thresholds")
            assessed = readable and (not own or _size(run) <= FEW)
            opened = OpenedRun(run, config, version, CaseIndex(run, config, assessed=assessed, readable=readable))
            self._opened[name] = opened
            while len(self._opened) > MOST_OPENED:
                self._opened.popitem(last=False)[1].close()
        self._start(opened, opened.index)
        return opened

    def _start(self, opened: OpenedRun, index: CaseIndex | WordIndex) -> None:
        def read() -> None:
            began = time.monotonic()
            index.read()
            opened.seconds = max(opened.seconds, time.monotonic() - began)

        threading.Thread(target=read, name="viewer reads a run", daemon=True).start()

    def ready(
        self,
        key: str,
        thresholds: Mapping[str, float] | None = None,
        *,
        likely: bool = False,
        words: bool = False,
        patience: float = PATIENCE,
    ) -> OpenedRun:
        """A run whose index is read, for which is waited so many seconds.

        With `likely` it knows every rule's probability; with `words` it can be searched. A NotReadYetError if it isn't
        by then.
        """
        opened = self.opened(key, thresholds)
        index = opened.index
        if words:
            self.require_texts(opened.run, "no words can be looked for")
        if likely and not index.assessed and index.readable:
            with self._lock:
                if opened.whole is None:
                    opened.whole = CaseIndex(opened.run, opened.config, assessed=True)
                    self._start(opened, opened.whole)
            index = opened.whole
        self._wait(opened, index, patience)
        if words:
            found, new = index.with_words()
            if new:
                self._start(opened, found)
            self._wait(opened, found, patience)
        if index is not opened.index:
            opened = OpenedRun(opened.run, opened.config, opened.version, index)
        return opened

    def _wait(self, opened: OpenedRun, index: CaseIndex | WordIndex, patience: float) -> None:
        if not index.ready.wait(patience):
            raise NotReadYetError(index.count, _size(opened.run))
        if isinstance(index.error, ChangedError):
            raise NotReadYetError(0, _size(opened.run))  # another thread has it read again already
        if index.error:
            with self._lock:  # so that it is tried again
                for name in [name for name, one in self._opened.items() if one is opened]:
                    self._opened.pop(name).close()
            raise index.error

    def report(
        self, key: str, thresholds: Mapping[str, float] | None = None, by: str | None = None, patience: float = PATIENCE
    ) -> RunReport:
        """All that is shown of a run as a whole; a NotReadYetError where it isn't counted in so many seconds."""
        run = self.source.run(key)
        what = "report", key, tuple(sorted((thresholds or {}).items())), by
        found: RunReport = self.result(what, version_of(run), lambda: self._report(run, thresholds, by), patience)
        return found

    def _report(self, run: Run, thresholds: Mapping[str, float] | None, by: str | None) -> RunReport:
        config = self.config(run, thresholds)
        own, texts = config.counts_like(config_of(run.info)), self.readable(run)
        if not texts and (by is not None or not own or run.place.counted() is None):
            self.require_texts(run, "only what was counted when it was evaluated can be shown")
        tally = tally_of(run, config, by, most_drawn_from=MOST_DRAWN_FROM)
        return stored_run_report(run, config, tally, texts=texts)

    def result(
        self,
        what: Any,
        version: str,
        work: Callable[[], Any],
        patience: float,
        nbytes: Callable[[Any], int] = lambda _: 0,
    ) -> Any:
        """What some work gives, done once in the background for every version of the runs that it reads.

        While one of them is being written it rests between two times, as the index does. `nbytes` says how much memory
        about is taken by what may be large.

        Raises:
            NotReadYetError: it isn't done within so many seconds.
        """
        with self._lock:
            known = self._results.get(what)
            if known is None or _due(known, version):
                known = self._results[what] = _Result(version)
                known.future = self._pool.submit(known.made, work, nbytes)
            self._results.move_to_end(what)
            room = MOST_BYTES - sum(one.nbytes for one in self._results.values())
            while (len(self._results) > MOST_KEPT or room < 0) and len(self._results) > 1:
                room += self._results.popitem(last=False)[1].nbytes
        try:
            return known.future.result(patience)
        except TimeoutError as error:
            if known.future.done():
                raise
            raise NotReadYetError(0, 0) from error
        except StoreError:
            with self._lock:
                if self._results.get(what) is known:
                    del self._results[what]
            raise

    def close(self) -> None:
        """Let go of everything."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for opened in self._opened.values():
                opened.close()
            self._opened.clear()


def version_of(run: Run) -> str:
    """What is another one after whatever is written to a run; while it is being written, after every case."""
    info = run.info
    try:
        version = run.place.version()
    except NotStoredError:
        raise
    except StoreError:  # by an evaluation, or by `forget`
        return f"{BUSY}{info.state} {info.done} {info.failed}"
    return f"{BUSY}{version}" if info.address and info.state == RUNNING else version


def _due(known: OpenedRun | _Result, version: str) -> bool:
    """Whether what is known of another version is to be found anew: at once, or after a rest while a run is written.

    What is still being read isn't: it would be begun again and again, and never be shown.
    """
    if known.version == version:
        return False
    if not (BUSY in known.version and BUSY in version):
        return True
    return known.seconds > 0 and time.monotonic() - known.began > max(2.0, REST * known.seconds)


def _size(run: Run) -> int:
    return run.info.done + run.info.failed
