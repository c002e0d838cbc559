"""OpenAI's client for other servers, without the work that it does for every request for the sake of types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI


def quick_client(address: str, key: str, http_client: httpx2.AsyncClient | None) -> AsyncOpenAI:
    """A client for chat completions that sends what it is given.

    OpenAI's own goes through every message and every schema to rename what has another name on the wire. Nothing in a
    chat does, and looking for it takes a third of the processor time of a request.

    Args:
        address: of the server.
        key: for it.
        http_client: carries the requests; None for one of its own.
    """
    from openai import AsyncOpenAI, NotGiven, Omit  # noqa: PLC0415  # optional package
    from openai.types.chat import ChatCompletion  # noqa: PLC0415  # optional package

    class Completions:
        def __init__(self, client: AsyncOpenAI) -> None:
            self._client = client

        async def create(
            self,
            *,
            extra_headers: dict[str, str] | None = None,
            extra_body: dict[str, Any] | None = None,
            timeout: Any = None,  # noqa: ASYNC109  # the client's own name; the deadline stands around all of it
            **body: Any,
        ) -> ChatCompletion:
            sent = {key: value for key, value in body.items() if not isinstance(value, (Omit, NotGiven))}
            return await self._client.post(
                "/chat/completions",
                cast_to=ChatCompletion,
                body=sent,
                options={"headers": extra_headers or {}, "extra_json": extra_body or {}, "timeout": timeout},
            )

    class Chat:
        def __init__(self, client: AsyncOpenAI) -> None:
            self.completions = Completions(client)

    class Client(AsyncOpenAI):
        @property
        def chat(self) -> Any:
            return Chat(self)

    return Client(base_url=address, api_key=key, http_client=http_client, max_retries=0)
