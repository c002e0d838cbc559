"""`ragtriage report`, `show`, `export` and `runs`: what a stored run says, in every form."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ragtriage.cli.corrections import Labels, corrections_of
from ragtriage.cli.options import Run, Thresholds, Where, place_of
from ragtriage.config import named_numbers
from ragtriage.core.errors import InputError
from ragtriage.core.record import Record
from ragtriage.diagnosis import Finding, diagnose
from ragtriage.judges.llm.ledger import dollars
from ragtriage.report.case_document import case_document
from ragtriage.report.case_report import case_report
from ragtriage.report.case_rows import case_row
from ragtriage.report.repeats_document import repeats_document
from ragtriage.report.run_document import cases_document, run_document
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, run_report
from ragtriage.report.terminal import print_document
from ragtriage.runs.execute import criteria_of
from ragtriage.runs.export import export_cases, json_row
from ragtriage.runs.repeats import RepeatSummary, repeats_of, trials_of
from ragtriage.runs.tally import Assessment, Criteria
from ragtriage.store import RunInfo, Store, StoredRun, open_store
from ragtriage.trust.correction import Correction
from ragtriage.trust.judge_card import read_card

Diagnosed = tuple[Record, tuple[Finding, ...]]
REJECTIONS = 10
"""Unusable rows that are quoted; all are counted."""


def report(
    run: Run = "last",
    *,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Where it goes [default: into the store].")] = None,
    by: Annotated[str | None, typer.Option(help="A tag: the table also for each of its values.")] = None,
    threshold: Thresholds = None,
    labels: Labels = None,
    judge_card: Annotated[
        Path | None,
        typer.Option(help="A card of its judge, from `ragtriage trust card -o`, to be carried: a .json file."),
    ] = None,
    store: Where = None,
) -> None:
    """Write a run as one self-contained HTML file."""
    with open_store(place_of(store), create=False) as there:
        stored, criteria = opened(there, run, threshold)
        path = out or report_path(there, stored) or Path("report.html")
        repeats = repeats_of(trials_of(there, stored), criteria)
        corrections = corrections_of(stored, criteria, labels)
        card = read_card(judge_card, stored.info.fingerprints) if judge_card else None
        shown = assessed(stored, criteria, by)
        write_html(path, stored, criteria, shown, repeats, corrections=corrections, judge_card=card)
    sys.stdout.write(f"{path}\n")


def show(
    run: Run = "last",
    case: Annotated[str | None, typer.Argument(help="A case's id: everything about it.")] = None,
    *,
    most: Annotated[int, typer.Option(help="How many cases are listed.")] = 30,
    by: Annotated[str | None, typer.Option(help="A tag: the table also for each of its values.")] = None,
    threshold: Thresholds = None,
    labels: Labels = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    store: Where = None,
) -> None:
    """Show a run in the terminal: its numbers and worst cases, or one case in full."""
    with open_store(place_of(store), create=False) as there:
        stored, criteria = opened(there, run, threshold)
        console = Console()
        if case is not None:
            record = stored.record(case)
            findings = diagnose_by(criteria)(record)
            if as_json:
                sys.stdout.write(json_row(record, findings, [m.name for m in criteria.metrics], criteria.rules) + "\n")
            else:
                found = case_report(record, findings, criteria.thresholds, criteria.metrics)
                print_document(console, case_document(found, console.width))
            return
        trials = trials_of(there, stored)
        repeats = repeats_of(trials, criteria)
        further = {"repeats": {**repeats.as_json(), "runs": [trial.number for trial in trials]}} if repeats else {}
        corrections = corrections_of(stored, criteria, labels)
        assessment = assessed(stored, criteria, by)
        print_run(stored, criteria, assessment, as_json=as_json, further=further, corrections=corrections)
        if repeats and not as_json:
            console.print()
            told = repeats_document(repeats, input=_header(stored, criteria).input, judge=stored.info.judge)
            print_document(console, told)
            console.print()
        if not as_json:
            limits = criteria.rules, criteria.thresholds, criteria.metrics
            rows = (case_row(record, findings, *limits) for record, findings in diagnosed(stored, criteria))
            print_document(console, cases_document(rows, most, criteria.metrics, console.width))


def export(
    run: Run = "last",
    *,
    out: Annotated[Path, typer.Option("-o", "--out", help="A .jsonl, .csv or .parquet file.")],
    threshold: Thresholds = None,
    store: Where = None,
) -> None:
    """Write a run as rows for other programs, one row a case."""
    with open_store(place_of(store), create=False) as there:
        stored, criteria = opened(there, run, threshold)
        names = [m.name for m in criteria.metrics]
        count = export_cases(out, names, criteria.rules, diagnosed(stored, criteria))
    sys.stderr.write(f"{count} rows in {out}\n")


def runs(*, store: Where = None) -> None:
    """List the stored runs, the newest first."""
    with open_store(place_of(store), create=False) as there:
        for info in there.runs():
            of = f"{info.done} of {info.rows} cases"
            failed = f", {info.failed} failed" if info.failed else ""
            cost = f"  {dollars(info.cost)}" if info.cost else ""
            again = f"  trial {info.trial + 1} of run {info.repeats}" if info.repeats else ""
            line = f"{info.number:>4}  {info.created}  {info.state:<11}  {of}{failed}  {info.judge}  {info.input}"
            line += cost + again
            sys.stdout.write(line + "\n")


def print_run(
    stored: StoredRun,
    criteria: Criteria,
    assessment: Assessment,
    *,
    as_json: bool,
    further: Mapping[str, Any] | None = None,
    corrections: Mapping[str, Correction] | None = None,
) -> None:
    """A run's numbers: one JSON object, or tables and what to look at next."""
    summary = assessment.summary()
    if as_json:
        told = {"run": stored.number, **summary.as_json(), **spent_by(stored.info), **(further or {})}
        for name, found in (corrections or {}).items():
            told["metrics"][name]["corrected"] = found.as_json()
        sys.stdout.write(json.dumps(told) + "\n")
        return
    console = Console()
    header = replace(_header(stored, criteria), corrections=corrections or {})
    print_document(console, run_document(run_report(header, summary, assessment.slices()), console.width))
    worst = next((case for group in summary.groups for case in group.worst), None)
    lines = [f"run {stored.number} is stored; list its cases: {program()} show {stored.number}"]
    if worst is not None:
        lines.append(f"the worst case in full: {program()} show {stored.number} {shlex.quote(worst)}")
    console.print()
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def spent_in(info: RunInfo) -> str:
    """What a run took, for people; empty for one that sent no request."""
    if not info.requests:
        return ""
    tokens = f"{info.tokens_in:,} tokens in, {info.tokens_out:,} out"
    # a price that isn't known counts as nothing, and must not look like nothing
    return f"{info.requests:,} requests · {tokens}" + (f" · {dollars(info.cost)}" if info.cost else "")


def spent_by(info: RunInfo) -> dict[str, Any]:
    """What a run took, for machines; nothing for one that sent no request."""
    if not info.requests:
        return {}
    return {
        "spent": {
            "requests": info.requests,
            "tokens_in": info.tokens_in,
            "tokens_out": info.tokens_out,
            "cost": info.cost or None,
        }
    }


def program() -> str:
    """How to call this very program from the present folder: by its path where it lies below, else by its name."""
    called = Path(sys.argv[0])
    if called.name != "ragtriage" or not called.is_absolute():
        return "ragtriage" if called.name != "ragtriage" else str(called)
    return str(called.relative_to(Path.cwd())) if called.is_relative_to(Path.cwd()) else called.name


def report_path(store: Store, stored: StoredRun) -> Path | None:
    """Where a run's report lies if nothing else is said: beside the store's file; None for a database elsewhere."""
    return None if "://" in store.where else Path(store.where).parent / f"run-{stored.number}.html"


def write_html(
    path: Path,
    stored: StoredRun,
    criteria: Criteria,
    assessment: Assessment,
    repeats: RepeatSummary | None,
    *,
    corrections: Mapping[str, Correction] | None = None,
    judge_card: Mapping[str, Any] | None = None,
) -> None:
    """Write the HTML report of a run; `repeats` if it was repeated, the judge's card if it is to carry one.

    Raises:
        InputError: the file can't be written.
    """

    def cases() -> Iterator[Diagnosed]:
        return diagnosed(stored, criteria)

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        header = replace(_header(stored, criteria), corrections=corrections or {}, judge_card=judge_card)
        write_run_page(path, header, assessment.summary(), cases, assessment.slices(), repeats=repeats)
    except OSError as error:
        raise InputError(f"{path} can't be written: {error.strerror or error}") from error


def diagnose_by(criteria: Criteria) -> Callable[[Record], tuple[Finding, ...]]:
    """The diagnosis under these criteria."""
    return lambda record: diagnose(record, criteria.thresholds, criteria.rules, criteria.metrics)


def _header(stored: StoredRun, criteria: Criteria) -> Header:
    """What stands above every picture of a stored run."""
    info = stored.info
    rejected = stored.rejected()
    shown = (f"row {r.row}{f', field {r.field!r}' if r.field else ''}: {r.reason}" for r in rejected[:REJECTIONS])
    return Header(
        run=str(info.number),
        input=info.input if not Path(info.input).is_absolute() else Path(info.input).name,
        judge=info.judge,
        created=info.created.replace("T", " ").replace("+00:00", " UTC"),
        state=info.state,
        of=info.rows,
        thresholds=criteria.thresholds,
        rules=criteria.rules,
        rejected=len(rejected),
        rejections=tuple(shown),
        spent=spent_in(info),
        version=info.versions.get("ragtriage", ""),
        metrics=criteria.metrics,
    )


def opened(store: Store, run: str, threshold: list[str] | None) -> tuple[StoredRun, Criteria]:
    """A stored run, and the criteria by which it is shown."""
    stored = store.run(run)
    return stored, criteria_of(stored.info, named_numbers(threshold or (), "--threshold", stored.info.metrics))


def assessed(stored: StoredRun, criteria: Criteria, by: str | None) -> Assessment:
    """A stored run, counted."""
    assessment = Assessment(criteria, by)
    for record in stored.records():
        assessment.add(record)
    return assessment


def diagnosed(stored: StoredRun, criteria: Criteria) -> Iterator[Diagnosed]:
    """Every case of a run with its findings, streamed in the order of the input."""
    diagnosis = diagnose_by(criteria)
    return ((record, diagnosis(record)) for record in stored.records())
