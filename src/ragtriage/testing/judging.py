"""Cases are judged into a store: by one process at a time, and only those that it doesn't hold yet.

The judge of a test session is built once a process: what it answers is counted, and its budget is the session's.
"""

import hashlib
import json
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ragtriage import __version__
from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import Stopped
from ragtriage.core.event_loops import without_event_loop
from ragtriage.core.questions import KINDS
from ragtriage.core.verdicts import Answer
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.execution.evaluate_file import configuration_of, judge_for, keep_told
from ragtriage.execution.evaluating import Evaluation
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import BuiltJudge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import AnswerMemory, CachedAnswer
from ragtriage.metrics import metric_named
from ragtriage.metrics.custom_metrics import version_of
from ragtriage.runs.case_row import RowsHash
from ragtriage.runs.evaluation_config import EvaluationConfig, answering_before
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import MADE_BY, NOTHING_SAID, TESTS, About, Run, RunInfo, commit_in
from ragtriage.runs.tally import SlicedTally
from ragtriage.store import Answers, RunWriter, Store, open_answers
from ragtriage.store.lease import exclusive


class CountingMemory:
    """Counts answers that were known (`remembered`), and those that the judge gave (`judged`); see `AnswerMemory`."""

    def __init__(self, memory: AnswerMemory) -> None:
        self._memory = memory
        self.remembered = 0
        self.judged = 0

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """The answers that are known, which are counted."""
        found = self._memory.recall(keys)
        self.remembered += len(found)
        return found

    def remember(self, entries: Iterable[CachedAnswer], spent: Amount = NOTHING) -> None:
        """Count answers, and keep them."""
        kept = list(entries)
        self.judged += len(kept)
        self._memory.remember(kept, spent)

    def flush(self) -> None:
        """See `AnswerMemory`."""
        self._memory.flush()

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`."""
        return self._memory.claim(keys)

    def release(self, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        self._memory.release(keys)


SESSION = "session"
"""The key in a run's configuration that says which session wrote it last."""
SPENT_BEFORE = "spent_before"
"""The key that says what earlier sessions had spent on the run."""


def written_in(info: RunInfo, session: str) -> bool:
    """Whether this session wrote a run last."""
    return info.configuration.get(SESSION) == session


def spending_marks(info: RunInfo | None, session: str) -> dict[str, Any]:
    """What a run's configuration says of the session that writes it now."""
    if info is not None and written_in(info, session):
        before = info.configuration[SPENT_BEFORE]
    else:
        before = {"cost": info.cost if info else 0.0, "requests": info.requests if info else 0}
    return {SESSION: session, SPENT_BEFORE: before}


class SessionBudget:
    """Keeps the limits of a session in one of its processes."""

    def __init__(self) -> None:
        self._own_cost, self._own_requests = 0.0, 0
        self._most: int | None = None

    def leave_room(self, ledger: Ledger, store: Store, session: str) -> None:
        """Count what the other processes have spent on runs so far; no other one may spend meanwhile.

        Cases that tests make aren't in any run: each process counts its own.
        """
        runs = [info for info in store.runs() if written_in(info, session)]
        ledger.spent_before = sum(info.cost - _before(info, "cost") for info in runs) - self._own_cost
        if self._most is None:
            self._most = ledger.max_requests
        if self._most is not None:
            others = sum(info.requests - _before(info, "requests") for info in runs) - self._own_requests
            ledger.max_requests = self._most - round(others)

    def count_own(self, cost: float, requests: int) -> None:
        """This process has spent something on runs."""
        self._own_cost += cost
        self._own_requests += requests


def _before(info: RunInfo, name: str) -> float:
    return float(info.configuration[SPENT_BEFORE][name])


class Judges:
    """Who judges, and where what was answered before stands. The judge is built once a process.

    A judge itself in place of a session is for tests of the plugin.
    """

    def __init__(self, session: JudgeSession | Judge) -> None:
        self.budget = SessionBudget()
        self._session = session
        self._built: tuple[Store, BuiltJudge, CountingMemory, Answers] | None = None

    def built(self, store: Store) -> tuple[BuiltJudge, CountingMemory, Answers]:
        """The judge, the memory that counts its answers, and where they are kept: with the runs of a store."""
        if self._built is None or self._built[0] is not store:
            answers = open_answers(store.database)
            memory = CountingMemory(answers)
            self._built = store, judge_for(self._session, answers, memory=memory), memory, answers
        return self._built[1:]

    def close(self) -> None:
        """Let go of the model, and make safe what it answered."""
        if self._built is not None:
            _, judge, _, answers = self._built
            self._built = None
            with answers:
                judge.close()


PATIENCE = 300.0
"""Seconds that another session is waited for; the processes of one session wait for each other as long as they live."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What judging some cases came to."""

    number: int
    """The run that holds them; 0 for a case that a test made."""
    cases: int = 0
    """Cases that were judged now; the others were judged before."""
    answers: int = 0
    """Answers that the judge gave."""
    remembered: int = 0
    """Answers that were known."""
    seconds: float = 0.0
    cost: float = 0.0
    """In US dollars."""
    stopped: str | None = None
    """Why not all of the cases were judged, as where a budget was reached."""


def judge_cases(
    cases: Sequence[Case],
    wanted: Collection[str],
    judges: Judges,
    store: Store,
    config: EvaluationConfig,
    *,
    name: str,
    session: str,
) -> Judged:
    """Have the wanted cases (ids) judged in a run of all cases, unless it holds them already.

    One process judges while the others of its session wait, then read what it stored. A run that holds only some of its
    cases stays unfinished: the next session adds what it selects. A case whose judging failed in this session is left
    as it is, else it is tried again. Where the judge stops, the run holds what was judged until then.
    """
    built, memory, answers = judges.built(store)
    spent = _Spent(memory, built.ledger)
    identity = _identity(cases, config, built.judge)
    number = store.newest(identity)
    if number is not None and not _missing(store.run(number), wanted, session):
        return spent.on(number)
    # what is paid for is asked by one process at a time, so that a session keeps its budget
    what = f"judging {name}" if built.ledger is None else "asking models for tests"
    with exclusive(store.database, what, party=session, patience=PATIENCE):
        number = store.newest(identity)
        missing = set(wanted) if number is None else _missing(store.run(number), wanted, session)
        if number is not None and not missing:
            return spent.on(number)
        info = None if number is None else store.run(number).info
        of_tests = {MADE_BY: TESTS, **spending_marks(info, session)}
        stored = configuration_of(config, built) | of_tests
        stored |= (About(commit=commit_in(Path.cwd())).over(info.about if info else NOTHING_SAID)).stored()
        if number is None:
            judge = built.judge.name()
            run = store.begin(identity, input=name, rows=len(cases), judge=judge, configuration=stored)
        else:
            run = store.resume(number, configuration=stored)
        stopped: str | None = None
        if built.ledger is not None:
            judges.budget.leave_room(built.ledger, store, session)
            built.ledger.answering |= answering_before(store.runs())
        with run:
            try:
                without_event_loop(lambda: _write(run, cases, missing, built, config, answers))
            except Stopped as error:
                stopped = str(error)
            held = _ids(store.run(run.number))
            if len(held) == len(cases):
                run.finish()
        if built.ledger is not None:
            keep_told(store, run.number, built.ledger)
            judges.budget.count_own(spent.cost, spent.requests)
    return spent.on(run.number, len(missing & held), stopped)


def judge_case(case: Case, judges: Judges, store: Store, config: EvaluationConfig) -> tuple[Record, Judged]:
    """One case, judged at once. Its answers are remembered; no run holds it."""
    built, memory, _ = judges.built(store)
    spent = _Spent(memory, built.ledger)

    def record() -> Record:
        try:
            found = [*evaluate_sync([case], built.judge, metrics=config.metrics, also=config.diagnosis_steps)]
            return found[0]
        finally:
            built.memory.flush()

    return without_event_loop(record), spent.on(0, 1)


class _Spent:
    """Counts from now on."""

    def __init__(self, memory: CountingMemory, ledger: Ledger | None) -> None:
        self._memory = memory
        self._ledger = ledger or Ledger()
        self._before = memory.judged, memory.remembered, self._ledger.cost, self._ledger.requests
        self._started = time.monotonic()

    @property
    def cost(self) -> float:
        """In US dollars."""
        return self._ledger.cost - self._before[2]

    @property
    def requests(self) -> int:
        """Requests that were sent."""
        return self._ledger.requests - self._before[3]

    def on(self, number: int, cases: int = 0, stopped: str | None = None) -> Judged:
        """What was done since, for a run of which some cases were judged."""
        answers, remembered = self._memory.judged - self._before[0], self._memory.remembered - self._before[1]
        return Judged(number, cases, answers, remembered, time.monotonic() - self._started, self.cost, stopped)


def _write(
    run: RunWriter,
    cases: Sequence[Case],
    missing: Collection[str],
    built: BuiltJudge,
    config: EvaluationConfig,
    answers: Answers,
) -> None:
    """Judge what is missing, in its place among all cases, with what it cost."""
    ledger = built.ledger or Ledger()
    run.begin_spending(ledger.spent)
    if built.ledger:
        answers.payer = run  # a kill must not lose what the answers that are kept have cost
    try:
        todo = (case for case in run.todo(cases) if case.id in missing)
        Evaluation(built, config, run, SlicedTally(config)).run(todo, lambda *_: run.count_spending(ledger.spent))
    finally:
        run.count_spending(ledger.spent)
        answers.payer = None
        run.flush()
        built.memory.flush()


def _identity(cases: Sequence[Case], config: EvaluationConfig, judge: Judge) -> RunIdentity:
    """What the records depend on; the thresholds too, since a run is shown as it was judged."""
    rows = RowsHash()
    for case in cases:
        rows.add(case)
    prints: dict[str, str] = {kind: judge.fingerprint(kind) for kind in KINDS}
    prints |= {f"metric {m.name}": version_of(m) for m in config.metrics if not metric_named(m.name)}
    read_by = json.dumps([dict(config.thresholds), [asdict(rule) for rule in config.rules]], sort_keys=True)
    prints["tests"] = f"{__version__} {hashlib.blake2b(read_by.encode(), digest_size=8).hexdigest()}"
    return RunIdentity(rows.hexdigest(), tuple(m.name for m in config.metrics), prints)


def _missing(run: Run, wanted: Collection[str], session: str) -> set[str]:
    """The ids of wanted cases that a run doesn't hold, or that failed in an earlier session."""
    again = run.info.failed and not written_in(run.info, session)
    rows = run.rows() if again else ()
    failed = {one.id for one in rows if any(getattr(o, "failed", 0) for o in one.outcomes.values())}
    return (set(wanted) - _ids(run)) | (failed & set(wanted))


def _ids(run: Run) -> set[str]:
    return {row.id for row in run.rows()}
