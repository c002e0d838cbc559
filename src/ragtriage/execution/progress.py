"""How far a command is: a line for people, and a file in the run's folder for other programs."""

import json
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ragtriage.core.amount import Amount
from ragtriage.core.display import dollars, plural
from ragtriage.core.errors import StoreError
from ragtriage.core.files import Folder
from ragtriage.readers.files import ByteRange
from ragtriage.runs.manifest import CommittedPart, Manifest, PartPlan

KEPT_EVERY = 5.0
"""Seconds between two writings of the file."""


@dataclass
class Progress:
    """Counts what is done.

    `rows` are about how many it is to read in all, with those of the `before` cases that aren't worked on again; 0 if
    that isn't known. `show` takes the line at every change, and every half second.
    """

    folder: Folder
    parts: int
    rows: int
    before: int = 0
    part: str = ""
    show: Callable[[str], None] = lambda _: None
    clock: Callable[[], float] = time.monotonic
    cases: int = field(default=0, init=False)
    failed_parts: int = field(default=0, init=False)
    done_parts: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()
        self._kept = float("-inf")

    def done(self, part: CommittedPart) -> None:
        """A part is committed."""
        self.cases += part.cases
        self.done_parts += not part.left

    def failed(self) -> None:
        """A part has failed for good."""
        self.failed_parts += 1

    def tell(self, running: int, nodes: int, spent: Amount, working: int = 0) -> None:
        """Show the line, and write the file if it is time."""
        now = self.values(running, nodes, spent, working)
        self.show(line_of(now))
        if self.clock() - self._kept >= KEPT_EVERY:
            self._keep(now)

    def end(self, spent: Amount) -> None:
        """Write the file once more: nothing is in work any longer, and of what was, nothing counts."""
        self._keep(self.values(0, 0, spent))

    def _keep(self, now: Mapping[str, Any]) -> None:
        self._kept = self.clock()
        with suppress(StoreError):  # what matters is written, and told, by others
            self.folder.write(f"progress{self.part}.json", json.dumps(now).encode())

    def values(self, running: int, nodes: int, spent: Amount, working: int = 0) -> dict[str, Any]:
        """How far it is; of JSON's types. See `tell`."""
        seconds = max(self.clock() - self._began, 1e-9)
        done = self.cases + working
        rate = done / seconds
        all_done = self.done_parts == self.parts  # how many rows a JSONL file has is estimated
        left = 0 if all_done else max(0, self.rows - self.before - done)
        return {
            "cases": self.before + done,
            "of": self.rows or None,
            "parts": self.done_parts,
            "of_parts": self.parts,
            "failed_parts": self.failed_parts,
            "running": running,
            "nodes": nodes,
            "cases_a_second": round(rate, 3),
            "seconds_left": 0 if all_done else round(left / rate) if rate and self.rows else None,
            "cost": spent.cost,
            "requests": spent.requests,
        }


def rows_of(manifest: Manifest, wanted: Collection[PartPlan]) -> int:
    """About how many rows some parts have; 0 if that isn't known, as of a CSV file."""
    if any(one.rows is None and one.part is None for one in wanted):
        return 0
    known = sum(one.rows or 0 for one in manifest.plan)
    size = sum(map(_bytes, manifest.plan))
    a_byte = max(0, manifest.rows - known) / size if size else 0.0
    return sum(one.rows or 0 for one in wanted) + round(a_byte * sum(map(_bytes, wanted)))


def _bytes(plan: PartPlan) -> int:
    return plan.part.end - plan.part.start if isinstance(plan.part, ByteRange) else 0


def line_of(now: dict[str, Any]) -> str:
    """The line for people."""
    of = f" of about {now['of']:,}" if now["of"] else ""
    parts = [
        f"{now['cases']:,}{of} cases",
        f"{now['parts']:,} of {plural(now['of_parts'], 'part')}",
        f"{now['failed_parts']:,} failed" if now["failed_parts"] else "",
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
