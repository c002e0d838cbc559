"""The viewer in a real browser."""

from __future__ import annotations

import functools
import http.server
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from ragtriage.store import Store
from ragtriage.view.opened_runs import NotReadYetError, OpenedRuns
from ragtriage.view.pages import Pages
from ragtriage.view.security import Guard
from ragtriage.view.server import StoreRuns, application, listening

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Page
    from starlette.requests import Request

LIST = "/runs/1/cases?sort=input"
PAGES = ("/", "/help", "/runs/1?by=tenant", LIST, "/runs/1/cases/0?sort=input", "/runs/1/cases/7", "/waiting",
         "/runs/1/cases?groundedness=..abc")  # fmt: skip


@dataclass
class Served:
    """The viewer on a port, with what was written to it."""

    at: str
    guard: Guard
    written: list[str]

    def address(self, path: str = "") -> str:
        """One that opens it."""
        return self.guard.new_address(path)


@pytest.fixture(scope="module")
def served(store: Store) -> Iterator[Served]:
    runs, written = OpenedRuns(StoreRuns(store)), []
    pages = Pages(runs, "the store", writing=True)
    app = application(runs, pages, Path("labels.jsonl"))
    app.router.routes.insert(0, Route("/waiting", lambda request: pages.refused(request, NotReadYetError(3, 7))))

    async def write(request: Request) -> PlainTextResponse:
        written.append((await request.body()).decode())
        return PlainTextResponse("written")

    app.router.routes.insert(0, Route("/write", write, methods=["POST", "GET"]))
    with listening(None) as at:
        port = at.getsockname()[1]
        guard = Guard(app, port, writing=True, told=lambda _: None)
        server = uvicorn.Server(uvicorn.Config(guard, log_level="warning", lifespan="off"))
        thread = threading.Thread(target=server.run, args=([at],), daemon=True)
        thread.start()
        yield Served(f"http://127.0.0.1:{port}", guard, written)
        server.should_exit = True
        thread.join()
    runs.close()


@contextmanager
def watched(browser: Browser, served: Served, **context: Any) -> Iterator[Page]:
    """A page of a browser that the viewer knows; nothing may be complained of, and nothing loaded from elsewhere."""
    found: BrowserContext = browser.new_context(**{"viewport": {"width": 1300, "height": 900}, **context})
    page, complaints = found.new_page(), []
    page.on("console", lambda message: complaints.append(message.text) if "400 (Bad" not in message.text else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda one: None if one.url.startswith((served.at, "data:")) else complaints.append(one.url))
    page.goto(served.address())
    yield page
    assert complaints == []
    found.close()


def settled(page: Page, address: str) -> None:
    """A page as soon as it doesn't wait any more."""
    page.goto(address)
    until = time.monotonic() + 60
    while "data-renewed" in page.content() and not address.endswith("/waiting") and time.monotonic() < until:
        page.goto(address)


def position(page: Page) -> str:
    found = re.search(r"/cases/(\d+)", page.url)
    assert found
    return found[1]


def test_axe_finds_nothing_on_any_page_light_or_dark(browser: Browser, served: Served) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python isn't installed")
    found = []
    with watched(browser, served, bypass_csp=True) as page:
        for path in PAGES:
            settled(page, served.at + path)
            for details in page.locator("details").all()[:6]:
                details.evaluate("one => { one.open = true; }")
            for scheme in ("light", "dark"):
                page.emulate_media(color_scheme=scheme)
                result = axe.Axe().run(page)
                found += [(path, scheme, one["id"], [node["html"][:120] for node in one["nodes"]][:3])
                          for one in result.response["violations"]]  # fmt: skip
    assert not found, "\n".join(map(str, found))


def test_no_page_scrolls_sideways(browser: Browser, served: Served) -> None:
    wide = []
    with watched(browser, served) as page:
        for path in (*PAGES, *(f"/runs/1/cases/{at}" for at in (1, 2, 3, 4)), "/runs/1/cases?tag.odd=" + "x" * 300):
            settled(page, served.at + path)
            page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            for width in (390, 800, 1300, 1920):
                page.set_viewport_size({"width": width, "height": 900})
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    wide.append((path, width))
    assert wide == []


def test_the_keyboard_alone_leads_through_list_and_cases(browser: Browser, served: Served) -> None:
    with watched(browser, served) as page:
        settled(page, served.at + LIST)
        press = page.keyboard.press
        for key in ("j", "j", "j", "k"):
            press(key)
        assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 2
        press("Enter")
        page.wait_for_url("**/cases/1?*")
        press("j")
        page.wait_for_url("**/cases/2?*")
        for key in ("j", "j", "j", "j", "j"):
            at = position(page)
            press(key)
            page.wait_for_url(re.compile(f"/cases/{int(at) + 1}\\?"))
        press("k")
        page.wait_for_url("**/cases/6?*")
        press("1")
        assert page.locator(".claim.on").count() == 1
        assert "focus=claim-1" in page.url
        press("Escape")
        assert page.locator(".claim.on").count() == 0
        press("u")
        page.wait_for_url("**/cases?sort=input")
        press("/")
        page.keyboard.type("case-04jku?")  # keys are letters in a field
        assert page.locator("#find").input_value() == "case-04jku?"
        press("Escape")
        assert page.evaluate("document.activeElement.id") != "find"
        press("f")
        assert page.evaluate("document.activeElement.localName") == "select"
        press("Escape")
        press("u")
        page.wait_for_url("**/runs/1")
        press("?")
        page.wait_for_url("**/help")


def test_a_claim_marks_what_is_quoted_and_what_differs(browser: Browser, served: Served) -> None:
    with watched(browser, served, reduced_motion="reduce") as page:
        settled(page, f"{served.at}/runs/1/cases/7?sort=input")
        own, quote = page.evaluate(
            """() => {
                const words = document.querySelector(".source-text").textContent.trim().split(/\\s+/);
                const claim = document.querySelector('.claim[id$="-1"]');
                const own = claim.querySelector("p").textContent.trim().split(/\\s+/)[0];
                const quote = words.slice(0, 6).join(" ");
                claim.querySelector(".said").textContent = `a passage says otherwise: “${quote}”, ${own} ≠ ${words[2]}`;
                return [own, quote];
            }"""
        )
        page.keyboard.press("1")
        assert "".join(page.locator("mark.evidence").all_text_contents()).split() == quote.split()
        assert page.locator(".claim.on mark.differs").all_text_contents() == [own]
        assert page.locator(".source.on mark.differs").all_text_contents() == [quote.split()[2]]
        evidence = page.locator("mark.evidence").first.bounding_box()
        page.keyboard.press("Escape")
        assert page.locator("mark.evidence, mark.differs, .claim.on").count() == 0
        page.mouse.click(evidence["x"] + 12, evidence["y"] + evidence["height"] / 2)
        assert page.locator(".claim.on").get_attribute("id").endswith("-1")


def test_a_link_to_a_claim_survives_reload_and_the_way_back(browser: Browser, served: Served) -> None:
    with watched(browser, served) as page:
        settled(page, served.at + LIST)
        settled(page, f"{served.at}/runs/1/cases/7?sort=input&focus=claim-2")
        for _ in range(2):
            assert page.locator(".claim.on").count() == 1
            assert page.locator(".claim.on").get_attribute("id").endswith("-2")
            page.reload()
        page.go_back()
        page.wait_for_url("**/cases?sort=input")
        page.go_forward()
        page.wait_for_url("**focus=claim-2")
        assert page.locator(".claim.on").count() == 1
        page.keyboard.press("Escape")
        page.wait_for_url("**/7?sort=input")
        assert page.locator(".claim.on").count() == 0


def test_light_and_dark_and_keys_are_choices_that_stay(browser: Browser, served: Served) -> None:
    with watched(browser, served, color_scheme="light") as page:
        page.get_by_role("button", name="Dark").click()
        page.goto(f"{served.at}/help")
        assert page.locator("html").get_attribute("data-theme") == "dark"
        assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(20, 23, 27)"
        page.get_by_role("button", name="Turn the keys off").click()
        settled(page, served.at + LIST)
        page.keyboard.press("j")
        assert page.locator("#rows tr.on").count() == 0


def stays_untagged(page: Page, served: Served) -> None:
    """Cases without a tag stay chosen where a further filter is."""
    settled(page, f"{served.at}/runs/1/cases?tag.tenant=")
    none = page.locator("#count").inner_text()
    page.get_by_role("button", name="Filter").click()
    page.wait_for_url("**tag.tenant=**")
    assert page.locator("#count").inner_text() == none
    assert "tag.tenant=a" not in page.url


def test_filters_take_effect_at_once_and_need_no_script(browser: Browser, served: Served) -> None:
    with watched(browser, served) as page:
        settled(page, served.at + LIST)
        page.get_by_label("Kind").select_option("failure")
        page.wait_for_url("**kind=failure**")
        assert "q=" not in page.url
        assert "sort=input" in page.url
        failures = page.locator("#count").inner_text()
        page.locator("[name='tag.tenant']").select_option("a")
        page.wait_for_url("**tag.tenant=a**")
        page.locator("[name='tag.tenant']").select_option(label="all")
        page.wait_for_url(lambda url: "tenant" not in url)
        assert page.locator("#count").inner_text() == failures
        stays_untagged(page, served)
    with watched(browser, served, java_script_enabled=False) as page:
        settled(page, served.at + LIST)
        page.get_by_label("Kind").select_option("failure")
        page.get_by_role("button", name="Filter").click()
        assert page.locator("#count").inner_text() == failures
        page.locator("#rows tbody a").first.click()
        assert page.locator(".case-page .response").is_visible()
        stays_untagged(page, served)


ATTACKS = """async (at) => {
    const told = {};
    const tried = async (name, work) => {
        try { told[name] = await work(); } catch { told[name] = "refused"; }
    };
    const post = (body, more) => fetch(at + "/write", {method: "POST", credentials: "include", body, ...more});
    const json = {headers: {"content-type": "application/json"}};
    await tried("read", async () => (await fetch(at + "/runs/1", {credentials: "include"})).status);
    await tried("write", async () => (await post("1", json)).status);
    await tried("blind", async () => (await post("2", {mode: "no-cors"})).type);
    await tried("beacon", async () => String(navigator.sendBeacon(at + "/write", "3")));
    await tried("events", () => new Promise((done) => {
        const events = new EventSource(at + "/runs/1/state", {withCredentials: true});
        events.onmessage = () => done("read");
        events.onerror = () => { events.close(); done("refused"); };
    }));
    await tried("script", () => new Promise((done) => {
        const script = Object.assign(document.createElement("script"), {src: at + "/static/view.js"});
        script.onload = () => done("loaded");
        script.onerror = () => done("refused");
        document.head.append(script);
    }));
    return told;
}"""


def test_another_site_reads_writes_and_frames_nothing(browser: Browser, served: Served, tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text(
        f"<!doctype html><iframe src='{served.at}/runs/1'></iframe>"
        f"<form method='post' enctype='text/plain' action='{served.at}/write'>"
        "<input name='a' value='4'><button>go</button></form>"
    )
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=tmp_path)
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]  # of every instance
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as elsewhere:
        threading.Thread(target=elsewhere.serve_forever, daemon=True).start()
        for name in ("127.0.0.1", "localhost"):  # the same site on another port, and another site
            context = browser.new_context()
            page = context.new_page()
            page.goto(served.address())
            page.goto(f"http://{name}:{elsewhere.server_address[1]}/")
            told = page.evaluate(ATTACKS, served.at)
            assert told["read"] == told["write"] == told["events"] == told["script"] == "refused"
            frame = page.frames[1]
            assert frame.url in ("chrome-error://chromewebdata/", "about:blank")
            page.get_by_role("button", name="go").click()
            page.wait_for_load_state()
            assert "written" not in page.content()
            context.close()
        elsewhere.shutdown()
    assert served.written == []


def test_its_own_pages_write(browser: Browser, served: Served) -> None:
    with watched(browser, served) as page:
        page.goto(f"{served.at}/help")
        script = """async () => (await fetch("/write", {
            method: "POST", headers: {"content-type": "application/json"}, body: "mine"})).text()"""
        assert page.evaluate(script) == "written"
    assert served.written == ["mine"]
    served.written.clear()
