"""One tool's address: requests to it, repeated with growing pauses while it doesn't answer."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ragtriage import __version__
from ragtriage.collect.http import hiding, server_address, without_secrets
from ragtriage.core.display import one_line
from ragtriage.core.errors import ConfigError, MissingExtraError
from ragtriage.core.validation import seconds_to_wait
from ragtriage.monitor.outputs.destinations import Destination
from ragtriage.monitor.outputs.entries import Environment, ToolRequest

if TYPE_CHECKING:
    import httpx

CONNECT, READ = 10.0, 30.0
"""Seconds to reach a server, and to wait for what it says."""
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds between two tries: each pause is twice the one before."""
NOT_NOW = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Status codes of what may be taken later."""
NOT_US = frozenset({401, 403, 407})
"""Status codes by which a server refuses whoever asks."""
NOT_HERE = frozenset({405, 410, 501})
"""Status codes of an address that is no such tool's."""
_LONGEST, _READ = 200, 20_000
"""Characters of a reply that are shown, and in which secrets are looked for."""


class Unreached(Exception):
    """A tool can't be reached, or takes nothing from us.

    Args:
        reason: in a few words, without secrets.
        final: the same request won't be taken later either.
        dead: no other request fares better now.
        wait: seconds that the tool asks to wait for.
    """

    def __init__(self, reason: str, *, final: bool = False, dead: bool = False, wait: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.final = final
        self.dead = dead or final
        self.wait = wait


Has = tuple[str, Callable[[Any], str | None]]
"""Where a tool is asked for something, and how what it is called there is read from the reply; None: it isn't there."""


@dataclass(frozen=True, slots=True)
class ToolReply:
    """What a tool said."""

    status: int
    value: Any
    """What its JSON holds; None where it is none."""
    said: str
    """How it begins, for people, without secrets."""
    text: str
    remote: str | None = None
    """What the tool calls what was sent, where it had it from an earlier try."""

    @property
    def refused(self) -> bool:
        """Whether the tool doesn't take what was sent."""
        return self.status >= 400


class ToolChannel:
    """Requests to one tool, whose keys go to its address alone: redirects aren't followed. Close it with `close`."""

    def __init__(
        self,
        destination: Destination,
        url: str,
        env: Environment,
        patience: float,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        try:
            import httpx  # noqa: PLC0415  # an optional package
        except ImportError:
            raise MissingExtraError("Scores to other tools", "collect") from None
        self.destination = destination
        self.shown = without_secrets(url)
        """The address, for people."""
        parsed = server_address(url, f"--{destination.name} {self.shown}")
        headers = _headers_of(parsed, destination.headers(env))
        for name, value in headers.items():
            if not (value.isascii() and value.isprintable() and re.fullmatch(r"[!#$%&'*+.^`|~\w-]+", name, re.ASCII)):
                raise ConfigError(f"{destination.variables}: no header can carry what is set: look for a line break")
        named = re.findall("[A-Z][A-Z_]+", destination.variables)
        found = [parsed.password, *headers.values(), *(env.get(one, "") for one in named)]
        self._hide = hiding(w for s in found for w in (s, *s.split()))
        self._base = str(parsed.copy_with(userinfo=b"", query=None, fragment=None)).rstrip("/")
        self._patience, self._sleep = patience, sleep
        # in threads of its own: httpx's asynchronous client takes 2.5 times the processor time for a small request
        self._threads = ThreadPoolExecutor(destination.in_flight, thread_name_prefix=destination.name)
        self._client = httpx.Client(
            headers={"User-Agent": f"ragtriage/{__version__}", **headers},
            timeout=httpx.Timeout(READ, connect=CONNECT),
            limits=httpx.Limits(max_connections=destination.in_flight),
            follow_redirects=False,
        )

    def close(self) -> None:
        """Close its connections."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    async def ask(self, path: str) -> ToolReply:
        """Ask for what is there (GET); see `exchange`."""
        return await self.exchange(ToolRequest("GET", path, ""))

    async def exchange(self, request: ToolRequest, has: Has | None = None) -> ToolReply:
        """Send one request, and again after growing pauses while it can't be taken now.

        `has` says where the tool can be asked, before it is sent again, whether it has it from the try before, and how
        its reply is read; None where it may have it twice. A refusal of what was sent is a reply too.

        Raises:
            Unreached: there was no answer in time, or the tool takes nothing from us.
        """
        pause, until = FIRST_PAUSE, time.monotonic() + self._patience
        while True:
            try:
                return await self._try(request)
            except Unreached as problem:
                delay = max(pause, problem.wait)
                if problem.final or time.monotonic() + delay > until:
                    raise
            await self._sleep(delay)
            pause = min(2 * pause, LONGEST_PAUSE)
            if has and (found := await self._had(*has)):
                return found

    async def _had(self, path: str, read: Callable[[Any], str | None]) -> ToolReply | None:
        try:
            reply = await self.ask(path)
        except Unreached:
            return None
        remote = None if reply.refused else read(reply.value)
        return replace(reply, remote=remote) if remote else None

    async def _try(self, request: ToolRequest) -> ToolReply:
        import httpx  # noqa: PLC0415  # an optional package

        content = request.content.encode("utf-8", "replace") if request.content else None
        headers = {"Content-Type": "application/json"} if request.content else {}
        url = joined(self._base, request.path)
        try:
            send = partial(self._client.request, request.method, url, headers=headers, content=content)
            reply = await asyncio.get_running_loop().run_in_executor(self._threads, send)
        except httpx.TransportError as error:
            reason = self._shown(str(error)) or type(error).__name__
            raise Unreached(f"no connection: {reason}", dead=True) from None
        except httpx.HTTPError as error:
            raise Unreached(f"its reply can't be read: {self._shown(str(error))}") from None
        if reply.status_code in NOT_NOW:
            wait = seconds_to_wait(reply.headers.get("Retry-After")) or 0.0
            raise Unreached(f"HTTP {reply.status_code}", wait=wait)
        return self._read(reply)

    def _read(self, reply: httpx.Response) -> ToolReply:
        code, text = reply.status_code, reply.text
        title = self.destination.title
        if reply.has_redirect_location:
            there = self._hide(without_secrets(str(reply.request.url), reply.headers["Location"]))
            raise Unreached(f"HTTP {code}: it has moved: name {there} with --{self.destination.name}", final=True)
        if code in NOT_US:
            raise Unreached(f"HTTP {code}: it wants other keys: see {self.destination.variables}", final=True)
        page = text.lstrip()[:1] == "<"  # of a browser: these tools speak JSON, or a sentence
        if code in NOT_HERE or page or (code == 404 and _nothing_here(text)):
            raise Unreached(f"HTTP {code}: there is no such page: is this the address of {title}?", final=True)
        try:
            value = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            value = None
        return ToolReply(code, value, self._shown(text), text)

    def _shown(self, text: str) -> str:
        """How a text begins, for people; secrets are taken out before it is cut, so that no half of one is left."""
        return one_line(self._hide(text[:_READ]), _LONGEST)


def _headers_of(url: httpx.URL, headers: dict[str, str]) -> dict[str, str]:
    """Those with the tool's keys; where it has none, with the user and password of the address."""
    if not url.userinfo or any(name.lower() == "authorization" for name in headers):
        return headers
    encoded = base64.b64encode(f"{url.username}:{url.password}".encode()).decode()
    return {**headers, "Authorization": f"Basic {encoded}"}


def joined(address: str, path: str) -> str:
    """A path beneath an address, which may end with its beginning: `…/api` and `/api/b` is `…/api/b`."""
    parts = path.split("/")[1:]
    ends = address.split("/")
    for count in range(len(parts), 0, -1):
        if ends[-count:] == parts[:count] and len(ends) - count >= 3:
            return "/".join([*ends, *parts[count:]])
    return address + path


def _nothing_here(text: str) -> bool:
    """Whether a 404 is what a server says of every page that it doesn't have."""
    return re.sub(r"[^a-z]", "", text.lower()) in {"", "notfound", "detailnotfound", "pagenotfound", "404pagenotfound"}
