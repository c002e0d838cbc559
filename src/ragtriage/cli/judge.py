"""`ragtriage judge`: put questions to the judge directly, to measure it from outside."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.options import Config, settings_from
from ragtriage.judges.chosen import Chosen
from ragtriage.judges.protocol import Judge
from ragtriage.judging import ask_rows, split_rows

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
    config: Config = None,
) -> None:
    """Verdicts for rows of one task: {id, verdict, confidence, score}, or an error with a null score.

    Uses the question's fields only (claim, sources, query, text, question, a, b, truth, response).
    """
    ask_rows(task, rows, out, _judge(judging, config))


@judge.command("split")
@with_judge_flags
def split(
    unit: Annotated[str, typer.Argument(help="claims, questions or sentences.")],
    rows: Rows,
    *,
    judging: JudgeFlags,
    out: Out = Path("-"),
    config: Config = None,
) -> None:
    """Components of the rows' texts: {id, components: [{text, start, end}]}.

    Reads `text`, else `query` (questions) or `response` (claims, sentences).
    """
    split_rows(unit, rows, out, _judge(judging, config))


def _judge(flags: JudgeFlags, config: Path | None) -> Judge:
    return Chosen(choice_from(flags, settings_from(config, None))).judge()
