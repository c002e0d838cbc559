"""Before a run: the file is read once, and a run is begun, or the one that was cut off is resumed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ragtriage.core.questions import KINDS
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached
from ragtriage.metrics import metric_named
from ragtriage.metrics.custom_metrics import version_of
from ragtriage.readers import CaseFile
from ragtriage.runs.evaluation_config import EvaluationConfig, judging_stored, to_stored
from ragtriage.runs.events import Listener, RunResumed, RunStarted
from ragtriage.runs.selection import RowCounts, RowSelection, SelectedCases, require_tag
from ragtriage.store import RunIdentity, RunWriter, Store

UNKNOWN_LANGUAGE = "und"
"""ISO 639-2 for a language that nobody could tell."""


@dataclass(frozen=True, slots=True)
class Job:
    """What is to be evaluated."""

    file: CaseFile
    judge: Judge | JudgeSession
    store: Store
    config: EvaluationConfig
    selection: RowSelection
    name: str
    by: str | None
    trials: int
    notify: Listener

    def build_judge(self, trial: int) -> BuiltJudge:
        """The judge of one trial, whose answers are kept in the store."""
        memory = self.store.answers()
        if isinstance(self.judge, JudgeSession):
            free = self.store.free_answers()
            return build_judge(self.judge, memory, free=free, tickets=self.store.tickets(), trial=trial)
        return BuiltJudge(Cached(self.judge, memory, trial=trial), memory)


@dataclass(frozen=True, slots=True)
class PreparedRun:
    """A run that is ready to be written."""

    run: RunWriter
    built: BuiltJudge
    cases: SelectedCases
    rows: RowCounts
    start: RunStarted | RunResumed


def prepare(job: Job, trial: int, first: int | None) -> PreparedRun:
    """Read the file once, and begin a run or resume the one that was cut off.

    Raises:
        ConfigError: a hub reader can't be loaded.
        InputError: no row can be used.
    """
    built = job.build_judge(trial)
    built.open()
    cases, counts = SelectedCases(job.file, job.selection), RowCounts()
    hashed = job.store.scan(job.name)
    for case in cases.counted(counts):
        hashed.add(case)
    counts.require_some(job.name)
    require_tag(job.by, counts.tags)
    identity = RunIdentity(
        hashed.hexdigest(), tuple(m.name for m in job.config.metrics), fingerprints_of(job.config, built.judge), trial
    )
    configuration = to_stored(job.config, job.selection, job.file.mapping) | judging_stored(job.config, built)
    number = _unfinished(job, identity, first)
    if number is not None:
        run = job.store.resume(number, configuration=configuration)
        done = job.store.run(number).info.done
        return PreparedRun(run, built, cases, counts, RunResumed(number, counts.selected, done, trial))
    changed = hashed.changed_since_last()
    run = job.store.begin(
        identity,
        input=job.name,
        rows=counts.selected,
        judge=built.judge.name(),
        configuration=configuration,
        trial=trial,
        repeats=first,
    )
    start = RunStarted(run.number, counts.selected, changed, hashed.last_run, trial)
    return PreparedRun(run, built, cases, counts, start)


def fingerprints_of(config: EvaluationConfig, judge: Judge) -> Mapping[str, str]:
    """What the answers depend on, by kind of question, and what the scores depend on beside them."""
    found: dict[str, str] = {kind: judge.fingerprint(kind) for kind in KINDS}
    found |= {f"metric {m.name}": version_of(m) for m in config.metrics if not metric_named(m.name)}
    # which languages are judged changes no answer, but which scores are undefined
    return found | {"any language": str(judge.unsupported_reason("supported", UNKNOWN_LANGUAGE) is None)}


def _unfinished(job: Job, identity: RunIdentity, first: int | None) -> int | None:
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
