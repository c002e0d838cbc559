"""The command in a process of its own, followed from outside, and a model that holds its answers back.

with Server(gate := Gate(answers=20)) as server, begun(folder, "evaluate", ...) as child:
    until(lambda: len(server.heard) == 24, child)
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cli_models import Model, chats, same

from servers import Heard, Said


class Gate:
    """A model that answers so many requests, and lets all others wait until it is opened.

    Args:
        answers: how many.
    """

    def __init__(self, answers: int) -> None:
        self.model = Model()
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


def until(true: Callable[[], bool], child: subprocess.Popen[str]) -> None:
    """Wait for something that the child does."""
    end = time.monotonic() + 60
    while not true():
        assert child.poll() is None, child.communicate()
        assert time.monotonic() < end, "it never came to it"
        time.sleep(0.005)


@contextmanager
def begun(folder: Path, *args: object, before: str = "") -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which is killed if it still runs at the end; `before` runs there first."""
    environment = {k: v for k, v in os.environ.items() if k != "RAGTRIAGE_STORE"}
    start = [sys.executable, "-c", f"{before}\nfrom ragtriage.cli import main; main()", *map(str, args)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(start, cwd=folder, env=environment, text=True, **pipes) as child:
        try:
            yield child
        finally:
            child.kill()
