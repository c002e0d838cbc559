"""Who may read and write: the pages hold texts that strangers wrote, on a port that every web page can reach.

A request is looked at before anything else is done with it: by the name under which it reached the server (a page of
another site may have its name resolved to this machine), by the cookie that only the browser has which was opened with
the address that the command printed, and, where it would write, by where it comes from.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
OWN_NAMES = {
    "127.0.0.1": "127.0.0.1", "localhost": "localhost", "::1": "[::1]", "0.0.0.0": "127.0.0.1", "::": "[::1]",  # noqa: S104
}  # fmt: skip
"""Address that is listened on → how this machine reaches it; at another one it is reached by the first further name."""
TOKEN = "token"  # noqa: S105  # the name of a part of an address
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Of every answer."""
SAFE = ("GET", "HEAD")


class Guard:
    """Lets a request through to the pages, or answers it.

    Args:
        names: further names under which it may be reached, without a port.
        writing: whether anything may be written.
        told: is called with a new address whenever one was used, since each is good for one browser.
    """

    def __init__(
        self,
        app: ASGIApp,
        port: int,
        names: Sequence[str] = (),
        *,
        host: str = "127.0.0.1",
        writing: bool,
        told: Callable[[str], None],
    ) -> None:
        self._app = app
        names = [name.lower() for name in names]
        self._hosts = {f"{name}:{port}" for name in (*LOOPBACK, *names)} | set(names)
        self._writing = writing
        self._told = told
        self._cookie = f"ragtriage_{port}"
        self._session = secrets.token_urlsafe(32)
        self._lock = threading.Lock()
        self._token = ""
        self._address = f"http://{OWN_NAMES.get(host) or names[0]}:{port}/"
        self.new_address()

    def new_address(self, path: str = "") -> str:
        """The address that opens the viewer, at a path of it, in one browser."""
        self._token = secrets.token_urlsafe(24)
        return f"{self._address}{path}?{TOKEN}={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return
        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, _with_headers(send))

    def _refusal(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        if headers.get("host", "").lower() not in self._hosts:
            return PlainTextResponse("This name isn't one of the viewer's.", 403)
        query = parse_qsl(scope.get("query_string", b"").decode("ascii", "replace"), keep_blank_values=True)
        given = next((value for name, value in query if name == TOKEN), None)
        if not self._knows(headers):
            if given and scope["method"] == "GET" and self._use(given):
                return self._opened(scope["path"], query)
            return HTMLResponse(_UNKNOWN, 403)
        if given is not None and scope["method"] == "GET":
            return self._opened(scope["path"], query)  # its address shall not stand in the history
        return None if scope["method"] in SAFE else self._written(headers)

    def _knows(self, headers: Headers) -> bool:
        try:
            cookies: Any = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        sent = cookies.get(self._cookie)
        return sent is not None and hmac.compare_digest(sent.value.encode(), self._session.encode())

    def _use(self, token: str) -> bool:
        with self._lock:
            right = hmac.compare_digest(token.encode("utf-8", "replace"), self._token.encode())
            if right:
                self._told(self.new_address())
        return right

    def _opened(self, path: str, query: list[tuple[str, str]]) -> Response:
        rest = urlencode([(name, value) for name, value in query if name != TOKEN])
        to = "/" + path.lstrip("/")  # never another site's
        answer = RedirectResponse(f"{to}?{rest}" if rest else to, 303)
        answer.set_cookie(self._cookie, self._session, httponly=True, samesite="strict")
        return answer

    def _written(self, headers: Headers) -> Response | None:
        if not self._writing:
            return PlainTextResponse("Nothing can be written: start the viewer with --write.", 403)
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return PlainTextResponse("Only JSON is taken.", 415)
        site, origin = headers.get("sec-fetch-site"), headers.get("origin")
        own = urlsplit(origin or "").netloc.lower() == headers["host"].lower() if origin else False
        if site != "same-origin" if site is not None else not own:
            return PlainTextResponse("Only the viewer's own pages may write.", 403)
        if origin is not None and not own:
            return PlainTextResponse("Only the viewer's own pages may write.", 403)
        return None


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in own]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


_UNKNOWN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>ragtriage</title>
<h1>This browser doesn't belong to the viewer</h1>
<p>Open the address that <code>ragtriage view</code> printed last; each is good for one browser.</p>
<p>If you came by a link from elsewhere: <a href="">open it again from here</a>.</p></html>"""
