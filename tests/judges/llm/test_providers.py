"""A model's name is understood or refused before anything is asked, and a refusal says what to do."""

import asyncio
import gc
import subprocess
import sys
from typing import Any

import pytest

from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.judges.llm.models import address_of, public_address
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.providers import PROVIDERS, embedder_named, fast_client, model_named
from ragtriage.judges.llm.transport import ModelTransport, PerEventLoop

ADDRESS = "http://127.0.0.1:9/v1"
KEYS = {variable for access in PROVIDERS.values() for variable in (*access.keys, *access.others)}
OTHERS = ("OPENAI_BASE_URL", "OLLAMA_BASE_URL", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION", "AWS_REGION")


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """No key, no address, no folder with either."""
    for name in (*KEYS, *OTHERS, "OPENAI_API_VERSION", "DEEPSEEK_API_KEY", "VLLM_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))


def refused(name: str, options: LLMOptions | None = None) -> str:
    with pytest.raises(ConfigError) as raised:
        ModelTransport(name, options or LLMOptions())
    return str(raised.value)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("gpt-5-mini", "did you mean openai:gpt-5-mini?"),
        ("claude-sonnet-5-5", "did you mean anthropic:claude-sonnet-5-5?"),
        ("mymodel", "write PROVIDER:MODEL, for example openai:gpt-5-mini"),
        ("openai:", "write PROVIDER:MODEL"),
        (":gpt", "write PROVIDER:MODEL"),
        ("opnai:gpt-5", "there is no provider 'opnai': did you mean openai:gpt-5?"),
        ("foo:bar", "there are openai, azure, anthropic, google, bedrock, ollama, openrouter and the others"),
        ("openai:gpt-5", "has no key: set the environment variable OPENAI_API_KEY"),
        ("anthropic:claude-sonnet-5-5", "set the environment variable ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-flash", "set the environment variable GOOGLE_API_KEY or GEMINI_API_KEY"),
        ("azure:gpt-4o", "set the environment variables AZURE_OPENAI_API_KEY and AZURE_OPENAI_ENDPOINT"),
        ("openrouter:openai/gpt-5", "set the environment variable OPENROUTER_API_KEY"),
        ("bedrock:amazon.nova-lite-v1:0", "has no region: set the environment variable AWS_DEFAULT_REGION"),
        ("deepseek:deepseek-chat", "set the environment variable DEEPSEEK_API_KEY"),
        ("vllm:qwen3", "has no address: set the environment variable VLLM_BASE_URL"),
    ],
)
def test_what_is_missing_or_misspelt_is_said_with_what_to_do(name: str, told: str) -> None:
    said = refused(name)

    assert told in said
    assert name in said
    assert "\n" not in said


def test_an_empty_key_is_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")

    assert "set the environment variable OPENAI_API_KEY" in refused("openai:gpt-5")


def test_bedrock_without_credentials_says_which_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    assert "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or AWS_BEARER_TOKEN_BEDROCK" in refused(
        "bedrock:amazon.nova-lite-v1:0"
    )


def test_a_model_that_its_provider_wants_named_otherwise_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "x")

    assert "openai/gpt-5" in refused("openrouter:gpt-5")


WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if any((name + ".").startswith(package + ".") for package in {packages}):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Missing())
from ragtriage.core.errors import MissingExtraError
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.llm.transport import Embedder, ModelTransport
for make in ModelTransport, Embedder:
    for name in {names}:
        try:
            make(name, LLMOptions())
        except MissingExtraError as error:
            print(name, error.extra, error, sep="|")
"""


@pytest.mark.parametrize(
    ("packages", "extras"),
    [
        (
            ("openai", "anthropic", "google.genai", "boto3"),
            {
                "openai:gpt-5": "openai",
                "azure:gpt-5": "azure",
                "ollama:qwen3": "ollama",
                "openrouter:openai/gpt-5": "openrouter",
                "anthropic:claude-sonnet-5-5": "anthropic",
                "google:gemini-2.5-flash": "google",
                "bedrock:amazon.nova-lite-v1:0": "bedrock",
            },
        ),
        (("pydantic_ai",), {"openai:gpt-5": "openai", "deepseek:deepseek-chat": "llm"}),
    ],
    ids=["provider", "all"],
)
def test_a_package_that_is_not_installed_is_named_by_its_extra(packages: Any, extras: dict[str, str]) -> None:
    code = WITHOUT.format(packages=packages, names=tuple(extras))
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    lines = [line.split("|") for line in found.stdout.splitlines()]
    assert [(name, extra) for name, extra, _ in lines] == [*extras.items()] * 2
    for _, extra, said in lines:
        assert f"pip install '.[{extra}]'" in said


def test_a_package_that_no_extra_brings_is_named_itself() -> None:
    assert "pip install 'pydantic-ai-slim[groq]'" in refused("groq:llama-3.3-70b-versatile")


def test_no_package_of_a_provider_is_loaded_with_the_judge() -> None:
    code = (
        "import sys, ragtriage.judges.llm.transport, ragtriage.judges.llm.models\n"
        "import ragtriage.judges.llm.embedding_judge\n"
        "heavy = {'pydantic_ai', 'openai', 'httpx2', 'genai_prices', 'opentelemetry', 'numpy', 'boto3', 'aiohttp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("openai:gpt-5", "OpenAIResponsesModel"),
        ("openai-chat:gpt-5", "OpenAIChatModel"),
        ("azure:gpt-5", "OpenAIChatModel"),
        ("anthropic:claude-sonnet-5-5", "AnthropicModel"),
        ("google:gemini-2.5-flash", "GoogleModel"),
        ("bedrock:amazon.nova-lite-v1:0", "BedrockConverseModel"),
        ("ollama:llama3.2:3b", "OllamaModel"),
        ("openrouter:openai/gpt-5", "OpenRouterModel"),
    ],
)
def test_each_provider_gives_its_model_and_repeats_nothing(
    name: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in KEYS - {"AWS_PROFILE"}:
        monkeypatch.setenv(variable, "https://x.openai.azure.com" if variable == "AZURE_OPENAI_ENDPOINT" else "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "k")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    model = model_named(name, LLMOptions())

    assert type(model).__name__ == kind
    assert model.provider is not None
    assert getattr(model.provider.client, "max_retries", 0) == 0


@pytest.mark.parametrize(
    ("endpoint", "address"),
    [
        ("https://x.openai.azure.com", "https://x.openai.azure.com/openai/v1/"),
        ("https://x.openai.azure.com/", "https://x.openai.azure.com/openai/v1/"),
        ("https://x.openai.azure.com/openai/v1", "https://x.openai.azure.com/openai/v1/"),
        ("https://x.models.ai.azure.com", "https://x.models.ai.azure.com/v1/"),
    ],
)
def test_azure_needs_no_version_of_its_api(endpoint: str, address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", endpoint)

    assert str(model_named("azure:gpt-4o", LLMOptions()).base_url) == address


def test_azure_with_a_version_is_asked_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://x.openai.azure.com")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")

    assert str(model_named("azure:gpt-4o", LLMOptions()).base_url) == "https://x.openai.azure.com/openai/"


def test_openai_at_an_address_means_chat_completions_without_a_key() -> None:
    assert type(model_named("openai:gpt-5", LLMOptions(base_url=ADDRESS))).__name__ == "OpenAIChatModel"


def test_addresses_come_from_the_flag_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gateway:1/v1")

    assert address_of("openai:m", LLMOptions(base_url=ADDRESS)) == ADDRESS
    assert address_of("openai:m", LLMOptions()) == "http://gateway:1/v1"
    assert address_of("anthropic:m", LLMOptions()) is None
    assert address_of("ollama:m", LLMOptions()) == "http://localhost:11434/v1"
    assert address_of("ollama:m", LLMOptions(base_url="http://box:11434")) == "http://box:11434/v1"
    monkeypatch.setenv("OLLAMA_BASE_URL", "http://box:1/v1")
    assert address_of("ollama:m", LLMOptions()) == "http://box:1/v1"


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://x/v1", "http://", "8000"])
def test_what_is_no_address_is_refused(address: str) -> None:
    assert "is no address: write http://HOST:PORT/v1" in refused("openai:m", LLMOptions(base_url=address))


def test_an_address_with_a_password_is_refused_without_showing_it() -> None:
    said = refused("openai:m", LLMOptions(base_url="http://me:hidden@host:1/v1"))

    assert "http://host:1/v1" in said
    assert "as the header Authorization" in said
    assert "hidden" not in said


def test_an_address_is_shown_without_what_may_be_secret() -> None:
    assert public_address("https://me:pass@host:1/v1/?key=x#y") == "https://host:1/v1"


def test_headers_that_a_provider_cannot_send_are_refused_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    options = LLMOptions(headers={"X-Team": "hidden"})

    with pytest.raises(ConfigError, match="can't be sent headers of your own: leave them out") as raised:
        embedder_named("google:gemini-embedding-001", options)
    assert "hidden" not in str(raised.value)
    assert model_named("google:gemini-2.5-flash", options)


def test_a_fast_client_is_made_for_providers_that_take_one() -> None:
    async def limits(name: str) -> bool:
        client = fast_client(name, LLMOptions(concurrency=500))
        if client is not None:
            await client.aclose()
        return client is not None

    assert asyncio.run(limits("openai:m"))
    assert asyncio.run(limits("ollama:m"))
    assert not asyncio.run(limits("anthropic:m"))
    assert not asyncio.run(limits("bedrock:m"))


def test_each_loop_has_a_thing_of_its_own_which_ends_with_it() -> None:
    closed: list[int] = []
    made = iter(range(10))

    async def close(thing: int) -> None:
        await asyncio.sleep(0)
        closed.append(thing)

    things = PerEventLoop(lambda: next(made), close)

    async def use() -> list[int]:
        return [things.here(), things.here()]

    assert asyncio.run(use()) == [0, 0]
    assert closed == [0]
    assert asyncio.run(use()) == [1, 1]
    assert closed == [0, 1]


def test_a_loop_that_ended_without_a_word_is_forgotten() -> None:
    async def close(thing: object) -> None:
        pass

    things = PerEventLoop(object, close)

    async def use() -> object:
        return things.here()

    loop = asyncio.new_event_loop()
    first = loop.run_until_complete(use())
    loop.close()
    gc.collect()

    assert asyncio.run(use()) is not first
    assert not things._kept


def test_a_missing_extra_is_a_mistake_in_the_configuration() -> None:
    assert issubclass(MissingExtraError, ConfigError)
