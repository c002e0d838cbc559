"""Who may read and write."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from viewed import HOST, PORT, Viewer, viewer_of

from examples import examples
from ragtriage.store import Store
from ragtriage.view.security import HEADERS, Guard
from ragtriage.view.server import StoreRuns

PATHS = ("/", "/runs/1/cases", "/runs/99", "/nothing", "/static/view.js", "/runs/1/state", "/runs/1/export.csv")


class Reached(Exception):
    """The pages were asked."""


async def never(scope: object, receive: object, send: object) -> None:
    raise Reached


async def written(scope, receive, send) -> None:  # type: ignore[no-untyped-def]  # Starlette's
    await PlainTextResponse("written")(scope, receive, send)


def guarded(*, writing: bool = True, app: object = written, known: bool = True) -> TestClient:
    guard = Guard(app, PORT, ["quality.example"], writing=writing, told=lambda _: None)  # type: ignore[arg-type]  # see above
    client = TestClient(guard, base_url=HOST)
    if known:
        client.get(guard.new_address().removeprefix(HOST), follow_redirects=False)
    return client


@pytest.fixture
def stranger(store: Store) -> Iterator[Viewer]:
    found = viewer_of(StoreRuns(store), known=False)
    yield found
    found.runs.close()


@pytest.mark.parametrize(
    "host",
    ["evil.example", "127.0.0.1", "127.0.0.1:80", f"127.0.0.1.evil.example:{PORT}", f"evil.example:{PORT}", "",
     f"localhost:{PORT}@evil.example", f"quality.example.evil.example:{PORT}", "quality.example:1"],
)  # fmt: skip
def test_another_name_is_refused_before_anything_is_asked(host: str) -> None:
    answer = guarded(app=never).get("/", headers={"host": host})

    assert answer.status_code == 403


def test_its_own_names_are_let_in() -> None:
    client = guarded()
    cookie = "; ".join(f"{name}={value}" for name, value in client.cookies.items())

    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"LOCALHOST:{PORT}", f"[::1]:{PORT}", "quality.example"):
        assert client.get("/", headers={"host": host, "cookie": cookie}).status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_without_the_cookie_nothing_is_shown(stranger: Viewer, path: str) -> None:
    for more in ({}, {"cookie": f"ragtriage_{PORT}="}, {"cookie": f"ragtriage_{PORT}=x"}, {"cookie": "\u00e9;;=\x01"}):
        answer = stranger.get(path, headers={name: value.encode("utf-8") for name, value in more.items()})
        assert answer.status_code == 403
        assert "case" not in answer.text


def test_each_address_is_good_for_one_browser_unless_that_is_known(stranger: Viewer, viewer: Viewer) -> None:
    address = stranger.guard.new_address("runs/1").removeprefix(HOST)
    first = stranger.get(f"{address}&by=tenant")
    stranger.client.cookies.clear()
    second = stranger.get(address)
    assert first.status_code == 303
    assert first.headers["location"] == "/runs/1?by=tenant"
    cookie = first.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert second.status_code == 403
    assert "set-cookie" not in second.headers
    (told,) = stranger.told
    assert stranger.get(told.removeprefix(HOST)).status_code == 303

    address = viewer.guard.new_address("runs/1").removeprefix(HOST)
    assert viewer.get(address).headers["location"] == "/runs/1"
    assert viewer.get(address).headers["location"] == "/runs/1"
    assert viewer.get("/runs/1?token=anything&by=tenant").headers["location"] == "/runs/1?by=tenant"


@pytest.mark.parametrize(
    ("host", "reached"),
    [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]"), ("0.0.0.0", "127.0.0.1"), ("192.0.2.7", "quality.example")],
)
def test_the_address_that_is_told_is_one_that_is_answered(host: str, reached: str) -> None:
    guard = Guard(written, PORT, ["Quality.example"], host=host, writing=False, told=lambda _: None)
    address = guard.new_address()

    assert address.startswith(f"http://{reached}:{PORT}/?token=")
    path, at = address.partition(str(PORT))[2], {"host": f"{reached}:{PORT}"}
    assert TestClient(guard).get(path, headers=at, follow_redirects=False).status_code == 303


@pytest.mark.parametrize("token", ["", "x", "\u00e9", "\ud800", "%00"])
def test_a_guessed_token_opens_nothing(stranger: Viewer, token: str) -> None:
    assert stranger.get(f"/?token={quote(token, errors='surrogatepass')}").status_code == 403
    assert stranger.client.post(stranger.guard.new_address().removeprefix(HOST)).status_code == 403


@pytest.mark.parametrize(
    "path",
    ["//evil.example", "///evil.example", "/%2Fevil.example", "/%5Cevil.example", "/\\evil.example",
     "/%09/evil.example",
     "/%0d%0aset-cookie:x=1", "/.//evil.example", "/%2e%2f/evil.example", "/http://evil.example", "/@evil.example"],
)  # fmt: skip
def test_an_address_never_leads_to_another_site(path: str) -> None:
    guard = Guard(never, PORT, (), writing=False, told=lambda _: None)
    client = TestClient(guard, base_url=HOST)
    token = guard.new_address().partition("?")[2]
    for _ in range(2):  # a browser that isn't known yet, and one that is
        answer = client.get(f"{HOST}{path}?{token}", follow_redirects=False)
        to = answer.headers["location"]
        assert answer.status_code == 303
        assert re.match(r"/(?![/\\])", to)
        assert urlsplit(to).netloc == ""
        assert "\r" not in to
        assert "\n" not in to
        assert "x" not in answer.cookies


@pytest.mark.parametrize("path", PATHS)
def test_every_answer_says_what_a_page_may_do(viewer: Viewer, stranger: Viewer, path: str) -> None:
    answers = [viewer.get(path), stranger.get(path), viewer.get(path, headers={"host": "evil.example"})]
    answers += [viewer.client.post(path), viewer.client.head(path)]
    for answer in answers:
        for name, value in HEADERS.items():
            assert answer.headers[name] == value
        assert answer.headers.get_list("content-security-policy") == [HEADERS["content-security-policy"]]
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_nothing_is_written_without_the_flag_or_by_a_stranger() -> None:
    client = guarded(writing=False, app=never)
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        answer = client.request(method, "/runs/1/label", headers={"origin": HOST, "content-type": "application/json"})
        assert answer.status_code == 403

    client = guarded(known=False, app=never)
    headers = {"origin": HOST, "sec-fetch-site": "same-origin", "content-type": "application/json"}
    assert client.post("/runs/1/label", content=b"{}", headers=headers).status_code == 403


@pytest.mark.parametrize("row", examples("addresses", "writing"))
def test_only_its_own_pages_write(row: dict[str, Any]) -> None:
    answer = guarded().post("/runs/1/label", content=b"{}", headers=row["headers"])

    assert answer.status_code == row["status"]
