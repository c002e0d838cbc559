"""Cases are judged into a store: by one process at a time, and only those that it doesn't hold yet."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import TypeVar

from ragtriage import __version__
from ragtriage.core.case import Case
from ragtriage.core.questions import KINDS
from ragtriage.core.record import Record
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers import Cached
from ragtriage.metrics import metric_named
from ragtriage.metrics.definitions import version_of
from ragtriage.runs.evaluation_config import EvaluationConfig, to_stored
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.store import RowsHash, RunIdentity, RunInfo, RunWriter, Store, StoredRun
from ragtriage.store.schema import MADE_BY, TESTS
from ragtriage.testing.counting import CountingMemory

PATIENCE = 300.0
"""Seconds that another session is waited for; the processes of one session wait for each other as long as they live."""
SESSION = "session"
"""The key in a run's configuration that says which session wrote it last."""

T = TypeVar("T")


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


class Judges:
    """Who judges, and where what was answered before stands. The judge is built once a process.

    Args:
        session: what the judges share; a judge itself is for tests of the plugin.
        older: a store that can be read and not written.
    """

    def __init__(self, session: JudgeSession | Judge, older: Store | None = None) -> None:
        self._session = session
        self._older = older
        self._built: tuple[Store, BuiltJudge, CountingMemory] | None = None

    def built(self, store: Store) -> tuple[BuiltJudge, CountingMemory]:
        """The judge whose answers are kept in a store, and the memory that counts them."""
        if self._built is None or self._built[0] is not store:
            memory = CountingMemory(store.answers(), self._older.answers() if self._older else None)
            if isinstance(self._session, JudgeSession):
                judge = build_judge(self._session, memory, tickets=store.tickets())
            else:
                judge = BuiltJudge(Cached(self._session, memory), memory)
            self._built = store, judge, memory
        return self._built[1:]

    def close(self) -> None:
        """Let go of the model, and make safe what it answered."""
        if self._built is not None:
            self._built[1].close()
            self._built = None


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
    """Have the wanted cases judged in a run of all cases, unless it holds them already.

    One process judges while the others of its session wait, then read what it stored. A run that holds only some of its
    cases stays unfinished: the next session adds what it selects. A case whose judging failed in this session is left
    as it is, else it is tried again.

    Args:
        cases: all, in the order of the input.
        wanted: the ids of those that are needed.
        judges: who judges.
        store: where the run is kept.
        config: metrics, thresholds and rules.
        name: what people know the cases by.
        session: which test session this is.

    Raises:
        JudgeError: the judge can't work at all, or stopped.
        StoreError: the store can't be used, or another session is judging the same cases for too long.
    """
    built, memory = judges.built(store)
    spent = _Spent(memory)
    identity = _identity(cases, config, built.judge)
    number = store.newest(identity)
    if number is not None and not _missing(store.run(number), wanted, session):
        return spent.on(number)
    with store.alone(f"judging {name}", party=session, patience=PATIENCE):
        number = store.newest(identity)
        missing = set(wanted) if number is None else _missing(store.run(number), wanted, session)
        if number is not None and not missing:
            return spent.on(number)
        stored = {**to_stored(config, ALL_ROWS, {}), MADE_BY: TESTS, SESSION: session}
        if number is None:
            judge = built.judge.name()
            run = store.begin(identity, input=name, rows=len(cases), judge=judge, configuration=stored)
        else:
            run = store.resume(number, configuration=stored)
        with run:
            without_event_loop(lambda: _write(run, cases, missing, built, config))
            if len(_ids(store.run(run.number))) == len(cases):
                run.finish()
    return spent.on(run.number, len(missing))


def judge_case(case: Case, judges: Judges, store: Store, config: EvaluationConfig) -> tuple[Record, Judged]:
    """One case, judged at once. Its answers are remembered; no run holds it. Raises as `judge_cases`."""
    built, memory = judges.built(store)
    spent = _Spent(memory)

    def record() -> Record:
        try:
            found = [*evaluate_sync([case], built.judge, metrics=config.metrics, also=config.diagnosis_steps)]
            return found[0]
        finally:
            built.memory.flush()

    return without_event_loop(record), spent.on(0, 1)


def without_event_loop(work: Callable[[], T]) -> T:
    """Do something that begins an event loop of its own; in another thread where a test is a coroutine."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1, "ragtriage") as thread:
        return thread.submit(work).result()


class _Spent:
    """Counts from now on."""

    def __init__(self, memory: CountingMemory) -> None:
        self._memory = memory
        self._before = memory.judged, memory.remembered
        self._started = time.monotonic()

    def on(self, number: int, cases: int = 0) -> Judged:
        """What was done since, for a run of which some cases were judged."""
        judged, remembered = self._before
        seconds = time.monotonic() - self._started
        return Judged(number, cases, self._memory.judged - judged, self._memory.remembered - remembered, seconds)


def _write(
    run: RunWriter, cases: Sequence[Case], missing: Collection[str], built: BuiltJudge, config: EvaluationConfig
) -> None:
    """Judge what is missing, in its place among all cases, with what it cost."""
    ledger = built.ledger or Ledger()
    before = {name: value - getattr(ledger, name, 0) for name, value in run.spent().items() if name != "seconds"}
    try:
        records = evaluate_sync(
            (case for case in run.todo(cases) if case.id in missing),
            built.judge,
            metrics=config.metrics,
            also=config.diagnosis_steps,
            sink=run,
            window=built.window,
        )
        for _ in records:
            for name, spent in before.items():
                setattr(run, name, spent + getattr(ledger, name))
    finally:
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


def _missing(run: StoredRun, wanted: Collection[str], session: str) -> set[str]:
    """The ids of wanted cases that a run doesn't hold, or that failed in an earlier session."""
    again = run.info.failed and not _written_in(run.info, session)
    failed = {one.id for one in run.rows() if any(_failed(o) for o in one.outcomes.values())} if again else set()
    return (set(wanted) - _ids(run)) | (failed & set(wanted))


def _ids(run: StoredRun) -> set[str]:
    return {row.id for row in run.rows()}


def _failed(outcome: object) -> bool:
    return bool(getattr(outcome, "failed", False))


def _written_in(info: RunInfo, session: str) -> bool:
    return info.configuration.get(SESSION) == session
