"""How many requests a server is sent at once, and how many in a minute."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import inf
from typing import Protocol

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

    def wait(self, now: float, tokens: int) -> float:
        """Seconds until a request of so many tokens may start; 0 or less if it may now, and then it does."""
        ...

    def start(self, now: float, tokens: int) -> Reservation:
        """It starts."""
        ...

    def correct(self, reservation: Reservation, tokens: int) -> None:
        """It took so many tokens in truth."""
        ...


class OwnLimits:
    """The limits of somebody who shares them with nobody; see `MinuteLimits`.

    Args:
        rpm: requests a minute; None for any number.
        tpm: tokens a minute; None for any number.
    """

    def __init__(self, rpm: float | None = None, tpm: float | None = None) -> None:
        self._requests = RateLimit(inf if rpm is None else rpm)
        self._tokens = RateLimit(inf if tpm is None else tpm)

    def wait(self, now: float, tokens: int) -> float:
        """See `MinuteLimits`."""
        return max(self._requests.wait(now, 1), self._tokens.wait(now, tokens))

    def start(self, now: float, tokens: int) -> Reservation:
        """See `MinuteLimits`."""
        self._requests.reserve(now, 1)
        return self._tokens.reserve(now, tokens)

    def correct(self, reservation: Reservation, tokens: int) -> None:
        """See `MinuteLimits`."""
        self._tokens.correct(reservation, tokens)


class ConcurrencyController:
    """How many requests may be in flight, found out by trying, and whether one may start now.

    The limit doubles with every round of replies until the server first asks to slow down, then grows by one in a
    round. It halves once for all requests that were under way together.

    Args:
        most: in flight.
        rpm: requests a minute.
        tpm: tokens a minute.
        shared: the limits a minute, where others send requests under them too; in the place of `rpm` and `tpm`.

    Attributes:
        limit: how many may be in flight now, from 1 to `most`.
        sent: how many requests have started.
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

    def wait(self, now: float, tokens: int) -> float:
        """Seconds until a request of so many tokens may start; 0 or less if it may now."""
        quiet = self._quiet_until - now
        return quiet if quiet > 0 else self._minute.wait(now, tokens)

    def start(self, now: float, tokens: int) -> Reservation:
        """A request starts; `sent` is its number."""
        self.sent += 1
        return self._minute.start(now, tokens)

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

        Args:
            number: the request that it said it to; only one that started after the last halving counts.
            until: when that request is sent again. If the server says nothing else, all wait for that.
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
