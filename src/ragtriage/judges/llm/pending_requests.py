"""The requests of a batch desk whose answers somebody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.errors import JudgeError, RagtriageError
from ragtriage.judges.llm.channel import GROWTH, GaveUp
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.llm.messages import Busy, ExchangeError, Malformed, Prompt, Reply, Transient, Unusable
from ragtriage.judges.llm.tickets import Book, Ticket

TRIES = 3
"""How often a request is submitted before it is given up."""
NAPS = 20
"""A quiet time is as many naps in a row, so that a loop that is busy or stood still doesn't pass for a quiet one."""
SHOWN = 5
"""Batches that are named in a sentence."""


@dataclass(slots=True, eq=False)
class Pending:
    """A request whose answer somebody waits for."""

    key: bytes
    prompt: Prompt
    read: Callable[[Reply], Any]
    answer: asyncio.Future[Any]
    sent: Prompt
    """What is submitted: the prompt, or another one after a reply that didn't fit."""
    tries: int = 0
    """How often it was submitted in vain."""
    known: bool = False
    """Whether a ticket of an earlier command was looked for."""
    ticket: Ticket | None = None
    """Where its reply will be."""
    price: float = 0.0
    """What the ledger holds for it while it has a ticket, in US dollars."""


class Waiting:
    """All that wait, and what becomes of them.

    Args:
        name: the model, for errors.
        ledger: holds the largest price of every request that has a ticket.
        book: the tickets.
        largest_price: of a prompt, in US dollars.
    """

    def __init__(self, name: str, ledger: Ledger, book: Book, largest_price: Callable[[Prompt], float]) -> None:
        self.arrivals = 0
        """How many have ever come."""
        self._name = name
        self._ledger = ledger
        self._book = book
        self._largest_price = largest_price
        self._all: dict[Pending, None] = {}
        self._events = 0

    def __bool__(self) -> bool:
        return bool(self._all)

    def __contains__(self, one: object) -> bool:
        return one in self._all

    def __iter__(self) -> Iterator[Pending]:
        return iter(self._all)

    def come(self, key: bytes, prompt: Prompt, read: Callable[[Reply], Any]) -> Pending:
        """Somebody begins to wait."""
        one = Pending(key, prompt, read, asyncio.get_running_loop().create_future(), prompt)
        self._all[one] = None
        self.arrivals += 1
        self._events += 1
        return one

    def leave(self, one: Pending) -> None:
        """Nobody waits for it any more. A ticket that it holds stays where it is, so that nothing paid for is lost."""
        self._all.pop(one, None)
        self._events += 1
        if one.ticket:
            self._ledger.withdraw(one.price)
            self._ledger.requests += 1  # it was sent all the same
            self._book.give_back(one.ticket)
            one.ticket = None

    async def quiet(self, seconds: float) -> None:
        """Until nobody has come or left for so long."""
        naps = 0
        while naps < NAPS:
            events = self._events
            await asyncio.sleep(seconds / NAPS)
            naps = naps + 1 if events == self._events else 0

    def find_tickets(self) -> None:
        """Give those without a ticket the one that an earlier command left for them.

        Raises:
            StoreError: tickets can't be read.
        """
        self._book.look_up(one.key for one in self._all)
        for one in self._all:
            one.known = True
            if not one.ticket and (ticket := self._book.take(one.key)):
                one.tries = max(one.tries, ticket.tries)
                self.hold(one, ticket)
                self._ledger.requests -= 1  # an earlier command has sent it

    def hold(self, one: Pending, ticket: Ticket) -> None:
        """It is at the provider; its largest price counts as spent until it is settled."""
        one.ticket = ticket
        one.price = self._largest_price(one.sent)
        self._ledger.begin(one.price)
        if one not in self._all:
            self.leave(one)

    def to_submit(self) -> list[Pending]:
        """Those without a ticket; who has come since tickets were looked for isn't among them."""
        return [one for one in self._all if one.known and not one.ticket]

    def at_the_provider(self) -> Mapping[str, list[Pending]]:
        """The id of a batch → those who wait for it."""
        batches: dict[str, list[Pending]] = {}
        for one in self._all:
            if one.ticket:
                batches.setdefault(one.ticket.batch.id, []).append(one)
        return batches

    def settle(self, one: Pending, outcome: Reply | ExchangeError) -> None:
        """Hand out an answer, or give it up, or let it be submitted again."""
        if not one.ticket:
            return
        self._book.use(one.key, one.ticket)
        one.ticket = None
        self._ledger.end(one.price, outcome if isinstance(outcome, Reply) else None)
        match outcome:
            case Reply(truncated=True):
                longer = min(2 * one.sent.largest_reply, GROWTH * one.prompt.largest_reply)
                problem = f"it was cut off at {one.sent.largest_reply} tokens"
                self._misfit(one, replace(one.prompt, largest_reply=longer), "truncated reply", problem)
            case Reply():
                try:
                    answer = one.read(outcome)
                except Malformed as error:
                    corrected = replace(one.prompt, refused=(outcome.text, str(error)))
                    self._misfit(one, corrected, "malformed reply", str(error))
                except Exception as error:  # noqa: BLE001  # whoever asked has to hear of it
                    self.fail(one, error)
                else:
                    self.leave(one)
                    if not one.answer.done():
                        one.answer.set_result(answer)
            case Transient():
                self._again(one, "failed in its batch", str(outcome))
            case Busy() | Unusable():
                pass  # no fault of this request: it waits for what becomes of all
            case _:
                self.fail(one, GaveUp(str(outcome)))

    def fail(self, one: Pending, error: Exception) -> None:
        """Raise this to whoever waits for it."""
        self.leave(one)
        if not one.answer.done():
            one.answer.set_exception(error)

    def end(self, error: Exception) -> None:
        """Raise this to all."""
        if not isinstance(error, RagtriageError):
            error = JudgeError(f"{self._name}: the batch API failed: {type(error).__name__}: {error}")
        for one in list(self._all):
            self.fail(one, error)

    def told(self) -> str:
        """What is at the provider, as a sentence; "" if nothing is."""
        batches = self.at_the_provider()
        if not batches:
            return ""
        one = len(batches) == 1
        names = ", ".join(list(batches)[:SHOWN]) + (", …" if len(batches) > SHOWN else "")
        return (
            f"{counted(len(batches), 'batch', 'batches')} with "
            f"{counted(sum(map(len, batches.values())), 'request')} to {self._name} "
            f"{'is' if one else 'are'} submitted and {'has' if one else 'have'} not ended ({names}): give the same "
            f"command again to collect {'it' if one else 'them'}"
        )

    def _misfit(self, one: Pending, sent: Prompt, cause: str, problem: str) -> None:
        self._ledger.failed_requests += 1
        one.sent = sent
        self._again(one, cause, f"the reply doesn't fit: {problem}")

    def _again(self, one: Pending, cause: str, problem: str) -> None:
        one.tries += 1
        if one.tries >= TRIES:
            self.fail(one, GaveUp(f"{problem} (submitted {TRIES} times)"))
        else:
            self._ledger.repeated[cause] += 1


def counted(count: int, one: str, many: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
