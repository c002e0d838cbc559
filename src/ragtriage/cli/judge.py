"""`ragtriage judge`: put questions to the judge directly, to measure it from outside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from ragtriage.cli.judging_options import JudgeFlags, choice_from, with_judge_flags
from ragtriage.cli.options import Config, Where, place_of, settings_from
from ragtriage.judges.chosen import Chosen
from ragtriage.judges.protocol import Judge
from ragtriage.judging import ask_rows, split_rows
from ragtriage.store import open_store

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
    """Verdicts for rows of one task: {id, verdict, confidence, score}, or an error with a null score.

    Uses the question's fields only (claim, sources, query, text, question, a, b, truth, response).
    """
    with _judge(judging, config, store) as asked:
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
    with _judge(judging, config, store) as asked:
        split_rows(unit, rows, out, asked)


@contextmanager
def _judge(flags: JudgeFlags, config: Path | None, store: str | None) -> Iterator[Judge]:
    """The judge; what a model answers is kept in the store, so that the same command goes on where it stopped."""
    settings = settings_from(config, None)
    chosen = Chosen(choice_from(flags, settings))
    if not chosen.paid:
        yield chosen.judge()
        return
    with open_store(place_of(store, settings)) as opened:
        yield chosen.judge(opened.answers(), tickets=opened.tickets())
        opened.answers().flush()
        chosen.settle()
