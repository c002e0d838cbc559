"""`ragtriage runs`, `report`, `show` and `export`: the stored runs, and what one says, in every form."""

import shlex
import sys
import webbrowser
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

import typer  # read when the command is made
from rich.console import Console

from ragtriage.cli.console import print_json, say, tell
from ragtriage.cli.flags import command, parse_names
from ragtriage.cli.input_files import writing
from ragtriage.cli.opened_stores import open_named_store, opened_run
from ragtriage.config import named_numbers
from ragtriage.core.display import dollars, one_line, plural
from ragtriage.core.errors import ConfigError
from ragtriage.core.files import REMOTE
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import case_report, listed_case
from ragtriage.report.run_document import cases_document, repeats_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import RepeatsReport, RunReport, run_json, stored_run_report
from ragtriage.report.terminal import print_document
from ragtriage.report.words import full_title, shown_time, two_places
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.export import (
    ExportedFields,
    ExportFormat,
    case_rows,
    export_file,
    format_of,
    json_row,
    write_csv,
    write_jsonl,
)
from ragtriage.runs.repeats import repeats_of, trials_of
from ragtriage.runs.run import ABOUT, MADE_BY, Run, RunInfo
from ragtriage.runs.selection import require_tag
from ragtriage.runs.tally import Diagnosed, diagnosed_records, tally_of
from ragtriage.store import Store
from ragtriage.store.folder import folder_of
from ragtriage.store.postgresql import without_password
from ragtriage.store.schema import OF_FOLDER
from ragtriage.trust.judge_card import read_card


@command("runs")
def list_runs(
    ctx: typer.Context, *, most: int = 20, as_json: bool = False, store: str | None = None, project: str | None = None
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


EXPORTED_PARTS = frozenset({"texts", "evidence"})
"""What `export --with` adds."""


@command("report")
def report(
    run: str = "last",
    *,
    out: Path | None = None,
    by: str | None = None,
    threshold: list[str] | None = None,
    judge_card: Path | None = None,
    open_it: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Write a run as one self-contained HTML file."""
    with opened_run(store, run, project) as (there, stored):
        config = reading_of(stored, threshold)
        path = out or default_report(there, stored) or Path("report.html")
        shown = report_of(there, stored, config, by, judge_card)
        write_html(path, shown, partial(diagnosed_records, stored, config))
    sys.stdout.write(f"{path}\n")
    if open_it and not webbrowser.open(path.resolve().as_uri()):
        tell("no browser could be opened: open the file yourself")


@command("show")
def show(
    run: str = "last",
    case: str | None = None,
    *,
    most: int = 30,
    by: str | None = None,
    threshold: list[str] | None = None,
    as_json: bool = False,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Show a run in the terminal: its numbers and worst cases, or one case in full."""
    console = Console()
    with opened_run(store, run, project) as (there, stored):
        config = reading_of(stored, threshold)
        if case is not None:
            record = stored.record(case)
            findings = config.diagnose(record)
            if as_json:
                sys.stdout.write(json_row(record, findings, ExportedFields(config)) + "\n")
            else:
                print_document(console, case_document(case_report(record, findings, config), console.width))
            return
        shown = report_of(there, stored, config, by)
        print_run(shown, as_json=as_json)
        if shown.repeats and not as_json:
            console.print()
            print_repeats(console, shown)
        if not as_json:
            console.print()
            rows = (listed_case(record, findings, config) for record, findings in diagnosed_records(stored, config))
            print_document(console, cases_document(rows, config, most, console.width))
            print_next_steps(worst_case(stored, shown, store), f"as a page: {to_type('report', stored, store)}")


@command("export")
def export(
    run: str = "last",
    *,
    out: Path | None = None,
    export_format: ExportFormat | None = None,
    further: str | None = None,
    raw: bool = False,
    threshold: list[str] | None = None,
    store: str | None = None,
    project: str | None = None,
) -> None:
    """Write a run as rows for other programs, one row per case."""
    parts = set(parse_names(further))
    unknown = parts - EXPORTED_PARTS
    if unknown or (further is not None and not parts):
        raise ConfigError(
            f"--with {', '.join(sorted(unknown)) or further}: use texts or evidence, or both with a comma"
        )
    to_stdout = out is None or str(out) == "-"
    kind = export_format or ("jsonl" if out is None or to_stdout else format_of(out))
    if to_stdout and kind == "parquet":
        raise ConfigError("Parquet can't be written to standard output: name a file with -o")
    with opened_run(store, run, project) as (_, stored):
        config = reading_of(stored, threshold)
        fields = ExportedFields(config, texts="texts" in parts, evidence="evidence" in parts)
        rows = case_rows(partial(diagnosed_records, stored, config), fields)
        if out is None or to_stdout:
            if kind == "jsonl":
                write_jsonl(sys.stdout, rows)
            else:
                write_csv(sys.stdout, rows, raw=raw)
        else:
            count = export_file(out, kind, rows, raw=raw)
            tell(f"{plural(count, 'row')} in {out}")


def report_of(
    store: Store | None,
    stored: Run,
    config: EvaluationConfig,
    by: str | None,
    judge_card: Path | None = None,
) -> RunReport:
    """What is shown of a stored run; one in a folder has no store. A tag that no row has is an error."""
    tally = tally_of(stored, config, by)
    require_tag(by, tally.tags)
    return stored_run_report(
        stored,
        config,
        tally,
        repeats=repeats_report_of(store, stored, config),
        judge_card=read_card(judge_card, stored.info.fingerprints) if judge_card else None,
    )


def repeats_report_of(store: Store | None, stored: Run, config: EvaluationConfig) -> RepeatsReport | None:
    """How far the trials of a stored run agree; None if it wasn't repeated."""
    if store is None:
        return None
    trials = trials_of(store, stored)
    summary = repeats_of(trials, config)
    return RepeatsReport(summary, tuple(trial.number for trial in trials)) if summary else None


def print_run(run: RunReport, *, as_json: bool, beside: Mapping[str, Any] = MappingProxyType({})) -> None:
    """A run's numbers: one JSON object, which holds what isn't empty of `beside` too, or tables."""
    if as_json:
        print_json(run_json(run) | {name: value for name, value in beside.items() if value})
        return
    console = Console()
    print_document(console, run_document(run, console.width))


def print_next_steps(*steps: str) -> None:
    """What can be looked at next, a line each; an empty one is left out."""
    console = Console()
    console.print()
    for step in filter(None, steps):
        console.print(step, markup=False, highlight=False, soft_wrap=True)


def worst_case(stored: Run, run: RunReport, store: str | None) -> str:
    """How the case that the list of cases begins with is shown in full; empty if nothing is wrong with any."""
    worst = run.summary.worst
    return "" if worst is None else f"the worst case in full: {to_type('show', stored, store, worst)}"


def to_type(name: str, stored: Run, store: str | None, *further: str) -> str:
    """A command about a run as it is to be typed, with the store if a flag named one."""
    there = ("--store", without_password(store)) if store else ()
    return f"{program_name()} {shlex.join((name, stored.info.typed, *further, *there))}"


def print_repeats(console: Console, run: RunReport) -> None:
    """How far the trials of a repeated run agree, and what they took together where that is known."""
    if run.repeats:
        told = repeats_document(run.repeats.summary, input=run.header.input, judge=run.header.info.judge)
        print_document(console, told)
        if run.repeats.spent.requests:
            sys.stdout.write(f"{len(run.repeats.runs)} trials together: {run.repeats.spent}\n")


def program_name() -> str:
    """How to call this very program from the present folder: by its path where it lies below, else by its name."""
    called = Path(sys.argv[0])
    if called.name != "ragtriage" or not called.is_absolute():
        return "ragtriage" if called.name != "ragtriage" else str(called)
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else called.name


def default_report(store: Store | None, stored: Run) -> Path | None:
    """Where a run's report lies if nothing else is said: beside the store's file, or in the folder; else None."""
    if store is None:
        return None if REMOTE in stored.info.address else Path(stored.info.address) / "report.html"
    return None if "://" in store.where else Path(store.where).parent / f"run-{stored.number}.html"


def write_html(path: Path, run: RunReport, cases: Callable[[], Iterable[Diagnosed]]) -> None:
    """Write the HTML report of a run; `cases` gives its cases with their findings."""
    with writing(path):
        write_run_page(path, run, cases)


def tell_deleted(stored: Run) -> None:
    """Say on standard error that a run has lost texts, if it has."""
    if deleted := stored.texts_deleted():
        whole = stored.info.done + stored.info.failed
        of = "its cases" if deleted == whole else f"{deleted:,} of its {plural(whole, 'case')}"
        forgotten = stored.place.texts_deleted()[1]
        if OF_FOLDER in stored.info.configuration and not folder_of(stored):
            why = "weren't there when it was stored, or were deleted since (ragtriage forget)"
        elif forgotten == deleted:
            why = "were deleted (ragtriage forget)"
        elif forgotten:
            why = "were deleted (ragtriage forget) or can't be read, as the input is gone or has changed"
        else:
            why = "can't be read, as the input is gone or has changed"
        tell(f"note: {stored.info.called}: the texts of {of} {why}; their scores stay")


def reading_of(stored: Run, threshold: list[str] | None = None) -> EvaluationConfig:
    """The configuration by which a stored run is shown; says if it has lost texts."""
    tell_deleted(stored)
    return config_of(stored.info, named_numbers(threshold or (), "--threshold", stored.info.metrics))


def open_run(store: Store, run: str, threshold: list[str] | None = None) -> tuple[Run, EvaluationConfig]:
    """A stored run, and the configuration by which it is shown."""
    stored = store.run(run)
    return stored, reading_of(stored, threshold)
