"""What models cost: from the user, or from the list of providers' prices that comes with pydantic-ai."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import TYPE_CHECKING

from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.model_names import address_of, parts_of
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

    Raises:
        ConfigError: the name or the address can't be read.
    """
    kind, model = parts_of(name)
    address = address_of(name, options)
    if options.price is not None:
        return options.price
    if kind == "ollama":
        return FREE
    if address is not None:
        return None
    try:
        from genai_prices import Usage, calc_price  # noqa: PLC0415  # comes with pydantic-ai
    except ImportError:
        return None
    provider = kind.partition("-")[0] if kind.startswith(("openai-", "azure-")) else kind
    try:
        sent, back = (
            calc_price(usage, model, provider_id=provider).total_price
            for usage in (Usage(input_tokens=_SAMPLE, output_tokens=0), Usage(input_tokens=0, output_tokens=_SAMPLE))
        )
    except (LookupError, ValueError):
        return None
    return Price(float(sent) * 1_000_000 / _SAMPLE, float(back) * 1_000_000 / _SAMPLE)


def price_of_reply(response: ModelResponse, price: Price, tokens_in: int, tokens_out: int, *, own: bool) -> float:
    """What a reply cost, in US dollars; what its provider had kept of the prompt counts as cheaper.

    Args:
        response: what came back.
        price: the model's.
        tokens_in: sent.
        tokens_out: sent back.
        own: whether the price is the user's own, which knows no cheaper tokens.
    """
    if not own and (response.usage.cache_read_tokens or response.usage.cache_write_tokens):
        with suppress(AssertionError, LookupError, ValueError):  # it may name another model than was asked
            return float(response.cost().total_price)
    return price.of(tokens_in, tokens_out)


def parse_price(text: str) -> Price:
    """Read `IN:OUT`, in US dollars for a million tokens, for example `0.25:2`.

    Raises:
        ConfigError: it can't be read, or a price is below 0.
    """
    parts = text.split(":")
    try:
        sent, back = (float(part) for part in parts)
    except ValueError:
        sent = back = math.nan
    if not (0 <= sent < math.inf and 0 <= back < math.inf):
        raise ConfigError(
            f"the price {text!r} can't be read: write IN:OUT in US dollars for a million tokens, for example 0.25:2"
        )
    return Price(sent, back)
