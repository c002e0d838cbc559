"""The desk as a process sees it: its memory of answers, its money, its limits a minute."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.verdicts import Answer
from ragtriage.judges.llm.admission import Reservation
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.wrappers import CachedAnswer
from ragtriage.scale.desk import Call
from ragtriage.scale.spending import Amount, Block, Limits

PAUSE = 0.2
"""Seconds before the desk is asked again that had nothing to give."""


class OwnSpending:
    """What this process spends: its ledger has no more than the desk grants, which is asked when that is short.

    With no request under way, it waits in place for what others may give back.

    Args:
        call: asks the desk.
        who: this process, for the desk.
        sleep, clock: those of the standard library.
    """

    def __init__(
        self,
        call: Call,
        who: str,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._call, self._who, self._sleep, self._clock = call, who, sleep, clock
        self._ledger = Ledger()
        self._before = Amount()
        self._not_before = float("-inf")
        self.error: Exception | None = None
        """Why the desk can't be asked; then all is stopped."""

    def keep(self, ledger: Ledger, limits: Limits) -> None:
        """Give a ledger what the desk grants from now on."""
        self._ledger = ledger
        if limits.budget is None and limits.max_requests is None:
            return
        ledger.budget = None if limits.budget is None else 0.0
        ledger.max_requests = None if limits.max_requests is None else 0
        ledger.on_short, ledger.on_wait = self._ask, self._give_back

    def so_far(self) -> Amount:
        """What was spent since the process was started."""
        return Amount(self._ledger.cost, self._ledger.requests, self._ledger.tokens_in, self._ledger.tokens_out)

    def begin(self) -> None:
        """A partition is begun."""
        self._ledger.stopped = self.error = None
        self._before = self.so_far()

    def settle(self) -> Amount:
        """A partition has ended, whatever became of it: give back what is left; what was spent on it."""
        self._hold(self.so_far())
        self._call("settle", self._who, self.so_far())
        return self.so_far() - self._before

    def fail(self, error: Exception) -> None:
        """The desk can't be asked. It isn't raised here, in the midst of requests, where nobody would hear of it."""
        self.error = error
        self._ledger.stop(f"stopped: {error}")

    def _ask(self, price: float) -> None:
        ledger = self._ledger
        while not ledger.in_flight or self._clock() >= self._not_before:
            try:
                block: Block = self._call("grant", self._who, self.so_far(), ledger.reserved, price)
            except Exception as error:  # noqa: BLE001  # see `fail`
                return self.fail(error)
            ledger.budget, ledger.max_requests = block.cost, block.requests
            if block.granted:
                return None
            if ledger.in_flight:  # when they have ended, it is asked again
                self._not_before = self._clock() + PAUSE
                return None
            if block.short:
                return ledger.stop(block.short)
            self._sleep(PAUSE)
        return None

    def _give_back(self) -> None:
        """An answer is waited for that another process pays for, perhaps with what this one was granted."""
        ledger, spent = self._ledger, self.so_far()
        money = ledger.budget is not None and ledger.budget > spent.cost
        requests = ledger.max_requests is not None and ledger.max_requests > spent.requests
        if not ledger.in_flight and (money or requests):
            self._hold(spent)
            self._call("settle", self._who, spent)

    def _hold(self, spent: Amount) -> None:
        ledger = self._ledger
        ledger.budget = None if ledger.budget is None else spent.cost
        ledger.max_requests = None if ledger.max_requests is None else spent.requests


class DeskLimits:
    """The limits a minute of one model, which the desk keeps; see `ragtriage.judges.llm.admission.MinuteLimits`.

    Args:
        call: asks the desk.
        who: this process, for the desk.
        model: its name.
        fail: takes it where the desk can't be asked.
    """

    def __init__(self, call: Call, who: str, model: str, fail: Callable[[Exception], None]) -> None:
        self._call, self._who, self._model, self._fail = call, who, model, fail
        self._number = 0

    def wait(self, now: float, tokens: int) -> float:  # noqa: ARG002  # the desk's own clock counts
        """See `MinuteLimits`."""
        try:
            wait, self._number = self._call("start", self._who, self._model, tokens)
        except Exception as error:  # noqa: BLE001  # see `OwnSpending.fail`
            self._fail(error)
            return PAUSE
        return float(wait)

    def start(self, now: float, tokens: int) -> Reservation:
        """See `MinuteLimits`; the desk has started it already."""
        return Reservation(now, tokens, self._number)

    def correct(self, reservation: Reservation, tokens: int) -> None:
        """See `MinuteLimits`."""
        try:
            self._call("correct", self._who, reservation.number, tokens)
        except Exception as error:  # noqa: BLE001  # see `OwnSpending.fail`
            self._fail(error)


@dataclass(frozen=True, slots=True)
class DeskMemory:
    """The desk's memory of answers as a process sees it; see `AnswerMemory`."""

    call: Call
    who: str
    spent: Callable[[], Amount] = Amount
    """What this process has spent since it was started."""

    def recall(self, keys: Sequence[bytes]) -> Mapping[bytes, Answer]:
        """See `AnswerMemory`."""
        return self.call("recall", self.who, keys) if keys else {}

    def remember(self, entries: Iterable[CachedAnswer]) -> None:
        """See `AnswerMemory`."""
        if entries := list(entries):
            self.call("remember", self.who, entries, self.spent())

    def flush(self) -> None:
        """See `AnswerMemory`; nothing ever waits."""

    def claim(self, keys: Sequence[bytes]) -> Collection[bytes]:
        """See `AnswerMemory`."""
        return self.call("claim", self.who, keys) if keys else ()

    def release(self, keys: Collection[bytes]) -> None:
        """See `AnswerMemory`."""
        if keys:
            self.call("release", self.who, list(keys))
