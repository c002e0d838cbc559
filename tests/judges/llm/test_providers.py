"""What a model's name means, its key, address and price; a refusal says what to do before anything is asked."""

import asyncio
import gc
import subprocess
import sys
from typing import Any

import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from examples import examples
from ragtriage.core.errors import ConfigError
from ragtriage.judges.llm.models import address_of, price_of, price_of_reply, public_address
from ragtriage.judges.llm.options import LLMOptions, Price, Prompt
from ragtriage.judges.llm.providers import PROVIDERS, embedder_named, fast_client, model_named
from ragtriage.judges.llm.transport import ModelTransport, PerEventLoop
from servers import Server, responses

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


@pytest.mark.parametrize("row", examples("models", "refused"))
def test_what_is_missing_or_misspelt_is_said_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, row: dict[str, Any]
) -> None:
    for variable, value in row.get("environment", {}).items():
        monkeypatch.setenv(variable, value)
    said = refused(row["name"], LLMOptions(base_url=row.get("address")))

    assert row["told"] in said
    assert row.get("address", row["name"]) in said
    assert "\n" not in said


EXTRAS = ("openai", "azure", "ollama", "openrouter", "anthropic", "google", "bedrock")
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
        (("openai", "anthropic", "google.genai", "boto3"), {f"{extra}:m/m": extra for extra in EXTRAS}),
        (("pydantic_ai",), {"openai:m": "openai", "deepseek:m": "llm"}),
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


def test_no_package_of_a_provider_is_loaded_with_the_judge() -> None:
    code = (
        "import sys, ragtriage.judges.llm.transport, ragtriage.judges.llm.models\n"
        "import ragtriage.judges.llm.embedding_judge\n"
        "heavy = {'pydantic_ai', 'openai', 'httpx2', 'genai_prices', 'opentelemetry', 'numpy', 'boto3', 'aiohttp'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert shown.stdout.strip() == "[]"


@pytest.mark.parametrize("row", examples("models", "class"))
def test_each_provider_gives_its_model_and_repeats_nothing(
    monkeypatch: pytest.MonkeyPatch, row: dict[str, Any]
) -> None:
    for variable in KEYS - {"AWS_PROFILE"}:
        monkeypatch.setenv(variable, "https://x.openai.azure.com" if variable == "AZURE_OPENAI_ENDPOINT" else "k")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "k")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")

    model = model_named(row["name"], LLMOptions())

    assert type(model).__name__ == row["kind"]
    assert model.provider is not None
    assert getattr(model.provider.client, "max_retries", 0) == 0


@pytest.mark.parametrize("row", examples("models", "azure"))
def test_azure_needs_no_version_of_its_api(monkeypatch: pytest.MonkeyPatch, row: dict[str, Any]) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", row["endpoint"])
    if "version" in row:
        monkeypatch.setenv("OPENAI_API_VERSION", row["version"])

    assert str(model_named("azure:gpt-4o", LLMOptions()).base_url) == row["address"]


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

    assert [name for name in ("openai:m", "ollama:m", "anthropic:m", "bedrock:m") if asyncio.run(limits(name))] == [
        "openai:m", "ollama:m",
    ]  # fmt: skip


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


@pytest.mark.parametrize("row", examples("models", "price"))
def test_the_list_knows_the_price_of_well_known_models(row: dict[str, Any]) -> None:
    found = price_of(row["name"], LLMOptions())

    assert found is not None
    assert (found.tokens_in, found.tokens_out) == pytest.approx(tuple(row["price"]))


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


def test_a_reply_brings_its_price(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-x")
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
