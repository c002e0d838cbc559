"""Carries prompts and texts to models through pydantic-ai's clients; brings back replies, or what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, NoReturn, TypeVar

from ragtriage.judges.llm.models import price_of
from ragtriage.judges.llm.options import LLMOptions, Prompt, Reply, RequestRejected, TransientError, tokens_of
from ragtriage.judges.llm.providers import embedder_named, fast_client, model_named
from ragtriage.judges.llm.pydantic_ai_calls import (
    Endpoint,
    fixed_settings,
    initial_format,
    reply_of,
    request_of,
    without_refused_feature,
)

if TYPE_CHECKING:
    import httpx2
    from opentelemetry.trace import TracerProvider
    from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider


T = TypeVar("T")


async def _close(opened: tuple[Any, Model | Provider[Any], httpx2.AsyncClient | None]) -> None:
    """Close a model's connections: what holds its own, and the client that it was given."""
    _, holder, client = opened
    async with holder:
        pass
    if client is not None:
        await client.aclose()


class PerEventLoop(Generic[T]):
    """One thing, such as open connections, for each running event loop, closed in its own loop when that ends."""

    def __init__(self, make: Callable[[], T], close: Callable[[T], Awaitable[None]]) -> None:
        self._make = make
        self._close = close
        self._kept: dict[asyncio.AbstractEventLoop, tuple[T, AsyncGenerator[None, None]]] = {}

    def here(self) -> T:
        """The running loop's, made when it is first asked for."""
        loop = asyncio.get_running_loop()
        if loop not in self._kept:
            for other in [other for other in self._kept if other.is_closed()]:
                del self._kept[other]
            thing = self._make()
            end = self._until_the_end(loop, thing)
            self._kept[loop] = thing, end
            with suppress(StopIteration):
                anext(end).send(None)  # nothing is awaited before the first yield
        return self._kept[loop][0]

    async def _until_the_end(self, loop: asyncio.AbstractEventLoop, thing: T) -> AsyncGenerator[None, None]:
        """Waits: a loop closes the asynchronous generators that it began, as its last act."""
        try:
            yield
        finally:
            self._kept.pop(loop, None)
            await self._close(thing)


class ModelTransport:
    """Carries prompts to a model of any provider.

    It may be used in one event loop after another, and in several at once: in each it has a client of its own.
    """

    def __init__(
        self,
        name: str,
        options: LLMOptions,
        make: Callable[[str, LLMOptions, httpx2.AsyncClient | None], Model] = model_named,
    ) -> None:
        self._name = name
        self._options = options
        self._make = make
        model = make(name, options, None)
        self._endpoint = Endpoint.of(name, options)
        self._price = price_of(name, options)
        self._fixed = fixed_settings(model, options)
        self._format = initial_format(name, model, options)
        self._here = PerEventLoop(self._open, _close)

    async def send(self, prompt: Prompt) -> Reply:
        """See `ragtriage.judges.llm.options.Send`."""
        response = await _within(self._options.timeout, self._endpoint, self._ask(prompt))
        return reply_of(response, prompt, self._price, own_price=self._options.price is not None)

    async def _ask(self, prompt: Prompt) -> ModelResponse:
        """Ask, and at once again without what the server refuses; the format that worked is kept."""
        (model, *_), form = self._here.here(), self._format
        while True:
            try:
                response = await model.request(*request_of(prompt, form, self._fixed, self._options.temperature))
            except Exception as error:
                other = without_refused_feature(form, error, self._options)
                if other is None:
                    raise
                form = other
            else:
                self._format = self._format & form
                return response

    def _open(self) -> tuple[Model, Model, httpx2.AsyncClient | None]:
        client = fast_client(self._name, self._options)
        model = traced(self._make(self._name, self._options, client))
        return model, model, client


class Embedder:
    """Texts to vectors by one request: no retries, no limits, no memory.

    Clients and errors are as those of `ModelTransport`.
    """

    def __init__(self, name: str, options: LLMOptions) -> None:
        self._name = name
        self._options = options
        embedder_named(name, options)
        self._endpoint = Endpoint.of(name, options)
        self._price = price_of(name, options)
        self._here = PerEventLoop(self._open, _close)

    async def __call__(self, texts: Sequence[str]) -> tuple[Sequence[Sequence[float]], Reply]:
        """A vector for each text, and what that took."""
        settings: EmbeddingSettings = {}
        if self._options.headers:
            settings["extra_headers"] = dict(self._options.headers)

        async def embed() -> Any:
            return await self._here.here()[0].embed(texts, input_type="document", settings=settings)

        result = await _within(self._options.timeout, self._endpoint, embed())
        tokens = result.usage.input_tokens or sum(map(tokens_of, texts))
        return result.embeddings, Reply("", tokens, 0, self._price.of(tokens, 0) if self._price else None)

    def _open(self) -> tuple[EmbeddingModel, Provider[Any], httpx2.AsyncClient | None]:
        client = fast_client(self._name, self._options)
        return *embedder_named(self._name, self._options, client), client


def traced(model: Model, provider: TracerProvider | None = None) -> Model:
    """The model with an OpenTelemetry span for each request, or as it is where the user has set no tracer provider.

    A span holds the names, settings, tokens, price and duration of a request, no text of it and no header.
    """
    from opentelemetry.trace import NoOpTracerProvider, ProxyTracerProvider, get_tracer_provider  # noqa: PLC0415  # lazy

    provider = provider or get_tracer_provider()
    if isinstance(provider, (ProxyTracerProvider, NoOpTracerProvider)):
        return model
    from pydantic_ai.models.instrumented import InstrumentationSettings, InstrumentedModel  # noqa: PLC0415  # lazy

    settings = InstrumentationSettings(
        tracer_provider=provider, include_content=False, include_model_request_parameters=False
    )
    return InstrumentedModel(model, settings)


async def _within(seconds: float, endpoint: Endpoint, answer: Awaitable[T]) -> T:
    """What is awaited; what the package raises, and a time-out, as an `ExchangeError`."""
    try:
        async with asyncio.timeout(seconds):
            return await answer
    except TimeoutError:
        raise TransientError(f"no reply within {seconds:g} s") from None
    except Exception as error:  # noqa: BLE001  # whatever the package raises is one of four things
        raise endpoint.explain(error) from None


class Offline:
    """Sends nothing: every question that isn't remembered fails for the same reason.

    The reason is a sentence: why nothing may be sent, and how to allow it.
    """

    def __init__(self, reason: str) -> None:
        self._reason = reason

    async def send(self, prompt: Prompt) -> Reply:  # noqa: ARG002  # as `ModelTransport.send`
        """Refuse a prompt."""
        self._refuse()

    async def embed(self, texts: Sequence[str]) -> tuple[Sequence[Sequence[float]], Reply]:  # noqa: ARG002  # see `send`
        """Refuse texts."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise RequestRejected(self._reason, alone=True)  # alone: it says nothing about the model
