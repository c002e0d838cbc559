"""How far a command is: a line for people, and a file in the record set for other programs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ragtriage.core.display import dollars, plural
from ragtriage.core.errors import StoreError
from ragtriage.scale.markers import Marker
from ragtriage.scale.places import Folder
from ragtriage.scale.spending import Amount

KEPT_EVERY = 5.0
"""Seconds between two writings of the file."""


@dataclass
class Progress:
    """Counts what is done.

    Args:
        folder: the record set.
        partitions: how many there are in all for this command.
        rows: about how many rows the input has; 0 if that isn't known.
        before: cases that were done before.
        part: which of several drivers it is.
        show: takes the line; called at every change, and every few seconds.
        clock: gives the time in seconds.
    """

    folder: Folder
    partitions: int
    rows: int
    before: int = 0
    part: str = ""
    show: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    cases: int = field(default=0, init=False)
    failed_partitions: int = field(default=0, init=False)
    done_partitions: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._kept = float("-inf")

    def done(self, marker: Marker) -> None:
        """A partition is committed."""
        self.cases += marker.cases
        self.done_partitions += not marker.left

    def failed(self) -> None:
        """A partition has failed for good."""
        self.failed_partitions += 1

    def tell(self, running: int, nodes: int, spent: Amount) -> None:
        """Show the line, and write the file if it is time."""
        now = self.values(running, nodes, spent)
        self.show(line_of(now))
        if self.clock() - self._kept >= KEPT_EVERY:
            self._kept = self.clock()
            with suppress(StoreError):  # what matters is written, and told, by others
                self.folder.write(f"progress{self.part}.json", json.dumps(now).encode())

    def values(self, running: int, nodes: int, spent: Amount) -> dict[str, Any]:
        """How far it is; of JSON's types."""
        seconds = max(self.clock() - self._began, 1e-9)
        rate = self.cases / seconds
        left = max(0, self.rows - self.before - self.cases)
        return {
            "cases": self.before + self.cases,
            "of": self.rows or None,
            "partitions": self.done_partitions,
            "of_partitions": self.partitions,
            "failed_partitions": self.failed_partitions,
            "running": running,
            "nodes": nodes,
            "cases_a_second": round(rate, 3),
            "seconds_left": round(left / rate) if rate and self.rows else None,
            "cost": spent.cost,
            "requests": spent.requests,
        }


def line_of(now: dict[str, Any]) -> str:
    """The line for people."""
    of = f" of about {now['of']:,}" if now["of"] else ""
    parts = [
        f"{now['cases']:,}{of} cases",
        f"{now['partitions']:,} of {plural(now['of_partitions'], 'partition')}",
        f"{now['failed_partitions']:,} failed" if now["failed_partitions"] else "",
        f"{now['cases_a_second']:.1f} a second" if now["cases_a_second"] else "",
        f"about {_time(now['seconds_left'])} left" if now["seconds_left"] else "",
        f"{plural(now['nodes'], 'node')}" if now["nodes"] > 1 else "",
        plural(now["requests"], "request") if now["requests"] else "",
        dollars(now["cost"]) if now["cost"] else "",
    ]
    return ", ".join(filter(None, parts))


def _time(seconds: int) -> str:
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
