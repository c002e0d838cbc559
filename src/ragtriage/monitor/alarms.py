"""A watch: its cases move detectors, detectors open alarms, and all of it is written with the records."""

from __future__ import annotations

import json
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any

from ragtriage.core.errors import ConfigError
from ragtriage.core.statistics import ranked
from ragtriage.monitor.baseline import (
    AT_START,
    FEW,
    FIRST,
    OTHER,
    Detector,
    Observation,
    Observer,
    Strata,
    Watched,
    bounds,
    watched_of,
)
from ragtriage.monitor.windows import COUNTS
from ragtriage.runs.case_row import digest
from ragtriage.runs.run import Run
from ragtriage.store import Store
from ragtriage.store.lease import exclusive
from ragtriage.store.watch_tables import AlarmRow, WatchTables, WindowRow, acknowledge, read_alarms

if TYPE_CHECKING:
    from sqlalchemy import Connection

APART = 10_000
"""Judged cases that pass on average before a false alarm of a watch, at least."""
TOLERANCE = 0.02
"""How far below the baseline's interval a mean still counts as unchanged."""


@dataclass(frozen=True, slots=True)
class Criteria:
    """By what a watch alarms."""

    metrics: tuple[str, ...]
    fingerprints: Mapping[str, str]
    """By kind of question, and of own metrics."""
    stratify: str | None = None
    tolerance: float = TOLERANCE
    apart: int = APART
    first: int = FIRST
    """Drawn cases that are the baseline where none is named."""

    def __post_init__(self) -> None:
        if not 0 <= self.tolerance < 1:
            raise ConfigError(f"--tolerance {self.tolerance:g}: give a number from 0 to below 1, for example 0.02")

    def stored(self) -> dict[str, Any]:
        """As a watch keeps it; of the judging only a digest."""
        judged = json.dumps([self.metrics, sorted(self.fingerprints.items())])
        flags = {"--stratify": self.stratify, "--tolerance": self.tolerance, "--alarm-every": self.apart}
        return {"judged": digest(judged).hex(), "flags": flags}


@dataclass(frozen=True, slots=True)
class Alarm:
    """A mean that has fallen, for people."""

    row: AlarmRow
    title: str
    since: str | None
    """The time, or the window, of the last case before it; None if that was before the first."""
    cases: int
    """How many have moved the detector since then."""
    mean: float
    """Of the window until it opened."""
    low: float
    high: float
    n: int
    baseline: float
    baseline_low: float
    baseline_high: float
    worst: tuple[str, ...]
    """Ids of the three worst cases since then."""
    blamed: str
    """The component that is blamed for most cases since then; empty if none is for any."""

    @classmethod
    def of(cls, row: AlarmRow) -> Alarm:
        """What is stored of an alarm."""
        return cls(row, **{**row.told, "worst": tuple(row.told["worst"])})

    def as_json(self) -> dict[str, Any]:
        """For machines."""
        named = ("number", "watch", "metric", "stratum", "run", "closed")
        told = {key: value for key, value in asdict(self).items() if key != "row"}
        return {name: getattr(self.row, name) for name in named} | told


@dataclass(slots=True)
class Watch:
    """The detectors of one watch, moved by its cases in their order."""

    tables: WatchTables
    criteria: Criteria
    observer: Observer
    baseline: str
    detectors: dict[tuple[str, str], Detector] = field(default_factory=dict)
    values: tuple[str, ...] = ()
    """Of the tag, those that are told apart."""
    without: dict[str, int] = field(default_factory=dict)
    """Stratum without a detector → how many cases of it the baseline has."""
    gathered: list[Observation] | None = None
    """The baseline as far as it is gathered; None once there are detectors."""
    open: dict[tuple[str, str], AlarmRow] = field(default_factory=dict)
    """The open alarms; their detectors don't move."""
    _window: WindowRow | None = None
    _marks: bytes = b""
    _pending: dict[int, Observation] = field(default_factory=dict)
    """Cases whose turn hasn't come, by their place in the window."""
    _opened: list[AlarmRow] = field(default_factory=list)
    """Of this window."""

    @classmethod
    def begin(cls, tables: WatchTables, criteria: Criteria, observer: Observer, baseline: Sequence[Run] = ()) -> Watch:
        """A new watch, one that goes on, or one that has another baseline from now on."""
        known, named = tables.state(), f"run {', '.join(str(run.number) for run in baseline)}"
        stored = criteria.stored()
        same = known is not None and known["criteria"] == stored
        if known is not None and (known["baseline"] == named or not baseline) and (same or not baseline):
            if not same:
                raise ConfigError(_other(known["criteria"], stored))
            return cls._known(tables, criteria, observer, known)
        watch = cls(tables, criteria, observer, named if baseline else f"the first {criteria.first} drawn cases")
        if baseline:
            cases = observer.baseline(baseline, criteria.metrics, criteria.fingerprints)
            watch._detect(cases)
            if not watch.detectors:
                there = f"{len(cases)} cases of it count, drawn by lot and one a conversation"
                needed = f"{FEW} with the same value of --stratify, if that is given, and a score that can get worse"
                raise ConfigError(
                    f"--baseline: {named} gives no detector: {there}, and it takes {needed}: name more runs, or leave "
                    "--baseline out"
                )
        else:
            watch.gathered = []
        watch.open = {(one.metric, one.stratum): one for one in tables.alarms()}
        tables.begin(watch._state(), {key: one.as_json() for key, one in watch.detectors.items()})
        return watch

    @classmethod
    def _known(cls, tables: WatchTables, criteria: Criteria, observer: Observer, state: Mapping[str, Any]) -> Watch:
        gathered = state["gathered"]
        return cls(
            tables,
            criteria,
            observer,
            state["baseline"],
            {key: Detector.from_json(one) for key, one in tables.detectors().items()},
            tuple(state["values"]),
            dict(state["without"]),
            None
            if gathered is None
            else [
                Observation(case, when, value, tuple(scores), component)
                for case, when, value, scores, component in gathered
            ],
            {(one.metric, one.stratum): one for one in tables.alarms()},
        )

    @property
    def watched(self) -> tuple[Watched, ...]:
        """The scores that are watched."""
        return watched_of(self.observer.metrics)

    @property
    def threshold(self) -> float:
        """Where a detector alarms: all of them share the cases that pass before a false alarm."""
        return float(len(self.detectors) * self.criteria.apart)

    def enter(self, window: WindowRow, marks: bytes, stored: Iterable[tuple[int, bool, Observation]]) -> None:
        """Go on with a window.

        `marks` are those of `ragtriage.monitor.windows.Window`; `stored` are cases from there on that are judged
        already, as a kill leaves them; those that failed are judged again.
        """
        self._window, self._marks, self._opened = window, marks, []
        self._pending = {at: one for at, failed, one in stored if at >= window.counted and not failed}
        self._go_on()

    def take(self, position: int, seen: Observation) -> None:
        """A judged case of the window; they may come in any order, and move the detectors in that of the window."""
        if self._window and position >= self._window.counted:
            self._pending[position] = seen
            self._go_on()

    def keep(self, connection: Connection) -> None:
        """Write what has moved; see `ragtriage.store.run_writer.RunWriter.beside`."""
        states = {key: one.as_json() for key, one in self.detectors.items()}
        self.tables.keep(connection, self._state(), states, self._window, self._opened)

    def _state(self) -> dict[str, Any]:
        gathered = self.gathered
        return {
            "criteria": self.criteria.stored(),
            "baseline": self.baseline,
            "values": list(self.values),
            "without": self.without,
            "gathered": None
            if gathered is None
            else [[one.case, one.when, one.value, list(one.scores), one.component] for one in gathered],
        }

    def _detect(self, cases: Sequence[Observation]) -> None:
        found = Strata.of(cases, self.watched, self.criteria.tolerance)
        self.detectors, self.values, self.without = dict(found.detectors), found.values, dict(found.without)
        self.gathered = None

    def _go_on(self) -> None:
        window = self._window
        while window and window.counted in self._pending:
            position = window.counted
            seen = self._pending.pop(position)
            window = self._window = replace(window, counted=position + 1)
            if self._marks[position] == COUNTS:
                self._move(seen, window.run, position)

    def _move(self, seen: Observation, run: int, position: int) -> None:
        if self.gathered is not None:
            self.gathered.append(seen)
            if len(self.gathered) == self.criteria.first:
                self._detect(self.gathered)
            return
        stratum = seen.value if seen.value in self.values else OTHER
        for what, score in zip(self.watched, seen.scores, strict=True):
            key = (what.name, stratum)
            detector = self.detectors.get(key)
            if detector is None or score is None or key in self.open:
                continue
            detector.take(score, seen.case, seen.when or f"window {run}", seen.component, run)
            if detector.value >= self.threshold:
                self.open[key] = alarm = AlarmRow(0, *key, run, position, _told(what, detector))
                self._opened.append(alarm)


def _told(what: Watched, detector: Detector) -> dict[str, Any]:
    """The fields of an `Alarm`, as they are stored."""
    _, n, mean, spread = detector.window
    low, high = what.interval_shown(*bounds(mean, spread, n, share=what.is_share))
    baseline_low, baseline_high = what.interval_shown(detector.baseline.low, detector.baseline.high)
    return {
        "title": what.title,
        "since": detector.since,
        "cases": detector.below,
        "mean": what.shown(mean),
        "low": low,
        "high": high,
        "n": n,
        "baseline": what.shown(detector.baseline.mean),
        "baseline_low": baseline_low,
        "baseline_high": baseline_high,
        "worst": [case for _, case in detector.worst],
        "blamed": next(iter(ranked(Counter(detector.blamed))), ""),
    }


def _other(known: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Why a watch can't go on."""
    if known["judged"] != new["judged"]:
        return "judged differently: give a new baseline (--baseline RUN), or another --name"
    others = [
        f"{flag} {known['flags'][flag]} and not {value}"
        for flag, value in new["flags"].items()
        if known["flags"].get(flag) != value
    ]
    return f"this watch was begun with {' and '.join(others)}: give that, a new baseline, or another --name"


def open_alarms(store: Store) -> list[Alarm]:
    """The open alarms of a store's project, in their order."""
    return [Alarm.of(row) for row in read_alarms(store.database, store.project) if row.closed is None]


def close_alarm(store: Store, number: int) -> Alarm:
    """Acknowledge an alarm: it is closed, and its detector starts anew."""
    known = next((one for one in read_alarms(store.database, store.project) if one.number == number), None)
    with watching(store, known.watch) if known else nullcontext():
        return Alarm.of(acknowledge(store.database, number, store.project, AT_START))


def watching(store: Store, name: str) -> AbstractContextManager[None]:
    """Nobody else moves the detectors of a watch meanwhile; raises a StoreError where somebody does."""
    what = f"the watch {name!r}" + (f" of {store.project}" if store.project else "")
    return exclusive(store.database, what, party=secrets.token_hex(8), patience=0)
