"""Requests by a provider's batch API: half the price, and the command may end and be given again to collect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, TypeVar

from ragtriage.core.display import dollars, plural
from ragtriage.core.errors import ConfigError, JudgeError, Stopped, StoreError
from ragtriage.judges.llm.batch_api import BatchAPI
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.ledger import Ledger, request_limit_reached
from ragtriage.judges.llm.messages import (
    ExchangeError,
    ModelUnusable,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    TransientError,
)
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.pending_requests import Pending, PendingRequests, Ticket, TicketBook, Tickets, key_of
from ragtriage.judges.llm.providers import model_named

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import EncodedBatchRequest

T = TypeVar("T")

SMALLEST_BATCH = 20
"""Requests; a provider that has no room for a batch of this size has none at all for now."""


class BatchQueue:
    """The way to one model by its batch API, for all who ask it.

    It gathers prompts until none has come for a while, so that every case in flight waits; collects the replies to
    those that were submitted before, and submits the others together. The answers lead to further prompts, which are
    gathered in their turn. A ticket is dropped a quiet time after its answers were handed out, never before.

    Args:
        name: `provider:model`.
        options: how requests are made, and their limits.
        ledger: what was spent, and whether there is money left. A request counts when it is submitted, its tokens and
            cost when its reply is collected.
        tickets: what keeps tickets between commands.
        price: the model's, of live requests: batches cost half.
        wait: go on until everything is collected, however long that takes; else `Stopped` is raised when nothing is
            left to do but to wait.
        quiet, poll: seconds of the quiet time, and between two looks at batches that haven't ended.
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
            raise ConfigError(f"the price of {name} isn't known, so a budget can't be kept: give its price", "price")
        self._api = BatchAPI(name, model or model_named(name, options), options, price, sleep)
        self._name = name
        self._options = options
        self._ledger = ledger
        self._book = TicketBook(tickets)
        self._pending = PendingRequests(name, ledger, self._book, self._api.largest_price)
        self._largest_batch = self._api.most_requests
        self._full = ""
        """Why the provider takes nothing more for now."""
        self._wait = wait
        self._quiet = quiet
        self._poll = poll
        self._trial = trial
        self._sleep = sleep
        self._worker: asyncio.Task[None] | None = None
        self._asleep: asyncio.Future[None] | None = None
        self._trouble = ""
        self._looked_at: set[str] = set()
        self._ended: set[str] = set()
        ledger.watch(self._wake)

    async def ask(self, prompt: Prompt, read: Callable[[Reply], T]) -> T:
        """Have a prompt submitted, unless an earlier command has done so, and wait for its answer; see `Channel.ask`.

        Raises:
            Stopped: the reply isn't there yet, or the request may not be submitted.
            StoreError: tickets can't be read or kept.
        """
        one = self._pending.add(key_of(self._name, self._options, prompt, self._trial), prompt, read)
        if self._worker is None or self._worker.done():
            self._worker = asyncio.create_task(self._work())
        try:
            answer: T = await one.answer
            return answer
        finally:
            self._pending.leave(one)

    def close(self) -> None:
        """Drop the tickets whose answers were handed out; call it when these are safe."""
        self._book.sweep()

    async def _work(self) -> None:
        while self._pending:
            try:
                async with self._api:
                    while await self._round():
                        pass
            except Exception as error:  # noqa: BLE001  # whoever waits has to hear of it
                await self._pending.quiet(self._quiet)  # what was handed out just before gets its time to be stored
                with suppress(StoreError):
                    self._book.sweep()  # so that the next command doesn't meet the same batch again
                self._pending.end(error)

    async def _round(self) -> bool:
        """Gather, then do what can be done; False if nothing is left to do."""
        await self._pending.quiet(self._quiet)
        self._book.sweep()
        arrivals = self._pending.arrivals
        self._pending.find_tickets()
        if not self._pending:
            return False
        if await self._collect():
            return True
        refused = ""
        try:
            if await self._submit():
                return True
        except Stopped as error:
            refused = str(error)
        if arrivals != self._pending.arrivals:
            return True
        if self._wait and self._ledger.stopped is None and (self._pending.at_the_provider() or self._full):
            await self._wait_for_batches()
            return True
        told = [refused, self._pending.status(), self._trouble]
        if self._ended:
            told.append(f"{len(self._ended)} of {plural(len(self._looked_at), 'batch', 'batches')} had ended")
        self._pending.end(Stopped("; ".join(filter(None, told))))
        return False

    async def _collect(self) -> bool:
        """Hand out the answers of the batches that have ended; False if none has."""
        broken: ExchangeError | None = None
        crowded: list[tuple[int, str]] = []
        some, self._trouble = False, ""
        for name, those in self._pending.at_the_provider().items():
            held = [(one, ticket) for one, ticket in those if one.ticket is ticket]
            if not held:
                continue  # all have left meanwhile
            batch = held[0][1].batch
            self._looked_at.add(name)
            try:
                outcomes = await self._api.collect(batch, {ticket.number: one.prompt for one, ticket in held})
            except TransientError as error:
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
                self._pending.settle(one, outcomes[ticket.number])
            broken = next((one for one in outcomes.values() if isinstance(one, ModelUnusable)), broken)
            limited = next((one for one in outcomes.values() if isinstance(one, RateLimited)), None)
            if limited:
                crowded.append((batch.request_count, str(limited)))
        if broken:
            raise JudgeError(str(broken)) from broken
        if some:
            self._make_room(crowded)
        return some

    async def _submit(self) -> bool:
        """Submit what has no ticket; False if there is nothing."""
        fresh = self._pending.to_submit()
        if not fresh:
            return False
        if self._ledger.stopped is not None or self._full:
            raise Stopped(self._ledger.stopped or self._full)
        most, sent = self._options.max_requests, self._ledger.requests
        if most is not None and sent >= most:
            raise Stopped(request_limit_reached(sent))
        try:
            async with aclosing(self._batches(fresh if most is None else fresh[: most - sent])) as batches:
                async for batch in batches:
                    await self._send(batch)
        except TransientError as error:
            raise Stopped(f"{self._name} takes no batch now: {error}; give the same command again later") from error
        except ExchangeError as error:
            raise JudgeError(str(error)) from error
        return True

    def _make_room(self, crowded: Sequence[tuple[int, str]]) -> None:
        """Submit less at a time, or nothing for now, where the provider had too much waiting already."""
        self._full = ""
        for size, cause in crowded:
            if self._pending.at_the_provider() or size <= SMALLEST_BATCH:
                self._full = f"{self._name} takes no further batch now: {cause}; give the same command again later"
            else:
                self._largest_batch = min(self._largest_batch, max(SMALLEST_BATCH, size // 2))

    async def _batches(self, those: Sequence[Pending]) -> AsyncGenerator[Sequence[tuple[Pending, EncodedBatchRequest]]]:
        """Requests that can be one batch."""
        batches: dict[str, list[tuple[Pending, EncodedBatchRequest]]] = {}
        sizes: dict[str, int] = {}
        for number, one in enumerate(those):
            try:
                encoded = await self._api.encode(one.sent, str(number))
            except RequestRejected as error:
                self._pending.fail(one, RetriesExhausted(str(error)))
                continue
            group, size = encoded.group, self._api.size(encoded)
            batch = batches.setdefault(group, [])
            if batch and (len(batch) >= self._largest_batch or sizes[group] + size > self._api.most_bytes):
                yield batch
                batch = batches[group] = []
            sizes[group] = size + (sizes[group] if batch else 0)
            batch.append((one, encoded))
            await asyncio.sleep(0)  # encoding many takes long: others go on meanwhile
        for batch in batches.values():
            yield batch

    async def _send(self, batch: Sequence[tuple[Pending, EncodedBatchRequest]]) -> None:
        """Submit a batch, and keep its tickets at once; raises as `_submit`."""
        batch = [(one, encoded) for one, encoded in batch if one in self._pending]
        if not batch:
            return
        price = sum(self._api.largest_price(one.sent) for one, _ in batch)
        if not self._ledger.admits(price):
            raise Stopped(
                self._ledger.stopped
                or f"stopped before the budget of {dollars(self._options.budget or 0)} was passed: a further batch of "
                f"{plural(len(batch), 'request')} may cost {dollars(price)}; give the same command with a larger "
                "--budget to go on"
            )
        made = await self._api.create([encoded for _, encoded in batch])
        # nothing is awaited before the tickets are kept, so that a killed process loses those of one batch at most
        tickets = [Ticket(made, encoded.custom_id, one.tries) for one, encoded in batch]
        self._book.add(zip((one.key for one, _ in batch), tickets, strict=True))
        for (one, _), ticket in zip(batch, tickets, strict=True):
            self._pending.hold(one, ticket)

    async def _wait_for_batches(self) -> None:
        """Until it is time to look again, or everything is stopped."""
        self._asleep = asyncio.ensure_future(self._sleep(self._poll))
        try:
            await asyncio.wait([self._asleep])
        finally:
            self._asleep.cancel()
        if not self._pending.at_the_provider():
            self._full = ""

    def _wake(self) -> None:
        if self._ledger.stopped is not None and self._asleep:
            self._asleep.cancel()
