"""Carries texts to a provider's embedding model, and brings back a vector for each or what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ragtriage.judges.llm.loop_resources import PerLoop
from ragtriage.judges.llm.messages import Reply, Transient, tokens_of
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.pricing import price_of
from ragtriage.judges.llm.providers import embedder_named, fast_client
from ragtriage.judges.llm.request_errors import Asked

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.embeddings import EmbeddingModel, EmbeddingSettings
    from pydantic_ai.providers import Provider


@dataclass(frozen=True, slots=True)
class _Open:
    model: EmbeddingModel
    provider: Provider[Any]
    client: httpx2.AsyncClient | None
    """What carries its requests, if the model's package didn't make it."""

    async def close(self) -> None:
        async with self.provider:  # which closes what is its own when it is left
            pass
        if self.client is not None:
            await self.client.aclose()


class Embedder:
    """Texts to vectors by one request: no retries, no limits, no memory.

    It may be used in one event loop after another, and in several at once: in each it has a client of its own.

    Args:
        name: `PROVIDER:MODEL`.
        options: the address, headers and timeout.

    Raises:
        ConfigError: the name, its key or its address is wrong or missing.
        MissingExtraError: the provider's package isn't installed.
    """

    def __init__(self, name: str, options: LLMOptions) -> None:
        self._name = name
        self._options = options
        embedder_named(name, options)
        self._asked = Asked.of(name, options)
        self._price = price_of(name, options)
        self._here = PerLoop(self._open, _Open.close)

    async def __call__(self, texts: Sequence[str]) -> tuple[Sequence[Sequence[float]], Reply]:
        """A vector for each text, and what that took.

        Raises:
            ExchangeError: see `ragtriage.judges.llm.messages.Transport.send`.
        """
        settings: EmbeddingSettings = {}
        if self._options.headers:
            settings["extra_headers"] = dict(self._options.headers)
        try:
            async with asyncio.timeout(self._options.timeout):
                result = await self._here.here().model.embed(texts, input_type="document", settings=settings)
        except TimeoutError:
            raise Transient(f"no reply within {self._options.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001  # whatever the package raises is one of four things
            raise self._asked.explain(error) from None
        tokens = result.usage.input_tokens or sum(map(tokens_of, texts))
        return result.embeddings, Reply("", tokens, 0, self._price.of(tokens, 0) if self._price else None)

    async def close(self) -> None:
        """Close the connections of the running event loop; the end of the loop does the same."""
        await self._here.close()

    def _open(self) -> _Open:
        client = fast_client(self._name, self._options)
        return _Open(*embedder_named(self._name, self._options, client), client)
