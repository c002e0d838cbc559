"""Processes of this machine that work on partitions, each with a pipe to the driver."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from ragtriage.core.errors import JudgeError, RagtriageError
from ragtriage.judges.budget import Amount
from ragtriage.scale.desk import Desk
from ragtriage.scale.orders import Orders, Task, Worked
from ragtriage.scale.pool import Ended, Event, Lost
from ragtriage.scale.worker import Loaded, evaluate_partition, load

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
"""So that as many processes as there are cores don't get in each other's way."""
MOST_LOST_AT_START = 3
"""Processes in a row that end before they have taken a task."""


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


class LocalPool:
    """Spawned processes; see `ragtriage.scale.pool.Pool`.

    Args:
        orders: what they work by.
        count: how many.
        desk: what they share.
    """

    def __init__(self, orders: Orders, count: int, desk: Desk) -> None:
        self._orders = orders
        self._desk = desk
        self._context = multiprocessing.get_context("spawn")
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

    def wait(self, seconds: float) -> Sequence[Event]:
        """See `Pool`."""
        by_source: dict[Any, _Process] = {}
        for one in self._processes:
            by_source[one.pipe] = by_source[one.process.sentinel] = one
        found: list[Event] = []
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
        return self._desk.told()

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
        self._desk.close()

    def working(self) -> int:
        """See `Pool`."""
        return sum(one.cases for one in self._processes if one.task is not None)

    def _heard(self, one: _Process) -> list[Event]:
        """Everything that a process has said; that it is gone, if it is."""
        found: list[Event] = []
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
            return True, self._desk.call(*call)
        except RagtriageError as error:
            return False, error

    def _gone(self, one: _Process) -> list[Event]:
        one.process.join()
        code = one.process.exitcode
        why = f"its process was killed by signal {-code}" if code and code < 0 else f"its process ended with {code}"
        if code == -signal.SIGKILL:
            why += " (SIGKILL: by somebody, or as the memory ran out)"
        one.pipe.close()
        one.process.close()
        self._desk.forget(one.name)
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
                target=work, args=(theirs, self._orders, name), name=f"ragtriage {name}", daemon=True
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


def work(pipe: Connection, orders: Orders, name: str) -> None:
    """What a process does: partitions, until it is told to end or its driver is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver decides what becomes of the partition
    threading.Thread(target=_end_with_driver, daemon=True).start()

    def call(*given: Any) -> Any:
        pipe.send(("call", given))
        fine, value = pipe.recv()
        if not fine:
            raise value
        return value

    def tell(cases: int) -> None:
        pipe.send(("cases", cases))

    loaded: Loaded | Worked | None = None
    with suppress(EOFError, OSError):
        pipe.send(("ready", None))
        while (task := pipe.recv()) is not None:
            loaded = load(orders, call, name, tell) if loaded is None else loaded
            pipe.send(("worked", evaluate_partition(task, loaded) if isinstance(loaded, Loaded) else loaded))
    os._exit(0)  # threads of libraries must not hold it


def _end_with_driver() -> None:
    """A driver that was killed can't say so."""
    driver = multiprocessing.parent_process()
    if driver is not None:
        wait([driver.sentinel])
        os._exit(1)
