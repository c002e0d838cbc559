"""The quick client says the same as OpenAI's own, whatever a server answers; requests leave spans without texts."""

import asyncio
from typing import Any

import pytest
from openai import AsyncOpenAI
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider
from pydantic_ai.providers.openai import OpenAIProvider

from ragtriage.judges.llm.options import ExchangeError, LLMOptions, Prompt
from ragtriage.judges.llm.providers import _compatible_model, model_named, quick_client
from ragtriage.judges.llm.transport import ModelTransport, traced
from servers import Said, Server, chat, error

PROMPT = Prompt("You judge.", "private words", {"type": "object", "properties": {"secret": {"type": "string"}}}, 10)
FULL = chat('{"q1": "é"}').body
CHOICE = FULL["choices"][0]
PARTS = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key, which can be looked for."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


def own(name: str, options: LLMOptions, http_client: Any) -> Any:
    """The model with OpenAI's own client."""
    client = AsyncOpenAI(base_url=options.base_url, http_client=http_client, max_retries=0)
    return _compatible_model(name.partition(":")[2], OpenAIProvider(openai_client=client))


def outcome(transport: ModelTransport) -> object:
    """The reply, or the kind and the words of what went wrong."""
    try:
        return asyncio.run(transport.send(PROMPT))
    except ExchangeError as failure:
        return type(failure), str(failure), getattr(failure, "after", None)


@pytest.mark.parametrize(
    "said",
    [
        Said(FULL),
        Said(FULL | {"created": None, "extra": {"a": 1}}),
        Said({key: value for key, value in FULL.items() if key not in {"id", "created", "usage"}}),
        Said(FULL | {"choices": [CHOICE | {"finish_reason": None}]}),
        Said(FULL | {"choices": [CHOICE | {"finish_reason": "guardrail"}]}),
        Said(FULL | {"choices": [CHOICE | {"message": {"role": "assistant", "content": PARTS}}]}),
        Said(FULL | {"choices": [CHOICE | {"message": {"role": "assistant", "content": "\ud800"}}]}),
        Said(FULL | {"choices": []}),
        Said(FULL | {"service_tier": "on_demand", "created": "17"}),
        Said(FULL, headers={"Content-Type": "text/plain"}),
        Said("hello", headers={"Content-Type": "text/plain"}),
        Said("hello", headers={"Content-Type": "application/json; charset=utf-8"}),
        Said(b"\xff\xfe", headers={"Content-Type": "application/json"}),
        Said(b""),
        Said("[1, 2]"),
        Said("null"),
        Said({"error": {"message": "in a good answer"}}),
        Said({}, 302, {"Location": "/v2"}),
        Said("<html>", 502),
        error(429, "wait", headers={"Retry-After": "2"}),
        Said(reset=True),
    ],
    ids=lambda one: None,
)  # fmt: skip
def test_every_answer_means_the_same_as_to_the_providers_own_client(said: Said) -> None:
    with Server(said) as server:
        options = LLMOptions(base_url=server.url)
        assert outcome(ModelTransport("openai:m", options)) == outcome(ModelTransport("openai:m", options, own))


def test_a_query_in_the_address_stays_behind_the_path() -> None:
    async def ask(address: str) -> None:
        client = quick_client(address, "sk-x", None)
        await client.chat.completions.create(model="m", messages=[])
        await client.close()

    with Server(chat("{}")) as server:
        asyncio.run(ask(f"{server.url}?api-version=1"))

    assert server.heard[0].path == "/v1/chat/completions?api-version=1"


def test_headers_of_one_request_are_not_those_of_the_next() -> None:
    async def ask(address: str) -> None:
        client = quick_client(address, "sk-x", None)
        for headers in ({"X-Team": "red"}, {"authorization": "Basic x"}, {}):
            await client.chat.completions.create(model="m", messages=[], extra_headers=headers)
        await client.close()

    with Server(chat("{}")) as server:
        asyncio.run(ask(server.url))

    assert [heard.headers.get("x-team") for heard in server.heard] == ["red", None, None]
    assert [heard.headers["authorization"] for heard in server.heard] == ["Bearer sk-x", "Basic x", "Bearer sk-x"]


def test_a_request_is_a_span_without_its_texts_and_headers() -> None:
    provider, exporter = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    with Server(chat("private reply"), error(400, "no")) as server:
        transport = ModelTransport(
            "openai:m",
            LLMOptions(base_url=server.url, headers={"X-Gateway": "hidden"}),
            lambda *given: traced(model_named(*given), provider),
        )
        reply = asyncio.run(transport.send(PROMPT))
        with pytest.raises(Exception, match="refused the request"):
            asyncio.run(transport.send(PROMPT))
    provider.shutdown()
    good, bad = exporter.get_finished_spans()

    assert reply.text == "private reply"
    assert good.attributes["gen_ai.request.model"] == "m"
    assert good.attributes["gen_ai.usage.input_tokens"] == 10
    assert not bad.status.is_ok
    for word in ("private", "secret", "hidden", "You judge"):
        assert word not in good.to_json()
        assert word not in bad.to_json()


def test_without_a_tracer_provider_nothing_is_traced() -> None:
    model = model_named("openai:m", LLMOptions())

    assert traced(model) is model
    assert traced(model, NoOpTracerProvider()) is model
