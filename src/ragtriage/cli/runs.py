"""`ragtriage runs`: the stored runs with their means."""

from __future__ import annotations

import sys

from ragtriage.cli.console import print_json, tell
from ragtriage.cli.flags import command
from ragtriage.cli.stores import open_named_store
from ragtriage.core.display import dollars, plural
from ragtriage.report.words import full_title, shown_time, two_places
from ragtriage.runs.run import RunInfo
from ragtriage.text.sanitize import one_line


@command("runs")
def runs(*, most: int = 20, as_json: bool = False, store: str | None = None, project: str | None = None) -> None:
    """List the stored runs, the newest first."""
    with open_named_store(store, project) as there:
        found = there.runs()
        listed = found[:most]
        if not found:
            tell(there.no_run())
        means = there.means([info.number for info in listed])
    if as_json:
        print_json([_as_json(info, means[info.number]) for info in listed])
        return
    for info in listed:
        sys.stdout.write(f"{_line(info)}\n      {_means(info, means[info.number])}\n")
    if older := len(found) - len(listed):
        sys.stdout.write(f"{plural(older, 'older run')} left out: --most {len(found)}\n")


def _line(info: RunInfo) -> str:
    done = f"{info.done} of {plural(info.rows, 'case')}" + (f", {info.failed} failed" if info.failed else "")
    cost = dollars(info.cost) if info.cost else ""
    trial = f"trial {info.trial + 1} of run {info.repeats}" if info.repeats else ""
    maker = "by tests" if info.by_tests else f"by {one_line(info.author, 60)}" if info.author else ""
    project = one_line(info.project, 60) if info.author else ""  # on a server, which projects share
    facts = (info.state, done, one_line(info.judge, 120), one_line(info.input, 120), cost, trial, project, maker)
    return "  ".join((f"{info.number:>4}", shown_time(info.created), *filter(None, facts)))


def _means(info: RunInfo, means: dict[str, float]) -> str:
    told = (f"{full_title(name)} {two_places(means[name])}" for name in info.metrics if name in means)
    return " · ".join(told) or "no score is defined"


def _as_json(info: RunInfo, means: dict[str, float]) -> dict[str, object]:
    named = ("number", "state", "created", "finished", "input", "judge", "rows", "done", "failed", "rejected", "trial")
    return {
        **{name: getattr(info, name) for name in named},
        "repeats": info.repeats,
        "project": info.project,
        "author": info.author,
        "means": {name: means.get(name) for name in info.metrics},
        **info.spent.as_json(),
    }
