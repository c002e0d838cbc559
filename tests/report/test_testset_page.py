"""The HTML page of a scored test set: everything in it, nothing unescaped, filters that filter."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ragtriage.report.testset_document import difference_of
from ragtriage.report.testset_page import REASONS, group_reports, write_testset_page
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.corpus import GapLookup
from ragtriage.testset.correctness import Decision, SecondAnswer, decide
from ragtriage.testset.failure_analysis import (
    BLAME_RULES,
    DiagnosedComponent,
    FailureAnalysis,
    SecondRun,
    blame_agreement,
    tag_rows,
)
from ragtriage.testset.scoring import ClusterDifference, score_decided

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


def row(name: str, group: str, cluster: str, response: str | None, *, answer: Any = "Ada Finch", **columns: Any) -> Row:
    return Row(name, group, cluster, f"Who is it, {name}?", answer, response, None, (f"doc-{name}",), None, columns)


ROWS = [
    row("1", "mixed", "short", "Ada Finch", sql="SELECT name FROM people", parameters={"people.post": "manager"}),
    row("2", "mixed", "long", "I don't know.", criterion="formal"),
    row("3", "missing", "short", "I don't know."),
    row("4", "late", "short", None),
    row("5", "good", "long", "Ada Finch"),
    row("6", EVIL, EVIL, f"Ada Finch {EVIL}", answer=EVIL, sql=EVIL, parameters={EVIL: EVIL}),
]


def written(path: Path, analysis: FailureAnalysis | None = None, **how: Any) -> str:
    rows = ROWS
    decisions = decide(rows, None)
    decisions = [
        Decision(d.correct, d.by, d.why, second_answer=SecondAnswer("sibling", True, "Ada Finch now"))
        if r.id == "2"
        else d
        for r, d in zip(rows, decisions, strict=True)
    ]
    tagged = tag_rows(rows, decisions)
    components = {one.id: DiagnosedComponent("generator", "LM", f"it {EVIL}", sure=False) for one in rows}
    found = FailureAnalysis(
        SecondRun(1, 1, 0, 0, 0, 0),
        (GapLookup("missing", "found", ("pier",), "it stands beside Old Pier"),),
        3,
        blame_agreement(tagged, components, "9"),
        components,
    )
    scores = score_decided(rows, decisions)
    write_testset_page(path, f"rows {EVIL}", scores, None, tagged, decisions, analysis or found, **how)
    return path.read_text("utf-8")


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_it_shows_every_phrasing_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    text = text_of(written(tmp_path / "page.html"))

    for part in (
        "6 answers", "5 groups", "true answer Ada Finch", "SELECT name FROM people", "manager",
        "decided by typed match: The response declines to answer.", "retrieved doc-2", "asked again: Ada Finch now",
        "second run: right when given those of a right answer", "no response", "formal",
        "in a document that was never retrieved (pier; it stands beside Old Pier)", "THELMA: generator", "(not sure)",
        "blamed on retrieval 0 1 0 0 0", "3 documents searched",
    ):  # fmt: skip
        assert part in text, part


def test_both_averages_are_in_the_table(tmp_path: Path) -> None:
    text = text_of(written(tmp_path / "page.html"))

    assert "Accuracy undef. 0.50 0.50 Accuracy over groups undef. 0.50 0.50" in text
    assert "Robustness without LM errors over groups undef. 0.50 1.00" in text


@pytest.mark.parametrize(
    ("difference", "low", "high", "shown"),
    [
        (-0.004, -0.251, 0.001, "0.00 [-0.25, 0.00]"),
        (0.254, 0.0, 0.5, "+0.25 [0.00, +0.50]"),
        (-0.5, None, None, "-0.50"),
    ],
)
def test_a_difference_that_rounds_to_nothing_has_no_sign(
    difference: float, low: float | None, high: float | None, shown: str
) -> None:
    assert difference_of(ClusterDifference(difference, low, high, None, None, 0)) == shown


def test_the_most_telling_groups_come_first() -> None:
    decisions = decide(ROWS, None)
    tags = [view.tag for view in group_reports(tag_rows(ROWS, decisions), decisions, FailureAnalysis())]

    assert tags == sorted(tags, key=["non_robust", "gap", "undecided", "robust"].index)


def test_every_rule_has_its_reasons() -> None:
    assert set(REASONS) == set(BLAME_RULES)


def test_texts_are_escaped_and_it_loads_nothing(tmp_path: Path) -> None:
    html = written(tmp_path / "page.html")

    assert "<img" not in html
    assert html.count("<script>") == 1
    assert "default-src 'none'" in unescape(html)
    assert re.findall(r"(?:src|href)=[\"'](?!#)[^\"']*", html) == []


def test_what_was_not_asked_for_has_no_section(tmp_path: Path) -> None:
    html = written(tmp_path / "page.html", analysis=FailureAnalysis())

    for part in ('id="corpus"', 'id="thelma"', "THELMA", "Asked again", 'id="presence"'):
        assert part not in html


def test_what_does_not_fit_is_counted(tmp_path: Path) -> None:
    assert "0 of 5 groups are shown" in text_of(written(tmp_path / "page.html", most_bytes=1))
    assert "groups are shown" not in text_of(written(tmp_path / "page.html"))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright isn't installed")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine: the page isn't looked at in a browser")
@pytest.mark.parametrize("width", [390, 1280])
def test_filters_work_and_nothing_is_wider_than_the_window(browser: Browser, tmp_path: Path, width: int) -> None:
    written(tmp_path / "page.html")
    page = browser.new_page(viewport={"width": width, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto((tmp_path / "page.html").as_uri())

    def shown(**chosen: str) -> str | None:
        for name in ("tag", "cluster", "blame", "presence"):
            page.select_option(f"#{name}", chosen.get(name, ""))
        return page.text_content("#count")

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown() == "5 of 5 groups"
    assert shown(tag="gap") == "1 of 5 groups"
    assert shown(blame="retrieval") == "1 of 5 groups"
    assert shown(blame="retrieval", tag="gap") == "0 of 5 groups"
    assert shown(presence="found") == "1 of 5 groups"
    page.select_option("#cluster", label="short")
    assert page.evaluate("[...document.querySelectorAll('.tg:not([hidden])')].length") == 1
    shown()
    page.fill("#find", "asked again: ada finch now")
    page.wait_for_function("document.querySelector('#count').textContent === '1 of 5 groups'")
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert complaints == []
    page.close()
