"""The only orchestration: plan × cases × judge, streaming, in bounded memory.

Every case is a task of its own that goes on as soon as its answers are there; a judge that likes full batches gathers
the questions of many cases itself. At most `window` cases are in flight, so memory doesn't grow with the input.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import CORO_CREATED, getcoroutinestate
from itertools import islice
from pathlib import Path
from traceback import extract_tb
from typing import Any

from ragtriage.core.case import WINDOW, Case, Record, Sink
from ragtriage.core.errors import ConfigError, JudgeError, StoreError
from ragtriage.core.metric import Metric
from ragtriage.core.questions import Question
from ragtriage.core.steps import Step
from ragtriage.core.verdicts import Answer, Failure, Known, Missing, Outcome, Score, Undefined
from ragtriage.judges.protocol import TURN, Judge
from ragtriage.metrics import THELMA
from ragtriage.planning.levels import Plan, StepQuestions, outcome_of, plan, questions_for, recorded
from ragtriage.text.language import language_of


async def evaluate(
    cases: Iterable[Case],
    judge: Judge,
    *,
    metrics: Sequence[Metric] = THELMA,
    also: Sequence[Step] = (),
    sink: Sink | None = None,
    window: int = WINDOW,
    language: Callable[[Case], str] = language_of,
) -> AsyncIterator[Record]:
    """Evaluate cases, yielding each record as it is complete (not in the order of the input).

    Args:
        cases: read lazily, at most `window` ahead.
        judge: what answers the questions.
        metrics: what to compute.
        also: further steps to take, for example `needs_of(rules)` for the diagnosis.
        sink: keeps every record before it is yielded.
        window: how many cases may be in flight, at least 1.
        language: tells a case's language, ISO 639-1.

    Raises:
        ConfigError: the window is below 1.
        JudgeError: the judge can't work at all. Records that were yielded before stay valid.
        StoreError: the sink can't keep a record, or the judge's memory its answers.
    """
    if window < 1:
        raise ConfigError(f"the window is {window}: at least one case must be in flight")
    planned = plan(metrics, also)
    waiting = enumerate(cases)
    asked = _Asked(judge)
    running: set[asyncio.Task[Record]] = set()
    try:
        while True:
            for turn, case in islice(waiting, 0 if asked.failed else window - len(running)):
                TURN.set(turn)  # each task takes it along
                running.add(asyncio.create_task(_evaluate_case(case, planned, asked, language)))
            if not running:
                break
            done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                running.discard(task)
                # after an error, what other cases are waiting for may be paid for: they come to their own end first
                record = _kept(task, asked, sink)
                if record:
                    yield record
        if asked.failed:
            raise asked.failed
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)


def evaluate_sync(
    cases: Iterable[Case],
    judge: Judge,
    *,
    metrics: Sequence[Metric] = THELMA,
    also: Sequence[Step] = (),
    sink: Sink | None = None,
    window: int = WINDOW,
) -> Iterator[Record]:
    """`evaluate` for callers without an event loop; arguments and results are the same.

    Raises:
        ConfigError: an event loop is running in this thread; else as `evaluate`.
    """
    with suppress(RuntimeError):
        asyncio.get_running_loop()
        raise ConfigError("an event loop is running here, as in a notebook: use `async for record in evaluate(…)`")
    with asyncio.Runner() as runner:
        records = evaluate(cases, judge, metrics=metrics, also=also, sink=sink, window=window)

        received: list[Record] = []
        pending: set[asyncio.Task[Any] | None] = set()

        async def advance() -> bool:
            pending.add(asyncio.current_task())
            # the record isn't returned: asyncio's runner writes a finished task's result out in full
            record = await anext(records, None)
            received[:] = [record] if record else []
            pending.clear()
            return record is not None

        async def close() -> None:
            for task in filter(None, pending):  # a Ctrl-C has broken off in the middle of it
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
            await records.aclose()  # type: ignore[attr-defined]  # an async generator, typed by what callers may use

        step = advance()
        try:
            while runner.run(step):
                yield received.pop()
                step = advance()
        finally:
            # A Ctrl-C may come when a record has just come: then the wish to stop the loop is still waiting in it, and
            # would end the closing half-way. One turn of the loop uses it up.
            loop = runner.get_loop()
            loop.stop()
            loop.run_forever()
            if getcoroutinestate(step) == CORO_CREATED:  # a Ctrl-C came before it began
                step.close()
            runner.run(close())


class JoinedEvaluation:
    """An evaluation that cases join one by one, on a running loop; see `evaluate` for arguments.

    Cases that are in flight together are judged together. A case that is cancelled takes no other along.
    """

    def __init__(
        self, judge: Judge, *, metrics: Sequence[Metric] = THELMA, also: Sequence[Step] = (), window: int = WINDOW
    ) -> None:
        self._planned = plan(metrics, also)
        self._asked = _Asked(judge)
        self._free = asyncio.Semaphore(window)

    async def record(self, case: Case, sink: Sink | None = None) -> Record:
        """Evaluate one case, beside those that are in flight, and keep it.

        Raises:
            JudgeError: the judge can't be asked about this case.
            StoreError: the sink can't keep the record, or couldn't keep an earlier one: nothing more is asked then.
        """
        async with self._free:
            try:
                if self._asked.failed:
                    raise self._asked.failed
                record = await _evaluate_case(case, self._planned, self._asked, language_of)
                if sink:
                    sink.keep(record)
            except StoreError as error:
                self._asked.fails(error)
                raise
            return record


@dataclass
class _Asked:
    """The judge, which is asked nothing more once answers or records can't be kept."""

    judge: Judge
    failed: JudgeError | StoreError | None = None

    @property
    def lost(self) -> bool:
        return isinstance(self.failed, StoreError)

    def fails(self, error: JudgeError | StoreError) -> None:
        """Let no further case begin; a store that fails outweighs a judge that stopped."""
        if not self.lost:
            self.failed = error

    async def answers(self, questions: Sequence[Question]) -> Mapping[Question, Answer]:
        if self.failed and self.lost:
            raise self.failed
        answers: dict[Question, Answer] = {}
        async for position, answer in self.judge.ask(questions):
            answers[questions[position]] = answer
        for question in questions:
            answers.setdefault(question, Failure("the judge gave no answer"))
        return answers


def _kept(task: asyncio.Task[Record], asked: _Asked, sink: Sink | None) -> Record | None:
    """The record of a task that is done, kept; None if there is none, or it can't be kept."""
    try:
        record = task.result()
        if asked.lost:
            return None
        if sink:
            sink.keep(record)
    except (JudgeError, StoreError) as error:
        asked.fails(error)
        return None
    return record


async def _evaluate_case(case: Case, planned: Plan, judge: _Asked, language: Callable[[Case], str]) -> Record:
    """One case; whatever goes wrong with it alone becomes a failure of its scores, never of the run."""
    started = time.monotonic()
    code = "en"
    steps: dict[str, Known] = {}
    try:
        code = language(case)
        await _take_steps(case, planned, judge, code, steps)
    except (JudgeError, StoreError):
        raise
    except Exception as error:  # noqa: BLE001  # one bad row never costs the run
        cause = f"{type(error).__name__}: {error}"
        for step in planned.steps:
            steps.setdefault(str(step), Missing(f"the evaluation of this case failed: {cause}", "query", failed=True))
    outcomes = {m.name: _outcome(m, steps) for m in planned.metrics}
    return Record(case, recorded(steps), outcomes, code, time.monotonic() - started)


def _outcome(metric: Metric, steps: Mapping[str, Known]) -> Outcome:
    """The score; a metric that raises, or gives no score (a user's own), fails itself alone."""
    try:
        outcome = metric(steps)
    except Exception as error:  # noqa: BLE001  # see `_evaluate_case`
        return Undefined(
            f"the metric {metric.name} failed{_line(metric, error)}: {type(error).__name__}: {error}", failed=True
        )
    if isinstance(outcome, Undefined):
        return outcome
    if not isinstance(outcome, Score):
        said = f"the metric {metric.name} gave {outcome!r:.60}: return a Score or Undefined, as share(…) does"
        return Undefined(said, failed=True)
    bottom, top = metric.range
    if not bottom - 1e-9 <= outcome.value <= top + 1e-9:  # also what is no number
        said = f"the metric {metric.name} gave {outcome.value:g}, which is not in its range of {bottom:g} to {top:g}"
        return Undefined(said, failed=True)
    return outcome


def _line(metric: Metric, error: Exception) -> str:
    own = getattr(getattr(metric.compute, "__code__", None), "co_filename", None)
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == own]
    return f" ({Path(own).name}, line {lines[-1]})" if own and lines else ""


async def _take_steps(case: Case, planned: Plan, judge: _Asked, code: str, steps: dict[str, Known]) -> None:
    """Take the steps level by level; all questions of a level are asked together, equal ones once.

    Fills `steps` with the outcomes. What nothing needs on this case is never asked.
    """
    not_needed = planned.not_needed(case)
    answers: dict[Question, Answer] = {}
    for level in planned.levels_for(case):
        asked: list[StepQuestions] = []
        for step in level:
            found = questions_for(step, case, steps)
            if isinstance(found, StepQuestions):
                unable = not_needed.get(step) or _unable(found, judge.judge, code)
                if unable is None:
                    asked.append(found)
                    continue
                found = unable
            steps[str(step)] = found
        wanted = {q: None for one in asked for q in one.questions if q not in answers}
        if wanted:
            answers |= await judge.answers(list(wanted))
        for one in asked:
            steps[str(one.step)] = outcome_of(one, answers)


def _unable(asked: StepQuestions, judge: Judge, code: str) -> Missing | None:
    reasons = (judge.unsupported_reason(kind, code) for kind in {question.kind for question in asked.questions})
    return next((Missing(reason, "language") for reason in reasons if reason), None)
