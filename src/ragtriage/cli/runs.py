"""`ragtriage runs`: list the stored runs, and say what they are."""

from dataclasses import asdict

import typer  # read when the command is made

from ragtriage.cli.console import print_json, say, tell
from ragtriage.cli.flags import command
from ragtriage.cli.opened_stores import open_named_store
from ragtriage.core.display import dollars, one_line, plural
from ragtriage.core.errors import ConfigError
from ragtriage.report.words import full_title, shown_time, two_places
from ragtriage.runs.repeats import trials_of
from ragtriage.runs.run import ABOUT, MADE_BY, RunInfo


@command("runs")
def list_runs(
    ctx: typer.Context,
    *,
    most: int = 20,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """List the stored runs, the newest first; or give one a name or a note."""
    if ctx.invoked_subcommand is not None:
        if store or project or as_json:
            raise ConfigError(f"give the flags of {ctx.invoked_subcommand} behind it")
        return
    with open_named_store(store, project) as there:
        found = there.runs()
        listed = found[:most]
        if not found:
            tell(there.no_run())
        means = there.means([info.number for info in listed])
    if as_json:
        print_json([_run_as_json(info, means[info.number]) for info in listed])
        return
    for info in listed:
        say(_run_line(info), *([f"      note: {one_line(info.about.note, 500)}"] if info.about.note else []))
        say(f"      {_means(info, means[info.number])}")
    if older := len(found) - len(listed):
        say(f"{plural(older, 'older run')} left out: --most {len(found)}")


def _run_line(info: RunInfo) -> str:
    done = f"{info.done} of {plural(info.rows, 'case')}" + (f", {info.failed} failed" if info.failed else "")
    cost = dollars(info.cost) if info.cost else ""
    trial = f"trial {info.trial + 1} of run {info.repeats}" if info.repeats else ""
    maker = "by tests" if info.by_tests else f"by {one_line(info.author, 60)}" if info.author else ""
    watch = "" if info.aside else one_line(info.configuration.get(MADE_BY, ""), 60)
    project = one_line(info.project, 60) if info.author else ""  # on a server, which projects share
    name, commit = info.about.facts
    judged = one_line(info.judge, 120), one_line(info.input, 120)
    facts = (name, info.state, done, *judged, commit, cost, trial, project, maker, watch)
    return "  ".join((f"{info.number:>4}", shown_time(info.created), *filter(None, facts)))


def _means(info: RunInfo, means: dict[str, float]) -> str:
    told = (f"{full_title(name)} {two_places(means[name])}" for name in info.metrics if name in means)
    return " · ".join(told) or "no score is defined"


def _run_as_json(info: RunInfo, means: dict[str, float]) -> dict[str, object]:
    named = ("number", "state", "created", "finished", "input", "judge", "rows", "done", "failed", "rejected", "trial")
    return {
        **{name: getattr(info, name) for name in named},
        **info.about.stored(),
        "repeats": info.repeats,
        "project": info.project,
        "author": info.author,
        "means": {name: means.get(name) for name in info.metrics},
        **info.spent.as_json(),
    }


@command("runs rename")
def rename(run: str, name: str, *, store: str | None = None, project: str | None = None) -> None:
    """Call a run otherwise: in lists, reports and comparisons; its further trials too."""
    _say(run, "name", name, store, project)


@command("runs note")
def note(run: str, text: str, *, store: str | None = None, project: str | None = None) -> None:
    """Keep a note with a run, in the place of an earlier one; with its further trials too."""
    _say(run, "note", text, store, project)


def _say(run: str, what: str, text: str, store: str | None, project: str | None) -> None:
    with open_named_store(store, project) as there:
        infos = [one.info for one in trials_of(there, there.run(run))]
        for info in infos:
            there.add_to_configuration(info.number, ABOUT, {**asdict(info.about), what: text})
    say(f"{what} of run {infos[0].number}: {one_line(text, 500)}")
