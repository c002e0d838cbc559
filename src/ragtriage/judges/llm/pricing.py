"""What models cost: from the user, or from the list of providers' prices that comes with pydantic-ai."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from ragtriage.judges.llm.model_names import address_of, split_name
from ragtriage.judges.llm.options import LLMOptions, Price

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

FREE = Price(0.0, 0.0)
"""Of a model on the user's own machine."""
_SAMPLE = 1000
"""Tokens that a price is looked up for: few enough for the price of short requests."""


def price_of(name: str, options: LLMOptions) -> Price | None:
    """What a model costs; None if that isn't known. Nothing is downloaded for it.

    Args:
        name: `PROVIDER:MODEL`.
        options: the user's own price goes first. A model at an address of the user's has no other, but those of Ollama
            are free.
    """
    provider, model = split_name(name)
    address = address_of(name, options)
    if options.price is not None:
        return options.price
    if provider == "ollama":
        return FREE
    if address is not None:
        return None
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415  # comes with pydantic-ai
    except ImportError:
        return None
    if provider.startswith(("openai-", "azure-")):
        provider = provider.partition("-")[0]
    try:
        sent, back = (
            calc_price(usage, model, provider_id=provider).total_price
            for usage in (Usage(input_tokens=_SAMPLE, output_tokens=0), Usage(input_tokens=0, output_tokens=_SAMPLE))
        )
    except (LookupError, ValueError):
        return None
    return Price(float(sent) * 1_000_000 / _SAMPLE, float(back) * 1_000_000 / _SAMPLE)


def price_of_embeddings(name: str, options: LLMOptions) -> Price | None:
    """What embeddings cost; None if that isn't known.

    Args:
        name: `PROVIDER:MODEL`.
        options: what the user says of embeddings goes first, then the list. Where that doesn't know them, what the user
            says of the judge counts, which costs more: a budget is kept all the same.
    """
    own = options.price
    if own is not None and own.embeddings is not None:
        return Price(own.embeddings, 0.0)
    listed = price_of(name, replace(options, price=None))
    return listed if listed is not None or own is None else Price(own.tokens_in, 0.0)


def price_of_reply(response: ModelResponse, price: Price, tokens_in: int, tokens_out: int, *, own: bool) -> float:
    """What a reply cost, in US dollars; what its provider had kept of the prompt counts as cheaper."""
    if not own and (response.usage.cache_read_tokens or response.usage.cache_write_tokens):
        with suppress(AssertionError, LookupError, ValueError):  # it may name another model than was asked
            return float(response.cost().total_price)
    return price.of(tokens_in, tokens_out)
