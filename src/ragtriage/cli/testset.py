"""`ragtriage testset`: test sets out of databases, and what known answers reveal of an application, and of scores."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ragtriage.cli.app_options import AppFlags, with_app_flags
from ragtriage.cli.blame_options import BlameFlags, asked_again, found_beyond, prepared, with_blame_flags
from ragtriage.cli.exits import INCOMPLETE
from ragtriage.cli.judging_options import JudgeFlags, judge_from, with_judge_flags
from ragtriage.cli.options import Config, Where
from ragtriage.cli.testset_making import MAKING
from ragtriage.cli.testset_phrase import phrase_templates
from ragtriage.cli.testset_write import write_by_model
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.judges.protocol import Judge
from ragtriage.report.making_document import example_document
from ragtriage.report.terminal import print_document
from ragtriage.report.testset_document import (
    beyond_document,
    matcher_document,
    reliability_document,
    scores_document,
)
from ragtriage.report.testset_page import write_testset_page
from ragtriage.testset.correctness import Decision, check_matcher, decide
from ragtriage.testset.example import write_example
from ragtriage.testset.groups import tag_rows
from ragtriage.testset.matching import TOLERANCE
from ragtriage.testset.reliability import reliability_of
from ragtriage.testset.rows import RowsRead, read_rows
from ragtriage.testset.score_files import read_scores
from ragtriage.testset.scoring import ModularScores, Terms, score_balanced, score_decided

testset = typer.Typer(
    help="Test sets whose answers are known: what they reveal of an application.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for _name, _command in MAKING.items():
    testset.command(_name)(_command)
    if _name == "templates":
        testset.command("write")(write_by_model)
        testset.command("phrase")(phrase_templates)
SHOWN = 10
"""Unusable rows that are quoted; all are counted."""

Rows = Annotated[str, typer.Argument(help="JSONL of answered questions, may be gzipped; - is standard input.")]
Tolerance = Annotated[
    float, typer.Option(help="How far a number written less exactly may be from the true one, as a share of it.")
]
TypedOnly = Annotated[
    bool, typer.Option("--typed-only", help="Ask no judge: what the typed match can't tell stays undecided.")
]
AsJson = Annotated[bool, typer.Option("--json", help="One JSON object on standard output.")]


@testset.command("example")
def example(
    folder: Annotated[Path, typer.Argument(help="Where it goes: a new folder, or an example to replace.")],
    *,
    seed: Annotated[int, typer.Option(help="Another seed is another company.", min=0)] = 0,
    size: Annotated[int, typer.Option(help="How many projects it has, from 4 to 400.")] = 30,
    as_json: AsJson = False,
) -> None:
    """Write a fictitious engineering consultancy: a database, documents that state a part of it, and an application.

    Exit codes: 0; 2 usage or input.
    """
    written = write_example(folder, seed, size)
    if as_json:
        sys.stdout.write(json.dumps(written.as_json(), ensure_ascii=False) + "\n")
    else:
        print_document(Console(), example_document(written))


@testset.command("score")
@with_judge_flags
@with_blame_flags
@with_app_flags
def score(  # noqa: PLR0913  # a command's flags are its arguments
    rows: Rows,
    *,
    judging: JudgeFlags,
    blaming: BlameFlags,
    asking: AppFlags,
    clusters: Annotated[
        str | None, typer.Option(help="Which two to compare, by a comma: the first minus the second.")
    ] = None,
    scope: Annotated[str, typer.Option(help="pooled: a group spans all clusters; cluster: one.")] = "pooled",
    average: Annotated[str, typer.Option(help="What the numbers are averaged over: rows or groups.")] = "rows",
    lm_errors: Annotated[str, typer.Option(help="Answers blamed on the language model: correct or drop.")] = "correct",
    balanced: Annotated[
        bool, typer.Option("--balanced", help="Score a balanced sample only: as many rows of both in every group.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Of the balanced sample, resamples and flips.", min=0)] = 0,
    tolerance: Tolerance = TOLERANCE,
    typed_only: TypedOnly = False,
    as_json: AsJson = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """Tell missing knowledge from lack of robustness, and which module is at fault, cluster by cluster.

    Exit codes: 0; 2 usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    terms = _terms(clusters, scope, average, lm_errors, seed)
    ready = prepared(rows, blaming, asking, store)
    read = read_rows(rows)
    _say(read)
    again = None
    with _judge(judging, config, store, tolerance, typed_only=typed_only) as judge:
        decisions = decide(read.rows, judge, tolerance)
        if asking.app:
            decisions, again = asked_again(rows, read.rows, decisions, blaming, asking, ready.corpus, judge, tolerance)
    whole = (score_balanced if balanced else score_decided)(read.rows, decisions, terms)
    tagged = tag_rows(read.rows, decisions, terms.scope)
    beyond = found_beyond(read.rows, tagged, ready, again)
    even = None if balanced or (as_json and not blaming.report) else _balanced(read, decisions, terms, whole)
    title = "a balanced sample of " * balanced + rows
    if blaming.report is not None:
        try:
            write_testset_page(blaming.report, title, whole, even, tagged, decisions, beyond)
        except OSError as error:
            raise InputError(f"{blaming.report} can't be written: {error.strerror or error}") from error
        sys.stderr.write(f"report: {blaming.report}\n")
    if as_json:
        sys.stdout.write(json.dumps(whole.as_json() | beyond.as_json(), ensure_ascii=False) + "\n")
    else:
        console = Console()
        print_document(console, scores_document(whole, even, decisions, title))
        print_document(console, beyond_document(beyond))
        check = check_matcher(read.rows, tolerance)
        if check.rows:
            print_document(console, matcher_document(check))
    _leave(read, decisions)


@testset.command("reliability")
@with_judge_flags
def reliability(  # noqa: PLR0913  # a command's flags are its arguments
    rows: Rows,
    *,
    judging: JudgeFlags,
    score: Annotated[list[str], typer.Option(help="NAME=THRESHOLD: an answer passes from there on; may be repeated.")],
    scores: Annotated[
        Path | None,
        typer.Option(help="JSONL with id and scores, as `ragtriage export` writes [default: columns of ROWS]."),
    ] = None,
    interval: Annotated[str, typer.Option(help="wilson, or wald as in the paper.")] = "wilson",
    tolerance: Tolerance = TOLERANCE,
    typed_only: TypedOnly = False,
    as_json: AsJson = False,
    store: Where = None,
    config: Config = None,
) -> None:
    """Hold scores that need no reference against what is right: are they optimistic, are they cynical?

    Exit codes: 0; 2 usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    thresholds = _thresholds(score)
    kind = _one_of("--interval", interval, {"wilson": "wilson", "wald": "wald"})
    read = read_rows(rows)
    _say(read)
    known = read_scores(scores) if scores else None
    with _judge(judging, config, store, tolerance, typed_only=typed_only) as judge:
        decisions = decide(read.rows, judge, tolerance)
    found = [
        reliability_of(read.rows, decisions, name, threshold, known.of(name) if known else None, kind)
        for name, threshold in thresholds.items()
    ]
    if as_json:
        sys.stdout.write(json.dumps({one.score: one.as_json() for one in found}, ensure_ascii=False) + "\n")
    else:
        print_document(Console(), reliability_document(found, kind))
    _leave(read, decisions)


def _terms(clusters: str | None, scope: str, average: str, lm_errors: str, seed: int) -> Terms:
    names = tuple(name.strip() for name in clusters.split(",")) if clusters is not None else None
    if names is not None and len(names) != 2:
        raise ConfigError(f"--clusters {clusters}: name two, as in --clusters short,long")
    return Terms(
        _one_of("--scope", scope, {"pooled": "pooled", "cluster": "per cluster"}),
        _one_of("--average", average, {"rows": "rows", "groups": "groups"}),
        _one_of("--lm-errors", lm_errors, {"correct": "correct", "drop": "drop"}),
        (names[0], names[1]) if names else None,
        seed,
    )


def _thresholds(items: Sequence[str]) -> dict[str, float]:
    """`["groundedness=0.8"]` → name and threshold."""
    found = {}
    for item in items:
        name, sign, value = item.rpartition("=")
        try:
            found[name.strip()] = float(value)
        except ValueError:
            sign = ""
        if not sign or not name.strip() or not math.isfinite(found[name.strip()]):
            raise ConfigError(f"--score {item!r}: write it as NAME=THRESHOLD, for example groundedness=0.8")
    return found


def _one_of(flag: str, value: str, known: dict[str, Any]) -> Any:
    if value not in known:
        raise ConfigError(f"{flag} {value}: use {' or '.join(known)}")
    return known[value]


@contextmanager
def _judge(
    flags: JudgeFlags, config: Path | None, store: str | None, tolerance: float, *, typed_only: bool
) -> Iterator[Callable[[], Judge] | None]:
    """What decides where the typed match can't tell; None if nobody is to."""
    if not math.isfinite(tolerance) or not 0 <= tolerance < 1:
        raise ConfigError(f"--tolerance {tolerance:g}: use a share from 0 to below 1, for example 0.005")
    if typed_only and flags.judge:
        raise ConfigError("--typed-only asks no judge: leave it out, or --judge")
    if typed_only:
        yield None
        return
    with judge_from(flags, config, store) as judge:
        yield lambda: judge


def _balanced(
    read: RowsRead, decisions: Sequence[Decision], terms: Terms, whole: ModularScores
) -> ModularScores | None:
    """The balanced sample's scores; None where it is all there is, or where nothing can be balanced."""
    if whole.comparison is None or not next(iter(whole.comparison.metrics.values())).paired_groups:
        return None
    found = score_balanced(read.rows, decisions, terms)
    names = (whole.comparison.first, whole.comparison.second)
    same = all(found.clusters[name].rows == whole.clusters[name].rows for name in names)
    return None if same else found


def _say(read: RowsRead) -> None:
    """What is wrong with the file, on standard error."""
    total = len(read.rows) + len(read.rejected)
    if read.rejected:
        sys.stderr.write(f"{len(read.rejected):,} of {total:,} rows can't be used:\n")
        sys.stderr.write("".join(f"  {row}\n" for row in read.rejected[:SHOWN]))
        if len(read.rejected) > SHOWN:
            sys.stderr.write(f"  and {len(read.rejected) - SHOWN:,} more\n")
    sys.stderr.write("".join(f"{note}\n" for note in read.notes))


def _leave(read: RowsRead, decisions: Sequence[Decision]) -> None:
    """Exit with 3 if a later call can bring more."""
    failed = sum(decision.failed for decision in decisions)
    if failed:
        first = next(decision.why for decision in decisions if decision.failed)
        sys.stderr.write(f"{failed:,} answers are undecided because the judge failed. The first: {first}\n")
    total = len(read.rows) + len(read.rejected)
    if failed or 10 * len(read.rejected) > total or any(row.ends for row in read.rejected):
        raise typer.Exit(INCOMPLETE)
