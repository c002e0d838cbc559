"""What `testset score` finds out beyond the scores: a second run, the corpus, THELMA's blame, the report."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from ragtriage.cli.app_flags import AppFlags, ask
from ragtriage.cli.console import ExitCode, tell
from ragtriage.cli.results import open_run
from ragtriage.cli.stores import open_named_store
from ragtriage.collect.answers_file import CollectedLines
from ragtriage.core.display import plural
from ragtriage.core.errors import ConfigError
from ragtriage.judges.protocol import Judge
from ragtriage.readers.files import STDIN, raw_rows
from ragtriage.runs.tally import diagnosed_records
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.corpus import Corpus, look_up_gaps, read_corpus
from ragtriage.testset.correctness import Decision, Given
from ragtriage.testset.failure_analysis import (
    DiagnosedComponent,
    FailureAnalysis,
    SecondRun,
    TaggedRow,
    blame_agreement,
    decide_second_answers,
    diagnosed_components,
    second_questions,
    second_run_counts,
)


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
