"""A pool without processes: what is given is worked on at once, here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ragtriage.judges.budget import Amount
from ragtriage.scale.orders import Orders, Task, Worked
from ragtriage.scale.pool import Ended, Event
from ragtriage.scale.worker import Loaded, evaluate_partition, load


class InlinePool:
    """See `ragtriage.scale.pool.Pool`.

    Args:
        orders: what it works by.
        told: what becomes of a task, in the place of what its process said: by the task, its process and that.
        names: the processes that it pretends to have.
    """

    def __init__(
        self,
        orders: Orders,
        told: Callable[[Task, str, Worked], Event] = lambda task, who, worked: Ended(task, worked, who),
        names: Sequence[str] = ("one",),
    ) -> None:
        self.given: list[Task] = []
        self._loaded = load(orders, _nobody, "inline")
        self._told = told
        self._names = [*names]
        self._events: list[Event] = []

    def free(self) -> int:
        """One for each process that isn't put aside and hasn't worked since the last look."""
        return len(self._names) - len(self._events)

    def give(self, task: Task) -> None:
        """Work on it."""
        self.given.append(task)
        worked = evaluate_partition(task, self._loaded) if isinstance(self._loaded, Loaded) else self._loaded
        self._events.append(self._told(task, self._names[len(self._events)], worked))

    def wait(self, seconds: float) -> Sequence[Event]:  # the protocol
        """What was worked on."""
        found, self._events = self._events, []
        return found

    def put_aside(self, who: str) -> None:
        """It isn't there any more."""
        self._names.remove(who)

    def nodes(self) -> int:
        """This one."""
        return 1

    def working(self) -> int:
        """None: a partition is done at once."""
        return 0

    def spent(self) -> Amount:
        """Nothing."""
        return Amount()

    def close(self) -> None:
        """Nothing is to be ended."""


def _nobody(*_: Any) -> Any:
    raise AssertionError("there is no desk")
