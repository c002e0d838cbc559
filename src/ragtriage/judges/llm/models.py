"""Models by name: how `PROVIDER:MODEL` is read, its address, and its price."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.options import LLMOptions, Price

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse


OLLAMA = "http://localhost:11434/v1"
"""Where Ollama listens if nothing else is said."""

_SPEAKING_OPENAI = ("openai", "openai-chat", "openai-responses", "ollama")
"""The providers that speak OpenAI's protocol."""


def split_name(name: str) -> tuple[str, str]:
    """Provider and model."""
    provider, _, model = name.partition(":")
    if provider and model:
        return provider, model
    raise ConfigError(f"{name!r} names no model with its provider: write PROVIDER:MODEL, for example openai:gpt-5-mini")


def takes_base_url(name: str) -> bool:
    """Whether a model can be asked at an address of the user's."""
    return name.partition(":")[0] in _SPEAKING_OPENAI


def options_for(name: str, options: LLMOptions) -> LLMOptions:
    """The options as far as they are meant for this model.

    An address, and the headers that go there, are for models that speak OpenAI's protocol: no other provider's key and
    no texts meant for it may go to that server.
    """
    if options.base_url is None or takes_base_url(name):
        return options
    return replace(options, base_url=None, headers={})


def address_of(name: str, options: LLMOptions) -> str | None:
    """Where requests go, if not to the provider's own address."""
    kind, _ = split_name(name)
    address = options.base_url
    if address is None and kind.startswith("openai"):
        given = os.environ.get("OPENAI_BASE_URL") or None
        address = None if given and urlsplit(given).hostname == "api.openai.com" else given
    if address is None and kind == "ollama":
        address = os.environ.get("OLLAMA_BASE_URL") or OLLAMA
    if address is None:
        return None
    if not is_address(address):
        raise ConfigError(f"{public_address(address)!r} is no address: write http://HOST:PORT/v1", "base_url")
    parts = urlsplit(address)
    if "@" in parts.netloc:
        raise ConfigError(
            f"the address {public_address(address)} holds a password: give it as the header Authorization, Basic …",
            "headers",
        )
    return address.rstrip("/") + "/v1" if kind == "ollama" and parts.path in {"", "/"} else address


def is_address(text: str) -> bool:
    """Whether a text is an address that requests can go to."""
    try:
        parts = urlsplit(text)
        return bool(parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0)
    except ValueError:  # brackets that aren't those of an IPv6 address, or a port that is no number
        return False


def public_address(address: str) -> str:
    """An address without what may be secret in it: user, password and query."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return address.rpartition("@")[2].partition("?")[0]
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


FREE = Price(0.0, 0.0)
"""Of a model on the user's own machine."""
_SAMPLE = 1000
"""Tokens that a price is looked up for: few enough for the price of short requests."""


def price_of(name: str, options: LLMOptions) -> Price | None:
    """What a model costs; None if that isn't known. Nothing is downloaded for it.

    The user's own price goes first. A model at an address of the user's has no other, but those of Ollama are free.
    """
    provider, model = split_name(name)
    address = address_of(name, options)
    if options.price is not None:
        return options.price
    if provider == "ollama":
        return FREE
    if address is not None:
        return None
    from genai_prices import Usage, calc_price  # noqa: PLC0415  # takes half a second to load

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

    The list goes first. Where that doesn't know them, what the user says of prompts counts, which cost more: a budget
    is kept all the same.
    """
    own = options.price
    listed = price_of(name, replace(options, price=None))
    return listed if listed is not None or own is None else Price(own.tokens_in, 0.0)


def price_of_reply(response: ModelResponse, price: Price, tokens_in: int, tokens_out: int, *, own: bool) -> float:
    """What a reply cost, in US dollars; what its provider had kept of the prompt counts as cheaper."""
    if not own and (response.usage.cache_read_tokens or response.usage.cache_write_tokens):
        with suppress(AssertionError, LookupError, ValueError):  # it may name another model than was asked
            return float(response.cost().total_price)
    return price.of(tokens_in, tokens_out)
