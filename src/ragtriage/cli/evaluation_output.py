"""What `ragtriage evaluate` prints: events while it works, then the run, its report and what is to be remarked."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

from rich.console import Console

from ragtriage.cli.console import progress, tell
from ragtriage.cli.evaluation_flags import RequestedMetrics
from ragtriage.cli.input_files import print_counts, print_optional_metrics
from ragtriage.cli.judge import graceful_ctrl_c, spending
from ragtriage.cli.results import (
    default_report,
    print_next_steps,
    print_repeats,
    print_run,
    to_type,
    worst_case,
    write_html,
)
from ragtriage.core.display import plural
from ragtriage.core.errors import InputError
from ragtriage.execution.evaluate_file import FileResult, TrialResult
from ragtriage.execution.evaluating import CaseDone, Event, Listener, RowsRead, RunResumed, RunStarted
from ragtriage.judges.budget import Ledger
from ragtriage.judges.judge_config import in_a_sentence
from ragtriage.judges.session import JudgeSession
from ragtriage.report.plan_document import requests_and_price
from ragtriage.report.run_report import RepeatsReport, RunReport, stored_run_report
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.run import Run
from ragtriage.runs.tally import diagnosed_records
from ragtriage.store.store import Store

_WAITING = "waiting for answers that another evaluation with the same store is asking for"


def event_printer(stack: ExitStack, session: JudgeSession, requested: RequestedMetrics, trials: int) -> Listener:
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
                if rows.conversations and history_ignored:
                    have = "1 row has" if rows.conversations == 1 else f"{rows.conversations:,} rows have"
                    tell(f"note: {have} a conversation; the query is read without it")
                print_counts(rows)
                tell(*(f"note: {note}" for note in requested.notes))
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
    notes: Sequence[str],
    beside: Mapping[str, Any],
) -> bool:
    """Print a run, or repeated ones, and write the report: where `report` says, else in its usual place but for JSON.

    JSON holds what isn't empty of `beside` too.

    False if the report couldn't be written.
    """
    first = result.first
    path = report or (None if as_json else default_report(store, first.stored))
    repeats = None
    if result.repeats:
        runs = tuple(trial.stored.number for trial in result.trials)
        repeats = RepeatsReport(result.repeats, runs, result.total.spent)
    shown = stored_run_report(first.stored, config, first.tally, repeats=repeats)
    print_run(shown, as_json=as_json, beside={"notes": list(notes), **beside})
    if not as_json:
        listed = f"run {first.stored.number} is stored; list its cases: {to_type('show', first.stored, store_flag)}"
        print_next_steps(listed, worst_case(first.stored, shown, store_flag))
    written = path is None or _write_report(path, shown, first.stored, config, store_flag)
    if not as_json:
        print_repeats(Console(), shown)
    return written


def _write_report(path: Path, run: RunReport, stored: Run, config: EvaluationConfig, store: str | None) -> bool:
    """Whether the report could be written; the run is stored all the same, and the report can be written again."""
    try:
        write_html(path, run, partial(diagnosed_records, stored, config))
    except InputError as error:
        tell(f"ragtriage: {error}; the run is stored: {to_type('report', stored, store, '-o', 'elsewhere.html')}")
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
        first, decided, passed_on, requests = trial.cascade
        yield (
            f"cascade: {in_a_sentence(first)} decided {decided:,} verdicts and passed {passed_on:,} on, which saved "
            f"about {requests:,} requests"
        )


def sent_again(ledger: Ledger) -> Iterator[str]:
    """How many requests were sent again, and why."""
    if ledger.repeated:
        causes = ", ".join(f"{cause} {count:,}" for cause, count in ledger.repeated.most_common())
        yield f"{plural(ledger.repeated.total(), 'request')} sent again: {causes}"
