"""OpenAI's client for other servers, without the work that it does for every request for the sake of types."""

from __future__ import annotations

import json
import ssl
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


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
