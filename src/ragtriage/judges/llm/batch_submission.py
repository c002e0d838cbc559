"""Puts waiting requests into batches, within what the provider takes and what may be spent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING

from ragtriage.core.errors import JudgeError, Stopped
from ragtriage.judges.llm.batch_api import BatchAPI
from ragtriage.judges.llm.channel import GaveUp
from ragtriage.judges.llm.ledger import Ledger, dollars
from ragtriage.judges.llm.messages import Busy, ExchangeError, Rejected, Transient
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.pending_requests import Pending, Waiting, counted
from ragtriage.judges.llm.tickets import Book, Ticket

if TYPE_CHECKING:
    from pydantic_ai.models.batch import EncodedBatchRequest

SMALLEST = 20
"""Requests; a provider that has no room for a batch of this size has none at all for now."""


class Submitting:
    """Submits requests, and keeps their tickets.

    Args:
        name: the model, for messages.
        options: limits.
        api: what takes batches.
        ledger: whether there is money left.
        book: what keeps the tickets.
        waiting: whose requests they are.
    """

    def __init__(
        self, name: str, options: LLMOptions, api: BatchAPI, ledger: Ledger, book: Book, waiting: Waiting
    ) -> None:
        self.full = ""
        """Why the provider takes nothing more for now."""
        self._name = name
        self._options = options
        self._api = api
        self._ledger = ledger
        self._book = book
        self._waiting = waiting
        self._most = api.most_requests

    async def submit(self) -> bool:
        """Submit what has no ticket; False if there is nothing.

        Raises:
            Stopped: it may not be submitted, or not now; some of it may have been.
            JudgeError: nothing can be submitted.
            StoreError: the tickets can't be kept.
        """
        fresh = self._waiting.to_submit()
        if not fresh:
            return False
        if self._ledger.stopped is not None or self.full:
            raise Stopped(self._ledger.stopped or self.full)
        most, sent = self._options.max_requests, self._ledger.requests
        if most is not None and sent >= most:
            raise Stopped(f"stopped after {sent} requests, as --max-requests says; give the same command to go on")
        try:
            async with aclosing(self._chunks(fresh if most is None else fresh[: most - sent])) as chunks:
                async for chunk in chunks:
                    await self._send(chunk)
        except (Busy, Transient) as error:
            raise Stopped(f"{self._name} takes no batch now: {error}; give the same command again later") from error
        except ExchangeError as error:
            raise JudgeError(str(error)) from error
        return True

    def make_room(self, crowded: Sequence[tuple[int, str]]) -> None:
        """Submit less at a time, or nothing for now, where the provider had too much waiting already.

        Args:
            crowded: the number of requests of each batch that it didn't take for that reason, and its words.
        """
        self.full = ""
        for size, cause in crowded:
            if self._waiting.at_the_provider() or size <= SMALLEST:
                self.full = f"{self._name} takes no further batch now: {cause}; give the same command again later"
            else:
                self._most = min(self._most, max(SMALLEST, size // 2))

    async def _chunks(self, those: Sequence[Pending]) -> AsyncGenerator[Sequence[tuple[Pending, EncodedBatchRequest]]]:
        """Requests that can be one batch."""
        chunks: dict[str, list[tuple[Pending, EncodedBatchRequest]]] = {}
        sizes: dict[str, int] = {}
        for number, one in enumerate(those):
            try:
                encoded = await self._api.encode(one.sent, str(number))
            except Rejected as error:
                self._waiting.fail(one, GaveUp(str(error)))
                continue
            chunk, size = chunks.setdefault(encoded.group, []), self._api.size(encoded)
            if chunk and (len(chunk) >= self._most or sizes[encoded.group] + size > self._api.most_bytes):
                yield chunk
                chunk = chunks[encoded.group] = []
            sizes[encoded.group] = size + (sizes[encoded.group] if chunk else 0)
            chunk.append((one, encoded))
            await asyncio.sleep(0)  # encoding many takes long: others go on meanwhile
        for chunk in chunks.values():
            yield chunk

    async def _send(self, chunk: Sequence[tuple[Pending, EncodedBatchRequest]]) -> None:
        """Submit a batch, and keep its tickets at once.

        Raises:
            Stopped: the budget doesn't allow it.
            ExchangeError: it wasn't submitted.
            StoreError: the tickets can't be kept.
        """
        chunk = [(one, encoded) for one, encoded in chunk if one in self._waiting]
        if not chunk:
            return
        price = sum(self._api.largest_price(one.sent) for one, _ in chunk)
        if not self._ledger.admits(price):
            raise Stopped(
                self._ledger.stopped
                or f"stopped before the budget of {dollars(self._options.budget or 0)} was passed: a further batch of "
                f"{counted(len(chunk), 'request')} may cost {dollars(price)}; give the same command with a larger "
                "--budget to go on"
            )
        batch = await self._api.create([encoded for _, encoded in chunk])
        # nothing is awaited before the tickets are kept, so that a killed process loses those of one batch at most
        tickets = [Ticket(batch, encoded.custom_id, one.tries) for one, encoded in chunk]
        self._book.add(zip((one.key for one, _ in chunk), tickets, strict=True))
        for (one, _), ticket in zip(chunk, tickets, strict=True):
            self._waiting.hold(one, ticket)
