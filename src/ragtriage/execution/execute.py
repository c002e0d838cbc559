"""The driver: hands partitions out, commits what comes back, and decides when to stop."""

from __future__ import annotations

import secrets
from collections import Counter, deque
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ragtriage.core.errors import JudgeError
from ragtriage.core.filesystems import Folder
from ragtriage.runs.manifest import Manifest, PartPlan
from ragtriage.runs.part import Part
from ragtriage.execution.job import Task
from ragtriage.execution.pools import Ended, Event, Lost, Pool
from ragtriage.execution.progress import Progress
from ragtriage.store.folder import commit

ATTEMPTS = 3
"""How often a partition is tried before it counts as failed."""
FIRST, FAILED_OF_FIRST = 10, 5
"""Where so many of the first partitions fail, something is wrong with all: the rest isn't tried."""
TICK = 0.5
"""Seconds that the driver waits at most before it looks around."""


@dataclass(slots=True)
class Driven:
    """How it ended."""

    markers: dict[str, Part]
    """All partitions that are done, by their ids."""
    failures: list[str] = field(default_factory=list)
    """A sentence for each partition that failed: which rows, and why."""
    changed: list[str] = field(default_factory=list)
    """The files that changed while they were read."""
    stopped: str = ""
    """Why it ended early; empty if it didn't."""
    repeated: int = 0
    """Attempts that were lost or failed and were made again."""
    aside: dict[str, str] = field(default_factory=dict)
    """Processes that were put aside, and why."""


class Stop:
    """What a person wants: `gently` after the first Ctrl-C, `now` after the second."""

    def __init__(self) -> None:
        self.gently = self.now = False

    def interrupt(self) -> None:
        """Ctrl-C."""
        self.now, self.gently = self.gently, True


@dataclass
class Driver:
    """One command's work on a record set.

    Args:
        folder: the record set.
        plan: its plan.
        pool: the processes.
        progress: shows how far it is.
        check: raises where another driver has taken over.
        strict: whether a process whose arithmetic differs from the first one's is put aside.
        stop: what a person wants.
    """

    folder: Folder
    plan: Manifest
    pool: Pool
    progress: Progress
    check: Callable[[], None]
    strict: bool = False
    stop: Stop = field(default_factory=Stop)

    def drive(self, wanted: Collection[PartPlan], done: Mapping[str, Part]) -> Driven:
        """Work on partitions until all are done, or none can be.

        Args:
            wanted: those that aren't done.
            done: those that are.

        Raises:
            JudgeError: the judge can't work at all, or no process can be had.
            StoreError: the record set can't be written, or another driver has taken over.
        """
        self._driven = Driven(dict(done))
        self._by_id = {one.id: one for one in wanted}
        self._todo = deque(wanted)
        self._tries: Counter[str] = Counter()
        self._running: set[str] = set()
        self._tried = self._failed = 0
        self._probe = next((marker.probe for marker in done.values() if marker.probe), "")
        while self._running or (self._todo and not self._ending):
            if self.stop.now:
                break
            self._hand_out()
            for event in self.pool.wait(TICK):
                self._take(event)
            self.check()
            self.progress.tell(len(self._running), self.pool.nodes(), self.pool.spent(), self.pool.working())
        if self.stop.gently:
            self._driven.stopped = self._driven.stopped or "interrupted: give the same command again to go on"
        return self._driven

    @property
    def _ending(self) -> bool:
        return self.stop.gently or bool(self._driven.stopped)

    def _hand_out(self) -> None:
        while self._todo and not self._ending and self.pool.free():
            partition = self._todo.popleft()
            self._running.add(partition.id)
            self.pool.give(Task(partition, self.plan.file_of(partition), secrets.token_hex(4)))

    def _take(self, event: Event) -> None:
        partition = event.task.partition
        self._running.discard(partition.id)
        if isinstance(event, Lost):
            self._again(partition, event.why)
        else:
            self._ended(partition, event)

    def _ended(self, partition: PartPlan, event: Ended) -> None:
        worked, driven = event.worked, self._driven
        match worked.ending:
            case "done":
                driven.stopped = driven.stopped or worked.told
                self._commit(partition, Part.from_json(dict(worked.marker)), event.who)
            case "changed":
                if worked.told not in driven.changed:
                    driven.changed.append(worked.told)
                self._count(failed=True)
            case "stopped":
                self._todo.append(partition)
                driven.stopped = driven.stopped or worked.told
            case "judge" | "versions":
                raise JudgeError(worked.told)
            case _:
                self._again(partition, worked.told)

    def _commit(self, partition: PartPlan, marker: Part, who: str) -> None:
        self._probe = self._probe or marker.probe
        if self.strict and marker.probe != self._probe:
            self._driven.aside[who] = f"{who} on {marker.host} computes otherwise ({marker.probe}, not {self._probe})"
            self.pool.put_aside(who)
            self._todo.append(partition)
            if not self.pool.free() and not self._running:
                raise JudgeError(f"no process is left that computes alike: {'; '.join(self._driven.aside.values())}")
            return
        self.check()
        known = self._driven.markers.get(partition.id)
        if known and marker.left and marker.cases <= known.cases:
            return  # an earlier command had come as far
        commit(self.folder, marker)
        self._driven.markers[partition.id] = marker
        self.progress.done(marker)
        self._count(failed=False)

    def _again(self, partition: PartPlan, why: str) -> None:
        self._tries[partition.id] += 1
        if self._tries[partition.id] < ATTEMPTS:
            self._driven.repeated += 1
            self._todo.append(partition)
            return
        self._driven.failures.append(f"{self.plan.says(partition)}: failed {ATTEMPTS} times: {why}")
        self.progress.failed()
        self._count(failed=True)

    def _count(self, *, failed: bool) -> None:
        self._tried += 1
        self._failed += failed
        if self._tried <= FIRST and self._failed >= FAILED_OF_FIRST and not self._driven.stopped:
            self._driven.stopped = f"stopped, as {self._failed} of the first {self._tried} partitions failed"


def unfinished(plan: Manifest, markers: Mapping[str, Part], share: tuple[int, int] | None = None) -> list[PartPlan]:
    """The partitions that aren't done, or have cases that failed or weren't evaluated, in the order of the input.

    Args:
        plan: the plan.
        markers: those that are done.
        share: (which, of how many) of them; None for all.
    """
    mine = own_partitions(plan, share)
    return [one for one in mine if one.id not in markers or markers[one.id].failed or markers[one.id].left]


def own_partitions(plan: Manifest, share: tuple[int, int] | None = None) -> list[PartPlan]:
    """The partitions of a share, done or not; all without one."""
    return [one for at, one in enumerate(plan.partitions) if share is None or at % share[1] == share[0] - 1]
