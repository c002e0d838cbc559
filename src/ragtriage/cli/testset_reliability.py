"""`ragtriage testset reliability`: scores that need no reference, held against the truth; table 1 of GRAMMAR."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragtriage.cli.collect import AppFlags, SampleFlags, collect_answers
from ragtriage.cli.console import exit_if, print_found, tell
from ragtriage.cli.evaluation_flags import RequestedMetrics
from ragtriage.cli.evaluation_output import event_printer, sent_again, trial_remarks
from ragtriage.cli.flags import command, parse_numbers
from ragtriage.cli.input_files import print_columns, print_rejected, rereadable
from ragtriage.cli.judge import JudgeFlags, Judging
from ragtriage.cli.results import to_type
from ragtriage.cli.testset_score import check_tolerance, deciding_judge, exit_with
from ragtriage.collect.answers_file import COLLECTED_COLUMNS
from ragtriage.config import Settings
from ragtriage.core.errors import ConfigError, InputError
from ragtriage.core.verdicts import Score
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.metrics import metrics_named
from ragtriage.metrics.generator import self_consistency
from ragtriage.readers import open_cases
from ragtriage.readers.files import STDIN, OpenedFile
from ragtriage.report.testset_document import reliability_document
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.runs.summary import Gates
from ragtriage.store import open_store
from ragtriage.testset.answered_rows import AnsweredRows, read_rows
from ragtriage.testset.correctness import TOLERANCE, decide
from ragtriage.testset.reliability import TABLE_1, IntervalKind, read_scores, reliability_of

SAMPLES = 4
"""Samples that are drawn of every response if nothing else is said: GRAMMAR's setting."""


@command("testset reliability")
def reliability(  # noqa: PLR0913  # a command's flags are its arguments
    rows: str,
    *,
    score: list[str] | None = None,
    scores: Path | None = None,
    interval: IntervalKind = "wilson",
    tolerance: float = TOLERANCE,
    typed_only: bool = False,
    collected: Path | None = None,
    as_json: bool = False,
    judge_flags: JudgeFlags,
    app_flags: AppFlags,
    sample_flags: SampleFlags,
) -> None:
    """Compare scores that need no reference with the truth: are they too optimistic or too cynical?

    Without --score, or with --app, the scores are judged now: GRAMMAR's table 1, groundedness and self-consistency.
    Exit codes: 0; 2 usage or input; 3 incomplete (the application or the judge failed, or too many unusable rows).
    """
    thresholds = parse_numbers(score, "--score", "groundedness=0.8", float)
    check_tolerance(tolerance)
    if not app_flags.app:
        app_flags.refuse(collected)
        if sample_flags != SampleFlags():
            raise ConfigError("--samples and --temperature are for an application: name it with --app")
    if app_flags.app or not thresholds:
        if scores is not None:
            raise ConfigError("--scores holds scores that are known: say which with --score, and leave out --app")
        scored = _judge_now(rows, thresholds, collected, judge_flags, app_flags, sample_flags)
    else:
        scored = _Scored(read_rows(rows), thresholds, read_scores(scores) if scores else None)
    read = scored.read
    print_rejected(read.rejected, len(read.rows) + len(read.rejected))
    tell(*read.notes)
    with deciding_judge(judge_flags, tolerance, typed_only=typed_only, judging=scored.judging) as judge:
        decisions = decide(read.rows, judge, tolerance)
    found = [
        reliability_of(read.rows, decisions, name, threshold, scored.scores, interval)
        for name, threshold in scored.thresholds.items()
    ]
    print_found(
        lambda: {one.score: one.as_json() for one in found},
        lambda: reliability_document(found, interval),
        as_json=as_json,
    )
    exit_with(read, decisions, incomplete=scored.incomplete)


@dataclass(frozen=True, slots=True)
class _Scored:
    """Rows with their scores."""

    read: AnsweredRows
    thresholds: Mapping[str, float]
    scores: Mapping[str, Mapping[str, Any]] | None
    """Row's id → score → value; None where the scores are columns of the rows."""
    judging: Judging | None = None
    """What judged them, where that was done now."""
    incomplete: bool = False
    """Whether the application left something out."""


def _judge_now(
    rows: str,
    thresholds: Mapping[str, float],
    collected: Path | None,
    judge_flags: JudgeFlags,
    app_flags: AppFlags,
    sample_flags: SampleFlags,
) -> _Scored:
    """Ask the application, where one is named, and judge its answers; scores that no answer has are left out."""
    judging = judge_flags.begin()
    config = _config(thresholds, judging.settings)
    file, incomplete = _collected(rows, collected, app_flags, sample_flags) if app_flags.app else (rows, False)
    with rereadable(file) as there:
        read = read_rows(there)
        found, failed = _judged(there, read, config, judging, judge_flags.store, collected=bool(app_flags.app))
    known = {name for values in found.values() for name in values}
    for one in config.metrics:
        if one.name not in known:
            tell(f"note: no answer has {one.name}" + (": it needs samples" if one is self_consistency else ""))
    kept = {one.name: config.thresholds[one.name] for one in config.metrics if one.name in known}
    return _Scored(read, kept, found, judging, incomplete or failed)


def _config(named: Mapping[str, float], settings: Settings) -> EvaluationConfig:
    """The scores that are judged: those that are named, else those of the paper's table."""
    names = list(named or TABLE_1)
    metrics = metrics_named(names)
    if missing := [name for name in names if name not in {m.name for m in metrics}]:
        raise ConfigError(f"--score {missing[0]}: name single metrics, not a group")
    return EvaluationConfig(metrics, {**settings.thresholds, **named}, (), settings.costs)


def _collected(rows: str, collected: Path | None, app_flags: AppFlags, sample_flags: SampleFlags) -> tuple[str, bool]:
    """Ask the application and draw samples; the file, and whether something is missing in it."""
    if collected is None and rows == STDIN:
        raise ConfigError("--collected is needed: questions from a pipe have no name, so name a .jsonl file")
    plain = Path(rows.removesuffix(".gz"))
    path = collected or plain.with_name(f"{plain.stem}.answers.jsonl")
    drawn = SampleFlags(SAMPLES if sample_flags.samples is None else sample_flags.samples, sample_flags.temperature)
    with rereadable(rows) as there:
        questions = open_cases(there, questions=True)
        print_columns(questions)
        found = collect_answers(questions, app_flags, ALL_ROWS, path, drawn)
    found.tell_or_exit()
    return str(path), found.incomplete


def _judged(
    file: OpenedFile,
    read: AnsweredRows,
    config: EvaluationConfig,
    judging: Judging,
    store_flag: str | None,
    *,
    collected: bool,
) -> tuple[dict[str, dict[str, float]], bool]:
    """Judge the answers into a run; row's id → score → its value, and whether the judge failed on one."""
    if not any(row.query and row.response is not None for row in read.rows):
        raise InputError(
            f"{file.name}: no row has a query and a response, so nothing can be judged: ask an application with --app, "
            "or name scores that the rows have with --score NAME=THRESHOLD"
        )
    cases = open_cases(file, mapping=COLLECTED_COLUMNS if collected else None, format="jsonl")
    print_columns(cases)
    requested = RequestedMetrics(config, Gates({}, {}))
    session = judging.session
    with open_store(judging.store) as store, ExitStack() as stack:
        notify = event_printer(stack, session, requested, 1)
        result = evaluate_file(cases, session, store, config, notify=notify)
        trial = result.first
        tell(*trial_remarks(trial), *session.ledger.warnings, *sent_again(session.ledger))
        if trial.stopped:
            tell("give the same command again to go on")
            exit_if(incomplete=True)
        tell(f"run {trial.stored.number} holds the verdicts: {to_type('show', trial.stored, store_flag)}")
        values: dict[str, dict[str, float]] = {}
        for record in trial.stored.records():
            found = {name: outcome.value for name, outcome in record.outcomes.items() if isinstance(outcome, Score)}
            if found:
                values[record.case.id] = found
    if not any(row.id in values for row in read.rows):
        raise InputError(f"{file.name}: no score is of one of its rows: give every row an `id` of its own")
    return values, result.unfinished
