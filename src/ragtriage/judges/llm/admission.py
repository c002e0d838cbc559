"""How many requests a server is sent, and where they wait until they may be sent: for a slot, their turn, money."""

import asyncio
import heapq
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Protocol

from ragtriage.core.errors import JudgeError, Stopped
from ragtriage.judges.budget import Ledger
from ragtriage.judges.llm.options import Reply
from ragtriage.judges.protocol import TURN

MINUTE = 60.0
FIRST_LIMIT = 16
"""Requests in flight at first: few enough for any server."""
SLACK = 1.0
"""Seconds by which a request may come before its turn, so that a late one costs no capacity."""
CONGESTED = 3
"""Halvings without a reply between them after which nobody is sent anything for a while."""


@dataclass(slots=True)
class Reservation:
    """What a request was granted of a rate limit."""

    at: float
    amount: int
    number: int = 0
    """By which who keeps shared limits knows it."""


class RateLimit:
    """At most `most` in any 60 seconds, evenly spread.

    What is larger than the whole rate goes when the minute before it is empty, and the next waits for as long as it
    is worth.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._reservations: deque[Reservation] = deque()
        self._total = 0
        self._turn = 0.0

    def wait(self, now: float, amount: int) -> float:
        """Seconds until this much may be reserved; 0 or less if it may now."""
        while self._reservations and self._reservations[0].at + MINUTE <= now:
            self._total -= self._reservations.popleft().amount
        free_at = now
        excess = self._total + amount - self._most
        for reservation in self._reservations:
            if excess <= 0:
                break
            excess -= reservation.amount
            free_at = reservation.at + MINUTE
        return max(free_at, self._turn - SLACK) - now

    def reserve(self, now: float, amount: int) -> Reservation:
        """Reserve this much; ask `wait` first."""
        reservation = Reservation(now, amount)
        self._reservations.append(reservation)
        self._total += amount
        self._turn = max(self._turn, now) + amount * MINUTE / self._most
        return reservation

    def correct(self, reservation: Reservation, amount: int) -> None:
        """Replace the estimate by what the request really took."""
        self._turn += (amount - reservation.amount) * MINUTE / self._most
        if self._reservations and reservation.at >= self._reservations[0].at:  # else its minute is over
            self._total += amount - reservation.amount
        reservation.amount = amount


class MinuteLimits(Protocol):
    """How many requests and tokens may be sent in a minute."""

    def start(self, now: float, tokens: int) -> Reservation | float:
        """Start a request of so many tokens; where it may not start now, the seconds until it is to be tried again."""

    def correct(self, reservation: Reservation, tokens: int) -> None:
        """It took so many tokens in truth."""


class OwnLimits:
    """The limits of somebody who shares them with nobody; see `MinuteLimits`. None is any number."""

    def __init__(self, rpm: float | None = None, tpm: float | None = None) -> None:
        self._requests = RateLimit(inf if rpm is None else rpm)
        self._tokens = RateLimit(inf if tpm is None else tpm)

    def start(self, now: float, tokens: int) -> Reservation | float:
        """See `MinuteLimits`."""
        wait = max(self._requests.wait(now, 1), self._tokens.wait(now, tokens))
        if wait > 0:
            return wait
        self._requests.reserve(now, 1)
        return self._tokens.reserve(now, tokens)

    def correct(self, reservation: Reservation, tokens: int) -> None:
        """See `MinuteLimits`."""
        self._tokens.correct(reservation, tokens)


class ConcurrencyController:
    """How many requests may be in flight, found out by trying, and whether one may start now.

    The limit doubles with every round of replies until the server first asks to slow down, then grows by one in a
    round. It halves once for all requests that were under way together.

    At most `limit` may be in flight now, `sent` have started. Where others send requests under the limits a minute too,
    these are `shared`.
    """

    def __init__(
        self, most: int, rpm: int | None = None, tpm: int | None = None, shared: MinuteLimits | None = None
    ) -> None:
        self.limit = min(FIRST_LIMIT, most)
        self.sent = 0
        self._most = most
        self._minute = shared or OwnLimits(rpm, tpm)
        self._halved_at = 0
        self._ever_halved = False
        self._halvings = 0
        self._replies = 0
        self._quiet_until = -inf

    def start(self, now: float, tokens: int) -> Reservation | float:
        """See `MinuteLimits`; `sent` is the number of the request that starts."""
        quiet = self._quiet_until - now
        found = quiet if quiet > 0 else self._minute.start(now, tokens)
        self.sent += isinstance(found, Reservation)
        return found

    def correct(self, reservation: Reservation, tokens: int) -> None:
        """A request took so many tokens in truth."""
        self._minute.correct(reservation, tokens)

    def replied(self) -> None:
        """A reply came: the server is well."""
        self._halvings = 0
        if self.limit >= self._most:
            return
        self._replies += 1
        if not self._ever_halved or self._replies >= self.limit:
            self.limit += 1
            self._replies = 0

    def slow_down(self, number: int, until: float) -> None:
        """The server asked to send less.

        Only a request that started after the last halving counts. It is sent again at `until`; if the server says
        nothing else, all wait for that.
        """
        if number <= self._halved_at:
            return
        self._halved_at = self.sent
        self._ever_halved = True
        self._replies = 0
        self.limit = max(1, self.limit // 2)
        self._halvings += 1
        if self._halvings >= CONGESTED:
            self._quiet_until = max(self._quiet_until, until)


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

    So many as are `in_flight` hold a slot; `closed` says why every request would fail, once that is known.
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
        """Wait for a slot; give it back with `leave`. A `JudgeError` if there will be none."""
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
            elif self._start(slot):
                granted.set_result(True)
            else:
                if self._ledger.stopped is not None:
                    # not at once: whoever has just ended goes on before those who wait hear of it
                    granted.get_loop().call_soon(self._turn_away)
                return
        if self._pacer:
            self._pacer.cancel()

    def _start(self, slot: Slot) -> bool:
        """Start a request if it may start now."""
        if self.in_flight >= self._concurrency.limit or not self._ledger.admits(slot.price):
            return False
        now = self._clock()
        found = self._concurrency.start(now, slot.tokens)
        if not isinstance(found, Reservation):
            self._look_again(now, max(found, SHORTEST_WAIT))
            return False
        slot.reservation, slot.number = found, self._concurrency.sent
        self.in_flight += 1
        self._ledger.begin(slot.price)
        return True

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
