"""What requests to models have cost, and whether another one may start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from ragtriage.core.amount import Amount
from ragtriage.core.display import dollars
from ragtriage.core.errors import Stopped
from ragtriage.judges.llm.messages import Reply

ROUNDING = 1e-9
"""Dollars by which sums of prices may be off."""


@dataclass(eq=False)
class Ledger:
    """What was spent; one for a command, shared by all its judges.

    Meant for one event loop at a time: nothing here is locked.
    """

    _: KW_ONLY
    budget: float | None = None
    """The most that may be spent, in US dollars, with `spent_before`."""
    max_requests: int | None = None
    """The most requests that may start, repeated ones included."""
    spent_before: float = 0.0
    """What earlier continuations of the same run cost, not part of `cost`; it may be set until the first request."""
    requests: int = field(default=0, init=False)
    """How many were sent, repeated ones included."""
    failed_requests: int = field(default=0, init=False)
    """How many of them brought no reply that could be used."""
    tokens_in: int = field(default=0, init=False)
    tokens_out: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)
    """Of all replies, in US dollars."""
    unpriced: int = field(default=0, init=False)
    """Replies without a known price; they count with the most that they may have cost, where that is known."""
    repeated: Counter[str] = field(default_factory=Counter, init=False)
    """Cause in few words → how many requests were sent again for it."""
    in_flight: int = field(default=0, init=False)
    stopped: str | None = field(default=None, init=False)
    """Why no further request may start; None while they may."""
    on_wait: Callable[[], None] = field(default=lambda: None, init=False)
    """Called when an answer is waited for that another evaluation pays for, again and again."""
    on_short: Callable[[float], None] | None = field(default=None, init=False)
    """Called where the budget or the requests don't suffice for a request that costs this at most: raises them, or
    stops all. None where nobody else shares them: then the ledger itself stops all."""
    _reserved: float = field(default=0.0, init=False)
    _watchers: list[Callable[[], None]] = field(default_factory=list, init=False)

    def watch(self, changed: Callable[[], None]) -> None:
        """Have this called whenever a request has ended, and when all is stopped."""
        self._watchers.append(changed)

    def admits(self, price: float) -> bool:
        """Whether a request may start that costs this at most; stops everything if it can't even after all others."""
        if self.stopped is not None:
            return False
        if self._suffices(price):
            return True
        if self.on_short is not None:
            self.on_short(price)
            return self._suffices(price)
        if self.max_requests is not None and self.requests >= self.max_requests:
            self.stop(request_limit_reached(self.requests))
            return False
        if self.budget is not None and not self.in_flight:
            spent = self.spent_before + self.cost
            before = f", {dollars(self.spent_before)} of it before this command" if self.spent_before else ""
            self.stop(
                f"stopped before the budget of {dollars(self.budget)} was passed: {dollars(spent)} spent"
                f"{before or f' on {self.requests} requests'}, and the next request may cost {dollars(price)}; "
                f"give the same command with a larger --budget to go on"
            )
        return False

    @property
    def spent(self) -> Amount:
        """What was spent so far."""
        return Amount(self.cost, self.requests, self.tokens_in, self.tokens_out)

    @property
    def reserved(self) -> float:
        """What the requests in flight may cost at most."""
        return self._reserved

    def begin(self, price: float) -> None:
        """A request starts that costs this at most."""
        self.requests += 1
        self.in_flight += 1
        self._reserved += price

    def withdraw(self, price: float) -> None:
        """A request that was begun with this price isn't sent after all."""
        self.requests -= 1
        self._release(price)

    def end(self, price: float, reply: Reply | None) -> None:
        """A request has ended.

        Args:
            price: what it was begun with.
            reply: None if it brought none; it counts as free then, as providers charge for replies.
        """
        if reply is None:
            self.failed_requests += 1
        else:
            self.tokens_in += reply.tokens_in
            self.tokens_out += reply.tokens_out
            self.unpriced += reply.price is None
            self.cost += price if reply.price is None else reply.price
        self._release(price)

    def stop(self, reason: str) -> None:
        """Let no further request start; the first reason stays."""
        if self.stopped is None:
            self.stopped = reason
            self._tell()

    def wait(self) -> None:
        """An answer is waited for that another evaluation pays for.

        Raises:
            Stopped: nothing more is to be waited for.
        """
        if self.stopped is not None:
            raise Stopped(self.stopped)
        self.on_wait()

    def _suffices(self, price: float) -> bool:
        """Whether budget and requests suffice for one more request, and nothing has stopped all."""
        if self.stopped is not None or (self.max_requests is not None and self.requests >= self.max_requests):
            return False
        spent = self.spent_before + self.cost + self._reserved
        return self.budget is None or spent + price <= self.budget + ROUNDING

    def _release(self, price: float) -> None:
        self.in_flight -= 1
        self._reserved = self._reserved - price if self.in_flight else 0.0  # so that rounding doesn't add up
        self._tell()

    def _tell(self) -> None:
        for changed in self._watchers:
            changed()


def request_limit_reached(requests: int) -> str:
    """Why no further request may start."""
    return f"stopped after {requests} requests, as --max-requests says; give the same command to go on"
