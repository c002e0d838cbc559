"""Prices are the user's own, or those of the list that comes with pydantic-ai, or not known."""

import asyncio

import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.models import price_of, price_of_reply
from ragtriage.judges.llm.options import LLMOptions, Price, Prompt
from ragtriage.judges.llm.providers import model_named
from ragtriage.judges.llm.transport import ModelTransport
from servers import Server, responses

ADDRESS = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No address, and a key."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")


@pytest.mark.parametrize(
    ("name", "price"),
    [
        ("openai:gpt-5-mini", Price(0.25, 2.0)),
        ("openai-chat:gpt-5-mini", Price(0.25, 2.0)),
        ("openai:text-embedding-3-small", Price(0.02, 0.0)),
        ("bedrock:amazon.titan-embed-text-v1", Price(0.1, 0.0)),
        ("ollama:llama3.2:3b", Price(0.0, 0.0)),
    ],
)
def test_the_list_knows_the_price_of_well_known_models(name: str, price: Price) -> None:
    found = price_of(name, LLMOptions())

    assert found is not None
    assert (found.tokens_in, found.tokens_out) == pytest.approx((price.tokens_in, price.tokens_out))


@pytest.mark.parametrize("name", ["openai:my-model", "nobody:gpt-5-mini"])
def test_a_model_that_is_not_in_the_list_has_no_price(name: str) -> None:
    assert price_of(name, LLMOptions()) is None


def test_a_model_at_an_address_has_the_price_that_is_given_or_none() -> None:
    price = Price(1.0, 2.0)

    assert price_of("openai:gpt-5-mini", LLMOptions(base_url=ADDRESS)) is None
    assert price_of("openai:gpt-5-mini", LLMOptions(base_url=ADDRESS, price=price)) == price
    assert price_of("openai:gpt-5-mini", LLMOptions(price=price)) == price
    assert price_of("ollama:x", LLMOptions(base_url=ADDRESS)) == Price(0.0, 0.0)


def test_an_address_in_the_environment_counts_like_a_given_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", ADDRESS)
    assert price_of("openai:gpt-5-mini", LLMOptions()) is None

    monkeypatch.setenv("OPENAI_BASE_URL", "https://api.openai.com/v1")
    assert price_of("openai:gpt-5-mini", LLMOptions()) is not None


def test_what_the_provider_had_kept_of_a_prompt_is_cheaper() -> None:
    usage = RequestUsage(input_tokens=1_000_000, output_tokens=0, cache_read_tokens=900_000)
    response = ModelResponse(parts=[], usage=usage, model_name="gpt-5-mini", provider_name="openai")
    unknown = ModelResponse(parts=[], usage=usage, model_name="m", provider_name="openai")
    price = Price(0.25, 2.0)

    assert price_of_reply(response, price, 1_000_000, 0, own=False) == pytest.approx(0.025 + 0.9 * 0.025)
    assert price_of_reply(response, price, 1_000_000, 0, own=True) == pytest.approx(0.25)
    assert price_of_reply(unknown, price, 1_000_000, 0, own=False) == pytest.approx(0.25)


def test_a_reply_brings_its_price() -> None:
    with Server(responses("{}")) as server:
        options = LLMOptions(base_url=server.url)
        transport = ModelTransport(
            "openai-responses:gpt-5-mini", LLMOptions(), lambda name, _, client: model_named(name, options, client)
        )
        reply = asyncio.run(transport.send(Prompt("You judge.", "Is it so?", {"type": "object"}, 10)))

    assert reply.price == pytest.approx((10 * 0.25 + 5 * 2.0) / 1_000_000)


def test_a_price_is_read_as_in_and_out() -> None:
    assert Price.parse("0.25:2") == Price(0.25, 2.0)
    assert Price.parse("0:0") == Price(0.0, 0.0)


@pytest.mark.parametrize("text", ["", "1", "1:", "1:2:3", "a:b", "-1:2", "1:nan", "inf:1"])
def test_a_price_that_cannot_be_read_says_how_to_write_it(text: str) -> None:
    with pytest.raises(ConfigError, match="write IN:OUT in US dollars"):
        Price.parse(text)
