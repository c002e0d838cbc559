"""`ragtriage judge`: put questions to the judge directly, to measure it from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.judging_options import JudgeFlags, judge_from, with_judge_flags
from ragtriage.cli.options import Config, Where
from ragtriage.runs.prediction_files import ask_rows, split_rows

judge = typer.Typer(
    help="Ask the judge directly, to measure it from outside.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

Rows = Annotated[Path, typer.Argument(help="JSONL, may be gzipped; - is standard input.")]
Out = Annotated[Path, typer.Option("-o", "--out", help="Where the predictions go (JSONL); - is standard output.")]


@judge.command("ask")
@with_judge_flags
def ask(
    task: Annotated[str, typer.Argument(help="supported, essential, relevant, answered, similar or same-answer.")],
    rows: Rows,
    *,
    judging: JudgeFlags,
    out: Out = Path("-"),
    store: Where = None,
    config: Config = None,
) -> None:
    """Verdicts for rows of one task: {id, verdict, confidence, score, sure}, or an error with a null score.

    Uses the question's fields only (claim, sources, query, text, question, a, b, truth, response).
    """
    with judge_from(judging, config, store) as asked:
        ask_rows(task, rows, out, asked)


@judge.command("split")
@with_judge_flags
def split(
    unit: Annotated[str, typer.Argument(help="claims, questions or sentences.")],
    rows: Rows,
    *,
    judging: JudgeFlags,
    out: Out = Path("-"),
    store: Where = None,
    config: Config = None,
) -> None:
    """Components of the rows' texts: {id, components: [{text, start, end}]}.

    Reads `text`, else `query` (questions) or `response` (claims, sentences).
    """
    with judge_from(judging, config, store) as asked:
        split_rows(unit, rows, out, asked)
