"""The share of the lots that is drawn: the same for all traffic, or larger for its small parts.

It is decided for each part once a minute of the cases' time, from how many came before: before any lot of that minute
is looked at, and whatever was drawn until then. So a case's weight, 1 / share, leaves every mean unbiased (Horvitz and
Thompson), and a file that has grown draws the same of what it held before.
"""

from __future__ import annotations

from collections import Counter, deque

from ragtriage.core.case import Case
from ragtriage.monitor.lots import Lots, drawn_with, stratum_of
from ragtriage.runs.case_row import digest

MOST_PARTS = 50
"""Values of the tag that have a share of their own: the first that come. All others are one part."""
MINUTES = 60
"""So many minutes before tell how many cases a part has a minute."""


class Shares:
    """The shares of one pass over the traffic, in the order of time."""

    def __init__(self, lots: Lots) -> None:
        self._lots = lots
        self._first = 0
        """The minute of the first case."""
        self._came: deque[tuple[int, Counter[str | None]]] = deque()
        """Minutes with arrivals, the last of them the present one, and how many of each part came."""
        self._before: Counter[str | None] = Counter()
        """How many of each part came in the minutes that count, without the present one."""
        self._parts: set[str] = set()
        self._begun: dict[bytes, float] = {}
        self.others: set[bytes] = set()
        """Digests of the values that have no share of their own."""

    def of(self, case: Case, moment: float) -> float:
        """The share that is drawn of what a case belongs to, in [0, 1].

        A conversation keeps the share of its beginning, so that it is drawn as a whole.
        """
        at_least = self._lots.at_least
        if at_least is None:
            return self._lots.share
        part = self._part(stratum_of(case.tags, case.time, at_least.tag))
        self._go_to(int(moment // 60))
        self._came[-1][1][part] += 1
        named = drawn_with(case)
        share = self._decided(part, at_least.per_minute)
        return share if named == case.id else self._begun.setdefault(digest(named), share)

    def _part(self, value: str) -> str | None:
        if value in self._parts or len(self._parts) < MOST_PARTS:
            self._parts.add(value)
            return value
        self.others.add(digest(value))
        return None

    def _go_to(self, minute: int) -> None:
        if not self._came:
            self._first = minute
        elif self._came[-1][0] == minute:
            return
        else:
            self._before += self._came[-1][1]
        self._came.append((minute, Counter()))
        while self._came[0][0] < minute - MINUTES:
            self._before -= self._came.popleft()[1]

    def _decided(self, part: str | None, per_minute: float) -> float:
        """By what came before the present minute; all where nothing did."""
        came = self._before[part]
        minutes = min(self._came[-1][0] - self._first, MINUTES)
        return max(self._lots.share, min(1.0, per_minute * minutes / came)) if came else 1.0
