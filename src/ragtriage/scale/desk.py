"""The desk: what processes that ask language models share, answers and money, in the hands of one of them.

A partition gets money and requests in one block, its worst case, so that what all processes may spend together never
passes the budget. A process that is lost keeps its block, since nobody knows what of it was spent.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from ragtriage.core.display import dollars
from ragtriage.core.verdicts import Answer
from ragtriage.judges.wrappers import AnswerMemory, CachedAnswer
from ragtriage.scale.places import Folder

CENT = 1e-9
"""Dollars by which sums of prices may be off."""


@dataclass(frozen=True, slots=True)
class Amount:
    """Money, requests and tokens."""

    cost: float = 0.0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def __add__(self, other: Amount) -> Amount:
        return Amount(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))


@dataclass(frozen=True, slots=True)
class Block:
    """What a partition may spend."""

    cost: float | None
    """In US dollars; None without a budget."""
    requests: int | None
    short: str = ""
    """Why it is less than the partition takes at most; empty if it isn't."""


Call = Callable[..., Any]
"""Asks the desk: the name of one of its methods, then its arguments."""


class Desk:
    """Answers the calls of the processes; one lives for a command.

    Args:
        memory: keeps answers.
        folder: the record set, where it is kept what was spent.
        budget: the most that may be spent on the run, in US dollars.
        max_requests: the most requests that this command may send.
        part: which of several drivers of the same record set it works for; "" for the only one.
    """

    def __init__(
        self,
        memory: AnswerMemory,
        folder: Folder,
        *,
        budget: float | None = None,
        max_requests: int | None = None,
        part: str = "",
    ) -> None:
        self._memory = memory
        self._folder = folder
        self._file = f"spent{part}.json"
        self._budget = budget
        self._max_requests = max_requests
        self._held: dict[str, Block] = {}
        self._claimed: dict[bytes, str] = {}
        self._sent = 0
        known = json.loads(folder.read(self._file) or b"{}")
        lost = sum((one["cost"] or 0.0 for one in known.get("held", {}).values()), 0.0)
        self.spent = Amount(**known.get("spent", {})) + Amount(cost=lost)
        """On the run, by all commands; blocks that were lost count as spent."""

    def recall(self, _: str, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """See `AnswerMemory`."""
        return self._memory.recall(keys)

    def remember(self, _: str, entries: Iterable[CachedAnswer]) -> None:
        """See `AnswerMemory`; they are safe when this returns."""
        entries = list(entries)
        self._memory.remember(entries)
        self._memory.flush()
        for entry in entries:
            self._claimed.pop(entry.key, None)

    def claim(self, who: str, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`; a question that another process asks isn't claimed."""
        free = [key for key in keys if self._claimed.get(key, who) == who]
        claimed = self._memory.claim(free) if free else ()
        self._claimed.update(dict.fromkeys(claimed, who))
        return list(claimed)

    def release(self, who: str, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        own = [key for key in keys if self._claimed.get(key) == who]
        for key in own:
            del self._claimed[key]
        self._memory.release(own)

    def grant(self, who: str, worst: Amount) -> Block | None:
        """A block for a partition that takes this at most; what is left if nobody else holds one; None: wait.

        A block without a request is one that nothing can be done with.
        """
        self._held.pop(who, None)
        cost = None if self._budget is None else self._budget - self.spent.cost - self._sum("cost")
        requests = None if self._max_requests is None else self._max_requests - self._sent - self._sum("requests")
        short = (cost is not None and cost + CENT < worst.cost) or (requests is not None and requests < worst.requests)
        if short and self._held:
            return None
        block = Block(
            None if cost is None else max(0.0, min(cost, worst.cost)),
            None if requests is None else max(0, min(requests, worst.requests)),
            self._why_short(worst, requests) if short else "",
        )
        self._held[who] = block
        self._keep()
        return block

    def settle(self, who: str, spent: Amount) -> None:
        """Give a block back, with what was spent of it."""
        self._held.pop(who, None)
        self._sent += spent.requests
        self.spent += spent
        self._keep()

    def forget(self, who: str) -> None:
        """A process is lost: its questions may be asked by others; its block counts as spent."""
        for key in [key for key, owner in self._claimed.items() if owner == who]:
            del self._claimed[key]
            self._memory.release([key])
        if block := self._held.pop(who, None):
            self._sent += block.requests or 0
            self.spent += Amount(cost=block.cost or 0.0)
            self._keep()

    def call(self, name: str, *given: Any) -> Any:
        """One of the methods above, by its name."""
        return getattr(self, name)(*given)

    def told(self) -> Amount:
        """What was spent so far."""
        return self.spent

    def _why_short(self, worst: Amount, requests: int | None) -> str:
        if requests is not None and requests < worst.requests:
            return (
                f"stopped after {self._max_requests:,} requests, as --max-requests says; give the same command to go on"
            )
        budget = dollars(self._budget or 0.0)
        return (
            f"stopped before the budget of {budget} was passed; give the same command with a larger --budget to go on"
        )

    def _sum(self, what: str) -> Any:
        return sum(getattr(block, what) or 0 for block in self._held.values())

    def _keep(self) -> None:
        held = {who: {"cost": block.cost} for who, block in self._held.items() if block.cost is not None}
        self._folder.write(self._file, json.dumps({"spent": asdict(self.spent), "held": held}).encode())


@dataclass(frozen=True, slots=True)
class DeskMemory:
    """The desk's memory of answers as a process sees it; see `AnswerMemory`."""

    call: Call
    who: str

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """See `AnswerMemory`."""
        return self.call("recall", self.who, keys) if keys else {}

    def remember(self, entries: Iterable[CachedAnswer]) -> None:
        """See `AnswerMemory`."""
        if entries := list(entries):
            self.call("remember", self.who, entries)

    def flush(self) -> None:
        """See `AnswerMemory`; nothing ever waits."""

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`."""
        return self.call("claim", self.who, keys) if keys else ()

    def release(self, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        if keys:
            self.call("release", self.who, list(keys))
