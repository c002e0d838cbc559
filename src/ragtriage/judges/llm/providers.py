"""From the name of a model to a client that can ask it: its package, its key, its address.

What can be wrong with a name is found here, before anything is asked; nothing here asks a provider anything. (Where
AWS has no other credentials, its package looks for those of the machine that it runs on.)
"""

from __future__ import annotations

import inspect
import json
import os
import re
import ssl
from collections.abc import Callable, Container, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.core.validation import near_names
from ragtriage.judges.llm.models import address_of, split_name
from ragtriage.judges.llm.options import LLMOptions, is_header_value

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI
    from pydantic_ai.embeddings import EmbeddingModel
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider


@cache
def certificates() -> ssl.SSLContext:
    """Whom all clients trust: to read it is most of the work of making one."""
    import httpx2  # noqa: PLC0415  # comes with the optional package

    return httpx2.create_ssl_context()


def quick_client(address: str, key: str, http_client: httpx2.AsyncClient | None) -> AsyncOpenAI:
    """A client for chat completions that sends what it is given.

    OpenAI's own goes through every message and every schema to rename what has another name on the wire, makes every
    header and the address anew for each request, and reads a reply field by field. Nothing in a chat has another name,
    and that work takes most of the processor time of a request. What is sent, what comes back and all errors are the
    same.
    """
    import anyio  # noqa: PLC0415  # comes with the optional package
    import httpx2  # noqa: PLC0415  # comes with the optional package
    from openai import (  # noqa: PLC0415  # optional package
        APIConnectionError,
        APITimeoutError,
        AsyncOpenAI,
        DefaultAsyncHttpxClient,
        NotGiven,
        Omit,
    )

    carrier = http_client if http_client is not None else DefaultAsyncHttpxClient(verify=certificates())

    class Client(AsyncOpenAI):
        def __init__(self) -> None:
            super().__init__(base_url=address, api_key=key, http_client=carrier, max_retries=0)
            path, mark, query = self.base_url.raw_path.partition(b"?")
            self._completions = self.base_url.copy_with(raw_path=path + b"chat/completions" + mark + query)
            self._head: tuple[dict[str, str], httpx2.Headers] | None = None
            self._namespace = SimpleNamespace(completions=SimpleNamespace(create=self._create))

        @property
        def chat(self) -> Any:
            return self._namespace

        async def _create(
            self,
            *,
            extra_headers: dict[str, str] | None = None,
            extra_body: dict[str, Any] | None = None,
            timeout: Any = None,  # noqa: ASYNC109  # the client's own name; the deadline stands around all of it
            **body: Any,
        ) -> Any:
            sent = {key: value for key, value in body.items() if not isinstance(value, (Omit, NotGiven))}
            limits = httpx2.Timeout(self.timeout if isinstance(timeout, NotGiven) else timeout)
            request = httpx2.Request(
                "POST",
                self._completions,
                headers=self._headers(extra_headers or {}),
                content=_written(sent | (extra_body or {})),
                extensions={"timeout": limits.as_dict()},
            )
            try:
                response = await carrier.send(request)
            except httpx2.TimeoutException as error:
                raise APITimeoutError(request=request) from error
            except (httpx2.RequestError, ssl.SSLError, anyio.EndOfStream) as error:
                raise APIConnectionError(request=request) from error
            if not response.is_success:
                raise self._make_status_error_from_response(response)
            return _read(response)

        def _headers(self, extra: dict[str, str]) -> httpx2.Headers:
            """Those of every request, and these; made anew only where these differ from the last ones."""
            if self._head is None or self._head[0] != extra:
                headers = httpx2.Headers(self.auth_headers)
                headers.update({name: value for name, value in self.default_headers.items() if isinstance(value, str)})
                headers.update(extra)
                self._head = dict(extra), headers
            return self._head[1]

    return Client()


def _written(body: Mapping[str, Any]) -> bytes:
    """A body as OpenAI's client writes it, and where it can't, its error."""
    from pydantic_core import PydanticSerializationError, to_json  # noqa: PLC0415  # comes with the optional package

    try:
        return to_json(body)
    except PydanticSerializationError:
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _read(response: httpx2.Response) -> Any:
    """The completion; what isn't one comes as it is, as OpenAI's client gives it, for the caller to say so."""
    from openai.types.chat import ChatCompletion  # noqa: PLC0415  # optional package
    from pydantic import ValidationError  # noqa: PLC0415  # comes with the optional package

    with suppress(ValidationError):  # servers take liberties that pydantic-ai knows of
        return ChatCompletion.model_validate_json(response.content)
    try:
        said = response.json()
    except ValueError:
        if response.headers.get("content-type", "*").split(";")[0].endswith("json"):
            raise
        return response.text
    return ChatCompletion.construct(**said) if isinstance(said, dict) else said


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ProviderRequirements:
    """What a provider needs."""

    extra: str = "llm"
    """The extra that brings its package."""
    keys: tuple[str, ...] = ()
    """The environment variables for its key; any one will do."""
    others: tuple[str, ...] = ()
    """Environment variables that must be set, too."""


ENDPOINT = "AZURE_OPENAI_ENDPOINT"
PROVIDERS: Mapping[str, ProviderRequirements] = {
    "openai": ProviderRequirements("openai", ("OPENAI_API_KEY",)),
    "openai-chat": ProviderRequirements("openai", ("OPENAI_API_KEY",)),
    "openai-responses": ProviderRequirements("openai", ("OPENAI_API_KEY",)),
    "azure": ProviderRequirements("azure", ("AZURE_OPENAI_API_KEY",), (ENDPOINT,)),
    "azure-responses": ProviderRequirements("azure", ("AZURE_OPENAI_API_KEY",), (ENDPOINT,)),
    "anthropic": ProviderRequirements("anthropic", ("ANTHROPIC_API_KEY",)),
    "google": ProviderRequirements("google", ("GOOGLE_API_KEY", "GEMINI_API_KEY")),
    "bedrock": ProviderRequirements("bedrock", ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID", "AWS_PROFILE")),
    "ollama": ProviderRequirements("ollama", ("OLLAMA_API_KEY",)),
    "openrouter": ProviderRequirements("openrouter", ("OPENROUTER_API_KEY",)),
}
"""Provider → what it needs. All others that pydantic-ai knows work as well; it says what they need."""

NO_KEY = "none"
"""Sent to a server of the user's own where there is no key, as clients insist on one."""
_SPEAKING_OPENAI = ("openai", "azure", "ollama", "openrouter")
"""The extras whose providers are asked through OpenAI's package."""
_ADDRESSES = ("base_url", "azure_endpoint", "api_base")
"""What providers call their address."""
_VARIABLE = re.compile(r"`([A-Z][A-Z0-9_]+)`")
_INSTALL = re.compile(r"pip install \"([^\"]+)\"")


def check_provider(name: str) -> None:
    """Refuse a provider that nobody knows, as far as that is known without its package."""
    kind, model = split_name(name)
    if kind in PROVIDERS:
        return
    if find_spec("pydantic_ai") is None:
        known = not near_names(kind, PROVIDERS)
    else:
        from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415  # optional package

        try:
            known = bool(infer_provider_class(kind))
        except ImportError:
            known = True
        except ValueError:
            known = False
    if known:
        return
    named = [one for one in PROVIDERS if "-" not in one]
    if near := near_names(kind, named):
        raise ConfigError(f"{name}: there is no provider {kind!r}: did you mean {near[0]}:{model}?")
    raise ConfigError(
        f"{name}: there is no provider {kind!r}: there are {', '.join(named)} and the others that pydantic-ai knows; "
        "for a server of your own write openai:MODEL and give its address",
        "base_url",
    )


def model_named(name: str, options: LLMOptions, http_client: httpx2.AsyncClient | None = None) -> Model:
    """The model that a user means.

    With an address, `openai:` means chat completions there; without one, OpenAI's own API. The client carries the
    requests, where the provider's package takes one; see `fast_client`.
    """
    kind, model = split_name(name)

    def make() -> Model:
        from pydantic_ai.models import infer_model  # noqa: PLC0415  # optional package

        provider = _provider(name, options, http_client)
        if kind == "openai" and address_of(name, options) is not None:
            return _compatible_model(model, provider)
        return infer_model(name, provider_factory=lambda _: provider)

    made = _explaining(name, make)
    if options.headers and "extra_headers" in made.unsupported_settings:
        raise ConfigError(f"{name}: {kind} models can't be sent headers of your own: leave them out", "headers")
    return made


def embedder_named(
    name: str, options: LLMOptions, http_client: httpx2.AsyncClient | None = None
) -> tuple[EmbeddingModel, Provider[Any]]:
    """The embedding model that a user means, and what holds its connections; see `model_named`."""
    kind, _ = split_name(name)

    def make() -> tuple[EmbeddingModel, Provider[Any]]:
        from pydantic_ai.embeddings import infer_embedding_model  # noqa: PLC0415  # optional package

        provider = _provider(name, options, http_client)
        return infer_embedding_model(name, provider_factory=lambda _: provider), provider

    made, provider = _explaining(name, make)
    if options.headers and not any(one.__name__ == "OpenAIEmbeddingModel" for one in type(made).__mro__):
        raise ConfigError(f"{name}: {kind} embeddings can't be sent headers of your own: leave them out", "headers")
    return made, provider


def fast_client(name: str, options: LLMOptions) -> httpx2.AsyncClient | None:
    """A client with room for every request in flight; None where the provider's package makes its own.

    It goes through aiohttp where that is installed, which takes a third of the processor time off a request.
    Whoever makes it closes it.
    """
    kind, _ = split_name(name)
    if kind not in PROVIDERS or PROVIDERS[kind].extra not in _SPEAKING_OPENAI or find_spec("openai") is None:
        return None
    import httpx2  # noqa: PLC0415  # comes with the extra
    from openai import DefaultAioHttpClient, DefaultAsyncHttpxClient  # noqa: PLC0415  # comes with the extra

    make = DefaultAsyncHttpxClient if find_spec("aiohttp") is None else DefaultAioHttpClient
    most = max(100, options.concurrency)
    # shorter than servers keep a connection that isn't used, so that none is closed while a request goes out on it
    limits = httpx2.Limits(max_connections=most, max_keepalive_connections=most, keepalive_expiry=4.0)
    # headers may be secret, and stay with the server they are for
    return make(limits=limits, follow_redirects=False, verify=certificates())


def _provider(name: str, options: LLMOptions, http_client: httpx2.AsyncClient | None) -> Provider[Any]:
    """A provider's client, with its own retries off, as the channel repeats requests."""
    from pydantic_ai.providers import infer_provider_class  # noqa: PLC0415  # optional package

    kind, _ = split_name(name)
    check_provider(name)
    make = infer_provider_class(kind)
    if kind == "bedrock":
        return make(bedrock_client=_bedrock_client(name, options))  # type: ignore[call-arg]  # Bedrock's provider
    access, address = PROVIDERS.get(kind, ProviderRequirements()), address_of(name, options)
    key = None
    for variable in access.keys:
        key = key or os.environ.get(variable) or None
        if key and not is_header_value(key):
            held = "a line break or a character that isn't ASCII"
            raise ConfigError(f"{name}: the key in {variable} holds {held}: set it again")
    if kind == "openai" and address is not None:
        return make(openai_client=quick_client(address, key or NO_KEY, http_client))  # type: ignore[call-arg]
    takes = inspect.signature(make).parameters
    given = _provided(name, access, key) if address is None else _addressed(name, address, key, takes)
    if http_client is not None and "http_client" in takes:
        given["http_client"] = http_client
    provider = make(**given)
    if hasattr(provider.client, "max_retries"):
        provider.client.max_retries = 0  # in each request's settings it would cost a copy of the client
    return provider


def _provided(name: str, access: ProviderRequirements, key: str | None) -> dict[str, Any]:
    """What a provider at its own address is given beside what its package reads from the environment."""
    missing = [" or ".join(access.keys)] if access.keys and key is None else []
    missing += [variable for variable in access.others if not os.environ.get(variable)]
    if missing:
        raise _not_set(name, "key", " and ".join(missing))
    return {"azure_endpoint": _azure_endpoint(os.environ[ENDPOINT])} if ENDPOINT in access.others else {}


def _addressed(name: str, address: str, key: str | None, takes: Container[str]) -> dict[str, Any]:
    """What a provider at an address of the user's is given."""
    place = next((one for one in _ADDRESSES if one in takes), None)
    if place is None:
        raise ConfigError(
            f"{name} can't be asked at an address: for an OpenAI-compatible server write openai:MODEL", "base_url"
        )
    return {place: address} | ({"api_key": key or NO_KEY} if "api_key" in takes else {})


def _not_set(name: str, what: str, variables: str) -> ConfigError:
    kind = "variables" if " and " in variables else "variable"
    return ConfigError(f"{name} has no {what}: set the environment {kind} {variables}")


def _azure_endpoint(endpoint: str) -> str:
    """The address of the API that needs no version, unless a version is set."""
    if os.environ.get("OPENAI_API_VERSION") or endpoint.rstrip("/").endswith("/v1"):
        return endpoint
    host = urlsplit(endpoint).hostname or ""
    return endpoint if host.endswith(".models.ai.azure.com") else endpoint.rstrip("/") + "/openai/v1"


def _bedrock_client(name: str, options: LLMOptions) -> Any:
    """A client of AWS, with credentials from wherever AWS's own tools take them; see `_provider`."""
    import boto3  # noqa: PLC0415  # optional package
    from botocore.config import Config  # noqa: PLC0415  # optional package
    from botocore.exceptions import BotoCoreError, NoRegionError  # noqa: PLC0415  # optional package

    config = Config(
        retries={"total_max_attempts": 1},
        read_timeout=options.timeout,
        connect_timeout=min(10.0, options.timeout),
        max_pool_connections=max(10, options.concurrency),
    )
    try:
        session = boto3.Session()
        client = session.client("bedrock-runtime", config=config, endpoint_url=options.base_url)
        found = os.environ.get("AWS_BEARER_TOKEN_BEDROCK") or session.get_credentials()
    except NoRegionError:
        raise _not_set(name, "region", "AWS_DEFAULT_REGION") from None
    except BotoCoreError as error:
        raise ConfigError(f"{name}: {error}") from None
    if not found:
        client.close()
        raise _not_set(
            name, "key", "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or AWS_BEARER_TOKEN_BEDROCK"
        )
    return client


def _compatible_model(model: str, provider: Provider[Any]) -> Model:
    """A model behind an OpenAI-compatible server, which may know the older words only.

    Schemas go as they are: they are written as the strictest server wants them.
    """
    from pydantic_ai.models.openai import OpenAIChatModel  # noqa: PLC0415  # optional package
    from pydantic_ai.profiles.openai import OpenAIModelProfile  # noqa: PLC0415  # optional package

    usual = OpenAIChatModel(model, provider=provider).profile
    newer = bool(usual.get("openai_supports_reasoning", False))
    profile = OpenAIModelProfile(openai_chat_supports_max_completion_tokens=newer, json_schema_transformer=None)
    return OpenAIChatModel(model, provider=provider, profile=profile)


def _explaining(name: str, make: Callable[[], T]) -> T:
    """Make something with the provider's package."""
    kind, _ = split_name(name)
    try:
        return make()
    except ImportError as error:
        needed = _INSTALL.search(str(error))
        if kind not in PROVIDERS and needed:
            raise ConfigError(f"{name}: {kind} models need: pip install '{needed[1]}'") from None
        if kind not in PROVIDERS:
            raise MissingExtraError(
                f"{kind} models, if pydantic-ai knows them,", ProviderRequirements().extra
            ) from None
        raise MissingExtraError(f"{kind} models", PROVIDERS[kind].extra) from None
    except Exception as error:
        from pydantic_ai.exceptions import UserError  # noqa: PLC0415  # optional package

        if isinstance(error, ConfigError):
            raise
        said = str(error) or type(error).__name__
        if not isinstance(error, UserError):  # a provider's own package can't be set up: it says why
            raise ConfigError(f"{name}: {said.splitlines()[0]}") from None
        variables = " or ".join(dict.fromkeys(_VARIABLE.findall(said)))
        if variables:
            raise _not_set(name, "address" if variables.endswith("URL") else "key", variables) from None
        raise ConfigError(f"{name}: {said.splitlines()[0]}") from None
