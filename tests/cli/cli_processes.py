"""The command in a process of its own, followed from outside, and a model that holds its answers back.

with Server(gate := Gate(answers=20)) as server, begun(folder, "evaluate", ...) as child:
    until(lambda: len(server.heard) == 24, child)
"""

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from cli_models import Model, chats, same

from forked import COMMAND, Child
from servers import Heard, Said


class Gate:
    """A model that answers so many requests, and lets all others wait until it is opened.

    Args:
        answers: how many.
        model: what answers; by default a language model.
    """

    def __init__(self, answers: int, model: Callable[[Heard], Said] | None = None) -> None:
        self.model = model or Model()
        self._left = answers
        self._open = threading.Event()
        self._lock = threading.Lock()

    def __call__(self, heard: Heard) -> Said:
        """The answer, when it is time."""
        with self._lock:
            self._left -= 1
            waits = self._left < 0
        if waits:
            self._open.wait()
        return self.model(heard)

    def open(self) -> None:
        """Answer those that wait, and all that come."""
        self._open.set()


def requests(heard: list[Heard]) -> Counter[str]:
    """The requests, and how often each came."""
    return Counter(same(body) for body in chats(heard))


def until(true: Callable[[], bool], child: Child) -> None:
    """Wait for something that the child does."""
    end = time.monotonic() + 60
    while not true():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < end, "it never came to it"
        time.sleep(0.005)


def begun(folder: Path, *args: object, before: str = "") -> Child:
    """The command in a process of its own; `before` runs there first."""
    return Child(*args, folder=folder, code=f"{before}\n{COMMAND}")
