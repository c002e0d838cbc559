"""Files of traffic become windows: each a run, judged in the order of time, with what its cases move."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from ragtriage.core.case import Case
from ragtriage.execution.evaluate_file import (
    PreparedRun,
    configuration_of,
    fingerprints_of,
    judge_for,
    keep_told,
    write_run,
)
from ragtriage.execution.evaluating import CaseDone, Event, RunResumed, RunStarted, RunStopped
from ragtriage.judges.build import BuiltJudge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.monitor.alarms import APART, TOLERANCE, Alarm, Criteria, Watch, open_alarms, watching
from ragtriage.monitor.baseline import FIRST, Observer
from ragtriage.monitor.lots import Lots
from ragtriage.monitor.windows import COUNTS, Keeping, Traffic, Window, WindowSize
from ragtriage.readers import CaseFile, Rejected
from ragtriage.runs.case_row import digest
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import FINISHED, MADE_BY, Run, RunInfo
from ragtriage.runs.tally import SlicedTally
from ragtriage.store import Answers, RunWriter, Store, open_answers
from ragtriage.store.watch_tables import WatchTables, WindowRow

NAME, DAY = "traffic", "1d"
"""What a watch is called, and how long its windows are, where nothing else is said."""


@dataclass(frozen=True, slots=True)
class WatchOptions:
    """What is watched, and by what alarms open."""

    name: str = NAME
    lots: Lots = field(default_factory=Lots)
    size: WindowSize = field(default_factory=lambda: WindowSize.parse(DAY))
    stratify: str | None = None
    tolerance: float = TOLERANCE
    apart: int = APART
    baseline: tuple[str, ...] = ()
    """Runs; none stands for the first drawn cases."""
    first: int = FIRST
    """How many these are."""
    keeping: Keeping = field(default_factory=Keeping)


@dataclass(frozen=True, slots=True)
class TrafficRead:
    """The files were looked through; nothing is judged yet."""

    traffic: Traffic


@dataclass(frozen=True, slots=True)
class WatchBegun:
    """The detectors are as an earlier call left them, or new."""

    watch: Watch
    per_day: float | None
    """Cases a day that detectors look at; None where the cases have no times."""


@dataclass(frozen=True, slots=True)
class WindowClosed:
    """A window is judged and closed, or was before."""

    row: WindowRow
    info: RunInfo
    before: bool
    """Whether an earlier call has judged all of it."""


WatchEvent = Event | TrafficRead | WatchBegun | WindowClosed


@dataclass(frozen=True, slots=True)
class WatchResult:
    """What a replay came to."""

    watch: Watch
    windows: tuple[WindowClosed, ...]
    alarms: tuple[Alarm, ...]
    """All of the watch that are open."""
    incomplete: bool
    """Whether a later call can bring what is missing."""
    stopped: str | None = None
    """Why it ended early."""


@dataclass(slots=True)
class _Cases:
    """The cases of one window that are judged in it, with their places; see `CaseStream`."""

    window: Window
    cases: Iterable[Case]
    elsewhere: frozenset[bytes]
    """Digests of the ids of those that another window holds."""
    places: dict[str, int] = field(default_factory=dict)
    """Of the cases that were read, by their ids."""

    def read(self, on_rejected: Callable[[Rejected], None]) -> Iterator[Case]:
        """See `CaseStream`."""
        for row in self.window.rejected:
            on_rejected(row)
        own = (case for case in self.cases if digest(case.id) not in self.elsewhere)
        for place, case in enumerate(own):
            self.places[case.id] = place
            yield case


@dataclass(frozen=True, slots=True)
class _Replay:
    """One call."""

    store: Store
    config: EvaluationConfig
    options: WatchOptions
    answers: Answers
    built: BuiltJudge
    watch: Watch
    observer: Observer
    tables: WatchTables
    traffic: Traffic
    notify: Callable[[WatchEvent], None]

    def judge(self, window: Window, cases: Iterable[Case]) -> WindowClosed | str | None:
        """Judge what is left of a window. Why that stopped, or None where other windows hold all its cases."""
        fingerprints = self.watch.criteria.fingerprints
        identity = RunIdentity(window.identity(self.options.name), self.watch.criteria.metrics, fingerprints)
        number = self.store.newest(identity)
        info = None if number is None else self.store.run(number).info
        rows = {one.run: one for one in self.tables.windows()}
        if info and info.state == FINISHED and not info.failed and info.number in rows:
            return WindowClosed(rows[info.number], info, before=True)
        held = self.tables.judged_before([*window.digests()], window.starts, window.ends)
        elsewhere = frozenset(one for one, run in held.items() if run != number)
        if elsewhere and len(elsewhere) == window.judged:
            return None
        marks = bytes(mark for mark, one in zip(window.marks, window.digests(), strict=True) if one not in elsewhere)
        run = self._writer(identity, number, len(marks))
        start = RunResumed(run.number, len(marks), info.done) if info else RunStarted(run.number, len(marks))
        row = WindowRow(
            run.number,
            window.starts,
            window.ends,
            window.arrivals,
            sum(mark > 0 for mark in marks),
            rows[run.number].counted if run.number in rows else 0,
            tuple(window.versions),
            self.options.name,
        )
        return self._write(run, start, row, marks, _Cases(window, cases, elsewhere))

    def _writer(self, identity: RunIdentity, number: int | None, rows: int) -> RunWriter:
        configuration = configuration_of(self.config, self.built, mapping=self.traffic.files[0].mapping)
        configuration[MADE_BY] = f"watch: {self.options.name}"
        if number is not None:
            return self.store.resume(number, configuration=configuration)
        judge = self.built.judge.name()
        return self.store.begin(identity, input=self.traffic.name, rows=rows, judge=judge, configuration=configuration)

    def _write(
        self, run: RunWriter, start: RunStarted | RunResumed, row: WindowRow, marks: bytes, cases: _Cases
    ) -> WindowClosed | str:
        config, watch, tally = self.config, self.watch, SlicedTally(self.config)

        def told(event: Event) -> None:
            if isinstance(event, CaseDone):
                record = event.record
                head = config.heading(record, config.assess(record))
                seen = self.observer.observe(
                    record.case.id, record.case.tags, record.case.time, record.outcomes, head.rules, head.component
                )
                watch.take(cases.places.pop(record.case.id), seen)
            self.notify(event)

        with run:
            self.notify(start)
            left = range(row.counted, len(marks))
            watch.enter(row, marks, self.observer.stored(self.store.run(run.number), left))
            run.beside = watch.keep
            # the judge is let go of once, behind the last window
            ready = PreparedRun(run, replace(self.built, resources=()), cases, start)
            reason = write_run(ready, tally, config, self.store, self.answers, told)
        if reason is not None:
            self.notify(RunStopped(run.number, reason))
            return reason
        keep_told(self.store, run.number, self.built.ledger)
        if self.options.keeping.texts == 0:
            self.store.forget_texts(run.number)
        kept = next(one for one in self.tables.windows() if one.run == run.number)
        return WindowClosed(kept, self.store.run(run.number).info, before=False)

    def alarms(self) -> list[Alarm]:
        """Those of the watch that are open."""
        return [one for one in open_alarms(self.store) if one.row.watch == self.options.name]


def replay(
    files: Sequence[CaseFile],
    judge: Judge | JudgeSession,
    store: Store,
    config: EvaluationConfig,
    options: WatchOptions,
    notify: Callable[[WatchEvent], None] = lambda _: None,
    closing: Callable[[Sequence[Run]], None] = lambda _: None,
) -> WatchResult:
    """Judge the traffic in files, window by window, and let it move the detectors of a watch.

    The same call again goes on where one was cut off, and judges nothing twice; so a file that has grown, or the next
    one, goes on with the watch. The files are in the order in which they were written, and are read twice. `closing` is
    called with the runs of the windows that are closed, when all are judged and before anything is deleted by age.

    Raises:
        ConfigError: the watch can't go on like this: another judge, metrics or flags, and no new baseline.
        InputError: no row can be used, or a file changes meanwhile.
        JudgeError: the judge can't work at all. What was kept before stays; so with a StoreError.
        StoreError: the store can't be written, or another process works on this watch.
    """
    traffic = Traffic(files, options.lots, options.size)
    traffic.look()
    notify(TrafficRead(traffic))
    with watching(store, options.name), open_answers(store.database) as answers:
        built = judge_for(judge, answers)
        built.open()
        tables = WatchTables(store.database, store.project or "", options.name)
        observer = Observer(config.metrics, config.rules, options.stratify)
        named = tuple(m.name for m in config.metrics)
        fingerprints = fingerprints_of(config, built.judge)
        criteria = Criteria(named, fingerprints, options.stratify, options.tolerance, options.apart, options.first)
        watch = Watch.begin(tables, criteria, observer, [store.run(one) for one in options.baseline])
        notify(WatchBegun(watch, _per_day(traffic)))
        call = _Replay(store, config, options, answers, built, watch, observer, tables, traffic, notify)
        closed: list[WindowClosed] = []
        stopped: str | None = None
        try:
            for window, cases in traffic.read():
                done = call.judge(window, cases)
                if isinstance(done, str):
                    stopped = done
                    break
                if done:
                    closed.append(done)
                    notify(done)
        finally:
            built.close()
        closing([store.run(one.row.run) for one in closed])
        options.keeping.apply(store, tables)
        failed = any(one.info.failed for one in closed)
        incomplete = bool(stopped) or failed or traffic.counts.incomplete
        return WatchResult(watch, tuple(closed), tuple(call.alarms()), incomplete, stopped)


def _per_day(traffic: Traffic) -> float | None:
    """Cases a day that detectors look at."""
    counted, cases = sum(window.marks.count(COUNTS) for window in traffic.windows), traffic.counts.selected
    between = (cases - 1) / cases  # so many cases have fewer stretches between them, one less
    return counted * between / traffic.days if traffic.days else None
