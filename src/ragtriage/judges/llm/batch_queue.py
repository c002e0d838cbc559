"""Requests by a provider's batch API: half the price, and the command may end and be given again to collect."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from ragtriage.core.errors import ConfigError, JudgeError, Stopped, StoreError
from ragtriage.judges.llm.batch_api import BatchAPI
from ragtriage.judges.llm.batch_submission import Submitting
from ragtriage.judges.llm.ledger import Ledger
from ragtriage.judges.llm.messages import Busy, ExchangeError, Prompt, Reply, Transient, Unusable
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.pending_requests import Waiting, counted
from ragtriage.judges.llm.providers import model_named
from ragtriage.judges.llm.tickets import Book, Tickets, key_of

if TYPE_CHECKING:
    from pydantic_ai.models import Model

T = TypeVar("T")


class BatchQueue:
    """The way to one model by its batch API, for all who ask it.

    It gathers prompts until none has come for a while, so that every case in flight waits; collects the replies to
    those that were submitted before, and submits the others together. The answers lead to further prompts, which are
    gathered in their turn. A ticket is dropped a quiet time after its answers were handed out, never before.

    Args:
        name: `provider:model`, as a user types it.
        options: how requests are made, and their limits.
        ledger: what was spent, and whether there is money left. A request counts when it is submitted, its tokens and
            cost when its reply is collected.
        tickets: what keeps tickets between commands.
        price: the model's, of live requests: batches cost half.
        wait: go on until everything is collected, however long that takes; else `Stopped` is raised when nothing is
            left to do but to wait.
        quiet: seconds.
        poll: seconds between two looks at batches that haven't ended.
        trial: which repetition of the same questions; each has tickets of its own.
        model: what to ask, if not the model of that name.
        sleep: waits so many seconds, between looks and before further attempts.

    Raises:
        ConfigError: the model has no batch API, or an option that doesn't go with one is set.
    """

    def __init__(  # noqa: PLR0913  # most have a default that is right outside of tests
        self,
        name: str,
        options: LLMOptions,
        ledger: Ledger,
        tickets: Tickets,
        *,
        price: Price | None = None,
        wait: bool = False,
        quiet: float = 0.5,
        poll: float = 30.0,
        trial: int = 0,
        model: Model | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        if options.budget is not None and price is None:
            raise ConfigError(f"--budget: the price of {name} isn't known: say it with --price IN:OUT")
        self._api = BatchAPI(name, model or model_named(name, options), options, price, sleep)
        self._name = name
        self._options = options
        self._ledger = ledger
        self._book = Book(tickets)
        self._waiting = Waiting(name, ledger, self._book, self._api.largest_price)
        self._submitting = Submitting(name, options, self._api, ledger, self._book, self._waiting)
        self._wait = wait
        self._quiet = quiet
        self._poll = poll
        self._trial = trial
        self._sleep = sleep
        self._worker: asyncio.Task[None] | None = None
        self._asleep: asyncio.Task[None] | None = None
        self._trouble = ""
        self._looked_at: set[str] = set()
        self._ended: set[str] = set()
        ledger.watch(self._hear)

    async def ask(self, prompt: Prompt, read: Callable[[Reply], T]) -> T:
        """Have a prompt submitted, unless an earlier command has done so, and wait for its answer.

        Args:
            prompt: what is asked.
            read: reply → answer; raises `Malformed`.

        Raises:
            GaveUp: this request fails.
            Stopped: the reply isn't there yet, or the request may not be submitted.
            JudgeError: every request would fail.
            StoreError: tickets can't be read or kept.
        """
        one = self._waiting.come(key_of(self._name, self._options, prompt, self._trial), prompt, read)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            answer: T = await one.answer
            return answer
        finally:
            self._waiting.leave(one)

    def close(self) -> None:
        """Drop the tickets whose answers were handed out; call it when these are safe.

        Raises:
            StoreError: they can't be dropped.
        """
        self._book.sweep()

    async def _work(self) -> None:
        while self._waiting:
            try:
                async with self._api:
                    while await self._round():
                        pass
            except Exception as error:  # noqa: BLE001  # whoever waits has to hear of it
                await self._waiting.quiet(self._quiet)  # what was handed out just before gets its time to be stored
                with suppress(StoreError):
                    self._book.sweep()  # so that the next command doesn't meet the same batch again
                self._waiting.end(error)

    async def _round(self) -> bool:
        """Gather, then do what can be done; False if nothing is left to do."""
        await self._waiting.quiet(self._quiet)
        self._book.sweep()
        arrivals = self._waiting.arrivals
        self._waiting.find_tickets()
        if not self._waiting:
            return False
        if await self._collect():
            return True
        refused = ""
        try:
            if await self._submitting.submit():
                return True
        except Stopped as error:
            refused = str(error)
        if arrivals != self._waiting.arrivals:
            return True
        if self._wait and self._ledger.stopped is None and (self._waiting.at_the_provider() or self._submitting.full):
            await self._sleep_on_it()
            return True
        told = [refused, self._waiting.told(), self._trouble]
        if self._ended:
            told.append(f"{len(self._ended)} of {counted(len(self._looked_at), 'batch', 'batches')} had ended")
        self._waiting.end(Stopped("; ".join(filter(None, told))))
        return False

    async def _collect(self) -> bool:
        """Hand out the answers of the batches that have ended; False if none has.

        Raises:
            JudgeError: every request would fail.
        """
        broken: ExchangeError | None = None
        crowded: list[tuple[int, str]] = []
        some, self._trouble = False, ""
        for name, those in self._waiting.at_the_provider().items():
            held = [(one, one.ticket) for one in those if one.ticket]
            if not held:
                continue  # all have left meanwhile
            batch = held[0][1].batch
            self._looked_at.add(name)
            try:
                outcomes = await self._api.collect(batch, {ticket.number: one.prompt for one, ticket in held})
            except (Busy, Transient) as error:
                self._trouble = f"{self._name} didn't say whether all had ended: {error}"
                continue
            except ExchangeError as error:
                broken = error
                continue
            if outcomes is None:
                continue
            some = True
            self._ended.add(name)
            for one, ticket in held:
                self._waiting.settle(one, outcomes[ticket.number])
            broken = next((one for one in outcomes.values() if isinstance(one, Unusable)), broken)
            crowded += [(batch.request_count, str(one)) for one in outcomes.values() if isinstance(one, Busy)][:1]
        if broken:
            raise JudgeError(str(broken)) from broken
        if some:
            self._submitting.make_room(crowded)
        return some

    async def _sleep_on_it(self) -> None:
        """Until it is time to look again, or everything is stopped."""

        async def sleep() -> None:
            await self._sleep(self._poll)

        self._asleep = asyncio.create_task(sleep())
        try:
            await asyncio.wait([self._asleep])
        finally:
            self._asleep.cancel()
        if not self._waiting.at_the_provider():
            self._submitting.full = ""

    def _hear(self) -> None:
        if self._ledger.stopped is not None and self._asleep:
            self._asleep.cancel()
