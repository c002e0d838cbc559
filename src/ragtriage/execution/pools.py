"""What works on parts: this process, processes of this machine, or (`ray_actors`) those of a Ray cluster."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, Protocol

from ragtriage.core.amount import Amount
from ragtriage.core.errors import JudgeError, RagtriageError
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.worker import Job, Task, TaskResult, Worker, new_worker
from ragtriage.judges.judge_config import JudgeConfig

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""So that as many processes as there are cores don't get in each other's way."""
PRELOADED = ["ragtriage.execution.worker"]
"""What every process imports."""
PRELOADED_TO_PAY = ["pydantic_ai.models.openai"]
"""What those that ask a language model import, mostly; nothing is loaded that isn't installed."""
MOST_LOST_AT_START = 3
"""Processes in a row that end before they have taken a task."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The process that worked on a task is gone: killed, out of memory, or with its node."""

    task: Task
    why: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A process has ended its work on a task."""

    task: Task
    result: TaskResult
    who: str
    """The process, for `put_aside`."""


PoolEvent = Ended | Lost


class Pool(Protocol):
    """Processes that work on one task at a time each."""

    def free(self) -> int:
        """How many tasks can be given now."""

    def give(self, task: Task) -> None:
        """Have a free process work on a task."""

    def wait(self, seconds: float) -> Sequence[PoolEvent]:
        """What happened; waits at most so long for something to happen.

        Raises:
            JudgeError: no process can be had.
        """

    def put_aside(self, who: str) -> None:
        """Give a process no further task."""

    def nodes(self) -> int:
        """On how many machines there are processes."""

    def working(self) -> int:
        """How many cases of the parts in work are done, as far as is known."""

    def spent(self) -> Amount:
        """What was spent on the run by now, as far as the coordinator knows."""

    def close(self) -> None:
        """End all processes, whatever they do."""


@dataclass(slots=True)
class _Process:
    """One process, and what it works on."""

    name: str
    process: BaseProcess
    pipe: Connection
    task: Task | None = None
    aside: bool = False
    ready: bool = False
    cases: int = 0
    """Of its task, those that are done."""


class LocalProcesses:
    """Processes of this machine, which begin with nothing of this one's but its environment; see `Pool`.

    Where the system can, they are forked from a server that has imported what they need: they start at once, and share
    its memory.
    """

    def __init__(self, job: Job, count: int, coordinator: Coordinator) -> None:
        self._job = job
        self._coordinator = coordinator
        methods = multiprocessing.get_all_start_methods()
        self._context: Any = multiprocessing.get_context("forkserver" if "forkserver" in methods else "spawn")
        paid = isinstance(job.judge, JudgeConfig) and job.judge.paid
        self._context.set_forkserver_preload([*PRELOADED, *(PRELOADED_TO_PAY if paid else ())])
        self._started = self._lost_at_start = 0
        self._processes = [self._start() for _ in range(count)]

    def free(self) -> int:
        """See `Pool`."""
        return sum(one.task is None and not one.aside for one in self._processes)

    def give(self, task: Task) -> None:
        """See `Pool`."""
        one = next(one for one in self._processes if one.task is None and not one.aside)
        one.task, one.cases = task, 0
        with suppress(OSError):  # it is gone: `wait` tells so
            one.pipe.send(task)

    def wait(self, seconds: float) -> Sequence[PoolEvent]:
        """See `Pool`."""
        by_source: dict[Any, _Process] = {}
        for one in self._processes:
            by_source[one.pipe] = by_source[one.process.sentinel] = one
        found: list[PoolEvent] = []
        ready = {id(by_source[source]): by_source[source] for source in wait([*by_source], seconds)}
        for one in ready.values():
            found += self._heard(one)
        return found

    def put_aside(self, who: str) -> None:
        """See `Pool`."""
        for one in self._processes:
            one.aside = one.aside or one.name == who

    def nodes(self) -> int:
        """See `Pool`."""
        return 1

    def spent(self) -> Amount:
        """See `Pool`."""
        return self._coordinator.spent()

    def close(self) -> None:
        """See `Pool`."""
        for one in self._processes:
            if one.task is None:
                with suppress(OSError):
                    one.pipe.send(None)
            else:
                one.process.kill()
        for one in self._processes:
            one.process.join(5)
            if one.process.is_alive():
                one.process.kill()
                one.process.join()
            one.pipe.close()
            one.process.close()
        self._processes.clear()
        self._coordinator.close()

    def working(self) -> int:
        """See `Pool`."""
        return sum(one.cases for one in self._processes if one.task is not None)

    def _heard(self, one: _Process) -> list[PoolEvent]:
        """Everything that a process has said; that it is gone, if it is."""
        found: list[PoolEvent] = []
        try:
            while one.pipe.poll():
                kind, value = one.pipe.recv()
                if kind == "call":
                    one.pipe.send(self._answered(value))
                elif kind == "ready":
                    one.ready, self._lost_at_start = True, 0
                elif kind == "cases":
                    one.cases = value
                elif one.task is not None:
                    found.append(Ended(one.task, value, one.name))
                    one.task = None
        except (EOFError, OSError):
            return [*found, *self._gone(one)]
        return found

    def _answered(self, call: Any) -> tuple[bool, Any]:
        try:
            return True, self._coordinator.call(*call)
        except RagtriageError as error:
            return False, error

    def _gone(self, one: _Process) -> list[PoolEvent]:
        one.process.join()
        code = one.process.exitcode
        why = f"its process was killed by signal {-code}" if code and code < 0 else f"its process ended with {code}"
        if code == -signal.SIGKILL:
            why += " (SIGKILL: by somebody, or as the memory ran out)"
        one.pipe.close()
        one.process.close()
        self._coordinator.forget(one.name)
        self._lost_at_start += not one.ready
        if self._lost_at_start >= MOST_LOST_AT_START:
            self._processes.remove(one)
            raise JudgeError(f"no process can be started: {why}")
        self._processes[self._processes.index(one)] = self._start()
        return [Lost(one.task, why)] if one.task else []

    def _start(self) -> _Process:
        name = f"process {self._started}"
        self._started += 1
        ours, theirs = self._context.Pipe()
        before = {key: os.environ.get(key) for key in ONE_THREAD}
        os.environ.update(ONE_THREAD)
        try:
            process = self._context.Process(
                target=work, args=(theirs, self._job, name, {**os.environ}), name=f"ragtriage {name}", daemon=True
            )
            process.start()
        finally:
            for key, value in before.items():
                if value is None:
                    del os.environ[key]
                else:
                    os.environ[key] = value
        theirs.close()
        return _Process(name, process, ours)


def work(pipe: Connection, job: Job, name: str, environment: Mapping[str, str]) -> None:
    """What a process does: parts, until it is told to end or its driver is gone."""
    os.environ.clear()  # a server's is that of the moment when it was started
    os.environ.update(environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what becomes of the part
    threading.Thread(target=_end_with_driver, daemon=True).start()

    def call(*given: Any) -> Any:
        pipe.send(("call", given))
        fine, value = pipe.recv()
        if not fine:
            raise value
        return value

    def tell(cases: int) -> None:
        pipe.send(("cases", cases))

    worker: Worker | TaskResult | None = None
    with suppress(EOFError, OSError):
        pipe.send(("ready", None))
        while (task := pipe.recv()) is not None:
            worker = new_worker(job, call, name, tell) if worker is None else worker
            pipe.send(("worked", worker.work(task) if isinstance(worker, Worker) else worker))
    os._exit(0)  # threads of libraries must not hold it


def _end_with_driver() -> None:
    """A driver that was killed can't say so."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        wait([driver.sentinel])
        os._exit(1)
