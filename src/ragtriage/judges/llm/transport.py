"""Carries prompts to models through pydantic-ai's clients, and brings back replies or what went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.loop_resources import PerLoop
from ragtriage.judges.llm.messages import Prompt, Rejected, Reply, Transient, tokens_of
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.pricing import price_of, price_of_reply
from ragtriage.judges.llm.providers import fast_client, model_named
from ragtriage.judges.llm.request_errors import Asked
from ragtriage.judges.llm.request_format import conversation, first_manner, lasting_settings, parameters, settings_of
from ragtriage.judges.llm.tracing import traced

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model


@dataclass(frozen=True, slots=True)
class _Open:
    model: Model
    client: httpx2.AsyncClient | None
    """What carries its requests, if the model's package didn't make it."""

    async def close(self) -> None:
        async with self.model:  # which closes what is its own when it is left
            pass
        if self.client is not None:
            await self.client.aclose()


class ModelTransport:
    """A `Transport` to a model of any provider.

    It may be used in one event loop after another, and in several at once: in each it has a client of its own.

    Args:
        name: `PROVIDER:MODEL`.
        options: the address, headers, timeout and the form of replies.
        make: makes the model; see `model_named`.

    Raises:
        ConfigError: the name, its key or its address is wrong or missing.
        MissingExtraError: the provider's package isn't installed.
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
        self._asked = Asked.of(name, options)
        self._price = price_of(name, options)
        self._lasting = lasting_settings(model, options)
        self._manner = first_manner(model, options)
        if options.reply == "schema" and not self._manner.schema:
            raise ConfigError(f"{name} has no schema mode: leave out --reply schema")
        self._here = PerLoop(self._open, _Open.close)

    async def send(self, prompt: Prompt) -> Reply:
        """See `ragtriage.judges.llm.messages.Transport.send`."""
        try:
            async with asyncio.timeout(self._options.timeout):
                response = await self._ask(self._here.here().model, prompt)
        except TimeoutError:
            raise Transient(f"no reply within {self._options.timeout:g} s") from None
        except Exception as error:  # noqa: BLE001  # whatever the package raises is one of four things
            raise self._asked.explain(error) from None
        return self.reply_of(response, prompt)

    async def close(self) -> None:
        """Close the connections of the running event loop; the end of the loop does the same."""
        await self._here.close()

    def reply_of(self, response: ModelResponse, prompt: Prompt) -> Reply:
        """What a model said, as a reply.

        Args:
            response: what came back.
            prompt: what was asked; its length counts where the server doesn't count.

        Raises:
            Rejected: the provider's filter stopped it.
        """
        from pydantic_ai.messages import TextPart  # noqa: PLC0415  # optional package

        if response.finish_reason == "content_filter":
            raise Rejected("the provider's content filter stopped the reply", alone=True)
        text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
        sent, back = response.usage.input_tokens, response.usage.output_tokens
        if not sent and not back:
            sent, back = prompt.tokens, tokens_of(text)
        own = self._options.price is not None
        cost = None if self._price is None else price_of_reply(response, self._price, sent, back, own=own)
        return Reply(text, sent, back, cost, truncated=response.finish_reason == "length")

    async def _ask(self, model: Model, prompt: Prompt) -> ModelResponse:
        """Ask, and at once again without what the server refuses; the way that worked is kept."""
        manner = self._manner
        while True:
            settings = settings_of(prompt, manner, self._lasting, self._options.temperature)
            try:
                response = await model.request(conversation(prompt, manner), settings, parameters(prompt, manner))
            except Exception as error:
                other = manner.without_what_is_refused(error)
                if other is None or (self._options.reply == "schema" and not other.schema):
                    raise
                manner = other
            else:
                self._manner = self._manner.and_(manner)
                return response

    def _open(self) -> _Open:
        client = fast_client(self._name, self._options)
        return _Open(traced(self._make(self._name, self._options, client)), client)
