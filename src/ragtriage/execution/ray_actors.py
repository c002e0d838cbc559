"""Actors of a Ray cluster that work on parts, one at a time each.

Plain actors and not Ray Data's actor pools: the driver has to know which part was lost with which process, to give
it out again three times and then go on without it, and to stop giving out (docs/design/decisions.md).
"""

import os
import socket
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ragtriage.core.amount import Amount
from ragtriage.core.errors import ConfigError, JudgeError, MissingExtraError
from ragtriage.core.files import folder_at
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.pools import Ended, Lost, PoolEvent
from ragtriage.execution.worker import Job, Task, TaskResult, Worker, new_worker
from ragtriage.judges.budget import SpendingLimits
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.store import open_answers

NO_REPORTS = "RAY_USAGE_STATS_ENABLED"
"""Ray reports its use over the network unless this is 0 before it is imported."""
MEMORY = 700_000_000
"""Bytes that an actor is given."""
MOST_LOST_AT_START = 10
"""Actors in a row that end before they are ready."""
REACHED_WITHIN = 10.0
"""Seconds in which the cluster has to answer."""
LOOK_EVERY = 5.0
"""Seconds between two looks at how large the cluster is, and what was spent."""


def ray_module() -> Any:
    """Ray, which sends no reports of its use."""
    os.environ[NO_REPORTS] = "0"
    try:
        import ray  # noqa: PLC0415  # an extra
    except ImportError:
        raise MissingExtraError("Ray clusters", "ray") from None
    return ray


def _check_reachable(address: str) -> None:
    """Refuse at once a cluster that nobody answers for; Ray itself tries for minutes."""
    host, _, port = address.rpartition(":")
    if "://" in address:
        raise ConfigError(
            f"RAY_ADDRESS={address}: run the command on a machine of the cluster (ray job submit does), with "
            "RAY_ADDRESS=HOST:PORT or auto"
        )
    if not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), REACHED_WITHIN).close()
    except OSError as error:
        raise ConfigError(
            f"the Ray cluster can't be reached: RAY_ADDRESS={address}: {error.strerror or error}"
        ) from error


@dataclass(slots=True)
class _Actor:
    """One actor, and what it works on."""

    name: str
    handle: Any
    waits_for: Any
    """What it will answer next; None while it has nothing to do."""
    task: Task | None = None
    node: str = ""
    """Empty until it is ready."""
    aside: bool = False
    cases: int = 0
    """Of its task, those that are done."""
    cases_asked: Any = None
    """What it will answer to how many that are."""


class RayActors:
    """Actors of a cluster: that which RAY_ADDRESS names, else one of this machine; see `Pool`.

    Without a `count` there is one a processor core of the cluster, as it grows, at most `most`.
    """

    def __init__(
        self,
        job: Job,
        count: int | None,
        most: int,
        store: str | None = None,
        limits: SpendingLimits = SpendingLimits(),  # noqa: B008  # frozen
        share: tuple[int, int] | None = None,
    ) -> None:
        self._ray = ray = ray_module()
        self._own = not ray.is_initialized()
        if self._own:
            # without it Ray would take any cluster that somebody has started on this machine
            address = os.environ.get("RAY_ADDRESS") or "local"
            _check_reachable(address)
            try:
                ray.init(address, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise ConfigError(f"the Ray cluster can't be reached: {error}") from error
        self._count, self._most = count, most
        self._looked = float("-inf")
        self._wanted = self._started = self._lost_at_start = 0
        self._spent = Amount()
        self._actors: list[_Actor] = []
        self._aside: set[str] = set()
        self._look(now=time.monotonic())
        self._job = ray.put(job)
        self._coordinator: Any = None
        if isinstance(job.judge, JudgeConfig) and job.judge.paid:
            here = ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(
                ray.get_runtime_context().get_node_id(), soft=False
            )
            self._coordinator = (
                ray.remote(_Coordinator)
                .options(num_cpus=0, scheduling_strategy=here)
                .remote(store, job.folder, limits, share)
            )
        # beside the part that it works on it says how far it is
        self._worker = ray.remote(_Worker).options(num_cpus=1, memory=MEMORY, max_restarts=0, max_concurrency=2)
        self._fill()

    def free(self) -> int:
        """See `Pool`."""
        return sum(one.waits_for is None and not one.aside for one in self._actors)

    def give(self, task: Task) -> None:
        """See `Pool`."""
        one = next(one for one in self._actors if one.waits_for is None and not one.aside)
        one.task, one.waits_for, one.cases = task, one.handle.work.remote(task), 0

    def wait(self, seconds: float) -> Sequence[PoolEvent]:
        """See `Pool`."""
        self._look(now=time.monotonic())
        self._fill()
        by_answer = {one.waits_for: one for one in self._actors if one.waits_for is not None}
        if not by_answer:
            if not self._actors:
                raise JudgeError("no actor is left in the Ray cluster")
            return []
        ready, _ = self._ray.wait([*by_answer], num_returns=len(by_answer), timeout=0)
        if not ready:
            ready, _ = self._ray.wait([*by_answer], num_returns=1, timeout=seconds)
        found = [self._heard(by_answer[answer]) for answer in ready]
        return [event for event in found if event]

    def put_aside(self, who: str) -> None:
        """See `Pool`; no other actor is started in its place."""
        self._aside.add(who)
        for one in self._actors:
            if one.name == who:
                one.aside = True

    def working(self) -> int:
        """See `Pool`."""
        return sum(one.cases for one in self._actors if one.task is not None)

    def nodes(self) -> int:
        """See `Pool`."""
        return len({one.node for one in self._actors if one.node})

    def spent(self) -> Amount:
        """See `Pool`."""
        return self._spent

    def close(self) -> None:
        """See `Pool`."""
        if self._coordinator is not None:
            with suppress(Exception):  # whatever it is, the answers that it was told of are kept
                self._ray.get(self._coordinator.close.remote(), timeout=10)
        for one in self._actors:
            with suppress(Exception):
                self._ray.kill(one.handle)
        if self._own:
            self._ray.shutdown()

    def _heard(self, one: _Actor) -> PoolEvent | None:
        """What an actor answered."""
        answer, one.waits_for, task = one.waits_for, None, one.task
        try:
            value = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            return self._gone(one, error)
        one.task = None
        if task is None:
            one.node, self._lost_at_start = value, 0
            return None
        return Ended(task, value, one.name)

    def _gone(self, one: _Actor, error: Exception) -> PoolEvent | None:
        why = str(error).strip().splitlines()
        told = next((line.strip() for line in why if line.strip()), type(error).__name__)
        self._actors.remove(one)
        with suppress(Exception):
            self._ray.kill(one.handle)
        if self._coordinator is not None:
            self._coordinator.call.remote("forget", one.name)
        if not one.node:
            self._lost_at_start += 1
            if self._lost_at_start >= MOST_LOST_AT_START:
                raise JudgeError(f"no actor can be started in the Ray cluster: {told}")
        return Lost(one.task, f"its actor is gone: {told}") if one.task else None

    def _fill(self) -> None:
        """Start as many actors as are wanted; one that can't be placed yet waits for room, or lets the cluster grow."""
        while len(self._actors) + len(self._aside - {one.name for one in self._actors}) < self._wanted:
            name = f"actor {self._started}"
            self._started += 1
            handle = self._worker.remote(self._job, self._coordinator, name)
            self._actors.append(_Actor(name, handle, handle.node.remote()))

    def _look(self, now: float) -> None:
        if now - self._looked < LOOK_EVERY:
            return
        self._looked = now
        self._look_at_cases()
        cores = int(self._ray.cluster_resources().get("CPU", 1))
        self._wanted = min(self._most, self._count or max(1, cores))
        if self._lost_at_start == 0 and getattr(self, "_coordinator", None) is not None:
            with suppress(Exception):  # it is asked again
                self._spent = self._ray.get(self._coordinator.call.remote("spent"), timeout=5)

    def _look_at_cases(self) -> None:
        """Take what actors have answered by now to how far they are, and ask them again; nothing is waited for."""
        asked = {one.cases_asked: one for one in self._actors if one.cases_asked is not None}
        ready = self._ray.wait([*asked], num_returns=len(asked), timeout=0)[0] if asked else []
        for answer in ready:
            one, asked[answer].cases_asked = asked[answer], None
            with suppress(Exception):  # it is gone, which the answer to its task will say
                plan, cases = self._ray.get(answer)
                if one.task is not None and one.task.plan.id == plan:
                    one.cases = cases
        for one in self._actors:
            if one.task is not None and one.cases_asked is None:
                one.cases_asked = one.handle.cases.remote()


class _Worker:
    """What an actor does."""

    def __init__(self, job: Job, coordinator: Any, name: str) -> None:
        self._job, self._coordinator, self._name = job, coordinator, name
        self._worker: Worker | TaskResult | None = None
        self._plan, self._cases = "", 0

    def node(self) -> str:
        """On which node it is."""
        return str(ray_module().get_runtime_context().get_node_id())

    def work(self, task: Task) -> TaskResult:
        """Work on one part."""
        self._plan, self._cases = task.plan.id, 0
        if self._worker is None:
            self._worker = new_worker(self._job, self._call, self._name, self._tell)
        return self._worker.work(task) if isinstance(self._worker, Worker) else self._worker

    def cases(self) -> tuple[str, int]:
        """The part that it works on, and how many cases of it are done."""
        return self._plan, self._cases

    def _tell(self, cases: int) -> None:
        self._cases = cases

    def _call(self, *given: Any) -> Any:
        return ray_module().get(self._coordinator.call.remote(*given))


class _Coordinator:
    """The coordinator on the driver's machine, where the answers are."""

    def __init__(self, store: str | None, folder: str, limits: SpendingLimits, share: tuple[int, int] | None) -> None:
        self._answers = open_answers(store)
        self._coordinator = Coordinator(self._answers, folder_at(folder), limits, share)

    def call(self, name: str, *given: Any) -> Any:
        """See `Coordinator.call`."""
        return self._coordinator.call(name, *given)

    def close(self) -> None:
        """Keep what was spent, and let the answers go."""
        self._coordinator.close()
        self._answers.close()
