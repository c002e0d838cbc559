"""`ragtriage evaluate`: a file of answers in, scores, a diagnosis and a stored run out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from ragtriage.cli.app_flags import COLLECTED_COLUMNS, AppFlags, collect_first, default_answers_file, mark_evaluated
from ragtriage.cli.console import ExitCode, tell
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import (
    CaseFlags,
    print_columns,
    print_counts,
    print_optional_metrics,
    rereadable,
)
from ragtriage.cli.interrupts import graceful_ctrl_c
from ragtriage.cli.judge_flags import JudgeFlags
from ragtriage.cli.metric_flags import RequestedMetrics, requested_metrics
from ragtriage.cli.plan import answers_in, print_plan
from ragtriage.cli.progress import progress
from ragtriage.cli.results import default_report, print_run, write_html
from ragtriage.cli.spending import spending, spent, spent_as_json
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.session import JudgeSession
from ragtriage.readers import CaseFile
from ragtriage.report.plan_document import requests_and_price
from ragtriage.report.repeats_document import repeats_document
from ragtriage.report.terminal import print_document
from ragtriage.report.words import plural
from ragtriage.runs.config import EvaluationConfig
from ragtriage.runs.events import CaseDone, Event, Listener, RowsRead, RunResumed, RunStarted
from ragtriage.runs.execute import FileResult, TrialResult, evaluate_file
from ragtriage.runs.selection import ALL_ROWS, RowSelection
from ragtriage.store import open_store


@command("evaluate")
def evaluate(  # noqa: PLR0913  # one parameter a flag
    file: str,
    *,
    metrics: str | None = None,
    case_flags: CaseFlags,
    selection: RowSelection,
    by: str | None = None,
    threshold: list[str] | None = None,
    fail_below: list[str] | None = None,
    fail_above: list[str] | None = None,
    repeat: int = 1,
    dry_run: bool = False,
    as_json: bool = False,
    report: Path | None = None,
    judge_flags: JudgeFlags,
    app_flags: AppFlags,
    collected: Path | None = None,
) -> None:
    """Evaluate the answers in FILE, tell which component to repair, and store the run.

    Exit codes: 0; 1 a gate failed; 2 usage or input; 3 incomplete (failures, too many unusable rows, interrupted).
    """
    settings = judge_flags.settings(threshold, metrics)
    session = judge_flags.session(settings)
    store_address = judge_flags.store_address(settings)
    requested_of = partial(
        requested_metrics, settings, metrics, paid=session.config.paid, fail_below=fail_below, fail_above=fail_above
    )
    answers = collected
    if app_flags.app:
        _refuse_with_app(dry_run=dry_run, split_sources=case_flags.split_sources)
        answers = collected or default_answers_file(app_flags, file, selection, store_address)
    else:
        app_flags.refuse(collected)
    unanswered = False
    with rereadable(file) as path:
        if answers is None:
            cases = case_flags.open(path, settings)
        else:
            questions = case_flags.open_questions(path, settings)
            print_columns(file, questions)
            requested_of(questions.mapping)  # what is wrong with a flag must be said before anything is asked
            unanswered = collect_first(questions, app_flags, selection, answers)
            file, selection = str(answers), ALL_ROWS
            cases = case_flags.open_collected(file, settings, COLLECTED_COLUMNS)
        requested = requested_of(cases.mapping)
        print_columns(file, cases)
        if dry_run:
            with answers_in(store_address) as memory:
                print_plan(file, cases, session, memory, requested, selection, trials=repeat, as_json=as_json)
            return
        with open_store(store_address) as store:
            with ExitStack() as stack:
                listener = _printer(stack, session, cases, requested, by, repeat)
                result = evaluate_file(
                    cases,
                    session,
                    store,
                    requested.config,
                    selection=selection,
                    name=file,
                    by=by,
                    trials=repeat,
                    notify=listener,
                )
            written = report or (None if as_json else default_report(store, result.first.stored))
            _print_result(result, requested.config, as_json=as_json, store=judge_flags.store)
            unwritten = written is not None and not _write_report(written, result, requested.config)
            if result.repeats and not as_json:
                by_judge = result.first.stored.info.judge
                print_document(Console(), repeats_document(result.repeats, input=file, judge=by_judge))
                if taken := spent(result.total):
                    sys.stdout.write(f"{len(result.trials)} trials together: {taken}\n")
    if answers is not None and collected is None and not result.unfinished:
        mark_evaluated(answers)
    failing = requested.gates.failing(result.first.tally.summary())
    tell(*failing, *(line for trial in result.trials for line in _remarks(trial)), *_sent_again(session.ledger))
    if unanswered or unwritten or result.first.rows.incomplete or result.unfinished:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if failing:
        raise typer.Exit(ExitCode.GATE_FAILED)


def _refuse_with_app(*, dry_run: bool, split_sources: str | None) -> None:
    if dry_run:
        raise ConfigError("--dry-run needs the answers: ask with ragtriage collect, then plan its file")
    if split_sources is not None:
        raise ConfigError("--split-sources is for sources in a file; with --app they come from the application")


def _printer(
    stack: ExitStack, session: JudgeSession, cases: CaseFile, requested: RequestedMetrics, by: str | None, trials: int
) -> Listener:
    """Prints the events of an evaluation on standard error; `stack` ends what is still shown if it fails."""
    running = stack.enter_context(ExitStack())
    advance: Any = None

    def cost() -> str:
        return spending(session.ledger) if session.config.paid else ""

    def on_event(event: Event) -> None:
        nonlocal advance
        match event:
            case RowsRead(rows, history_ignored):
                if by is not None and by not in cases.tags:
                    tell(f"note: --by {by}: none of the first rows has this tag")
                if rows.conversations and history_ignored:
                    tell(f"note: {rows.conversations} rows have a conversation; their query is read without it")
                print_counts(rows)
                print_optional_metrics(rows, requested.default_groups)
            case RunStarted() | RunResumed():
                tell(str(event) + (f" (trial {event.trial + 1} of {trials})" if trials > 1 else ""))
                done = event.done if isinstance(event, RunResumed) else 0
                running.enter_context(graceful_ctrl_c(session))
                advance = running.enter_context(progress(event.total, done, cost))
            case CaseDone():
                advance()
            case _:
                running.close()

    return on_event


def _print_result(result: FileResult, config: EvaluationConfig, *, as_json: bool, store: str | None) -> None:
    further = {}
    if result.repeats:
        runs = [trial.stored.number for trial in result.trials]
        further = {"repeats": {**result.repeats.as_json(), "runs": runs, **spent_as_json(result.total)}}
    print_run(result.first.stored, config, result.first.tally, as_json=as_json, further=further, store=store)


def _write_report(path: Path, result: FileResult, config: EvaluationConfig) -> bool:
    """Whether the report could be written; the run is stored all the same, and the report can be written again."""
    stored = result.first.stored
    try:
        write_html(path, stored, config, result.first.tally, result.repeats)
    except InputError as error:
        tell(f"ragtriage: {error}; the run is stored: ragtriage report {stored.number} -o elsewhere.html")
        return False
    tell(f"report: {path}")
    return True


def _remarks(trial: TrialResult) -> Iterator[str]:
    if trial.stopped:
        yield trial.stopped
        rest = f"; the rest would take {requests_and_price(trial.remaining)}" if trial.remaining else ""
        yield f"{trial.stored.info.done} of {trial.rows.selected} cases are done{rest}"
    if trial.cascade:
        decided, passed_on, requests = trial.cascade
        yield (
            f"cascade: the embedded judge decided {decided:,} verdicts and passed {passed_on:,} on, which saved about "
            f"{requests:,} requests"
        )


def _sent_again(ledger: Ledger) -> Iterator[str]:
    if ledger.repeated:
        causes = ", ".join(f"{cause} {count:,}" for cause, count in ledger.repeated.most_common())
        yield f"{plural(ledger.repeated.total(), 'request')} sent again: {causes}"
