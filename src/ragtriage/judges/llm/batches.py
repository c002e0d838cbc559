"""Requests by a provider's batch API: half the price, and the command may end and be given again to collect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from ragtriage.core.display import dollars, plural
from ragtriage.core.errors import ConfigError, JudgeError, Stopped, StoreError
from ragtriage.judges.budget import Ledger, request_limit_reached
from ragtriage.judges.llm.channel import RetriesExhausted
from ragtriage.judges.llm.options import (
    ExchangeError,
    LLMOptions,
    ModelUnusable,
    Price,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    TransientError,
)
from ragtriage.judges.llm.pending_requests import Pending, PendingRequests, Ticket, TicketBook, Tickets, key_of
from ragtriage.judges.llm.providers import model_named
from ragtriage.judges.llm.pydantic_ai_calls import (
    Endpoint,
    fixed_settings,
    initial_format,
    reply_of,
    request_of,
    without_refused_feature,
)

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.models.batch import Batch, BatchRequest, BatchResult, EncodedBatchRequest


T = TypeVar("T")

BACKOFFS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""Seconds before each further attempt of what failed for the moment."""
LONGEST_BACKOFF = 60.0
"""Seconds; a server that asks for more is left to the next command."""
SHARE = 0.5
"""Of the price of a live request: what every provider charges for one in a batch."""
MOST_REQUESTS = 10_000
MOST_BYTES = 64 * 2**20
"""Of a batch; providers take more, but it is held in memory several times while it is submitted."""
KEPT = timedelta(days=29)
"""For how long providers know a batch at least."""
FULL = "token_limit_exceeded"
"""OpenAI's code for a batch that it doesn't take as too much is waiting already."""
CANCELLED = 499
"""The status that Google's cancelled batches are given."""
CANCELLED_THERE = "its batch was cancelled at the provider"


class _Unknown(ModelUnusable):
    """The provider doesn't know what was asked for (404)."""


class _JobError(ExchangeError):
    """A batch has ended without a word about single requests; `outcome` is what that means for each of them."""

    def __init__(self, outcome: ExchangeError) -> None:
        super().__init__(str(outcome))
        self.outcome = outcome


def check_batch_support(name: str, model: Model, options: LLMOptions) -> int:
    """How many requests a batch of this model may hold, as its provider says."""
    if model.batch_max_requests is None:
        having = "openai (not at an address of your own), anthropic or google"
        raise ConfigError(f"{name} has no batch API: leave it out, or choose a model of {having}", "batch_api")
    if options.headers:
        raise ConfigError("a batch can't be sent headers of your own: leave them out", "headers", "batch_api")
    return model.batch_max_requests


class BatchAPI:
    """One model's batch API; enter it before use."""

    def __init__(
        self,
        name: str,
        model: Model,
        options: LLMOptions,
        price: Price | None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.most_requests = min(MOST_REQUESTS, check_batch_support(name, model, options))
        self.most_bytes = min(MOST_BYTES, model.batch_max_bytes or MOST_BYTES)
        self._name = name
        self._model = model
        self._options = options
        self._price = Price(price.tokens_in * SHARE, price.tokens_out * SHARE) if price else None
        self._sleep = sleep
        self._endpoint = Endpoint.of(name, options)
        self._initial_format = self._format = initial_format(name, model, options)
        self._fixed = {key: value for key, value in fixed_settings(model, options).items() if key != "max_retries"}

    async def __aenter__(self) -> None:
        await self._model.__aenter__()

    async def __aexit__(self, *raised: object) -> None:
        await self._model.__aexit__(None, None, None)

    def largest_price(self, prompt: Prompt) -> float:
        """The most that a request may cost, in US dollars; 0 where the model's price isn't known."""
        return self._price.of(prompt.tokens, prompt.largest_reply) if self._price else 0.0

    async def encode(self, prompt: Prompt, number: str) -> EncodedBatchRequest:
        """A prompt as the provider takes it.

        Its number in the batch has at most 64 letters, digits, `_` or `-`. An `ExchangeError` if it can't be submitted.
        """
        return await self._once(lambda: self._model.batch_encode(self._request(prompt, number)))

    def size(self, request: EncodedBatchRequest) -> int:
        """Bytes that it adds to a batch."""
        return self._model.batch_request_size(request)

    async def create(self, requests: Sequence[EncodedBatchRequest]) -> Batch:
        """Submit requests of one group; again and again where that fails for the moment."""
        return await self._retried(lambda: self._model.batch_create(requests))

    async def collect(self, batch: Batch, prompts: Mapping[str, Prompt]) -> Mapping[str, Reply | ExchangeError] | None:
        """What became of requests; None if their batch hasn't ended.

        The prompts are by the requests' numbers in the batch. A `TransientError` if the provider doesn't say now,
        `ModelUnusable` if it refuses the key or doesn't know the batch.
        """
        try:
            now = await self._retried(lambda: self._model.batch_status(batch))
        except _Unknown as error:
            if batch.created_at + KEPT < datetime.now(UTC):
                return dict.fromkeys(prompts, TransientError(f"the batch {batch.id} isn't kept any more"))
            raise ModelUnusable(
                f"{self._name}: the provider doesn't know the batch {batch.id} of {batch.created_at:%Y-%m-%d}: use a "
                "key of the account that submitted it"
            ) from error
        if now.status != "ended":
            return None
        if refusal := self._refusal(now):
            return dict.fromkeys(prompts, refusal)
        try:
            results = {one.custom_id: one for one in await self._retried(lambda: self._model.batch_results(now))}
        except _JobError as error:
            return dict.fromkeys(prompts, error.outcome)
        except _Unknown:
            return dict.fromkeys(prompts, TransientError(f"the results of the batch {batch.id} aren't kept any more"))
        return {number: self._outcome(results.get(number), prompt) for number, prompt in prompts.items()}

    async def _once(self, call: Callable[[], Awaitable[T]]) -> T:
        """What the package gives, with an `ExchangeError` for any error of its own."""
        try:
            return await call()
        except Exception as error:  # noqa: BLE001  # whatever the package raises is one of four things
            raise self._explain(error) from None

    async def _retried(self, call: Callable[[], Awaitable[T]]) -> T:
        """Again and again, where it fails for the moment."""
        for backoff in BACKOFFS:
            try:
                return await self._once(call)
            except TransientError as error:
                wait = backoff if error.after is None else error.after
                if wait > LONGEST_BACKOFF:
                    raise
            await self._sleep(wait)
        return await self._once(call)

    def _explain(self, error: Exception) -> ExchangeError:
        status = getattr(error, "status_code", 0)
        if type(error).__name__ == "BatchJobError":  # Google's whole batch ended so; the class isn't a public one
            cause = f"its batch failed{self._endpoint.because(error)}"
            if status == CANCELLED:
                return _JobError(RequestRejected(CANCELLED_THERE))
            if status in {400, 401, 403, 404}:
                return _JobError(ModelUnusable(f"{self._name}: {cause}"))
            return _JobError(RateLimited(cause) if status == 429 else TransientError(cause))
        failure = self._endpoint.explain(error)
        return _Unknown(str(failure)) if status == 404 else failure  # HTTP's "not found"

    def _refusal(self, batch: Batch) -> ExchangeError | None:
        """Why OpenAI took none of a batch's requests after all; None if it did, and with every other provider."""
        details = batch.provider_details or {}
        if details.get("status") != "failed":
            return None
        errors = [one for one in details.get("errors", ()) if isinstance(one, dict)]
        said = self._endpoint.hide(" ".join(str(one.get("message")) for one in errors[:1])) or "it doesn't say why"
        if any(one.get("code") == FULL for one in errors):
            return RateLimited(said)
        return ModelUnusable(f"{self._name}: the provider refused the batch {batch.id}: {said}")

    def _outcome(self, result: BatchResult | None, prompt: Prompt) -> Reply | ExchangeError:
        if result is None:
            return TransientError("its batch ended without it")
        if result.status == "expired":
            return TransientError("its batch expired before it was its turn")
        if result.status == "canceled":
            return RequestRejected(CANCELLED_THERE)
        try:
            response = self._model.batch_decode(result, self._request(prompt, result.custom_id))
            return reply_of(response, prompt, self._price, own_price=self._options.price is not None)
        except Exception as error:  # noqa: BLE001  # see `_once`
            failure = self._endpoint.explain(error)
            other = without_refused_feature(self._initial_format, error, self._options)
            if other is not None:
                self._format = self._format & other
                return TransientError(str(failure))
            return TransientError(str(failure)) if isinstance(failure, RateLimited) else failure

    def _request(self, prompt: Prompt, number: str) -> BatchRequest:
        from pydantic_ai.models.batch import BatchRequest  # noqa: PLC0415  # optional package

        asked, settings, parameters = request_of(prompt, self._format, self._fixed, self._options.temperature)
        return BatchRequest(
            custom_id=number, messages=asked, model_settings=settings, model_request_parameters=parameters
        )


SMALLEST_BATCH = 20
"""Requests; a provider that has no room for a batch of this size has none at all for now."""


class BatchQueue:
    """The way to one model by its batch API, for all who ask it.

    It gathers prompts until none has come for a while, so that every case in flight waits; collects the replies to
    those that were submitted before, and submits the others together. The answers lead to further prompts, which are
    gathered in their turn. A ticket is dropped a quiet time after its answers were handed out, never before.

    A request counts when it is submitted, its tokens and cost when its reply is collected. Unless told to `wait`, it
    raises `Stopped` when nothing is left to do but that. Each trial has tickets of its own. `quiet` and `poll` are
    seconds: of the quiet time, and between two looks at batches that haven't ended.
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

        `Stopped` if the reply isn't there yet, or the request may not be submitted.
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
