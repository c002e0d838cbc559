"""Carries one request to a decision server and brings back its reply, or what went wrong."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ragtriage.core.display import shortened
from ragtriage.core.errors import MissingExtraError
from ragtriage.core.validation import seconds_to_wait
from ragtriage.judges.decisions.models import DecisionModel
from ragtriage.judges.decisions.wire import usage_of
from ragtriage.judges.llm.messages import (
    ExchangeError,
    ModelUnusable,
    Prompt,
    RateLimited,
    Reply,
    RequestRejected,
    TransientError,
)
from ragtriage.judges.llm.models import public_address
from ragtriage.judges.llm.options import LLMOptions, Price
from ragtriage.judges.llm.pydantic_ai_calls import NO_SUCH_MODEL
from ragtriage.judges.llm.transport import PerEventLoop

if TYPE_CHECKING:
    import aiohttp

MOST_SAID = 240
"""Characters of a server's own words."""
_ABOUT_LIMIT = re.compile(
    r"too (?:long|large|many|big)|limit|exceed|context (?:length|window|size)|at most|maximum|\bmax\b|bytes|"
    r"payload|truncat|\d (?:entries|items|questions)",
    re.IGNORECASE,
)
_WAITED_FOR = frozenset({408, 409, 425})
_ELSEWHERE = frozenset({301, 302, 303, 307, 308})
_NO_MODEL = frozenset({404, 405, 410})


class TooLarge(RequestRejected):
    """The request is larger than the server takes."""


class DecisionTransport:
    """Carries the bodies of requests to one model; it may be used in one event loop after another."""

    def __init__(self, model: DecisionModel, options: LLMOptions, price: Price | None) -> None:
        try:
            import aiohttp  # noqa: F401, PLC0415  # an optional package
        except ImportError:
            raise MissingExtraError("Decision models", "decisions") from None
        self._model = model
        self._options = options
        self._price = price
        self._headers = {"Content-Type": "application/json", "Accept": "application/json"} | dict(model.authorization())
        self._client = PerEventLoop(self._open, lambda client: client.close())

    def _open(self) -> aiohttp.ClientSession:
        import aiohttp  # noqa: PLC0415  # an optional package

        return aiohttp.ClientSession(
            # shorter than servers keep a connection that isn't used, so that none is closed while a request goes out
            connector=aiohttp.TCPConnector(limit=max(100, self._options.concurrency), keepalive_timeout=4.0),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers=self._headers,
            timeout=aiohttp.ClientTimeout(total=self._options.timeout),
            trust_env=True,
        )

    async def send(self, prompt: Prompt) -> Reply:
        """Send the body that `prompt.user` is; see `ragtriage.judges.llm.messages.Send`."""
        import aiohttp  # noqa: PLC0415  # an optional package

        client, url = self._client.here(), self._model.url
        try:
            # a redirect would carry the key to a place that nobody named
            async with client.post(url, data=prompt.user.encode(), allow_redirects=False) as reply:
                text = await reply.text(errors="replace")
        except TimeoutError:
            raise TransientError(f"no reply within {self._options.timeout:g} s") from None
        except (aiohttp.ClientPayloadError, aiohttp.ClientResponseError) as error:
            raise TransientError(f"malformed response: {self._hide(str(error))}") from None
        except (aiohttp.ClientError, OSError) as error:
            said = self._hide(str(error)) or type(error).__name__
            raise TransientError(f"no connection to {public_address(url)}: {said}") from None
        if not 200 <= reply.status < 300:
            raise self._refusal(reply.status, reply.headers, text)
        usage = usage_of(text)
        tokens = usage.tokens_in or prompt.tokens
        price = self._price.of(tokens, 0) if self._price else None
        return Reply(text, tokens, 0, price, model=usage.model)

    def _refusal(self, code: int, headers: Mapping[str, str], text: str) -> ExchangeError:
        """What a status means, with the server's words, which hold no key."""
        said = self._hide(_words(text))
        because = f" ({code})" + (f": {said}" if said else "")
        if unusable := self._unusable(code, said, because):
            return ModelUnusable(f"{self._model.name}: {unusable}")
        wait = _asked_to_wait(headers)
        if code in {429, 529}:
            return RateLimited(f"the server asks to slow down{because}", wait)
        if code in _WAITED_FOR or code >= 500:
            return TransientError(f"server error{because}", wait)
        if code == 413 or (code in {400, 422} and _ABOUT_LIMIT.search(said)):
            return TooLarge(f"the request is too large for the server{because}", alone=True)
        return RequestRejected(f"the server refused the request{because}")

    def _unusable(self, code: int, said: str, because: str) -> str:
        """Why every request would be refused; empty if others may not be."""
        where = public_address(self._model.url)
        if code in _ELSEWHERE:
            return f"{where} sends requests elsewhere: give that address"
        if code in {401, 402, 403}:
            key = self._model.service.key
            what = "the credit there is used up" if code == 402 else f"the server refuses the key in {key}"
            return f"{what} ({code}): look at the key and at what it may do"
        if code in _NO_MODEL or (code in {400, 422} and NO_SUCH_MODEL.search(said)):
            return f"{where} knows no such model or no such page{because}: look at the model's name and at the address"
        return ""

    def _hide(self, text: str) -> str:
        """The text without the key, on one line, cut if it is long."""
        key = self._headers.get("Authorization", "").removeprefix("Bearer ")
        return shortened(text.replace(key, "…") if key else text, MOST_SAID)


def _asked_to_wait(headers: Mapping[str, str]) -> float | None:
    """Seconds; those of `retry-after-ms` go first, as they are more exact."""
    milliseconds = headers.get("retry-after-ms", "")
    if milliseconds.replace(".", "", 1).isdecimal():
        return float(milliseconds) / 1000
    return seconds_to_wait(headers.get("retry-after"))


def _words(text: str) -> str:
    """A server's own words, wherever its reply has them."""
    try:
        return " ".join(_texts(json.loads(text)))
    except (ValueError, RecursionError):
        return text


def _texts(said: Any) -> list[str]:
    if isinstance(said, str):
        return [said]
    if isinstance(said, Mapping):
        return [text for key in ("error", "message", "detail", "msg", "loc") for text in _texts(said.get(key))]
    return [text for one in said for text in _texts(one)] if isinstance(said, list) else []
