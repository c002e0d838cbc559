"""`ragtriage judge`: put questions to the judge directly, to measure it from outside."""

from __future__ import annotations

from pathlib import Path

import typer

from ragtriage.cli.console import ExitCode, tell
from ragtriage.cli.evaluation_flags import JudgeFlags
from ragtriage.cli.flags import command
from ragtriage.cli.help import new_typer
from ragtriage.cli.input_files import check_output, print_rejected
from ragtriage.core.display import plural
from ragtriage.trust.prediction_files import RowErrors, write_components, write_predictions

judge = new_typer(help="Ask the judge single questions, for benchmarks.")


@judge.command("ask")
@command("judge ask")
def ask(task: str, rows: Path, *, out: Path = Path("-"), judge_flags: JudgeFlags) -> None:
    """Verdicts for rows of one task: {id, verdict, confidence, score, sure}, or an error with a null score.

    Uses the question's fields only (claim, sources, query, text, question, a, b, truth, response). Exit codes: 0; 2
    usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    check_output(out, rows, "-o")
    with judge_flags.opened() as asked:
        errors = write_predictions(task, rows, out, asked)
    _exit(errors)


@judge.command("split")
@command("judge split")
def split(unit: str, rows: Path, *, out: Path = Path("-"), judge_flags: JudgeFlags) -> None:
    """Components of the rows' texts: {id, components: [{text, start, end}]}.

    Reads `text`, else `query` (questions) or `response` (claims, sentences). Exit codes: 0; 2 usage or input; 3
    incomplete (the judge failed on a row, or too many unusable rows).
    """
    check_output(out, rows, "-o")
    with judge_flags.opened() as asked:
        errors = write_components(unit, rows, out, asked)
    _exit(errors)


def _exit(errors: RowErrors) -> None:
    """Say which rows have no result; exit with 3 if they are too many, or if the judge failed."""
    print_rejected(errors.rejected, errors.rows)
    if errors.failed:
        tell(f"the judge failed on {plural(errors.failed, 'row')}: their errors stand in the output")
    if errors.incomplete:
        raise typer.Exit(ExitCode.INCOMPLETE)
