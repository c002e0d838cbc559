"""`ragtriage judge`: put questions to the judge directly, to measure it from outside."""

from __future__ import annotations

from pathlib import Path

from ragtriage.cli.flags import command
from ragtriage.cli.help import new_typer
from ragtriage.cli.judge_flags import JudgeFlags
from ragtriage.trust.prediction_files import write_components, write_predictions

judge = new_typer(help="Ask the judge single questions, for benchmarks.")


@judge.command("ask")
@command("judge ask")
def ask(task: str, rows: Path, *, out: Path = Path("-"), judge_flags: JudgeFlags) -> None:
    """Verdicts for rows of one task: {id, verdict, confidence, score, sure}, or an error with a null score.

    Uses the question's fields only (claim, sources, query, text, question, a, b, truth, response).
    """
    with judge_flags.opened() as asked:
        write_predictions(task, rows, out, asked)


@judge.command("split")
@command("judge split")
def split(unit: str, rows: Path, *, out: Path = Path("-"), judge_flags: JudgeFlags) -> None:
    """Components of the rows' texts: {id, components: [{text, start, end}]}.

    Reads `text`, else `query` (questions) or `response` (claims, sentences).
    """
    with judge_flags.opened() as asked:
        write_components(unit, rows, out, asked)
