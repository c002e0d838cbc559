"""`ragtriage evaluate`: a file of answers in, scores, a diagnosis and a stored run out."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.assessment import Assessment, Criteria
from ragtriage.cli.exits import GATE_FAILED, INCOMPLETE
from ragtriage.cli.options import Config, Thresholds, Where, criteria_from, pairs, place_of, settings_from
from ragtriage.cli.progress import progress
from ragtriage.cli.results import assessed, print_run, report_path, write_html
from ragtriage.config import named_numbers
from ragtriage.errors import InputError
from ragtriage.gate import check_gates, failing
from ragtriage.judges.chosen import judge_named
from ragtriage.readers import CaseFile, Limits, open_cases
from ragtriage.running import FileRun, Selection
from ragtriage.store import StoredRun, open_store


def evaluate(  # noqa: PLR0913  # one parameter a flag
    file: Annotated[str, typer.Argument(help="JSONL, JSON, CSV or Parquet; - is JSONL on standard input.")],
    *,
    judge: Annotated[str | None, typer.Option(help="Who judges [default: embedded].")] = None,
    metrics: Annotated[
        str | None, typer.Option(help="Names or groups, by commas; -name takes one out [default: thelma].")
    ] = None,
    mapping: Annotated[
        list[str] | None, typer.Option("--map", help="field=column, for example query=question; may be repeated.")
    ] = None,
    split_sources: Annotated[str | None, typer.Option(help="What separates sources in one long text.")] = None,
    file_format: Annotated[
        str | None, typer.Option("--format", help="jsonl, json, csv or parquet [default: told from the file].")
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="The first N usable rows only.")] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="N usable rows at random.")] = None,
    seed: Annotated[int, typer.Option(help="Which random rows.")] = 0,
    by: Annotated[str | None, typer.Option(help="A tag: the table also for each of its values.")] = None,
    threshold: Thresholds = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option(help="metric=value: exit with 1 if the mean is below; may be repeated."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
    any_language: Annotated[
        bool, typer.Option("--any-language", help="Judge also languages that the judge was not measured on.")
    ] = False,
    max_text: Annotated[int, typer.Option(min=1, help="Longest text of a row, in characters.")] = 1_000_000,
    max_sources: Annotated[int, typer.Option(min=1, help="Most sources of a row.")] = 1_000,
    report: Annotated[Path | None, typer.Option(help="Where the HTML report goes [default: into the store].")] = None,
    store: Where = None,
    config: Config = None,
) -> None:
    """Evaluate the answers in FILE, tell which component to repair, and store the run.

    Exit codes: 0; 1 a gate failed; 2 usage or input; 3 incomplete (failures, too many unusable rows, interrupted).
    """
    settings = settings_from(config, threshold)
    criteria = criteria_from(settings, metrics)
    gates = {**settings.fail_under, **named_numbers(fail_under or (), "--fail-under")}
    check_gates(gates, {m.name for m in criteria.metrics})
    judging = judge_named(judge or settings.judge, any_language=any_language or settings.any_language)
    with _readable(file) as path:
        cases = open_cases(
            path,
            mapping={**settings.map, **pairs(mapping or (), "--map")},
            split_sources=split_sources,
            limits=Limits(max_text=max_text, max_sources=max_sources),
            format=file_format,
        )
        _say(file, cases, by)
        with open_store(place_of(store, settings)) as opened:
            with FileRun(cases, judging, opened, criteria, Selection(limit, sample, seed), file) as run:
                _say_rejected(run)
                sys.stderr.write(f"{run.announcement}\n")
                assessment = Assessment(criteria, by)
                interrupted = not _evaluate(run, assessment)
            stored = opened.run(run.run.number)
            if interrupted:  # it may have stopped between keeping a case and counting it: the store is right
                assessment = assessed(stored, criteria, by)
            written = report or (None if as_json else report_path(opened, stored))
            print_run(stored, criteria, assessment, as_json=as_json)
            unwritten = written is not None and not _reported(written, stored, criteria, assessment)
    summary = assessment.summary()
    gate = failing(gates, summary)
    sys.stderr.write("".join(f"{line}\n" for line in gate))
    if interrupted:
        sys.stderr.write("interrupted: give the same command again to go on where it stopped\n")
    if interrupted or unwritten or summary.failed or run.survey.incomplete:
        raise typer.Exit(INCOMPLETE)
    if gate:
        raise typer.Exit(GATE_FAILED)


@contextmanager
def _readable(file: str) -> Iterator[str]:
    """The file's path; what comes through a pipe is put into a file first, since rows are read more than once."""
    if file != "-" and not Path(file).is_fifo():
        yield file
        return
    with tempfile.TemporaryDirectory(prefix="ragtriage-") as folder:
        path = Path(folder) / "stdin.jsonl"
        with path.open("wb") as copy, sys.stdin.buffer if file == "-" else Path(file).open("rb") as stream:
            shutil.copyfileobj(stream, copy)
        yield str(path)


def _reported(path: Path, stored: StoredRun, criteria: Criteria, assessment: Assessment) -> bool:
    """Whether the report could be written; the run is stored all the same, and the report can be written again."""
    try:
        write_html(path, stored, criteria, assessment)
    except InputError as error:
        sys.stderr.write(f"ragtriage: {error}; the run is stored: ragtriage report {stored.number} -o elsewhere.html\n")
        return False
    sys.stderr.write(f"report: {path}\n")
    return True


def _say(file: str, cases: CaseFile, by: str | None) -> None:
    """What was found in the file, before anything is judged."""
    sys.stderr.write(f"{file} ({cases.format})\n")
    sys.stderr.write("".join(f"  {line}\n" for line in cases.describe()))
    if by is not None and by not in cases.tags:
        sys.stderr.write(f"  note: --by {by}: none of the first rows has this tag\n")


def _say_rejected(run: FileRun) -> None:
    survey = run.survey
    if survey.conversations:
        sys.stderr.write(f"note: {survey.conversations} rows have a conversation; their query is read without it\n")
    if not survey.rejected:
        return
    total = survey.selected + survey.rejected
    sys.stderr.write(f"{survey.rejected} of {total} rows can't be used:\n")
    sys.stderr.write("".join(f"  {row}\n" for row in survey.first_rejected))
    more = survey.rejected - len(survey.first_rejected)
    if more:
        sys.stderr.write(f"  and {more} more\n")


def _evaluate(run: FileRun, assessment: Assessment) -> bool:
    """Whether it came to its end; False if it was interrupted, with what was done counted and kept."""
    try:
        with progress(run.survey.selected, run.done) as advance:
            for _ in run.records(assessment):
                advance()
    except KeyboardInterrupt:
        return False
    return True
