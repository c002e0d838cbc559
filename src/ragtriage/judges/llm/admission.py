"""Where requests wait until they may be sent: for a slot, for their turn, for money."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count

from ragtriage.core.errors import JudgeError, Stopped
from ragtriage.judges.llm.concurrency import ConcurrencyController, Reservation
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.llm.messages import Reply
from ragtriage.judges.protocol import TURN

SHORTEST_WAIT = 0.001
"""Seconds, so that rounding can't make anybody wait again and again."""


@dataclass(slots=True, eq=False)
class Slot:
    """What a request holds while it is in flight, with the most tokens that it may take and dollars it may cost."""

    tokens: int
    price: float
    number: int = 0
    """Which request it is, of all that were sent."""
    reservation: Reservation | None = None


class Admission:
    """Lets requests start: those that are repeated first, then by the turn of their case, then as they came.

    Attributes:
        in_flight: how many hold a slot.
        closed: why every request would fail; None while that isn't known.
    """

    def __init__(
        self,
        concurrency: ConcurrencyController,
        ledger: Ledger,
        clock: Callable[[], float],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self.in_flight = 0
        self.closed: str | None = None
        self._concurrency = concurrency
        self._ledger = ledger
        self._clock = clock
        self._sleep = sleep
        self._waiting: list[tuple[bool, int, int, Slot, asyncio.Future[bool]]] = []
        """A heap by the order in which they may start."""
        self._came = count()
        self._asleep: set[asyncio.Future[None]] = set()
        self._pacer: asyncio.Future[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._paced_until = 0.0
        ledger.watch(self._let_in)

    async def enter(self, tokens: int, price: float, *, repeated: bool) -> Slot:
        """Wait for a slot; give it back with `leave`.

        Raises:
            JudgeError: there will be none.
        """
        slot = Slot(tokens, price)
        self._check_loop()
        granted = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (not repeated, TURN.get(), next(self._came), slot, granted))
        self._let_in()
        try:
            entered = await granted
        except asyncio.CancelledError:
            if not granted.cancelled() and granted.result():
                self.in_flight -= 1
                self._ledger.withdraw(slot.price)
            else:
                self._let_in()  # those behind may take less
            raise
        if entered:
            return slot
        raise Stopped(self._ledger.stopped) if self.closed is None else JudgeError(self.closed)

    def leave(self, slot: Slot, reply: Reply | None, tokens: int) -> None:
        """The request has ended."""
        if slot.reservation:
            self._concurrency.correct(slot.reservation, tokens)
        self.in_flight -= 1
        self._ledger.end(slot.price, reply)

    async def rest(self, seconds: float) -> None:
        """Wait without a slot, but no longer than anything may still be sent."""
        if self._ended():
            return
        alarm = asyncio.ensure_future(self._sleep(seconds))
        self._asleep.add(alarm)
        try:
            await asyncio.wait([alarm])
        finally:
            self._asleep.discard(alarm)
            alarm.cancel()

    def close(self, sentence: str) -> str:
        """Refuse all who wait, and all who come."""
        if self.closed is None:
            self.closed = sentence
            self._let_in()
        return self.closed

    def _ended(self) -> bool:
        return self.closed is not None or self._ledger.stopped is not None

    def _next(self) -> tuple[Slot, asyncio.Future[bool]] | None:
        """Whose turn it is; those who have gone are taken out."""
        while self._waiting and self._waiting[0][-1].done():
            heapq.heappop(self._waiting)
        return self._waiting[0][3:] if self._waiting else None

    def _check_loop(self) -> None:
        """A request can't wait for one of another event loop."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            if self._loop and not self._loop.is_closed() and (self.in_flight or self._next()):
                raise JudgeError("this judge is asked from two event loops at once: make one for each of them")
            self._loop = loop

    def _let_in(self) -> None:
        """Let start who may, in order; called whenever that may have changed."""
        if self._ended():
            for alarm in self._asleep:
                alarm.cancel()
        while waiting := self._next():
            slot, granted = waiting
            if self.closed is not None:
                granted.set_result(False)
            elif self._may_start(slot):
                self._start(slot)
                granted.set_result(True)
            else:
                if self._ledger.stopped is not None:
                    # not at once: whoever has just ended goes on before those who wait hear of it
                    granted.get_loop().call_soon(self._turn_away)
                return
        if self._pacer:
            self._pacer.cancel()

    def _may_start(self, slot: Slot) -> bool:
        if self.in_flight >= self._concurrency.limit or not self._ledger.admits(slot.price):
            return False
        now = self._clock()
        wait = self._concurrency.wait(now, slot.tokens)
        if wait <= 0:
            return True
        self._look_again(now, max(wait, SHORTEST_WAIT))
        return False

    def _start(self, slot: Slot) -> None:
        slot.reservation = self._concurrency.start(self._clock(), slot.tokens)
        slot.number = self._concurrency.sent
        self.in_flight += 1
        self._ledger.begin(slot.price)

    def _look_again(self, now: float, wait: float) -> None:
        """Have the queue looked at after so many seconds, unless it is earlier anyway."""
        if self._pacer and not self._pacer.done():
            if self._paced_until <= now + wait:
                return
            self._pacer.cancel()
        self._paced_until = now + wait
        self._pacer = asyncio.ensure_future(self._sleep(wait))
        self._pacer.add_done_callback(lambda pacer: None if pacer.cancelled() else self._let_in())

    def _turn_away(self) -> None:
        """Refuse all who wait, once nothing is in flight."""
        while not self._ledger.in_flight and (waiting := self._next()):
            waiting[1].set_result(False)
