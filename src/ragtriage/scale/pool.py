"""What works on partitions: processes of this machine, or actors of a Ray cluster, behind the same methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ragtriage.judges.budget import Amount
from ragtriage.scale.orders import Task, Worked


@dataclass(frozen=True, slots=True)
class Lost:
    """The process that worked on a task is gone: killed, out of memory, or with its node."""

    task: Task
    why: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A process has ended its work on a task."""

    task: Task
    worked: Worked
    who: str
    """The process, for `put_aside`."""


Event = Ended | Lost


class Pool(Protocol):
    """Processes that work on one task at a time each."""

    def free(self) -> int:
        """How many tasks can be given now."""
        ...

    def give(self, task: Task) -> None:
        """Have a free process work on a task."""
        ...

    def wait(self, seconds: float) -> Sequence[Event]:
        """What happened; waits at most so long for something to happen.

        Raises:
            JudgeError: no process can be had.
        """
        ...

    def put_aside(self, who: str) -> None:
        """Give a process no further task."""
        ...

    def nodes(self) -> int:
        """On how many machines there are processes."""
        ...

    def working(self) -> int:
        """How many cases of the partitions in work are done, as far as is known."""
        ...

    def spent(self) -> Amount:
        """What was spent on the run by now, as far as the desk knows."""
        ...

    def close(self) -> None:
        """End all processes, whatever they do."""
        ...
