"""What an address asks for stays in every request; requests leave spans without texts."""

import asyncio

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import NoOpTracerProvider

from ragtriage.judges.llm.options import LLMOptions, Prompt
from ragtriage.judges.llm.providers import model_named
from ragtriage.judges.llm.transport import ModelTransport, traced
from servers import Server, chat, error

PROMPT = Prompt("You judge.", "private words", {"type": "object", "properties": {"secret": {"type": "string"}}}, 10)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """One key, which can be looked for."""
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")


def test_a_query_in_the_address_stays_behind_the_path() -> None:
    with Server(chat("{}")) as server:
        asyncio.run(ModelTransport("openai:m", LLMOptions(base_url=f"{server.url}?api-version=1")).send(PROMPT))

    assert server.heard[0].path == "/v1/chat/completions?api-version=1"


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
