"""`ragtriage collect`: a file of questions in, the answers of the user's own application out, as cases."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.app_options import AppFlags, collected, with_app_flags
from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.opening import readable, say_columns
from ragtriage.cli.options import Columns, Format, Limit, Sample, Seed, pairs
from ragtriage.readers import open_cases
from ragtriage.runs.execute import Selection


@with_app_flags
def collect(  # noqa: PLR0913  # one parameter a flag
    questions: Annotated[str, typer.Argument(help="JSONL, JSON, CSV or Parquet; a query a row is enough.")],
    *,
    out: Annotated[Path, typer.Option("-o", "--out", help="The .jsonl file to which cases are appended.")],
    asking: AppFlags = AppFlags(),  # noqa: B008  # frozen
    mapping: Columns = None,
    file_format: Format = None,
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = 0,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")] = False,
) -> None:
    """Ask your own application every one of QUESTIONS, and write its answers as cases.

    Exit codes: 0; 2 usage or input; 3 incomplete (a query without a response, too many unusable rows, an application
    that can't be asked, interrupted).
    """
    with readable(questions) as path:
        cases = open_cases(path, mapping=pairs(mapping or (), "--map"), format=file_format, questions=True)
        say_columns(questions, cases)
        ended = collected(cases, asking, Selection(limit, sample, seed), out)
    tally = ended.lines.tally
    if as_json:
        sys.stdout.write(json.dumps({"file": str(out), "before": ended.lines.before, **tally.as_json()}) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in tally.lines()))
    if ended.stopped:
        sys.stderr.write(f"{ended.stopped}\n")
    if ended.stopped or ended.incomplete or tally.failures:
        raise typer.Exit(INCOMPLETE)
