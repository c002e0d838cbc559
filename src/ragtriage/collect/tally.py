"""A collection in numbers."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from ragtriage.collect.application import TIMED_OUT


class Tally:
    """Counts collected rows as they come.

    Attributes:
        asked: rows.
        answered: those with a response.
        empty: those whose response is empty or blank.
        failures: cause → rows without a response.
    """

    def __init__(self) -> None:
        self.asked = self.answered = self.empty = 0
        self.failures: Counter[str] = Counter()
        self._seconds = array("d")

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one row."""
        self.asked += 1
        response = row.get("response")
        if response is None:
            self.failures[str(row.get("failure") or "no answer")] += 1
            return
        self.answered += 1
        self.empty += not str(response).strip()
        if isinstance(seconds := row.get("seconds"), int | float):
            self._seconds.append(seconds)

    def seconds(self, percent: float) -> float | None:
        """So many per cent of the answers took at most this long (linear between neighbours); None without any."""
        return float(np.percentile(self._seconds, percent)) if self._seconds else None

    def as_json(self) -> dict[str, Any]:
        """All of it, for machines; `median` and `p95` are seconds, null where nothing was answered."""
        others = {cause: count for cause, count in self.failures.most_common() if cause != TIMED_OUT}
        return {
            "asked": self.asked,
            "answered": self.answered,
            "empty": self.empty,
            "timed_out": self.failures[TIMED_OUT],
            "failed": others,
            "seconds": {"median": self.seconds(50), "p95": self.seconds(95)},
        }

    def lines(self) -> list[str]:
        """All of it, for people."""
        empty = f", {self.empty:,} of them with an empty text" if self.empty else ""
        lines = [
            f"asked {self.asked:,}",
            f"answered {self.answered:,}{empty}",
            f"timed out {self.failures[TIMED_OUT]:,}",
        ]
        others = [(cause, count) for cause, count in self.failures.most_common() if cause != TIMED_OUT]
        causes = f": {', '.join(f'{cause} {count:,}' for cause, count in others)}" if others else ""
        lines.append(f"failed {sum(count for _, count in others):,}{causes}")
        median, p95 = self.seconds(50), self.seconds(95)
        if median is not None and p95 is not None:
            lines.append(f"seconds an answer: median {median:.2f}, p95 {p95:.2f}")
        return lines
