"""`ragtriage judge`: put questions to the judge directly, to measure it from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.console import new_typer
from ragtriage.cli.flag_groups import with_flag_groups
from ragtriage.cli.judge_flags import JudgeFlags
from ragtriage.evaluation.predict import ask_rows, split_rows

judge = new_typer(help="Ask the judge directly, to measure it from outside.")

Rows = Annotated[Path, typer.Argument(help="JSONL, may be gzipped; - is standard input.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="Where the predictions go (JSONL); - is standard output.")]


@judge.command("ask")
@with_flag_groups
def ask(
    task: Annotated[str, typer.Argument(help="supported, essential, relevant, answered, similar or same-answer.")],
    rows: Rows,
    *,
    out: Out = Path("-"),
    judging: JudgeFlags,
) -> None:
    """Verdicts for rows of one task: {id, verdict, confidence, score, sure}, or an error with a null score.

    Uses the question's fields only (claim, sources, query, text, question, a, b, truth, response).
    """
    with judging.opened() as asked:
        ask_rows(task, rows, out, asked)


@judge.command("split")
@with_flag_groups
def split(
    unit: Annotated[str, typer.Argument(help="claims, questions or sentences.")],
    rows: Rows,
    *,
    out: Out = Path("-"),
    judging: JudgeFlags,
) -> None:
    """Components of the rows' texts: {id, components: [{text, start, end}]}.

    Reads `text`, else `query` (questions) or `response` (claims, sentences).
    """
    with judging.opened() as asked:
        split_rows(unit, rows, out, asked)
