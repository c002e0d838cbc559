"""A file of cases becomes a stored run: prepared, executed, counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from ragtriage.core.amount import NOTHING
from ragtriage.core.case import Case
from ragtriage.core.errors import Stopped, StoreError
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis import Finding
from ragtriage.evaluation.estimate import EvaluationEstimate
from ragtriage.execution.estimate import estimate_file
from ragtriage.execution.evaluating import Evaluation
from ragtriage.execution.events import INTERRUPTED, CaseDone, Listener, RowsRead, RunFinished, RunResumed, RunStopped
from ragtriage.execution.prepare import Job, PreparedRun, prepare
from ragtriage.execution.spending import RunSpending
from ragtriage.execution.store_failures import store_failure
from ragtriage.judges.build import build_judge
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.planning.relations import REPLACING_KINDS
from ragtriage.readers import CaseFile
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.place import RunInfo
from ragtriage.runs.repeats import RepeatSummary, repeats_of
from ragtriage.runs.run import Run
from ragtriage.runs.selection import ALL_ROWS, RowCounts, RowSelection
from ragtriage.runs.tally import SlicedTally, tally_of
from ragtriage.store import Store, open_answers


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One evaluation of a file, and how it ended."""

    stored: Run
    tally: SlicedTally
    rows: RowCounts
    stopped: str | None = None
    """Why it ended early; None if all cases were evaluated."""
    remaining: EvaluationEstimate | None = None
    """What the rest would take, further trials included; None unless a paid judge stopped on its own."""
    cascade: tuple[str, int, int, int] | None = None
    """Of a cascade: the first judge's name, verdicts that it decided, verdicts passed on, requests saved."""


@dataclass(frozen=True, slots=True)
class FileResult:
    """A file, evaluated once or several times, each a run of its own."""

    trials: tuple[TrialResult, ...]
    """At least one; fewer than asked for if one of them stopped."""
    repeats: RepeatSummary | None
    """How far the trials agree; None for a single one."""

    @property
    def first(self) -> TrialResult:
        """The one whose numbers are shown."""
        return self.trials[0]

    @property
    def unfinished(self) -> bool:
        """Whether a trial stopped early, or the judge failed on a case."""
        return any(trial.stopped or trial.stored.info.failed for trial in self.trials)

    @property
    def total(self) -> RunInfo:
        """The first run, with what all of them took."""
        infos = [trial.stored.info for trial in self.trials]
        return replace(infos[0], **{name: sum(getattr(info, name) for info in infos) for name in asdict(NOTHING)})


def evaluate_file(  # noqa: PLR0913  # what is evaluated, by which judge, where it is stored, and how
    file: CaseFile,
    judge: Judge | JudgeSession,
    store: Store,
    config: EvaluationConfig,
    *,
    selection: RowSelection = ALL_ROWS,
    name: str | None = None,
    by: str | None = None,
    trials: int = 1,
    notify: Listener = lambda _: None,
) -> FileResult:
    """Evaluate a file into a store, once or several times; a run that was cut off is continued.

    After Ctrl-C, or where the judge stops (a budget, a batch that isn't answered yet), what is done is kept, and the
    result says why it stopped.

    Args:
        file: the cases; see `ragtriage.readers.open_cases`.
        judge: any judge, or a session in which it is built from a configuration. Its answers are kept with the runs.
        store: where the runs are kept.
        config: metrics, thresholds and rules.
        selection: which rows.
        name: the file as it is to be called; its path by default.
        by: a tag: count also each of its values.
        trials: how many times to evaluate it; what stops one stops those that would follow.
        notify: called with every event, in this thread.

    Raises:
        InputError: no row can be used.
        ConfigError: no row has the tag.
        JudgeError: the judge can't work at all. What was kept before stays; so with a StoreError.
        StoreError: the store can't be written.
    """
    results: list[TrialResult] = []
    with open_answers(store.database) as answers:
        job = Job(file, judge, store, answers, config, selection, name or file.name, by, trials, notify)
        while len(results) < trials and not (results and results[-1].stopped):
            results.append(_run_trial(job, len(results), results[0].stored.number if results else None))
    return FileResult(tuple(results), repeats_of([trial.stored for trial in results], config))


def _run_trial(job: Job, trial: int, first: int | None) -> TrialResult:
    """Prepare, execute and count one run; `first` is the number of the first trial's."""
    ready = prepare(job, trial, first)
    with ready.run as run:
        if trial == 0:
            ignored = any(ready.built.judge.unsupported_reason(kind, "en") for kind in REPLACING_KINDS)
            job.notify(RowsRead(ready.rows, ignored))
        job.notify(ready.start)
        tally = SlicedTally(job.config, job.by)
        reason = _execute(job, ready, tally)
        job.notify(RunStopped(run.number, reason) if reason else RunFinished(run.number))
    stored = job.store.run(run.number)
    cascade = ready.built.cascade
    saved = (cascade.first_name, cascade.decided, cascade.passed_on, cascade.saved.requests) if cascade else None
    if reason is None:
        return TrialResult(stored, tally, ready.rows, cascade=saved)
    remaining = _remaining(job, ready.built.judge, trial) if reason != INTERRUPTED else None
    # it may have stopped between keeping a case and counting it: the store is right
    return TrialResult(stored, tally_of(stored, job.config, job.by), ready.rows, reason, remaining, saved)


def _execute(job: Job, ready: PreparedRun, tally: SlicedTally) -> str | None:
    """Evaluate what is left, counting every record, those of an earlier start first.

    Returns:
        None if it came to its end; else why it stopped.
    """
    run, built, answers = ready.run, ready.built, job.answers
    ledger = built.ledger or Ledger()
    ledger.spent_before += run.cost
    spending = RunSpending(run, ledger.spent)
    stop = lambda error: ledger.stop(str(error))  # noqa: E731  # short
    evaluation = Evaluation(built, job.config, run, tally, stop)

    def done(record: Record, findings: tuple[Finding, ...]) -> None:
        spending.count(ledger.spent)
        job.notify(CaseDone(record, findings))

    try:
        if isinstance(ready.start, RunResumed) and ready.start.done:
            run.head_anew(_headed_anew(job.store.run(run.number), job.config, tally))
        if built.ledger:
            answers.payer = spending  # a kill must not lose what the answers that are kept have cost
            answers.on_failure = stop
        try:
            evaluation.run(run.todo(ready.cases.read(run.reject)), done)
        finally:
            answers.on_failure = _ignore
            spending.count(ledger.spent)
            try:
                built.close()
            finally:
                answers.payer = None
        run.finish()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Stopped as stopped:
        return str(stopped)
    except StoreError as error:
        raise StoreError(store_failure(error, tally.summary().cases, run, answers.unsaved)) from error
    return None


def _remaining(job: Job, judge: Judge, trial: int) -> EvaluationEstimate | None:
    """What the rest of this trial and all later ones would take; None for free judges and for batch APIs."""
    session, memory = job.judge, job.answers
    if not isinstance(session, JudgeSession) or not session.config.paid or session.config.batch_api:
        return None
    return estimate_file(
        job.file,
        [judge, *(build_judge(session, memory, trial=later).judge for later in range(trial + 1, job.trials))],
        job.config,
        job.selection,
        concurrency=session.config.options.concurrency,
        memory=memory,
        first_trial=trial,
        sample=0,
    )[0]


def _headed_anew(stored: Run, config: EvaluationConfig, tally: SlicedTally) -> Iterator[tuple[Case, CaseHeading]]:
    """What is stored of a continued run, read under the criteria of now and, but for what failed, counted."""
    for record in stored.records():
        assessed = config.assess(record)
        if not any(isinstance(o, Undefined) and o.failed for o in record.outcomes.values()):
            tally.add(record, assessed)
        yield record.case, config.heading(record, assessed)


def _ignore(_: StoreError) -> None:
    """Nothing is left to be stopped."""
