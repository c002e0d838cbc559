"""`ragtriage collect`: a file of questions in, the answers of the user's own application out, as cases."""

from __future__ import annotations

import sys
from pathlib import Path

import typer

from ragtriage.cli.app_flags import AppFlags, SampleFlags, collect_answers
from ragtriage.cli.console import ExitCode, print_json, tell
from ragtriage.cli.flags import command, parse_pairs
from ragtriage.cli.input_files import print_columns, rereadable
from ragtriage.readers import open_cases
from ragtriage.runs.selection import RowSelection


@command("collect")
def collect(
    questions: str,
    *,
    out: Path,
    mapping: list[str] | None = None,
    file_format: str | None = None,
    selection: RowSelection,
    as_json: bool = False,
    app_flags: AppFlags,
    sample_flags: SampleFlags,
) -> None:
    """Ask your own application all QUESTIONS and write its answers as cases.

    Exit codes: 0; 2 usage or input; 3 incomplete (a query without a response or with fewer samples, too many unusable
    rows, an application that can't be asked, interrupted).
    """
    with rereadable(questions) as file:
        cases = open_cases(file, mapping=parse_pairs(mapping, "--map"), format=file_format, questions=True)
        print_columns(cases)
        found = collect_answers(cases, app_flags, selection, out, sample_flags, flag="-o")
    if as_json:
        samples = {"samples": found.samples.as_json()} if found.samples else {}
        print_json({"file": str(out), "before": found.lines.before, **found.lines.tally.as_json(), **samples})
    else:
        sys.stdout.write("".join(f"{line}\n" for line in found.told()))
    if found.stopped:
        tell(found.stopped)
    if found.incomplete:
        raise typer.Exit(ExitCode.INCOMPLETE)
