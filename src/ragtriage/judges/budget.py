"""What requests to models may cost, and have: `Budget` grants blocks of it, `Ledger` is the end of who spends them.

A command that works alone is the one holder: its ledger has all of the budget. Of several processes each is one: it is
granted money and requests for some requests at a time, and asks again when they are short. So what all may spend
together never passes the budget, and a process that is lost takes little with it.
"""

import json
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import KW_ONLY, asdict, dataclass, field
from typing import Any, Protocol

from ragtriage.core.amount import Amount
from ragtriage.core.display import dollars
from ragtriage.core.errors import ConfigError, Stopped, StoreError
from ragtriage.core.files import Folder

ROUNDING = 1e-9
"""Dollars by which sums of prices may be off."""
AHEAD = 16
"""Requests like the next one for which a process is granted money at once."""
MARGIN = 0.01
"""Share of the budget that the file says may be spent beyond what is granted, so that it isn't written so often."""
KEPT_EVERY = 2.0
"""Seconds between two writings of the file, where nothing else makes one due."""
PAUSE = 0.2
"""Seconds before the coordinator is asked again that had nothing to give."""

Call = Callable[..., Any]
"""Asks the coordinator of several processes: the name of one of its methods, then its arguments."""


@dataclass(frozen=True, slots=True)
class SpendingLimits:
    """What all processes may use together; None for any amount."""

    budget: float | None = None
    """US dollars, for the run by all commands."""
    max_requests: int | None = None
    """Of one command, or of one of each share together."""
    rpm: int | None = None
    """Requests a minute to one model."""
    tpm: int | None = None
    """Tokens a minute, its prompts and replies."""

    def check(self, share: tuple[int, int] | None) -> None:
        """Refuse what can't be divided among so many commands."""
        shares = share[1] if share else 1
        for flag, most in (("--rpm", self.rpm), ("--tpm", self.tpm), ("--max-requests", self.max_requests)):
            if most is not None and most < shares:
                raise ConfigError(f"{flag} {most} can't be divided among {shares} shares: give {shares} or more")


@dataclass(frozen=True, slots=True)
class SpendingBlock:
    """What a process may have spent since it was started."""

    cost: float | None
    """In US dollars; None without a budget."""
    requests: int | None
    granted: bool
    """Whether the request that was asked for may start."""
    short: str = ""
    """Why it may not, whatever others give back; empty if they may give back enough."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one of the files says."""

    spent: Amount = field(default_factory=Amount)
    lost: float = 0.0
    """Dollars that processes may have spent that were lost before they could say so."""
    held: float = 0.0
    """Dollars that were granted, and may be spent before the file is written again."""

    @property
    def most(self) -> float:
        """Dollars that may have been spent."""
        return self.spent.cost + self.lost + self.held


class Budget:
    """Grants money and requests to the processes of one command, and keeps what they spent in the folder.

    The budget is for all commands on a run. A share of it is for each of the commands with `--share`: what is
    left without them, divided by their number, since they can't see each other's spending while they work.
    """

    def __init__(
        self,
        folder: Folder,
        limits: SpendingLimits = SpendingLimits(),
        share: tuple[int, int] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        which, of = share or (1, 1)
        self._folder, self._limits, self._of, self._clock = folder, limits, of, clock
        self._file = f"spent-{which}-of-{of}.json" if share else "spent.json"
        known = _all_spent(folder)
        own = known.pop(self._file, Spent())
        apart = [one.most for name, one in known.items() if share is None or not name.endswith(f"-of-{of}.json")]
        self._budget = None if limits.budget is None else (limits.budget - sum(apart)) / of
        most = limits.max_requests
        self._max_requests = None if most is None else most * which // of - most * (which - 1) // of
        self._others = sum((one.spent for one in known.values()), Amount())
        self._before, self._lost, self._lost_requests = own.spent, own.lost + own.held, 0
        self._spent: dict[str, Amount] = {}
        """Process → what it has spent, as far as it said."""
        self._blocks: dict[str, SpendingBlock] = {}
        self._kept_at, self._kept_most = clock(), own.most

    def report(self, who: str, spent: Amount) -> None:
        """A process has spent so much since it was started."""
        self._spent[who] = spent
        if self._clock() - self._kept_at >= KEPT_EVERY:
            self._keep()

    def grant(self, who: str, spent: Amount, in_flight: float, price: float) -> SpendingBlock:
        """What a process may spend so that another request can start; it gives back what doesn't suffice for that.

        `price` is what the next request costs at most, `in_flight` what those under way do, `spent` what the process
        spent since it was started; all in dollars.
        """
        self._blocks.pop(who, None)
        self._spent[who] = spent
        cost, requests = self._left()
        needed = in_flight + price
        granted = (cost is None or cost + ROUNDING >= needed) and (requests is None or requests >= 1)
        short = "" if granted or self._may_come_back() else self._why_short(requests, price)
        more_cost = min(cost or 0.0, in_flight + AHEAD * price) if granted else in_flight
        more_requests = min(requests or 0, AHEAD) if granted else 0
        block = self._blocks[who] = SpendingBlock(
            None if cost is None else spent.cost + max(more_cost, 0.0),
            None if requests is None else spent.requests + more_requests,
            granted,
            short,
        )
        if self._most() > self._kept_most:
            left = max(0.0, self._left()[0] or 0.0)
            self._keep(min(left, MARGIN * (self._limits.budget or 0.0)))
        return block

    def settle(self, who: str, spent: Amount) -> None:
        """A process needs nothing for now; it has spent so much since it was started."""
        self._blocks.pop(who, None)
        self._spent[who] = spent
        self._keep()

    def forget(self, who: str) -> None:
        """A process is lost: nobody knows what of its block it spent."""
        if block := self._blocks.pop(who, None):
            left = self._unspent(who, block)
            self._lost += left.cost
            self._lost_requests += left.requests
            self._keep()

    def close(self) -> None:
        """All processes are gone."""
        for who in [*self._blocks]:
            self.forget(who)
        if self._spent:
            self._keep()

    def spent(self) -> Amount:
        """What was spent on the run so far, by all commands; of those that work beside this one, when it began."""
        return self._others + self._own()

    def _own(self) -> Amount:
        return sum(self._spent.values(), self._before)

    def _left(self) -> tuple[float | None, int | None]:
        """What isn't spent nor granted to anybody; None where it isn't limited."""
        here = sum(self._spent.values(), Amount()).requests + self._lost_requests
        return (
            None if self._budget is None else self._budget - self._most(),
            None if self._max_requests is None else self._max_requests - here - self._granted().requests,
        )

    def _most(self) -> float:
        """Dollars that this command and those before it have spent or may still spend of what is granted."""
        return self._own().cost + self._lost + self._granted().cost

    def _granted(self) -> Amount:
        return sum((self._unspent(who, block) for who, block in self._blocks.items()), Amount())

    def _unspent(self, who: str, block: SpendingBlock) -> Amount:
        spent = self._spent[who]
        return Amount(max(0.0, (block.cost or 0.0) - spent.cost), max(0, (block.requests or 0) - spent.requests))

    def _may_come_back(self) -> bool:
        granted = self._granted()
        return granted.cost > ROUNDING or granted.requests > 0

    def _why_short(self, requests: int | None, price: float) -> str:
        if requests is not None and requests < 1:
            says = f"this share of --max-requests {self._limits.max_requests:,}" if self._of > 1 else ""
            return (
                f"stopped after {self._max_requests:,} requests, {says or 'as --max-requests says'}; "
                "give the same command to go on"
            )
        share = f"this share, {dollars(max(0.0, self._budget or 0.0))}, of " if self._of > 1 else ""
        spent = (self._own() if self._of > 1 else self.spent()).cost
        lost = f", {dollars(self._lost)} may have been by processes that were lost" if self._lost > ROUNDING else ""
        return (
            f"stopped before {share}the budget of {dollars(self._limits.budget or 0.0)} was passed: {dollars(spent)} "
            f"spent{lost}, and the next request may cost {dollars(price)}; give the same command with a larger "
            "--budget to go on"
        )

    def _keep(self, margin: float = 0.0) -> None:
        told = Spent(self._own(), self._lost, self._granted().cost + margin)
        self._folder.write(self._file, json.dumps(asdict(told)).encode())
        self._kept_at, self._kept_most = self._clock(), told.most


def spent_on(folder: Folder) -> Amount | None:
    """What all commands have spent on a run, whatever became of it; None where no model was asked."""
    known = _all_spent(folder)
    return sum((one.spent for one in known.values()), Amount()) if known else None


def _all_spent(folder: Folder) -> dict[str, Spent]:
    """The files that say what was spent, by their names."""
    names = [name for name in folder.names("") if name.startswith("spent") and name.endswith(".json")]
    return {name: _read(folder, name) for name in names}


def _read(folder: Folder, name: str) -> Spent:
    try:
        told: dict[str, Any] = json.loads(folder.read(name) or b"{}")
        return Spent(**told | {"spent": Amount(**told.get("spent", {}))})
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{folder.at(name)} is damaged ({error}): delete it, and subtract what was spent from the budget"
        ) from error


class ReplyUsage(Protocol):
    """What a reply took."""

    @property
    def tokens_in(self) -> int:
        """Of its prompt."""

    @property
    def tokens_out(self) -> int:
        """Its own."""

    @property
    def price(self) -> float | None:
        """In US dollars; None if it isn't known."""


@dataclass(eq=False)
class Ledger:
    """What a holder of a budget has spent, and whether another request may start.

    One for a command, shared by all its judges; or one for each of several processes, which is granted what it may
    spend. Meant for one event loop at a time: nothing here is locked.
    """

    _: KW_ONLY
    budget: float | None = None
    """The most that may be spent, in US dollars, with `spent_before`; of several processes, what is granted to it."""
    max_requests: int | None = None
    """The most requests that may start, repeated ones included; for one of several processes what it is granted."""
    spent_before: float = 0.0
    """What earlier continuations of the same run cost, not part of `cost`; it may be set until the first request."""
    call: Call | None = None
    """Asks the coordinator, which has the `Budget` of all processes; None for the only one."""
    who: str = ""
    """This process, for the coordinator."""
    sleep: Callable[[float], None] = time.sleep
    requests: int = field(default=0, init=False)
    """How many were sent, repeated ones included."""
    failed_requests: int = field(default=0, init=False)
    """How many of them brought no reply that could be used."""
    tokens_in: int = field(default=0, init=False)
    tokens_out: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)
    """Of all replies, in US dollars; one without a known price counts with the most that it may have cost."""
    repeated: Counter[str] = field(default_factory=Counter, init=False)
    """Cause in few words → how many requests were sent again for it."""
    warnings: list[str] = field(default_factory=list, init=False)
    """What the replies show that whoever reads the result should know, each once."""
    answering: dict[str, str] = field(default_factory=dict, init=False)
    """A judge's model → the model that its replies name, these and those of earlier runs."""
    in_flight: int = field(default=0, init=False)
    stopped: str | None = field(default=None, init=False)
    """Why no further request may start; None while they may."""
    error: Exception | None = field(default=None, init=False)
    """Why the coordinator can't be asked; then all is stopped."""
    on_wait: Callable[[], None] | None = field(default=None, init=False)
    """Called when an answer is waited for that another evaluation pays for, again and again."""
    _reserved: float = field(default=0.0, init=False)
    """Dollars that the requests in flight may cost at most."""
    _before: Amount = field(default_factory=Amount, init=False)
    """What was spent when the present part was begun."""
    _not_before: float = field(default=float("-inf"), init=False)
    _watchers: list[Callable[[], None]] = field(default_factory=list, init=False)

    def __post_init__(self) -> None:
        if self.call is not None:
            self._give_up_rest()

    def watch(self, changed: Callable[[], None]) -> None:
        """Have this called whenever a request has ended, and when all is stopped."""
        self._watchers.append(changed)

    def admits(self, price: float) -> bool:
        """Whether a request may start that costs this at most; stops everything if it can't even after all others.

        Where others share the budget it is granted more first; with no request under way, it waits in place for what
        they may give back.
        """
        if self.stopped is not None:
            return False
        if self._suffices(price):
            return True
        if self.call is not None:
            self._ask_for_more(self.call, price)
            return self._suffices(price)
        if self.max_requests is not None and self.requests >= self.max_requests:
            self.stop(request_limit_reached(self.requests))
        elif self.budget is not None and not self.in_flight:
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

    def begin(self, price: float) -> None:
        """A request starts that costs this at most."""
        self.requests += 1
        self.in_flight += 1
        self._reserved += price

    def withdraw(self, price: float) -> None:
        """A request that was begun with this price isn't sent after all."""
        self.requests -= 1
        self._release(price)

    def end(self, price: float, reply: ReplyUsage | None) -> None:
        """A request that was begun with this price has ended; without a reply it is free, as they are paid for."""
        if reply is None:
            self.failed_requests += 1
        else:
            self.tokens_in += reply.tokens_in
            self.tokens_out += reply.tokens_out
            self.cost += price if reply.price is None else reply.price
        self._release(price)

    def warn(self, text: str) -> None:
        """Have something told at the end, once."""
        if text not in self.warnings:
            self.warnings.append(text)

    def answers_as(self, asked: str, model: str) -> None:
        """A reply names its model, empty if it doesn't; another one than before is told."""
        before = self.answering.get(asked)
        if before and model and before != model:
            self.warn(f"{asked}: replies name the model {model}, earlier ones {before}")
        if model:
            self.answering[asked] = model

    def stop(self, reason: str) -> None:
        """Let no further request start; the first reason stays."""
        if self.stopped is None:
            self.stopped = reason
            self._tell()

    def fail(self, error: Exception) -> None:
        """The coordinator can't be asked. It isn't raised here, amid requests, where nobody would hear of it."""
        self.error = error
        self.stop(f"stopped: {error}")

    def wait(self) -> None:
        """An answer is waited for that another evaluation pays for, perhaps with what this process was granted."""
        if self.stopped is not None:
            raise Stopped(self.stopped)
        if self.call is not None and not self.in_flight and self._has_rest():
            self._give_up_rest()
            self.call("settle", self.who, self.spent)
        if self.on_wait is not None:
            self.on_wait()

    def begin_part(self) -> None:
        """A part is begun: what stopped the one before it doesn't count."""
        self.stopped = self.error = None
        self._before = self.spent

    def end_part(self) -> Amount:
        """A part has ended, whatever became of it: give back what is left; what was spent on it."""
        self._give_up_rest()
        if self.call is not None:
            self.call("settle", self.who, self.spent)
        return self.spent - self._before

    def _suffices(self, price: float) -> bool:
        """Whether budget and requests suffice for one more request, and nothing has stopped all."""
        if self.stopped is not None or (self.max_requests is not None and self.requests >= self.max_requests):
            return False
        spent = self.spent_before + self.cost + self._reserved
        return self.budget is None or spent + price <= self.budget + ROUNDING

    def _ask_for_more(self, call: Call, price: float) -> None:
        while not self.in_flight or time.monotonic() >= self._not_before:
            try:
                block: SpendingBlock = call("grant", self.who, self.spent, self._reserved, price)
            except Exception as error:  # noqa: BLE001  # see `fail`
                return self.fail(error)
            self.budget, self.max_requests = block.cost, block.requests
            if block.granted:
                return None
            if self.in_flight:  # when they have ended, it is asked again
                self._not_before = time.monotonic() + PAUSE
                return None
            if block.short:
                return self.stop(block.short)
            self.sleep(PAUSE)
        return None

    def _has_rest(self) -> bool:
        money = self.budget is not None and self.budget > self.cost
        return money or (self.max_requests is not None and self.max_requests > self.requests)

    def _give_up_rest(self) -> None:
        self.budget = None if self.budget is None else self.cost
        self.max_requests = None if self.max_requests is None else self.requests

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
