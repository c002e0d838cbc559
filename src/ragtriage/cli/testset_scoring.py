"""What the commands about answered test sets do alike, and what `testset score` finds out beyond the scores.

Alike are the judge that decides answers, and how they end. Beyond the scores are a second run, the corpus, THELMA's
blame and the report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer

from ragtriage.cli.collect import AppFlags, ask
from ragtriage.cli.console import ExitCode, tell
from ragtriage.cli.evaluation_flags import JudgeFlags
from ragtriage.cli.input_files import too_many
from ragtriage.cli.results import open_run
from ragtriage.cli.stores import open_named_store
from ragtriage.collect.answers_file import CollectedLines
from ragtriage.config import Settings
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.readers.files import STDIN, raw_rows
from ragtriage.runs.tally import diagnosed_records
from ragtriage.testset.answered_rows import Row, RowsRead
from ragtriage.testset.corpus import Corpus, look_up_gaps, read_corpus
from ragtriage.testset.correctness import Decision, Given
from ragtriage.testset.failure_analysis import (
    DiagnosedComponent,
    FailureAnalysis,
    blame_agreement,
    diagnosed_components,
)
from ragtriage.testset.groups import TaggedRow
from ragtriage.testset.sufficiency import SecondRun, decide_second_answers, second_questions, second_run_counts


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that is no share."""
    if not math.isfinite(tolerance) or not 0 <= tolerance < 1:
        raise ConfigError(f"--tolerance {tolerance:g}: use a share from 0 to below 1, for example 0.005")


@contextmanager
def deciding_judge(
    flags: JudgeFlags,
    tolerance: float,
    *,
    typed_only: bool,
    settings: Settings | None = None,
    session: JudgeSession | None = None,
) -> Iterator[Callable[[], Judge] | None]:
    """What decides where the typed match can't tell; None if nobody is to."""
    check_tolerance(tolerance)
    if typed_only and flags.judge and session is None:
        raise ConfigError("--typed-only asks no judge: leave it out, or --judge")
    if typed_only:
        yield None
        return
    with flags.opened(settings, session) as judge:
        yield lambda: judge


def exit_with(read: RowsRead, decisions: Sequence[Decision], *, incomplete: bool = False) -> None:
    """Exit with 3 if a later call can bring more."""
    failed = [decision.why for decision in decisions if decision.failed]
    if failed:
        tell(f"{len(failed):,} answers are undecided because the judge failed. The first: {failed[0]}")
    if failed or incomplete or too_many(read.rejected, len(read.rows)):
        raise typer.Exit(ExitCode.INCOMPLETE)


@dataclass(frozen=True)
class BlameFlags:
    """What was given on the command line."""

    given: Given = "sibling"
    second_run: Path | None = None
    corpus: Path | None = None
    run: str | None = None
    report: Path | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """What was read before anything is asked."""

    corpus: Corpus | None
    run: str | None
    """The number of the run that stands beside."""
    components: Mapping[str, DiagnosedComponent]
    """What it says of each case."""


def prepare(
    path: str, flags: BlameFlags, app_flags: AppFlags, store: str | None, project: str | None = None
) -> Prepared:
    """Check the flags against each other, and read the corpus and the run."""
    if not app_flags.app:
        app_flags.refuse()
        if flags.second_run is not None or flags.given != "sibling":
            raise ConfigError("--given and --second-run are for asking again: name the application with --app")
    elif path == STDIN and flags.second_run is None:
        reason = "rows from a pipe have no name, so name a .jsonl file for the answers"
        raise ConfigError(f"--second-run is needed: {reason}")
    corpus = read_corpus(flags.corpus) if flags.corpus else None
    if flags.run is None:
        return Prepared(corpus, None, {})
    with open_named_store(store, project) as there:
        stored, config = open_run(there, flags.run)
        return Prepared(
            corpus, str(stored.number), diagnosed_components(diagnosed_records(stored, config), config.rules)
        )


def ask_again(
    path: str,
    rows: Sequence[Row],
    decisions: list[Decision],
    flags: BlameFlags,
    app_flags: AppFlags,
    corpus: Corpus | None,
    judge: Callable[[], Judge] | None,
    tolerance: float,
) -> tuple[list[Decision], SecondRun]:
    """Ask the application again what it got wrong, from sources that suffice, unless that was asked before."""
    columns = tuple(dict.fromkeys(["query", "id", *(name for row in rows for name in row.columns)]))
    application, policy = app_flags.application(columns, give_sources=True)
    questions = second_questions(rows, decisions, flags.given, corpus.texts if corpus else None)
    plain = Path(path.removesuffix(".gz"))
    where = flags.second_run or plain.with_name(f"{plain.stem}.again.jsonl")
    cases = [one.case for one in questions.questions]
    with CollectedLines(where, retry_failed=app_flags.retry_failed, flag="--second-run") as lines:
        before = sum(lines.has(case) for case in cases)
        tell(f"asking {application.name} again, into {where}: {before} of {len(cases)} were asked before")
        stopped = ask(cases, len(cases), before, application, policy, lines)
    if stopped:
        tell(stopped)
        raise typer.Exit(ExitCode.INCOMPLETE)
    responses = _responses(where)
    found = decide_second_answers(rows, decisions, questions.questions, responses, judge, tolerance)
    return found, second_run_counts(questions, found)


def further_findings(
    rows: Sequence[Row], tagged: Sequence[TaggedRow], ready: Prepared, again: SecondRun | None
) -> FailureAnalysis:
    """Everything that was asked for beyond the scores."""
    gaps, corpus = None, ready.corpus
    if corpus is not None:
        if corpus.skipped:
            tell(f"{plural(corpus.skipped, 'document')} of the corpus can't be used")
        groups = list(dict.fromkeys(one.row.group for one in tagged if one.tag == "gap"))
        gaps = tuple(look_up_gaps(rows, groups, corpus))
    blames = None
    if ready.run is not None:
        blames = blame_agreement(tagged, ready.components, ready.run)
        if blames.missing == len(tagged):
            hint = "evaluate the same file, whose ids it goes by"
            raise ConfigError(f"--run: run {ready.run} holds none of these answers: {hint}")
    return FailureAnalysis(again, gaps, len(corpus.documents) if corpus else 0, blames, ready.components)


def _responses(path: Path) -> dict[str, str]:
    found = {}
    for record in raw_rows(str(path)):
        values = record.values or {}
        if isinstance(values.get("response"), str):
            found[str(values["id"])] = str(values["response"])
    return found
