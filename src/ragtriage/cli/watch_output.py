"""What `ragtriage watch` and `ragtriage windows` print: windows, detectors and alarms, in lines or as JSON."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from datetime import datetime
from typing import Any

from ragtriage.cli.console import progress, say, tell
from ragtriage.cli.judge import graceful_ctrl_c, spending
from ragtriage.cli.results import program_name
from ragtriage.core.display import listed, one_line, plural
from ragtriage.execution.evaluating import CaseDone, RunFinished, RunResumed, RunStarted, RunStopped
from ragtriage.judges.session import JudgeSession
from ragtriage.monitor.alarms import Alarm, Watch
from ragtriage.monitor.baseline import FEW, Watched
from ragtriage.monitor.lots import MOST_PARTS
from ragtriage.monitor.outputs.send_run import SentScores
from ragtriage.monitor.replay import TrafficRead, WatchBegun, WatchEvent, WatchResult
from ragtriage.monitor.windows import Traffic
from ragtriage.report.plan_document import delivery_json
from ragtriage.report.words import DASH, full_title, two_places
from ragtriage.runs.run import RunInfo
from ragtriage.runs.selection import RowCounts
from ragtriage.store.watch_tables import WindowRow

_SHOWN = 5
"""Strata that are named in a line."""


def printer(
    stack: ExitStack, session: JudgeSession, print_counts: Callable[[RowCounts], None]
) -> Callable[[WatchEvent], None]:
    """Prints what happens on standard error; `stack` ends what is still shown if it fails."""
    running = stack.enter_context(ExitStack())
    advance: Any = None

    def cost() -> str:
        return spending(session.ledger) if session.config.paid else ""

    def on_event(event: WatchEvent) -> None:
        nonlocal advance
        match event:
            case TrafficRead(traffic):
                print_counts(traffic.counts)
                tell(*_traffic(traffic))
                stack.enter_context(graceful_ctrl_c(session))
            case WatchBegun(watch, per_day):
                tell(*_begun(watch, per_day))
            case RunStarted() | RunResumed():
                done = event.done if isinstance(event, RunResumed) else 0
                advance = running.enter_context(progress(event.total, done, cost, word=f"window, run {event.number}"))
            case CaseDone():
                advance()
            case RunFinished() | RunStopped():
                running.close()
            case _:
                pass

    return on_event


def _traffic(traffic: Traffic) -> Iterator[str]:
    judged = sum(one.judged for one in traffic.windows)
    windows = plural(len(traffic.windows), "window")
    yield f"{plural(traffic.counts.selected, 'case')}, {judged:,} to be judged, in {windows}"
    if traffic.repeated:
        yield f"note: {plural(traffic.repeated, 'case')} with an id that an earlier file has: each counts once"
    if traffic.others:
        seen = f"{plural(traffic.others, 'value')} of --stratify beyond the first {MOST_PARTS}"
        yield f"note: {seen}: they are drawn as one part of the traffic (--at-least)"


def _begun(watch: Watch, per_day: float | None) -> Iterator[str]:
    apart = f"{watch.criteria.apart:,} judged cases"
    if per_day and watch.criteria.apart / per_day >= 1:  # else what is replayed is no traffic to reckon with
        days = _days(watch.criteria.apart / per_day)
        yield f"{apart}, which pass on average before a false alarm, are {days} of such traffic"
    yield from detector_lines(watch)


def _days(days: float) -> str:
    return f"{days:,.0f} days" if days >= 10 else f"{days:.1f} days"


def detector_lines(watch: Watch) -> Iterator[str]:
    """How many detectors there are, against which baseline, and which strata have none."""
    if watch.gathered is not None:
        yield f"no alarms yet: the baseline has {len(watch.gathered)} of {watch.criteria.first} drawn cases"
        return
    yield f"{plural(len(watch.detectors), 'detector')} against {watch.baseline}"
    if not watch.detectors:
        needed = f"name runs with {FEW} cases or more of a part of the traffic (--baseline)"
        yield f"warning: no alarm can be raised: {needed}"
    if watch.without:
        named = [f"{one_line(stratum, 40) or 'all'} ({n})" for stratum, n in watch.without.items()][:_SHOWN]
        more = len(watch.without) - len(named)
        told = listed([*named, *([f"{more} more"] if more else [])], "and")
        yield f"no detector, with under {FEW} cases in the baseline: {told}"
    missing = [one.title for one in watch.watched if not any(metric == one.name for metric, _ in watch.detectors)]
    if missing and watch.detectors:
        why = "too few cases of the baseline have it, or it can't get worse"
        yield f"not watched, since {why}: {listed(missing, 'and')}"


def alarm_line(alarm: Alarm) -> str:
    """One alarm in a sentence or two."""
    row = alarm.row
    where = f" ({one_line(row.stratum, 60)})" if row.stratum else ""
    since = f" since {alarm.since}" if alarm.since else " from the first case on"
    blamed = f"; most blamed: {alarm.blamed}" if alarm.blamed else ""
    worst = ", ".join(one_line(case, 80) for case in alarm.worst)
    now = f"{alarm.mean:.2f} ({alarm.low:.2f}{DASH}{alarm.high:.2f}, {plural(alarm.n, 'case')})"
    before = f"{alarm.baseline:.2f} ({alarm.baseline_low:.2f}{DASH}{alarm.baseline_high:.2f})"
    return (
        f"{row.number}: {alarm.title}{where} got worse{since}: {now} in the window of run {row.run}, baseline {before}"
        f"{blamed}; worst: {worst}"
    )


def window_line(row: WindowRow, info: RunInfo, means: Mapping[str, float], before: WindowRow | None = None) -> str:
    """One window in two lines: when, how many cases, its means, and where a version of the application changed."""
    few = row.drawn < FEW
    told = " · ".join(f"{full_title(name)} {two_places(means[name])}" for name in info.metrics if name in means)
    failed = f", {info.failed} failed" if info.failed else ""
    state = "" if info.state == "finished" else f", {info.state}"
    drawn = f", {row.drawn:,} by lot" if row.drawn != info.rows else ""
    counts = f"{plural(row.arrivals, 'case')}, {info.done + info.failed:,} judged{drawn}{failed}{state}"
    known = before.versions[-1:] if before else ()
    versions = [*known, *(one for one in row.versions if one not in known)]
    changed = f"  version {' → '.join(one_line(one, 40) for one in versions)}" if len(versions) > 1 else ""
    shown = (told or "no mean") if row.drawn else "no mean"
    return f"{row.run:>4}  {span_of(row)}  {counts}{'  too few to tell' if few else ''}{changed}\n      {shown}"


def span_of(row: WindowRow) -> str:
    """When a window is: `2026-11-28 00:00 – 2026-11-29 00:00`."""
    if row.starts is None or row.ends is None:
        return "no times"
    start, end = (f"{datetime.fromisoformat(one):%Y-%m-%d %H:%M}" for one in (row.starts, row.ends))
    return f"{start} {DASH} {end}"


def window_json(row: WindowRow, info: RunInfo, means: Mapping[str, float]) -> dict[str, Any]:
    """The same for machines; times are UTC."""
    named = ("run", "watch", "starts", "ends", "arrivals", "drawn")
    return {
        **{name: getattr(row, name) for name in named},
        "versions": list(row.versions),
        "judged": info.done + info.failed,
        "failed": info.failed,
        "rejected": info.rejected,
        "state": info.state,
        "few": row.drawn < FEW,
        "means": {name: means.get(name) if row.drawn else None for name in info.metrics},
    }


def print_watch(result: WatchResult, means: Mapping[int, Mapping[str, float]]) -> None:
    """The windows of a replay, and the open alarms, on standard output."""
    before: WindowRow | None = None
    lines = []
    for one in result.windows:
        lines += window_line(one.row, one.info, means[one.row.run], before).splitlines()
        before = one.row
    known = [one for one in result.windows if one.before]
    if known:
        lines.append(f"{plural(len(known), 'window')} of these {'was' if len(known) == 1 else 'were'} judged before")
    lines += detector_lines(result.watch)
    lines += alarm_lines(result.alarms)
    say(*lines)


def alarm_lines(alarms: Sequence[Alarm]) -> Iterator[str]:
    """The open alarms, and how one is closed."""
    for alarm in alarms:
        yield f"alarm {alarm_line(alarm)}"
    if alarms:
        yield f"closed with {program_name()} windows ack {alarms[0].row.number}, from which on its detector starts anew"
    else:
        yield "no alarm is open"


def watch_json(result: WatchResult, means: Mapping[int, Mapping[str, float]], sent: SentScores) -> str:
    """A replay as one JSON object on a line."""
    watch = result.watch
    titles: Mapping[str, Watched] = {one.name: one for one in watch.watched}
    detectors = [
        {
            "metric": metric,
            "stratum": stratum,
            "baseline": titles[metric].shown(one.baseline.mean),
            "unchanged_to": titles[metric].shown(one.least),
            "cases": one.cases,
            "ratio": one.value / watch.threshold,
        }
        for (metric, stratum), one in watch.detectors.items()
    ]
    told = {
        "windows": [window_json(one.row, one.info, means[one.row.run]) for one in result.windows],
        "baseline": watch.baseline,
        "baseline_cases_missing": 0 if watch.gathered is None else watch.criteria.first - len(watch.gathered),
        "detectors": detectors,
        "strata_without_detectors": watch.without,
        "alarms": [alarm.as_json() for alarm in result.alarms],
        "complete": not result.incomplete and sent.complete,
        **({"sent": delivery_json(sent)} if sent.named else {}),
    }
    return json.dumps(told, ensure_ascii=False) + "\n"
