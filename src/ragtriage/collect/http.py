"""An address as the application under test: a JSON document is posted, a JSON document comes back."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from ragtriage.collect.application import UNREADABLE, ApplicationReply, ReplyPaths, Unanswered, read_reply
from ragtriage.core.case import Case
from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.core.validation import seconds_to_wait

if TYPE_CHECKING:
    import httpx

CONNECT = 10.0
"""Seconds to reach a server; one that answers is given the whole time-out."""
MAX_REPLY = 10.0
"""Megabytes of a reply that are read if nothing else is said."""
REFUSES = frozenset({401, 403, 404, 405, 407, 410, 501})
"""Status codes by which a server says that no request of this kind is answered, whatever it asks."""
_LONGEST = 200


class HttpApplication:
    """Posts a document for every query: what `body` makes of a case and a temperature, None for the usual one.

    `hide` takes secrets out of a message; `max_reply` is in megabytes, unpacked.
    """

    most_at_once: int | None = None
    notes: tuple[str, ...] = ()

    def __init__(  # noqa: PLR0913  # where to, what is sent, what is read of the reply, and how
        self,
        url: str,
        body: Callable[[Case, float | None], Any],
        places: ReplyPaths,
        headers: Mapping[str, str],
        hide: Callable[[str], str],
        concurrency: int,
        max_reply: float = MAX_REPLY,
        *,
        takes_temperature: bool = False,
        temperature: float | None = None,
    ) -> None:
        try:
            import httpx  # noqa: PLC0415  # an optional package
        except ImportError:
            raise MissingExtraError("Applications at a URL", "collect") from None
        self.name = hide(without_secrets(url))
        self._url = server_address(url, f"--app {self.name}")
        self._body, self._places, self._hide, self._max_reply = body, places, hide, max_reply
        self.takes_temperature, self._temperature = takes_temperature, temperature
        self._again = partial(
            HttpApplication, url, body, places, headers, hide, concurrency, max_reply,
            takes_temperature=takes_temperature,
        )  # fmt: skip
        # a redirect would carry the headers to a place that nobody named
        self._client = httpx.AsyncClient(
            headers={"User-Agent": "ragtriage", **headers},
            timeout=httpx.Timeout(None, connect=CONNECT),
            limits=httpx.Limits(max_connections=concurrency),
            follow_redirects=False,
        )

    async def ask(self, case: Case) -> ApplicationReply:
        """Send one request."""
        import httpx  # noqa: PLC0415  # an optional package

        content = json.dumps(self._body(case, self._temperature), ensure_ascii=False).encode("utf-8", "replace")
        try:
            request = self._client.stream(
                "POST", self._url, content=content, headers={"Content-Type": "application/json"}
            )
            async with request as reply:
                received, whole = await self._received(reply)
        except httpx.TransportError as error:
            reason = self._hide(one_line(str(error), _LONGEST)) or type(error).__name__
            raise Unanswered("connection", f"{self.name}: no connection: {reason}", again=True, down=True) from None
        except httpx.HTTPError as error:
            reason = self._hide(one_line(str(error), _LONGEST))
            raise Unanswered(UNREADABLE, f"{self.name}: the reply can't be read: {reason}") from None
        if not reply.is_success:
            raise self._refusal(reply, received)
        if not whole:
            raise Unanswered(UNREADABLE, f"the reply is larger than {self._max_reply:g} MB: raise --max-reply")
        try:
            value = json.loads(received)
        except (ValueError, RecursionError):
            begin = self._shown(received)
            raise Unanswered(UNREADABLE, f"the reply isn't JSON; it begins with {begin!r}") from None
        try:
            return read_reply(value, self._places)
        except Unanswered as problem:
            raise Unanswered(problem.cause, self._hide(problem.detail), broken=problem.broken) from None

    async def close(self) -> None:
        """Close its connections."""
        await self._client.aclose()

    def again(self, temperature: float | None) -> HttpApplication:
        """The same address with connections of its own, asked at this temperature."""
        return self._again(temperature=temperature)

    async def _received(self, reply: httpx.Response) -> tuple[bytes, bool]:
        """What came in, unpacked, as far as it is allowed to; and whether that is all of it."""
        received = bytearray()
        async for part in reply.aiter_bytes():
            received += part
            if len(received) > self._max_reply * 1_000_000:
                return bytes(received), False
        return bytes(received), True

    def _refusal(self, reply: httpx.Response, received: bytes) -> Unanswered:
        code = reply.status_code
        said = f": {self._shown(received)}" if received.strip() else ""
        if reply.has_redirect_location:
            there = self._hide(without_secrets(str(self._url), reply.headers["Location"]))
            return Unanswered(f"HTTP {code}", f"{self.name} has moved: name {there} with --app", down=True)
        detail = f"{self.name} answers HTTP {code}{said}"
        if code in {408, 429} or (code >= 500 and code not in REFUSES):
            wait = seconds_to_wait(reply.headers.get("Retry-After"))
            return Unanswered(f"HTTP {code}", detail, again=True, wait=wait, down=True)
        hint = "; keys are given with --app-header" if code in {401, 403} else ""
        return Unanswered(f"HTTP {code}", detail + hint, down=code in REFUSES)

    def _shown(self, received: bytes) -> str:
        return one_line(self._hide(received[:4000].decode("utf-8", "replace")), _LONGEST)


HIDDEN = "[hidden]"
_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_SHORTEST = 4
"""A shorter value stands in many a harmless word; to take it out would hide nothing and spoil the message."""


def headers_from(items: Iterable[str]) -> tuple[dict[str, str], Callable[[str], str]]:
    """`NAME=VALUE` → headers, with every `${VARIABLE}` taken from the environment; and what hides their values.

    No message repeats a value.
    """
    headers: dict[str, str] = {}
    secrets: list[str] = []
    for item in items:
        name, sign, value = item.partition("=")
        if not sign or not re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", name.strip(), re.ASCII):
            raise ConfigError("--app-header: write it as NAME=VALUE, for example 'Authorization=Bearer ${MY_KEY}'")
        if name.strip().lower() in map(str.lower, headers):
            raise ConfigError(f"--app-header names {name.strip()} twice: give one value")
        for variable in _VARIABLE.findall(value):
            if not os.environ.get(variable):
                raise ConfigError(f"--app-header {name.strip()}: the variable {variable} is not set in the environment")
            secrets.append(os.environ[variable])
        full = _VARIABLE.sub(lambda found: os.environ[found[1]], value).strip()
        if not full.isascii() or not full.isprintable():
            raise ConfigError(f"--app-header {name.strip()}: its value has characters that no header can carry")
        headers[name.strip()] = full
        secrets += [full, *full.split()[1:]]
    return headers, hiding(secrets)


def hiding(secrets: Iterable[str]) -> Callable[[str], str]:
    """What takes these secrets out of a text."""
    longest_first = sorted({s for s in secrets if len(s) >= _SHORTEST}, key=len, reverse=True)

    def hide(text: str) -> str:
        for secret in longest_first:
            text = text.replace(secret, HIDDEN)
        return text

    return hide


def server_address(url: str, called: str) -> httpx.URL:
    """The address of a server; else a ConfigError that calls it so."""
    import httpx  # noqa: PLC0415  # an optional package

    try:
        found = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise ConfigError(f"{called}: is no address: {error}") from None
    if found.scheme not in {"http", "https"} or not found.host:
        raise ConfigError(f"{called}: is no address of a server: begin it with http:// or https://")
    return found


def without_secrets(url: str, onward: str = "") -> str:
    """An address, or where it leads to, as people may see it: without user, password, query and fragment."""
    try:
        whole = urljoin(url, onward)
        parts = urlsplit(whole)
    except ValueError:
        return "(an address that can't be read)"
    if not parts.netloc:  # no address, but what was typed for one
        return re.split("[?#]", whole)[0].rpartition("@")[2]
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
