"""`ragtriage testset`: test sets out of databases, and what known answers reveal of an application, and of scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rich.console import Console

from ragtriage.cli.app_flags import AppFlags
from ragtriage.cli.console import print_json, tell
from ragtriage.cli.flags import command, parse_names
from ragtriage.cli.help import new_typer
from ragtriage.cli.input_files import check_output, print_rejected
from ragtriage.cli.judge_flags import JudgeFlags
from ragtriage.cli.testset_blame import BlameFlags, ask_again, further_findings, prepare
from ragtriage.cli.testset_decisions import deciding_judge, exit_with
from ragtriage.cli.testset_generation import COMMANDS
from ragtriage.cli.testset_reliability import reliability
from ragtriage.cli.testset_templates import phrase_templates, write
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.report.terminal import print_document
from ragtriage.report.testset_document import (
    example_document,
    failure_analysis_document,
    matcher_document,
    scores_document,
)
from ragtriage.report.testset_page import write_testset_page
from ragtriage.testset.answered_rows import RowsRead, read_rows
from ragtriage.testset.correctness import TOLERANCE, Decision, check_matcher, decide
from ragtriage.testset.example import write_example
from ragtriage.testset.failure_analysis import tag_rows
from ragtriage.testset.scoring import Average, ModularScores, Policy, ScoringOptions, score_balanced, score_decided

testset = new_typer(help="Test sets with known answers: what they reveal about an application.")
for _name, _command in COMMANDS.items():
    testset.command(_name)(_command)
    if _name == "templates":
        testset.command("write")(write)
        testset.command("phrase")(phrase_templates)


@testset.command("example")
@command("testset example")
def example(folder: Path, *, as_json: bool = False) -> None:
    """Write a fictitious engineering consultancy: a database, documents that state a part of it, and an application.

    Exit codes: 0; 2 usage or input.
    """
    written = write_example(folder)
    if as_json:
        print_json(written.as_json())
    else:
        print_document(Console(), example_document(written))


@testset.command("score")
@command("testset score")
def score(  # noqa: PLR0913  # a command's flags are its arguments
    rows: str,
    *,
    clusters: str | None = None,
    scope: Literal["pooled", "cluster"] = "pooled",
    average: Average = "rows",
    lm_errors: Policy = "correct",
    balanced: bool = False,
    seed: int = 0,
    tolerance: float = TOLERANCE,
    typed_only: bool = False,
    as_json: bool = False,
    judge_flags: JudgeFlags,
    blame_flags: BlameFlags,
    app_flags: AppFlags,
) -> None:
    """Tell missing knowledge from weak robustness, cluster by cluster, and which module is at fault.

    Exit codes: 0; 2 usage or input; 3 incomplete (the judge failed on a row, or too many unusable rows).
    """
    check_output(blame_flags.report, rows, "--report")
    names = parse_names(clusters)
    if clusters is not None and len(names) != 2:
        raise ConfigError(f"--clusters {clusters}: name two, as in --clusters short,long")
    compared = (names[0], names[1]) if names else None
    terms = ScoringOptions("pooled" if scope == "pooled" else "per cluster", average, lm_errors, compared, seed)
    ready = prepare(rows, blame_flags, app_flags, judge_flags.store)
    read = read_rows(rows)
    print_rejected(read.rejected, len(read.rows) + len(read.rejected))
    tell(*read.notes)
    again = None
    with deciding_judge(judge_flags, tolerance, typed_only=typed_only) as judge:
        decisions = decide(read.rows, judge, tolerance)
        if app_flags.app:
            decisions, again = ask_again(
                rows, read.rows, decisions, blame_flags, app_flags, ready.corpus, judge, tolerance
            )
    whole = (score_balanced if balanced else score_decided)(read.rows, decisions, terms)
    tagged = tag_rows(read.rows, decisions, terms.scope)
    analysis = further_findings(read.rows, tagged, ready, again)
    even = None if balanced or (as_json and not blame_flags.report) else _balanced(read, decisions, terms, whole)
    title = "a balanced sample of " * balanced + rows
    if blame_flags.report is not None:
        try:
            write_testset_page(blame_flags.report, title, whole, even, tagged, decisions, analysis)
        except OSError as error:
            raise InputError(f"{blame_flags.report} can't be written: {error.strerror or error}") from error
        tell(f"report: {blame_flags.report}")
    if as_json:
        print_json(whole.as_json() | analysis.as_json())
    else:
        console = Console()
        print_document(console, scores_document(whole, even, decisions, title))
        print_document(console, failure_analysis_document(analysis))
        check = check_matcher(read.rows, tolerance)
        if check.rows:
            print_document(console, matcher_document(check))
    exit_with(read, decisions)


testset.command("reliability")(reliability)


def _balanced(
    read: RowsRead, decisions: Sequence[Decision], terms: ScoringOptions, whole: ModularScores
) -> ModularScores | None:
    """The balanced sample's scores; None where it is all there is, or where nothing can be balanced."""
    if whole.comparison is None or not next(iter(whole.comparison.metrics.values())).paired_groups:
        return None
    found = score_balanced(read.rows, decisions, terms)
    names = (whole.comparison.first, whole.comparison.second)
    same = all(found.clusters[name].rows == whole.clusters[name].rows for name in names)
    return None if same else found
