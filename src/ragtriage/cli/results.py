"""`ragtriage report`, `show` and `export`: what a stored run says, in every form."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from ragtriage.cli.console import print_json, tell
from ragtriage.cli.corrections import corrections_of
from ragtriage.cli.flags import command, parse_names, store_address
from ragtriage.cli.spending import spent, spent_as_json
from ragtriage.config import named_numbers
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.validation import as_builtins
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import case_report
from ragtriage.report.case_rows import case_row
from ragtriage.report.repeats_document import repeats_document
from ragtriage.report.run_document import cases_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import print_document
from ragtriage.report.words import shown_time
from ragtriage.runs.config import EvaluationConfig, config_of
from ragtriage.runs.export import ExportedFields, json_row
from ragtriage.runs.export_files import ExportFormat, export_file, format_of, write_csv, write_jsonl
from ragtriage.runs.repeats import RepeatSummary, repeats_of, trials_of
from ragtriage.runs.selection import QUOTED
from ragtriage.runs.tally import SlicedTally, diagnosed_records, tally_of
from ragtriage.store import Store, StoredRun, open_store
from ragtriage.trust.calibration.corrected_mean import CorrectedMean
from ragtriage.trust.judge_card import read_card

EXPORTED_PARTS = frozenset({"texts", "evidence"})
"""What `export --with` adds."""


@command("report")
def report(
    run: str = "last",
    *,
    out: Path | None = None,
    by: str | None = None,
    threshold: list[str] | None = None,
    labels: Path | None = None,
    judge_card: Path | None = None,
    open_it: bool = False,
    store: str | None = None,
) -> None:
    """Write a run as one self-contained HTML file."""
    with open_store(store_address(store), create=False) as there:
        stored, config = open_run(there, run, threshold)
        path = out or default_report(there, stored) or Path("report.html")
        repeats = repeats_of(trials_of(there, stored), config)
        corrections = corrections_of(stored, config, labels)
        card = read_card(judge_card, stored.info.fingerprints) if judge_card else None
        tally = tally_of(stored, config, by)
        write_html(path, stored, config, tally, repeats, corrections=corrections, judge_card=card)
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
    labels: Path | None = None,
    as_json: bool = False,
    store: str | None = None,
) -> None:
    """Show a run in the terminal: its numbers and worst cases, or one case in full."""
    console = Console()
    with open_store(store_address(store), create=False) as there:
        stored, config = open_run(there, run, threshold)
        if case is not None:
            record = stored.record(case)
            findings = config.diagnose(record)
            if as_json:
                fields = ExportedFields([m.name for m in config.metrics], config.rules)
                sys.stdout.write(json_row(record, findings, fields) + "\n")
            else:
                found = case_report(record, findings, config.thresholds, config.metrics)
                print_document(console, case_document(found, console.width))
            return
        trials = trials_of(there, stored)
        repeats = repeats_of(trials, config)
        further = {"repeats": {**repeats.as_json(), "runs": [trial.number for trial in trials]}} if repeats else {}
        corrections = corrections_of(stored, config, labels)
        tally = tally_of(stored, config, by)
        print_run(stored, config, tally, as_json=as_json, further=further, corrections=corrections)
        if repeats and not as_json:
            console.print()
            told = repeats_document(repeats, input=_header(stored, config).input, judge=stored.info.judge)
            print_document(console, told)
        if not as_json:
            console.print()
            limits = config.rules, config.thresholds, config.metrics
            rows = (case_row(record, findings, *limits) for record, findings in diagnosed_records(stored, config))
            print_document(console, cases_document(rows, most, config.metrics, console.width))
            print_next_steps(worst_case(stored, tally, store), f"as a page: {to_type('report', stored, store)}")


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
) -> None:
    """Write a run as rows for other programs, one row per case."""
    parts = set(parse_names(further))
    if unknown := parts - EXPORTED_PARTS:
        raise ConfigError(f"--with {', '.join(sorted(unknown))}: use texts or evidence, or both with a comma")
    to_stdout = out is None or str(out) == "-"
    kind = export_format or ("jsonl" if out is None or to_stdout else format_of(out))
    if to_stdout and kind == "parquet":
        raise ConfigError("Parquet can't be written to standard output: name a file with -o")
    with open_store(store_address(store), create=False) as there:
        stored, config = open_run(there, run, threshold)
        names = [m.name for m in config.metrics]
        fields = ExportedFields(names, config.rules, texts="texts" in parts, evidence="evidence" in parts)
        cases = partial(diagnosed_records, stored, config)
        if out is None or to_stdout:
            if kind == "jsonl":
                write_jsonl(sys.stdout, cases, fields)
            else:
                write_csv(sys.stdout, cases, fields, raw=raw)
        else:
            count = export_file(out, kind, cases, fields, raw=raw)
            tell(f"{plural(count, 'row')} in {out}")


def print_run(
    stored: StoredRun,
    config: EvaluationConfig,
    tally: SlicedTally,
    *,
    as_json: bool,
    further: Mapping[str, Any] | None = None,
    corrections: Mapping[str, CorrectedMean] | None = None,
) -> None:
    """A run's numbers: one JSON object, or tables."""
    summary = tally.summary()
    if as_json:
        told = {"run": stored.number, **summary.as_json(), **spent_as_json(stored.info), **(further or {})}
        for name, found in (corrections or {}).items():
            told["metrics"][name]["corrected"] = as_builtins(found)
        print_json(told)
        return
    console = Console()
    header = replace(_header(stored, config), corrections=corrections or {})
    print_document(console, run_document(run_report(header, summary, tally.slices()), console.width))


def print_next_steps(*steps: str) -> None:
    """What can be looked at next, a line each; an empty one is left out."""
    console = Console()
    console.print()
    for step in filter(None, steps):
        console.print(step, markup=False, highlight=False, soft_wrap=True)


def worst_case(stored: StoredRun, tally: SlicedTally, store: str | None) -> str:
    """How the case that the list of cases begins with is shown in full; empty if nothing is wrong with any."""
    worst = tally.summary().worst
    return "" if worst is None else f"the worst case in full: {to_type('show', stored, store, worst)}"


def to_type(name: str, stored: StoredRun, store: str | None, *further: str) -> str:
    """A command about a run as it is to be typed, with the store if a flag named one."""
    there = ("--store", store) if store else ()
    return f"{program_name()} {shlex.join((name, str(stored.number), *further, *there))}"


def program_name() -> str:
    """How to call this very program from the present folder: by its path where it lies below, else by its name."""
    called = Path(sys.argv[0])
    if called.name != "ragtriage" or not called.is_absolute():
        return "ragtriage" if called.name != "ragtriage" else str(called)
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else called.name


def default_report(store: Store, stored: StoredRun) -> Path | None:
    """Where a run's report lies if nothing else is said: beside the store's file; None for a database elsewhere."""
    return None if "://" in store.where else Path(store.where).parent / f"run-{stored.number}.html"


def write_html(
    path: Path,
    stored: StoredRun,
    config: EvaluationConfig,
    tally: SlicedTally,
    repeats: RepeatSummary | None,
    *,
    corrections: Mapping[str, CorrectedMean] | None = None,
    judge_card: Mapping[str, Any] | None = None,
) -> None:
    """Write the HTML report of a run; `repeats` if it was repeated, the judge's card if it is to carry one."""
    try:
        header = replace(_header(stored, config), corrections=corrections or {}, judge_card=judge_card)
        cases = partial(diagnosed_records, stored, config)
        write_run_page(path, header, tally.summary(), cases, tally.slices(), repeats=repeats)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def _header(stored: StoredRun, config: EvaluationConfig) -> Header:
    """What stands above every picture of a stored run."""
    info = stored.info
    rejected = stored.rejected()
    shown = (f"row {r.row}{f', field {r.field!r}' if r.field else ''}: {r.reason}" for r in rejected[:QUOTED])
    return Header(
        run=str(info.number),
        input=info.input if not Path(info.input).is_absolute() else Path(info.input).name,
        judge=info.judge,
        created=shown_time(info.created),
        state=info.state,
        of=info.rows,
        thresholds=config.thresholds,
        rules=config.rules,
        rejected=len(rejected),
        rejections=tuple(shown),
        spent=spent(info),
        version=info.versions.get("ragtriage", ""),
        metrics=config.metrics,
    )


def open_run(store: Store, run: str, threshold: list[str] | None = None) -> tuple[StoredRun, EvaluationConfig]:
    """A stored run, and the configuration by which it is shown."""
    stored = store.run(run)
    return stored, config_of(stored.info, named_numbers(threshold or (), "--threshold", stored.info.metrics))
