"""A provider's batch API: many requests are submitted together, and their replies fetched when the batch has ended."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from ragtriage.core.errors import ConfigError
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
from ragtriage.judges.llm.request_errors import Endpoint
from ragtriage.judges.llm.request_format import (
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
    """How many requests a batch of this model may hold, as its provider says.

    Raises:
        ConfigError: the model has no batch API, or an option can't be sent with a batch.
    """
    if model.batch_max_requests is None:
        having = "openai (not at an address of your own), anthropic or google"
        raise ConfigError(f"{name} has no batch API: leave it out, or choose a model of {having}", "batch_api")
    if options.headers:
        raise ConfigError("a batch can't be sent headers of your own: leave them out", "headers", "batch_api")
    return model.batch_max_requests


class BatchAPI:
    """One model's batch API; enter it before use.

    Raises:
        ConfigError: the model has no batch API.
    """

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

        Args:
            prompt: what is asked.
            number: its id in the batch: at most 64 letters, digits, `_` or `-`.

        Raises:
            ExchangeError: it can't be submitted.
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

        Args:
            batch: as it was submitted.
            prompts: the request's id in the batch → what was asked.

        Raises:
            TransientError: the provider doesn't say now.
            ModelUnusable: the provider refuses the key, or doesn't know the batch.
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
        """What became of one request."""
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
