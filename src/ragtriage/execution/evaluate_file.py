"""A file of cases becomes a stored run: prepared, evaluated, counted.

`evaluate_file` is the door for Python: it needs no command line, and tells a listener what happens.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Protocol

from ragtriage.core.amount import NOTHING
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import Stopped, StoreError
from ragtriage.core.questions import KINDS
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis.findings import Finding
from ragtriage.evaluation.estimate import EvaluationEstimate
from ragtriage.execution.estimate import estimate_file
from ragtriage.execution.evaluating import (
    INTERRUPTED,
    CaseDone,
    Evaluation,
    Listener,
    RowsRead,
    RunFinished,
    RunResumed,
    RunStarted,
    RunStopped,
)
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import AnswerMemory, Cached
from ragtriage.metrics import metric_named
from ragtriage.metrics.custom_metrics import version_of
from ragtriage.planning.relations import REPLACING_KINDS
from ragtriage.readers import CaseFile, Rejected
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.evaluation_config import (
    ANSWERING,
    COUNTING,
    EMBEDDINGS,
    WARNINGS,
    EvaluationConfig,
    answering_before,
    to_stored,
)
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.repeats import RepeatSummary, repeats_of
from ragtriage.runs.run import NOTHING_SAID, About, Run, RunInfo
from ragtriage.runs.selection import ALL_ROWS, RowCounts, RowSelection, SelectedCases, require_tag
from ragtriage.runs.tally import SlicedTally, keep_counts, tally_of
from ragtriage.store import Answers, RunWriter, Store, open_answers
from ragtriage.store.tables import InputScan

UNKNOWN_LANGUAGE = "und"
"""ISO 639-2 for a language that nobody could tell."""


@dataclass(frozen=True, slots=True)
class FileJob:
    """What is to be evaluated."""

    file: CaseFile
    judge: Judge | JudgeSession
    store: Store
    answers: Answers
    config: EvaluationConfig
    selection: RowSelection
    name: str
    by: str | None
    trials: int
    about: About
    notify: Listener


def judge_for(
    judge: Judge | JudgeSession, answers: Answers, trial: int = 0, memory: AnswerMemory | None = None
) -> BuiltJudge:
    """The judge of one trial, whose answers are remembered; `memory` stands between it and the answers."""
    memory = memory or answers
    if isinstance(judge, JudgeSession):
        free = memory if answers.free is answers else answers.free
        return build_judge(judge, memory, free=free, tickets=answers.tickets(), trial=trial)
    return BuiltJudge(Cached(judge, memory, trial=trial), memory)


class CaseStream(Protocol):
    """The cases of a run."""

    def read(self, on_rejected: Callable[[Rejected], None]) -> Iterable[Case]:
        """Stream them in the order of their places; rows that can't be used go to `on_rejected` as they come."""


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that is ready to be written."""

    run: RunWriter
    built: BuiltJudge
    cases: CaseStream
    start: RunStarted | RunResumed


def prepare(job: FileJob, trial: int, first: int | None) -> tuple[PreparedRun, RowCounts]:
    """Read the file once, and begin a run or resume the one that was cut off."""
    built = judge_for(job.judge, job.answers, trial)
    built.open()
    if built.ledger:
        built.ledger.answering |= answering_before(job.store.runs())
    cases, counts = SelectedCases(job.file, job.selection), RowCounts()
    hashed = InputScan(job.store.database, job.name, job.store.project)
    for case in cases.counted(counts):
        hashed.add(case)
    counts.require_some(job.name)
    require_tag(job.by, counts.tags)
    identity = RunIdentity(
        hashed.hexdigest(), tuple(m.name for m in job.config.metrics), fingerprints_of(job.config, built.judge), trial
    )
    configuration = configuration_of(job.config, built, job.selection, job.file.mapping)
    number = _unfinished(job, identity, first)
    if number is not None:
        before = job.store.run(number).info
        if built.ledger:
            built.ledger.warnings += before.configuration.get(WARNINGS, ())
        run = job.store.resume(number, configuration=configuration | job.about.over(before.about).stored())
        done = job.store.run(number).info.done
        return PreparedRun(run, built, cases, RunResumed(number, counts.selected, done, trial)), counts
    changed = hashed.changed_since_last()
    run = job.store.begin(
        identity,
        input=job.name,
        rows=counts.selected,
        judge=built.judge.name(),
        configuration=configuration | job.about.stored(),
        trial=trial,
        repeats=first,
    )
    start = RunStarted(run.number, counts.selected, changed, hashed.last_run, trial)
    return PreparedRun(run, built, cases, start), counts


def configuration_of(
    config: EvaluationConfig,
    built: BuiltJudge,
    selection: RowSelection = ALL_ROWS,
    mapping: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, Any]:
    """What is stored with a run of its metrics, rows and judge."""
    judging = {COUNTING: built.counting, EMBEDDINGS: config.embeddings_of(built.embeddings)}
    return to_stored(config, selection, mapping) | {key: value for key, value in judging.items() if value}


def keep_told(store: Store, number: int, ledger: Ledger | None) -> None:
    """Store with a run what its judge's replies showed."""
    for key, value in ((WARNINGS, ledger.warnings), (ANSWERING, ledger.answering)) if ledger else ():
        if value:
            store.add_to_configuration(number, key, value)


def fingerprints_of(config: EvaluationConfig, judge: Judge) -> Mapping[str, str]:
    """What the answers depend on, by kind of question, and what the scores depend on beside them."""
    found: dict[str, str] = {kind: judge.fingerprint(kind) for kind in KINDS}
    found |= {f"metric {m.name}": version_of(m) for m in config.metrics if not metric_named(m.name)}
    # which languages are judged changes no answer, but which scores are undefined
    return found | {"any language": str(judge.unsupported_reason("supported", UNKNOWN_LANGUAGE) is None)}


def _unfinished(job: FileJob, identity: RunIdentity, first: int | None) -> int | None:
    """The run to resume: one that was cut off or, where a later trial was, the one that this trial wrote."""
    store = job.store
    found = store.unfinished(identity)
    if found is not None:
        return found
    if first is not None:
        own = identity.hexdigest()
        return next((info.number for info in store.runs() if (info.repeats, info.identity) == (first, own)), None)
    for trial in range(1, job.trials):
        later = store.unfinished(replace(identity, trial=trial))
        if later is not None:
            return store.run(later).info.repeats
    return None


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
    about: About = NOTHING_SAID,
    notify: Listener = lambda _: None,
) -> FileResult:
    """Evaluate a file into a store, once or several times; a run that was cut off is continued.

    After Ctrl-C, or where the judge stops (a budget, a batch that isn't answered yet), what is done is kept, and the
    result says why it stopped. `name` is the file as it is to be called, `by` a tag of which every value is counted
    too. What stops one of the trials stops those that would follow. Of a run that is continued a new name and a new
    note go first. `notify` is called with every event, in this thread.

    Raises:
        InputError: no row can be used.
        ConfigError: no row has the tag.
        JudgeError: the judge can't work at all. What was kept before stays; so with a StoreError.
        StoreError: the store can't be written.
    """
    results: list[TrialResult] = []
    with open_answers(store.database) as answers:
        job = FileJob(file, judge, store, answers, config, selection, name or file.name, by, trials, about, notify)
        while len(results) < trials and not (results and results[-1].stopped):
            results.append(_run_trial(job, len(results), results[0].stored.number if results else None))
    return FileResult(tuple(results), repeats_of([trial.stored for trial in results], config))


def _run_trial(job: FileJob, trial: int, first: int | None) -> TrialResult:
    """Prepare, execute and count one run; `first` is the number of the first trial's."""
    ready, rows = prepare(job, trial, first)
    with ready.run as run:
        if trial == 0:
            ignored = any(ready.built.judge.unsupported_reason(kind, "en") for kind in REPLACING_KINDS)
            job.notify(RowsRead(rows, ignored))
        job.notify(ready.start)
        tally = SlicedTally(job.config, job.by)
        reason = write_run(ready, tally, job.config, job.store, job.answers, job.notify)
        job.notify(RunStopped(run.number, reason) if reason else RunFinished(run.number))
    keep_told(job.store, run.number, ready.built.ledger)
    stored = job.store.run(run.number)
    cascade = ready.built.cascade
    saved = (cascade.first_name, cascade.decided, cascade.passed_on, cascade.saved.requests) if cascade else None
    if reason is None:
        return TrialResult(stored, tally, rows, cascade=saved)
    remaining = _remaining(job, ready.built.judge, trial) if reason != INTERRUPTED else None
    # it may have stopped between keeping a case and counting it: the store is right
    return TrialResult(stored, tally_of(stored, job.config, job.by), rows, reason, remaining, saved)


def write_run(
    ready: PreparedRun, tally: SlicedTally, config: EvaluationConfig, store: Store, answers: Answers, notify: Listener
) -> str | None:
    """Evaluate what is left of a run, counting every record, those of an earlier start first, and finish it.

    Gives None if it came to its end, else why it stopped. What was kept before stays, whatever is raised.
    """
    run, built = ready.run, ready.built
    ledger = built.ledger or Ledger()
    ledger.spent_before += run.spent.cost
    run.begin_spending(ledger.spent)
    stop = lambda error: ledger.stop(str(error))  # noqa: E731  # short
    evaluation = Evaluation(built, config, run, tally, stop)

    def done(record: Record, findings: tuple[Finding, ...]) -> None:
        run.count_spending(ledger.spent)
        notify(CaseDone(record, findings))

    try:
        if isinstance(ready.start, RunResumed) and ready.start.done:
            run.head_anew(_headed_anew(store.run(run.number), config, tally))
        if built.ledger:
            answers.payer = run  # a kill must not lose what the answers that are kept have cost
            answers.on_failure = stop
        try:
            evaluation.run(run.todo(ready.cases.read(run.reject)), done)
        finally:
            answers.on_failure = _ignore
            run.count_spending(ledger.spent)
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
        unsaved = answers.unsaved
        raise StoreError(f"{error}; {unsaved}" if unsaved and unsaved not in str(error) else str(error)) from error
    keep_counts(store.run(run.number), config, tally, shared=not store.database.is_sqlite)
    return None


def _remaining(job: FileJob, judge: Judge, trial: int) -> EvaluationEstimate | None:
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
