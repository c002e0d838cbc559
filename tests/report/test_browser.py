"""The HTML report in a real browser."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from shown import HEADER, THRESHOLDS, Found, Many, summary_of

from ragtriage import Case, Metric, Score, metrics_named
from ragtriage.core.case import Record
from ragtriage.diagnosis.findings import diagnose
from ragtriage.metrics import THELMA
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import run_report

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CASES = 5000
QUICK = 500
"""Milliseconds; several times what it takes, since the machine may be busy."""


def report(folder: Path, cases: Callable[[], Iterator[Found]], metrics: Sequence[Metric] = THELMA) -> Path:
    summary = summary_of((record for record, _ in cases()), metrics)
    write_run_page(folder / "report.html", run_report(HEADER, summary), cases)
    return folder / "report.html"


def opened(browser: Browser, path: Path) -> tuple[Page, list[str]]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    return page, complaints


def timed(page: Page, script: str) -> float:
    """Milliseconds until what the script started is laid out."""
    spent: float = page.evaluate(
        f"""() => new Promise((done) => {{
            const start = performance.now();
            {script}
            requestAnimationFrame(() => {{ document.body.offsetHeight; done(performance.now() - start); }});
        }})"""
    )
    return spent


def test_five_thousand_cases_stay_small_and_quick(tmp_path: Path, many: Many, browser: Browser) -> None:
    path = report(tmp_path, lambda: many(CASES))
    assert path.stat().st_size <= 20_000_000

    page, complaints = opened(browser, path)

    assert page.locator("#count").inner_text() == "25 of 2,000 shown"
    assert page.locator("details.case").count() == 300
    typed = "const f = document.getElementById('find'); f.value = 'case-04'; f.dispatchEvent(new Event('input'));"
    assert timed(page, typed) < QUICK
    assert page.locator("#count").inner_text().endswith(" shown (2,000 in all)")
    assert "The worst 2,000 of 5,000 cases" in page.locator("#all").inner_text()
    assert timed(page, "document.querySelectorAll('#rows thead button')[1].click();") < QUICK
    assert timed(page, "document.querySelector('details.case > summary').click();") < QUICK
    assert complaints == []
    page.close()


def test_the_table_filters_sorts_and_leads_to_the_case(tmp_path: Path, many: Many, browser: Browser) -> None:
    cases = list(many(120))
    page, complaints = opened(browser, report(tmp_path, lambda: iter(cases)))
    rows = page.locator("#rows tbody tr")
    heads = page.locator("#rows thead button")

    page.get_by_role("button", name="Show more").click()
    assert rows.count() == 120
    page.get_by_label("Kind").select_option("failure")
    failures = sum(bool(findings) and findings[0].kind == "failure" for _, findings in cases)
    assert page.locator("#count").inner_text() == f"25 of {failures} shown (120 in all)"
    page.get_by_label("Kind").select_option("")
    page.get_by_label("Component").select_option("retriever or source text")
    assert set(page.locator("#rows td.why").evaluate_all("all => all.map(e => e.firstChild.textContent)")) == {
        "retriever or source text"
    }
    page.get_by_label("Component").select_option("")
    rule = next(findings[0].rule for _, findings in cases if findings)
    held = sum(any(finding.rule == rule for finding in findings) for _, findings in cases)
    page.get_by_label("Finding").select_option(label=f"{rule.replace('_', ' ')} ({held})")
    assert page.locator("#count").inner_text().startswith(f"{min(25, held)} of {held} shown")
    page.get_by_label("Finding").select_option("")
    page.get_by_label("Score").select_option("Grounded")
    page.get_by_label("to", exact=True).fill("0.5")
    scores = [record.outcomes["groundedness"] for record, _ in cases]
    low = sum(isinstance(score, Score) and score.value <= 0.5 for score in scores)
    assert page.locator("#count").inner_text().startswith(f"{min(25, low)} of {low} shown")
    page.get_by_label("Score").select_option("")
    page.get_by_label("Search").fill("case-00042")
    rows.nth(1).wait_for(state="detached")
    assert rows.count() == 1
    page.get_by_label("Search").fill("")
    rows.nth(1).wait_for()
    heads.last.focus()
    page.keyboard.press("Enter")
    grounded = page.locator("#rows tbody tr td:last-child").all_inner_texts()
    values = [float(text.split()[-1]) for text in grounded if text != "–"]
    assert values == sorted(values)
    assert page.locator("#rows thead th").last.get_attribute("aria-sort") == "ascending"
    heads.last.click()
    assert page.locator("#rows thead th").last.get_attribute("aria-sort") == "descending"
    page.locator("#rows tbody a").first.click()
    assert page.locator("details.case[open]").count() == 1
    assert complaints == []
    page.close()


def test_marks_tell_what_the_judge_said_at_any_width(tmp_path: Path, rich_record: Record, browser: Browser) -> None:
    findings = diagnose(rich_record, THRESHOLDS)
    page, complaints = opened(browser, report(tmp_path, lambda: iter([(rich_record, findings)])))
    tip = page.get_by_role("tooltip")

    page.locator("details.case > summary").click()
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert not tip.is_visible()
        page.locator("mark.unsupported[data-c='c1-1 c1-2']").click()
        assert tip.is_visible()
        assert "it isn't there" in tip.inner_text()
        assert tip.locator("li").count() == 2
        page.keyboard.press("Escape")
        assert not tip.is_visible()
        page.locator("a.ref[href='#c1-4']").focus()
        assert "check this: perhaps not supported" in tip.inner_text()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.keyboard.press("Escape")
    assert complaints == []
    page.close()


def test_it_can_be_read_without_scripts_and_in_the_dark(tmp_path: Path, many: Many, browser: Browser) -> None:
    path = report(tmp_path, lambda: many(20))
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    page = context.new_page()
    page.goto(path.as_uri())

    page.locator("details.case > summary").first.click()

    assert page.locator("details.case .response").first.is_visible()
    assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == "rgb(20, 23, 27)"
    context.close()


def test_a_score_sorts_the_worst_first_in_either_direction(tmp_path: Path, browser: Browser) -> None:
    values = (0.2, 1.0, 0.6)
    names = ["groundedness", "hallucination"]
    records = [
        Record(Case(f"c{v}", "What?"), {}, {"groundedness": Score(1 - v, 5), "hallucination": Score(v, 5)})
        for v in values
    ]
    path = report(tmp_path, lambda: ((record, ()) for record in records), metrics_named(names))
    page, complaints = opened(browser, path)
    heads = page.locator("#rows thead button")

    for column in (heads.nth(4), heads.nth(5)):
        column.click()
        assert page.locator("#rows tbody tr a").all_inner_texts() == ["c1.0", "c0.6", "c0.2"]
    assert page.locator("#rows thead th").nth(5).get_attribute("aria-sort") == "descending"
    heads.nth(5).click()
    assert page.locator("#rows thead th").nth(5).get_attribute("aria-sort") == "ascending"
    assert complaints == []
    page.close()


BROKEN = """() => {
    const found = [];
    for (const place of document.querySelectorAll('#rows td.id, .case-id, .worst a, .source-name')) {
        for (const text of [...place.childNodes].flatMap((n) => n.nodeType === 3 ? [n] : [...n.childNodes])) {
            const range = document.createRange();
            range.selectNodeContents(text);
            if (range.getClientRects().length > 1) found.push(text.textContent);
        }
    }
    return found;
}"""


def test_ids_break_behind_their_separators_and_never_within_a_word(
    tmp_path: Path, many: Many, browser: Browser
) -> None:
    names = ["crossing_duration_and_bicycles", "a1b2c3d4-e5f6-7890-abcd-ef1234567890", "harbour.office.opening.hours"]

    def cases() -> Iterator[Found]:
        for name, (record, findings) in zip(names, many(3), strict=True):
            sources = tuple(replace(source, id=name) for source in record.case.sources)
            yield replace(record, case=replace(record.case, id=name, sources=sources)), findings

    page, _ = opened(browser, report(tmp_path, cases))
    page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    for width in (1300, 390):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate(BROKEN) == []
    assert page.locator("#rows td.id").first.text_content() in names
    page.close()
