"""What `ragtriage evaluate` prints: events while it works, then the run, its report and what is to be remarked."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from rich.console import Console

from ragtriage.cli.console import tell
from ragtriage.cli.input_files import print_counts, print_optional_metrics
from ragtriage.cli.interrupts import graceful_ctrl_c
from ragtriage.cli.metric_flags import RequestedMetrics
from ragtriage.cli.progress import progress
from ragtriage.cli.results import default_report, print_run, write_html
from ragtriage.cli.spending import spending, spent, spent_as_json
from ragtriage.core.display import plural
from ragtriage.core.errors import InputError
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.session import JudgeSession
from ragtriage.readers import CaseFile
from ragtriage.report.plan_document import requests_and_price
from ragtriage.report.repeats_document import repeats_document
from ragtriage.report.terminal import print_document
from ragtriage.runs.config import EvaluationConfig
from ragtriage.runs.events import CaseDone, Event, Listener, RowsRead, RunResumed, RunStarted
from ragtriage.runs.execute import FileResult, TrialResult
from ragtriage.store.store import Store

_WAITING = "waiting for answers that another evaluation with the same store is asking for"


def event_printer(
    stack: ExitStack, session: JudgeSession, cases: CaseFile, requested: RequestedMetrics, by: str | None, trials: int
) -> Listener:
    """Prints the events of an evaluation on standard error; `stack` ends what is still shown if it fails."""
    running = stack.enter_context(ExitStack())
    advance: Any = None
    session.ledger.on_wait = cache(partial(tell, _WAITING))

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


def print_result(
    result: FileResult,
    config: EvaluationConfig,
    store: Store,
    *,
    report: Path | None,
    as_json: bool,
    store_flag: str | None,
) -> bool:
    """Print a run, or repeated ones, and write the report: where `report` says, else in its usual place but for JSON.

    Returns:
        False if the report couldn't be written.
    """
    first = result.first
    path = report or (None if as_json else default_report(store, first.stored))
    print_run(first.stored, config, first.tally, as_json=as_json, further=_repeats_as_json(result), store=store_flag)
    written = path is None or _write_report(path, result, config)
    if result.repeats and not as_json:
        print_document(
            Console(), repeats_document(result.repeats, input=first.stored.info.input, judge=first.stored.info.judge)
        )
        if taken := spent(result.total):
            sys.stdout.write(f"{len(result.trials)} trials together: {taken}\n")
    return written


def _repeats_as_json(result: FileResult) -> dict[str, Any]:
    if not result.repeats:
        return {}
    runs = [trial.stored.number for trial in result.trials]
    return {"repeats": {**result.repeats.as_json(), "runs": runs, **spent_as_json(result.total)}}


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


def trial_remarks(trial: TrialResult) -> Iterator[str]:
    """Why a trial stopped early and what is left, and what a cascade saved."""
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


def sent_again(ledger: Ledger) -> Iterator[str]:
    """How many requests were sent again, and why."""
    if ledger.repeated:
        causes = ", ".join(f"{cause} {count:,}" for cause, count in ledger.repeated.most_common())
        yield f"{plural(ledger.repeated.total(), 'request')} sent again: {causes}"
