"""One evaluation on a background loop that the rows of another framework's harness join.

A harness hands over a row at a time, from threads or from coroutines. Each becomes a case of the same evaluation and
waits for its record, so the judge batches whatever is in flight. A stored run is begun by the first row, and finished
whenever no row is in flight.
"""

import asyncio
import secrets
import threading
import weakref
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypedDict, TypeVar

from ragtriage.adapters.judged_row import JudgedRow, not_judged
from ragtriage.config import find_settings, judge_config
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import ConfigError, RagtriageError
from ragtriage.diagnosis.findings import Finding
from ragtriage.evaluation.engine import JoinedEvaluation
from ragtriage.execution.evaluate_file import configuration_of, fingerprints_of, keep_told
from ragtriage.judges.budget import Ledger
from ragtriage.judges.build import BuiltJudge, build_judge
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import Cached, InMemory
from ragtriage.metrics import metrics_named
from ragtriage.readers import Rejected
from ragtriage.readers.case_rows import LooseRows
from ragtriage.runs.case_row import RowsHash, content_hash
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import HARNESS, MADE_BY, About, commit_in
from ragtriage.store import Answers, RunWriter, Store, open_answers, open_store, project_meant


@dataclass(slots=True)
class _Kept:
    """One run, and the rows that it holds."""

    number: int
    rows: RowsHash = field(default_factory=RowsHash)


class HarnessRuns:
    """What is evaluated under another name goes into another run; one of them is open at a time.

    `framework` is what the runs are called by, before their own name; `made_by` marks them: see
    `ragtriage.runs.run.MADE_BY`.
    """

    def __init__(
        self,
        store: Store,
        answers: Answers,
        built: BuiltJudge,
        config: EvaluationConfig,
        framework: str,
        made_by: str | None,
    ) -> None:
        self._store, self._answers, self._built, self._config = store, answers, built, config
        self._framework = framework
        self._made_by = {MADE_BY: made_by} if made_by else {}
        self._ledger = built.ledger or Ledger()
        self._kept: dict[str, _Kept] = {}
        self._left: set[str] = set()
        self._open: tuple[str, RunWriter] | None = None

    def begin(self, name: str, rows: Sequence[Case | Rejected]) -> None:
        """Begin a run of rows that are all known, which it keeps in their order."""
        writer = self._writer(name)
        writer.reject(*(row for row in rows if isinstance(row, Rejected) and (row.field or row.twin_of is None)))
        for _ in writer.todo(row for row in rows if isinstance(row, Case)):
            pass  # each has its place now

    def keep(self, name: str, record: Record) -> tuple[Finding, ...]:
        """Keep a record in the run of this name, and return its findings; raises a StoreError where it can't."""
        writer = self._writer(name)
        assessed = self._config.assess(record)
        writer.keep(record, self._config.heading(record, assessed))
        writer.count_spending(self._ledger.spent)
        self._kept[name].rows.add(record.case)
        return assessed.findings

    def leave(self, name: str) -> None:
        """Not all rows of this run come: it ends as one that was interrupted."""
        self._left.add(name)

    def rest(self) -> None:
        """Commit everything and finish the open run; it is continued if further rows come."""
        self._answers.flush()
        if self._open is None:
            return
        name, writer = self._open
        rows = self._kept[name].rows
        writer.count_spending(self._ledger.spent)
        if name in self._left:
            writer.interrupt()
        else:
            identity = self._identity(rows.hexdigest()).hexdigest()
            writer.finish(rows=rows.rows, rows_hash=rows.hexdigest(), identity=identity)
        self._open = self._answers.payer = None
        keep_told(self._store, writer.number, self._ledger)

    def close(self) -> None:
        """Finish the open run, and let go of the store."""
        try:
            self.rest()
        finally:
            self._answers.close()
            self._store.close()

    def number(self, name: str = "") -> int:
        """The number of a run that was begun."""
        return self._kept[name].number

    def _writer(self, name: str) -> RunWriter:
        if self._open is None or self._open[0] != name:
            self.rest()
            known = self._kept.get(name)
            writer = self._begun(name) if known is None else self._store.resume(known.number)
            self._kept.setdefault(name, _Kept(writer.number))
            writer.begin_spending(self._ledger.spent)
            self._open = name, writer
            if self._built.ledger:
                self._answers.payer = writer  # a kill must not lose what the answers that are kept have cost
        return self._open[1]

    def _begun(self, name: str) -> RunWriter:
        about = About(commit=commit_in(Path.cwd())).stored()
        return self._store.begin(
            self._identity(secrets.token_hex(16)),  # nobody knows the rows yet
            input=f"{self._framework}: {name}" if name else self._framework,
            rows=0,
            judge=self._built.judge.name(),
            configuration=configuration_of(self._config, self._built) | about | self._made_by,
        )

    def _identity(self, rows: str) -> RunIdentity:
        judge = self._built.judge
        return RunIdentity(rows, tuple(m.name for m in self._config.metrics), fingerprints_of(self._config, judge))


MOST_KEPT = 10_000
"""Rows that are remembered, so that one that is asked for again isn't evaluated again."""
IDLE = 1.0
"""Seconds without a row after which the run is finished; the next row continues it."""
T = TypeVar("T")
_Key = tuple[str | None, bytes | None]


class HarnessOptions(TypedDict, total=False):
    """What every adapter takes beside its metrics; what isn't given comes from the settings."""

    judge: str | Judge
    """`embedded`, or `PROVIDER:MODEL`: only then is anything sent."""
    budget: float
    """US dollars that a language model may cost."""
    store: str | Path | None
    """Where the run and the answers are kept; None keeps nothing."""
    fields: Mapping[str, str]
    """Our field → where it stands in a row, as with `--map`."""
    before: Iterable[Mapping[str, Any]]
    """Rows whose answers are known already: they are judged first, as one batch."""


class Harness:
    """What an adapter asks: a row in, what is told of it out. It ends with the last reference to it.

    `made_by` marks its runs as none that `last` means. A ConfigError where a metric, a setting or the judge can't be
    used: nothing was asked.
    """

    def __init__(
        self,
        name: str,
        metrics: Sequence[str] | None = None,
        options: HarnessOptions | None = None,
        *,
        made_by: str | None = HARNESS,
    ) -> None:
        given: HarnessOptions = options or {}
        if wrong := [option for option in given if option not in HarnessOptions.__annotations__]:
            known = ", ".join(HarnessOptions.__annotations__)
            raise ConfigError(f"there is no option {wrong[0]!r}: take one of {known}")
        settings = find_settings(Path.cwd())
        chosen = metrics_named([metrics] if isinstance(metrics, str) else metrics or settings.metrics)
        self.config = EvaluationConfig(
            chosen, settings.thresholds, settings.rules, settings.costs, settings.prompt_price
        )
        judge = given.get("judge") or settings.judge
        session = None
        if isinstance(judge, str | tuple):
            named: dict[str, Any] = {"budget": given["budget"]} if "budget" in given else {}
            named |= {"judge": (judge,) if isinstance(judge, str) else judge} if given.get("judge") else {}
            session = JudgeSession.of(judge_config(settings, named))
        where = given.get("store", settings.store)
        kept = "store" not in given or where is not None
        store = open_store(where, project=project_meant(settings.project, where)) if kept else None
        answers = open_answers(store.database) if store else None
        memory = answers or InMemory()
        if session is not None:
            built = build_judge(session, memory, free=answers and answers.free)
        else:
            built = BuiltJudge(Cached(judge, memory), memory)  # type: ignore[arg-type]  # a name has a session
        built.open()
        self.names = tuple(m.name for m in chosen)
        self.judge = built.judge.name()
        self.names_places = "fields" in given
        """Whether the user says where our fields stand."""
        self._rows = LooseRows(name, {"id": "", **given.get("fields", {})})
        runs = HarnessRuns(store, answers, built, self.config, name, made_by) if store and answers else None
        self._evaluation = _BackgroundEvaluation(built, self.config, runs)
        self.close = weakref.finalize(self, self._evaluation.close)
        """Finish the run and let go of the judge and the store. Called also at the end of the program."""
        if before := [*given.get("before", ())]:
            self.judge_rows(before, kept=False)

    def judged(self, row: Mapping[str, Any], run: str = "", timeout: float | None = None) -> JudgedRow:
        """Judge one row, as a line of a file, and wait for it; a row that is given up takes no other along.

        A TimeoutError if that takes longer than so many seconds.
        """
        future = self._joined(row, run)
        try:
            return future.result(timeout)
        except BaseException:  # also a Ctrl-C
            future.cancel()
            raise

    async def judged_beside(self, row: Mapping[str, Any]) -> JudgedRow:
        """The same on a loop, whichever it is."""
        return await asyncio.wrap_future(self._joined(row, ""))

    def judge_all(self, rows: Sequence[Case | Rejected], run: str = "", *, kept: bool = True) -> list[JudgedRow]:
        """Judge rows that are all known as one batch, in their order; one that says the same as another is told so."""
        future = self._evaluation.start(self._evaluation.all_rows(rows, run if kept else None))
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def judge_rows(self, rows: Sequence[Mapping[str, Any]], *, kept: bool = True) -> list[JudgedRow]:
        """The same of rows as lines of a file, of which equal ones are judged once."""
        read = [self._rows.read(row, number) for number, row in enumerate(rows, 1)]
        return self.judge_all(read, kept=kept)

    def _joined(self, row: Mapping[str, Any], run: str) -> Future[JudgedRow]:
        return self._evaluation.start(self._evaluation.row(self._rows.read(row), run))


class _BackgroundEvaluation:
    """The evaluation and its run, in a thread of their own, where everything but `start` and `close` is called."""

    def __init__(self, built: BuiltJudge, config: EvaluationConfig, runs: HarnessRuns | None) -> None:
        self._built, self._config, self._runs = built, config, runs
        self._evaluation = JoinedEvaluation(
            built.judge, metrics=config.metrics, also=config.diagnosis_steps, window=built.window
        )
        self._tasks: dict[_Key, asyncio.Task[JudgedRow]] = {}
        self._waiting: Counter[_Key] = Counter()
        self._in_flight = 0
        self._rest: asyncio.TimerHandle | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="ragtriage", daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def all_rows(self, rows: Sequence[Case | Rejected], run: str | None) -> list[JudgedRow]:
        if self._runs and run is not None:
            self._runs.begin(run, rows)
        try:
            found = await asyncio.gather(*(self.row(row, run) for row in rows))
        except asyncio.CancelledError:
            if self._runs and run is not None:
                self._runs.leave(run)
            raise
        for at, row in enumerate(rows):
            if isinstance(row, Rejected) and row.twin_of and row.field is None:  # the same content
                found[at] = found[row.twin_of - 1]
        return found

    async def row(self, case: Case | Rejected, run: str | None) -> JudgedRow:
        if isinstance(case, Rejected):
            return not_judged(case, self._config)
        key = run, content_hash(case)
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(self._judged(case, run, key))
            if len(self._tasks) > MOST_KEPT and (oldest := next(iter(self._tasks))) not in self._waiting:
                del self._tasks[oldest]
        self._waiting[key] += 1
        try:
            return await asyncio.shield(task)
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
                if not task.done():
                    task.cancel()
                    self._tasks.pop(key, None)

    async def _judged(self, case: Case, run: str | None, key: _Key) -> JudgedRow:
        self._in_flight += 1
        if self._rest:
            self._rest.cancel()
        try:
            sink = _Sink(self._runs, run) if self._runs and run is not None else None
            record = await self._evaluation.record(case, sink)
            findings = sink.findings if sink else self._config.diagnose(record)
            return JudgedRow(record, self._config.headline(record, findings), self._config)
        except RagtriageError as error:
            self._tasks.pop(key, None)  # it may be tried again
            return not_judged(error, self._config, case)
        finally:
            self._in_flight -= 1
            if self._runs and not self._in_flight:
                self._rest = self._loop.call_later(IDLE, self._runs.rest)

    def close(self) -> None:
        if threading.current_thread() is self._thread:  # garbage is collected in any thread, and this one can't wait
            threading.Thread(target=self.close, name="ragtriage close").start()
            return
        asyncio.run_coroutine_threadsafe(self._closed(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _closed(self) -> None:
        if self._rest:
            self._rest.cancel()
        left = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        try:
            if self._runs:
                self._runs.rest()
        finally:
            try:
                self._built.close()
            finally:
                if self._runs:
                    self._runs.close()


class _Sink:
    """Keeps one record."""

    def __init__(self, runs: HarnessRuns, run: str) -> None:
        self._runs, self._run = runs, run
        self.findings: tuple[Finding, ...] = ()
        """On the record that was kept."""

    def keep(self, record: Record) -> None:
        """See `ragtriage.core.case.Sink`."""
        self.findings = self._runs.keep(self._run, record)
