"""`ragtriage evaluate`: answers in, scores, a diagnosis and a stored run out.

`ragtriage plan` says what it would take; `ragtriage demo` evaluates the example cases, with an honest word on what was
found.
"""

import shlex
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import typer
from rich.console import Console

from ragtriage.cli.collect import AppFlags, collect_first, default_answers_file, mark_evaluated
from ragtriage.cli.comparison_flags import (
    ComparisonFiles,
    GateFlags,
    against,
    compare_result,
    print_comparison,
    refuse_files,
    write_files,
)
from ragtriage.cli.console import ExitCode, print_found, progress, show, tell
from ragtriage.cli.evaluate_on import Shown, evaluate_on
from ragtriage.cli.evaluation_flags import RequestedMetrics, ScaleFlags, refuse_beside, requested_metrics
from ragtriage.cli.evaluation_output import event_printer, print_result, sent_again, trial_remarks
from ragtriage.cli.flags import command
from ragtriage.cli.input_files import CaseFlags, print_columns, print_counts, print_optional_metrics, read_as_one
from ragtriage.cli.judge import JudgeFlags, without_batches
from ragtriage.cli.opened_stores import answers_in, open_named_store
from ragtriage.cli.results import default_report, open_run, program_name
from ragtriage.cli.send import SendFlags
from ragtriage.collect.answers_file import COLLECTED_COLUMNS
from ragtriage.core.display import listed
from ragtriage.core.errors import ConfigError
from ragtriage.demo import CASES, check_cases, fault_counts, known_faults
from ragtriage.execution.estimate import estimate_file
from ragtriage.execution.evaluate_file import FileResult, TrialResult, evaluate_file
from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig, in_a_sentence
from ragtriage.judges.session import JudgeSession
from ragtriage.monitor.outputs.send_run import SentScores
from ragtriage.readers import CaseFile
from ragtriage.readers.files import STDIN
from ragtriage.report.plan_document import delivery_document, delivery_json, plan_document
from ragtriage.runs.compare.compare import choose_side
from ragtriage.runs.run import About, commit_in
from ragtriage.runs.selection import ALL_ROWS, RowSelection, require_tag_of
from ragtriage.runs.tally import diagnosed_records
from ragtriage.store.store import Store


@command("plan")
def plan(
    files: list[str],
    *,
    metrics: str | None = None,
    case_flags: CaseFlags,
    selection: RowSelection,
    repeat: int = 1,
    exact: bool = False,
    as_json: bool = False,
    judge_flags: JudgeFlags,
) -> None:
    """Show what evaluating FILES would take: requests, tokens, price and time.

    Nothing is asked and nothing is stored; no key and no provider's package is needed. Answers that the store has are
    left out, so the plan of a run that was cut off shows what is left. Exit codes: 0; 2 usage or input; 3 the store
    can't be read.
    """
    judging = judge_flags.begin(judge_flags.settings(metrics=metrics), asks=False)
    settings, config = judging.settings, judging.session.config
    with read_as_one(files) as there:
        cases = case_flags.open(there, settings)
        requested = requested_metrics(settings, metrics, cases.mapping, paid=bool(config.models))
        print_columns(cases)
        session = without_batches(judging.session)
        with answers_in(judging.store) as memory:
            built = [build_judge(session, memory, trial=trial) for trial in range(repeat)]
            judges = [one.judge for one in built]
            with progress(None, 0, word="looking at", unit="rows") as advance:
                estimate, counts = estimate_file(
                    cases,
                    judges,
                    requested.config,
                    selection,
                    concurrency=config.options.concurrency,
                    memory=memory,
                    exact=exact,
                    advance=advance,
                )
    counts.require_some(cases.name)
    print_counts(counts)
    tell(*(f"note: {note}" for note in requested.notes))
    print_optional_metrics(counts, requested.default_groups)
    name, embeddings = judges[0].name(), requested.config.embeddings_of(built[0].embeddings)
    who = {"judge": name} | ({"embeddings": embeddings} if embeddings else {})
    shown = Path(cases.name).name if Path(cases.name).is_absolute() else cases.name
    asked = config.protocol if config.models else None
    rate = "; ".join(one.rate for one in session.deciders.values())
    name += f", repetition by {embeddings}" if embeddings else ""
    notes = _notes(config) + [
        f"The hub model {one.name()} takes about {one.memory() / 1e9:.1f} GB of memory." for one in built[0].hub_models
    ]
    print_found(
        lambda: {"file": cases.name, **who, **estimate.as_json(), "notes": [*requested.notes, *notes]},
        lambda: plan_document(estimate, input=shown, judge=name, notes=notes, asked=asked, rate=rate),
        as_json=as_json,
    )


def _notes(choice: JudgeConfig) -> list[str]:
    notes = []
    if choice.cascade is not None:
        first = in_a_sentence(choice.first)
        notes.append(f"At least: if {first} decides all that it may; at most: if it decides nothing.")
    if choice.batch_api:
        notes.append("By the batch API it costs about half of this price, and takes up to a day.")
    return notes


@command("evaluate")
def evaluate(  # noqa: PLR0913, PLR0915  # one parameter a flag, one step a line
    files: list[str],
    *,
    metrics: str | None = None,
    case_flags: CaseFlags,
    selection: RowSelection,
    by: str | None = None,
    threshold: list[str] | None = None,
    fail_below: list[str] | None = None,
    fail_above: list[str] | None = None,
    baseline: str | None = None,
    gate_flags: GateFlags,
    comparison_files: ComparisonFiles,
    most: int = 10,
    repeat: int = 1,
    name: str | None = None,
    note: str | None = None,
    as_json: bool = False,
    report: Path | None = None,
    project: str | None = None,
    judge_flags: JudgeFlags,
    app_flags: AppFlags,
    collected: Path | None = None,
    scale_flags: ScaleFlags,
    send_flags: SendFlags,
) -> None:
    """Evaluate the answers in FILES, tell which component to repair, and store the run.

    Exit codes: 0; 1 a gate failed; 2 usage or input; 3 incomplete (failures, too many unusable rows, interrupted,
    scores that couldn't be sent).
    """
    began = time.monotonic()
    about = About(name or "", note or "", commit_in(Path.cwd()))
    settings = judge_flags.settings(threshold, metrics)
    refuse_files(comparison_files, report, files, baseline or settings.baseline)
    send_flags.check(files)
    session = judge_flags.session(settings)
    store_address = judge_flags.store_address(settings)
    requested_of = partial(
        requested_metrics,
        settings,
        metrics,
        paid=bool(session.config.models),
        fail_below=fail_below,
        fail_above=fail_above,
    )
    if scale_flags.on:
        refuse_beside(
            {
                "--app": app_flags.app,
                "--collected": collected,
                "--repeat": repeat > 1,
                "--batch-api": judge_flags.batch_api,
                "--limit": selection.limit,
                "--sample": selection.sample,
                "--baseline": baseline,
                "--fail-if-worse": gate_flags.fail_if_worse,
                "--at-most": gate_flags.at_most,
                **comparison_files.named,
                **send_flags.named,
                "-": STDIN in files,
                "several files": len(files) > 1,
            }
        )
        evaluate_on(
            files[0],
            scale_flags,
            case_flags=case_flags,
            judge_flags=judge_flags,
            settings=settings,
            session=session,
            requested_of=requested_of,
            shown=Shown(project, by, about, as_json, report),
        )
        return
    scale_flags.refuse()
    answers: Path | None = None
    if app_flags.app:
        _refuse_with_app(files, split_sources=case_flags.split_sources, sent=[*send_flags.named])
        answers = collected or default_answers_file(app_flags, files[0], selection, store_address)
    else:
        app_flags.refuse(collected)
    with read_as_one(files) as there:
        if answers is None:
            given = _Input(case_flags.open(there, settings), selection)
        else:
            questions = case_flags.open_questions(there, settings)
            print_columns(questions)
            early = requested_of(questions.mapping)
            against(
                gate_flags, baseline, settings, early.config
            )  # what is wrong with a flag must be said before anything is asked
            incomplete = collect_first(questions, app_flags, selection, answers, by, store_address)
            # what is evaluated are all cases of the file of the answers
            cases = case_flags.open(str(answers), settings, columns=COLLECTED_COLUMNS)
            given = _Input(cases, ALL_ROWS, incomplete)
        requested = requested_of(given.cases.mapping)
        wanted = against(gate_flags, baseline, settings, requested.config)
        print_columns(given.cases)
        require_tag_of(given.cases, given.selection, by)
        send_flags.require_traces([given.cases], given.selection)
        with open_named_store(judge_flags.store, project, settings, create=True) as store:
            # while the run that is to be compared with it isn't there yet
            base = choose_side(store, wanted.named) if wanted.named else None
            result = _evaluate(given, session, store, requested, about=about, by=by, trials=repeat)
            compared = compare_result(
                wanted, base, result, requested, store, most=most if comparison_files.named else None
            )
            write_files(comparison_files, compared, base, result, time.monotonic() - began)
            sent = _send(send_flags, result.first, store, requested, quote=comparison_files.quote)
            printed = print_result(
                result,
                requested.config,
                store,
                report=report,
                as_json=as_json,
                store_flag=judge_flags.store,
                notes=requested.notes,
                beside={"comparison": compared.told, "sent": sent.named and delivery_json(sent)},
            )
            if not as_json:
                show(delivery_document(sent, result.first.stored.info.typed))
                print_comparison(compared, result, judge_flags.store)
            if compared.error:
                raise compared.error
    if answers is not None and collected is None and not result.unfinished:
        mark_evaluated(answers)
    failing = compared.failing(requested.gates, result)
    tell(*(f"not complete: {why}" for why in compared.incomplete))
    tell(*failing, *(line for trial in result.trials for line in trial_remarks(trial)), *sent_again(session.ledger))
    unsure = result.first.rows.incomplete or result.unfinished or compared.incomplete
    if given.incomplete or not (printed and sent.complete) or unsure:
        raise typer.Exit(ExitCode.INCOMPLETE)
    if failing:
        raise typer.Exit(ExitCode.GATE_FAILED)


@dataclass(frozen=True, slots=True)
class _Input:
    """What is evaluated."""

    cases: CaseFile
    selection: RowSelection
    incomplete: bool = False
    """Whether the application left a question without an answer, or too many of its rows can't be used."""


def _refuse_with_app(files: list[str], *, split_sources: str | None, sent: Sequence[str]) -> None:
    if len(files) > 1:
        raise ConfigError("--app takes one file of questions: put them together, or evaluate one after the other")
    if split_sources is not None:
        raise ConfigError("--split-sources is for sources in a file; with --app they come from the application")
    if sent:
        raise ConfigError(f"{listed(sent, 'and')}: what --app answers has no trace that scores could be sent back to")


def _send(
    flags: SendFlags, trial: TrialResult, store: Store, requested: RequestedMetrics, *, quote: bool
) -> SentScores:
    """Send the scores of a run that came to its end."""
    return SentScores() if trial.stopped else flags.send(store, [trial.stored], requested.config, quote=quote)


def _evaluate(
    given: _Input,
    session: JudgeSession,
    store: Store,
    requested: RequestedMetrics,
    *,
    about: About,
    by: str | None,
    trials: int,
) -> FileResult:
    """Evaluate into the store, with what happens on standard error."""
    with ExitStack() as stack:
        return evaluate_file(
            given.cases,
            session,
            store,
            requested.config,
            selection=given.selection,
            name=given.cases.name,
            by=by,
            trials=trials,
            about=about,
            notify=event_printer(stack, session, requested, trials),
        )


@command("demo")
def demo(*, report: Path | None = None, store: str | None = None) -> None:
    """Evaluate the example cases and show which of their known faults were found."""
    incomplete: typer.Exit | None = None
    try:
        evaluate([str(CASES)], report=report, store=store)
    except typer.Exit as end:
        incomplete = end
    _compare(store, report)
    if incomplete:
        raise incomplete


def _compare(store: str | None, report: Path | None) -> None:
    """What is known about the example cases beside what was found; read only now, after everything was judged."""
    with open_named_store(store) as there:
        stored, config = open_run(there, "last")
        written = report or default_report(there, stored)
        found = ((record.case.id, findings) for record, findings in diagnosed_records(stored, config))
        marked = check_cases(known_faults(), found)
    named, faults, blamed, sound = fault_counts(marked)
    console = Console()
    console.print()
    console.print(f"Of {faults} known faults, the judge named {named}; of {sound} sound cases, it blamed {blamed}.")
    for title, some in (
        ("Missed", [m for m in marked if not m.known.sound and not m.right]),
        ("Blamed, though sound", [m for m in marked if m.known.sound and not m.right]),
    ):
        if some:
            console.print(f"{title}:")
        for m in some:
            instead = f" (found: {', '.join(m.rules)})" if m.rules else ""
            fault = "" if m.known.sound else f"{m.known.fault}: "
            console.print(f"  {m.known.id}  {fault}{m.known.note}{instead}", markup=False, highlight=False)
    console.print()
    if written:
        console.print(f"The report: {written}", markup=False, highlight=False, soft_wrap=True)
    console.print("The cases in a browser:")
    flag = f" --store {shlex.quote(store)}" if store else ""
    console.print(f"  {program_name()} view{flag}", markup=False, highlight=False, soft_wrap=True)
    console.print("Your own file (JSONL, JSON or CSV with a question, an answer and the retrieved texts):")
    console.print(f"  {program_name()} evaluate answers.jsonl", markup=False, highlight=False)
