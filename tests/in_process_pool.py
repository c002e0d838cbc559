"""A pool that is this very process, where starting others isn't the point of a test."""

from collections.abc import Callable, Sequence

from ragtriage.core.amount import Amount
from ragtriage.execution.coordinator import Coordinator
from ragtriage.execution.pools import Ended, PoolEvent
from ragtriage.execution.worker import Job, Task, Worker, new_worker


class InProcess:
    """This process: what is given is worked on in `wait`; see `Pool`.

    Args:
        job: what it works by.
        coordinator: what it asks, as other processes would.
        worked: what is heard of a task, in the place of what came of it: by the task and that.
        names: the processes that it pretends to have.
    """

    def __init__(
        self,
        job: Job,
        coordinator: Coordinator,
        worked: Callable[[Ended], PoolEvent] = lambda ended: ended,
        names: Sequence[str] = ("this process",),
    ) -> None:
        self._coordinator, self._worked, self._names = coordinator, worked, [*names]
        self._worker = new_worker(job, coordinator.call, self._names[0])
        self._tasks: list[Task] = []

    def free(self) -> int:
        """See `Pool`."""
        return len(self._names) - len(self._tasks)

    def give(self, task: Task) -> None:
        """See `Pool`."""
        self._tasks.append(task)

    def wait(self, seconds: float) -> Sequence[PoolEvent]:
        """See `Pool`."""
        tasks, self._tasks, worker = self._tasks, [], self._worker
        results = [worker.work(task) if isinstance(worker, Worker) else worker for task in tasks]
        named = zip(tasks, results, self._names, strict=False)
        return [self._worked(Ended(*one)) for one in named]

    def put_aside(self, who: str) -> None:
        """See `Pool`."""
        self._names.remove(who)

    def nodes(self) -> int:
        """See `Pool`."""
        return 1

    def working(self) -> int:
        """See `Pool`."""
        return 0

    def spent(self) -> Amount:
        """See `Pool`."""
        return self._coordinator.spent()

    def close(self) -> None:
        """See `Pool`."""
        self._coordinator.close()
