"""The runs of a project over time: a table of runs and means, and a line for every metric."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.display import one_line
from ragtriage.core.errors import RagtriageError
from ragtriage.monitor.alarms import Alarm, open_alarms
from ragtriage.report.run_report import MetricReport, RunReport
from ragtriage.report.words import shown_time, title_of, two_places
from ragtriage.runs.compare.compare import CompareOptions, choose_side, compare_chosen
from ragtriage.runs.run import RunInfo
from ragtriage.store import Store
from ragtriage.store.watch_tables import read_windows
from ragtriage.view.opened_runs import NotReadYetError, OpenedRuns, version_of

MOST = 20
"""Runs that are listed."""
MOST_COMPARED = 5_000
"""Cases up to which a run is compared with the one before it, to mark what surely changed."""
PATIENCE = 0.3
"""Seconds that the page waits in all for numbers; those that are counted later come when it is renewed."""
WIDTH, HEIGHT, EDGE = 160, 36, 4


@dataclass(frozen=True, slots=True)
class ListedRun:
    """One run in the table."""

    info: RunInfo
    key: str
    """What stands for it in an address."""
    report: RunReport | None
    """None while it is being counted."""
    changes: dict[str, str]
    """Metric → `better` or `worse`, where it surely is one than in the run before."""

    def metric(self, name: str) -> MetricReport | None:
        """Its numbers of one metric."""
        return next((m for m in self.report.metrics if m.numbers.name == name), None) if self.report else None


@dataclass(frozen=True, slots=True)
class MetricLine:
    """One metric over the runs that have it, the oldest first."""

    title: str
    paths: tuple[str, ...]
    """Points of a polyline each: it joins the runs of one input that were judged alike."""
    points: tuple[tuple[float, float, str], ...]
    """Place and label of each run."""


@dataclass(frozen=True, slots=True)
class History:
    """What the first page shows."""

    runs: tuple[ListedRun, ...]
    metrics: tuple[tuple[str, str], ...]
    """Name and title, in the order of the newest run that has it."""
    lines: dict[str, MetricLine]
    windows: dict[str, str]
    """Run's key → which window of which watch it is."""
    alarms: tuple[tuple[str, str], ...]
    """What every open alarm says, and the key of the window in which it opened."""
    older: int
    waiting: bool
    """Whether something is still being counted."""


def history_of(runs: OpenedRuns) -> History:
    """The newest runs; what isn't counted yet is left out, and comes when the page is renewed."""
    every = [info for info in runs.source.runs() if not info.aside]
    waiting, found = False, []
    until = time.monotonic() + PATIENCE
    for at, info in enumerate(every[:MOST]):
        report, changes = None, {}
        try:
            report = runs.report(runs.source.key(info), patience=max(0.0, until - time.monotonic()))
            changes = _changes(runs, info, every[at + 1 : MOST])
        except NotReadYetError:
            waiting = True
        except RagtriageError:
            pass
        found.append(ListedRun(info, runs.source.key(info), report, changes))
    names = list(dict.fromkeys(name for one in found for name in one.info.metrics))
    titles = tuple((name, title_of(name, one_metrics(found, name))) for name in names)
    lines = {name: _line(name, title, found) for name, title in titles}
    return History(
        tuple(found), titles, lines, _windows(runs.source.store), _alarms(runs.source.store),
        max(0, len(every) - MOST), waiting,
    )  # fmt: skip


def _windows(store: Store | None) -> dict[str, str]:
    found = read_windows(store.database, store.project) if store else ()
    spans = {
        one.run: f"{shown_time(one.starts)[:16]} to {shown_time(one.ends or one.starts)[:16]}" if one.starts else ""
        for one in found
    }
    return {
        str(one.run): " ".join(filter(None, (f"window of {one_line(one.watch, 40)}", spans[one.run]))) for one in found
    }


def _alarms(store: Store | None) -> tuple[tuple[str, str], ...]:
    """The open alarms, worded as a person needs them on the first page."""
    found = open_alarms(store) if store else ()
    return tuple((_alarm_words(one), str(one.row.run)) for one in found)


def _alarm_words(alarm: Alarm) -> str:
    of = ", ".join(filter(None, (one_line(alarm.row.watch, 40), one_line(alarm.row.stratum, 60))))
    means = f"{two_places(alarm.mean)}, where the baseline has {two_places(alarm.baseline)}"
    return f"alarm {alarm.row.number}: {alarm.title} of {of} is {means}"


def one_metrics(found: Sequence[ListedRun], name: str) -> tuple[Any, ...]:
    """The metrics of the newest run that has one of this name."""
    return next((tuple(one.report.header.config.metrics) for one in found if one.report and one.metric(name)), ())


def _changes(runs: OpenedRuns, info: RunInfo, earlier: Sequence[RunInfo]) -> dict[str, str]:
    """What surely differs from the newest earlier run with the same rows or input that the same judge judged."""
    alike = (
        one for one in earlier if one.input == info.input and one.complete and one.fingerprints == info.fingerprints
    )
    before, store = next(alike, None), runs.source.store
    if before is None or not info.complete or max(info.rows, before.rows) > MOST_COMPARED or store is None:
        return {}
    sides = [store.run(one.number) for one in (before, info)]
    what = "changes", *(one.number for one in sides)
    version = " ".join(map(version_of, sides))

    def compared() -> dict[str, str]:
        if not all(map(runs.readable, sides)):
            return {}
        base, new = (choose_side(store, str(one.number)) for one in sides)
        try:
            found = compare_chosen(base, new, runs.config(sides[1]), CompareOptions(), findings=False)
        except RagtriageError:
            return {}
        return {row.name: row.verdict for row in found.metrics if row.verdict in ("better", "worse")}

    changes: dict[str, str] = runs.result(what, version, compared, 0.05)
    return changes


def run_before(runs: OpenedRuns, info: RunInfo) -> RunInfo | None:
    """The newest earlier run of the same input, whoever judged it; None if there is none."""
    if runs.source.store is None:
        return None
    earlier = (one for one in runs.source.runs() if one.number < info.number and one.input == info.input)
    alike = (one for one in earlier if one.complete and one.repeats is None and not one.aside)
    return next((one for one in alike if one.project == info.project and one.number != info.repeats), None)


def _line(name: str, title: str, found: Sequence[ListedRun]) -> MetricLine:
    known = [(one, m) for one in reversed(found) if (m := one.metric(name)) and m.numbers.mean is not None]
    if not known:
        return MetricLine(title, (), ())
    bottom, top = known[-1][1].numbers.range
    step = (WIDTH - 2 * EDGE) / max(1, len(known) - 1)
    points: list[tuple[float, float, str]] = []
    paths: dict[Any, list[str]] = {}
    for at, (one, m) in enumerate(known):
        mean = m.numbers.mean or 0.0
        x = round(EDGE + at * step, 1) if len(known) > 1 else WIDTH / 2
        y = round(HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * (mean - bottom) / (top - bottom), 1)
        points.append((x, y, f"run {one.info.number}{_named(one.info)}: {m.mean}"))
        alike = one.info.input, one.info.judge, tuple(sorted(one.info.fingerprints.items()))
        paths.setdefault(alike, []).append(f"{x},{y}")
    return MetricLine(title, tuple(" ".join(path) for path in paths.values() if len(path) > 1), tuple(points))


def _named(info: RunInfo) -> str:
    return f" ({one_line(info.about.name, 60)})" if info.about.name else ""
