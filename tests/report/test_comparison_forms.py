"""A comparison as Markdown, as JUnit and as a page: harmless, short enough, and of one mind with the exit code."""

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from made_comparison import HOSTILE, SHARE, UNSURE, WORSE, made_comparison
from ragtriage.report.comparison_files import MARK, MOST, comparison_junit, comparison_markdown, escaped
from ragtriage.report.comparison_page import word_diff, write_comparison_page
from ragtriage.report.comparison_words import Quote
from ragtriage.runs.compare.comparison import ChangedCases, Comparison

UNSURE_FAILS = replace(UNSURE, failed=True)
PASSED = replace(WORSE, outcome="no worse", failed=False)
QUOTES = {"q117": Quote("What costs it?", "Five euros.", "Nothing.")}
ATTRIBUTES = {
    "testsuites": (set(), {"name", "time", "tests", "failures", "disabled", "errors"}),
    "testsuite": (
        {"name", "tests", "failures", "errors"},
        {"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url", "version"},
    ),
    "testcase": ({"name", "time"}, {"classname", "group"}),
    "failure": (set(), {"type", "message"}),
    "error": (set(), {"type", "message"}),
    "skipped": (set(), {"type", "message"}),
}
"""Element of Jenkins' schema junit-10.xsd → the attributes that it must have, and those that it may have beside."""
CHILDREN = {"testsuites": {"testsuite"}, "testsuite": {"testcase"}, "testcase": {"failure", "error", "skipped"}}


def checked(text: str) -> ET.Element:
    """The file's root, when it keeps to the schema and its counts are right."""
    text.encode()
    root = ET.fromstring(text.removeprefix('<?xml version="1.0" encoding="UTF-8"?>\n'))
    assert root.tag == "testsuites"
    for element in root.iter():
        needed, allowed = ATTRIBUTES[element.tag]
        assert needed <= set(element.keys()) <= needed | allowed
        assert {child.tag for child in element} <= CHILDREN.get(element.tag, set())
        if element.tag == "testcase":
            assert len(element) <= 1
        for name in ("time", "tests", "failures", "errors", "skipped"):
            assert float(element.get(name, "0")) >= 0
    suite = root[0]
    for name, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        assert int(suite.get(name, "-1")) == len(list(root.iter(tag)))
        assert name == "skipped" or root.get(name) == suite.get(name)
    return root


def page_of(folder: Path, comparison: Comparison, quotes: dict[str, Quote]) -> str:
    write_comparison_page(folder / "page.html", comparison, quotes)
    return (folder / "page.html").read_text("utf-8")


def test_junit_has_a_test_case_a_gate() -> None:
    root = checked(comparison_junit(made_comparison(gates=(WORSE, UNSURE, SHARE)), seconds=0.8))
    worse, unsure, share = root.iter("testcase")

    assert (worse.get("classname"), worse.get("name")) == ("ragtriage.fail_if_worse", "groundedness=0.03")
    assert worse[0].attrib == {"type": "worse", "message": WORSE.says}
    assert worse[0].text == f"{WORSE.says}\nworst cases: q117"
    assert (unsure[0].tag, unsure[0].get("message")) == ("skipped", UNSURE.says)
    assert (share[0].get("type"), share[0].text) == ("fails", f"{SHARE.says}\nworst cases: q117, q2")
    assert root[0].get("timestamp") == "2026-11-23T11:30:00"
    assert root.get("time") == "0.800"


FAILED_SCORES = ("run 8: scores failed on 1 case",)


@pytest.mark.parametrize(
    ("changed", "tags", "title"),
    [
        ({}, ["failure", "skipped"], "❌ groundedness is worse"),
        ({"gates": ()}, [None], "▼ worse: Grounded"),
        ({"gates": (), "metrics": ()}, [None], "no metric is better or worse beyond chance"),
        ({"gates": (UNSURE,)}, ["skipped"], "⚠️ can&#39;t tell whether self_distinctness is worse"),
        ({"gates": (UNSURE_FAILS,)}, ["failure"], "❌ can&#39;t tell whether self_distinctness is worse"),
        ({"gates": (PASSED,)}, [None], "✅ 1 gate passed"),
        ({"gates": (), "incomplete": FAILED_SCORES}, ["error"], f"⚠️ not complete: {FAILED_SCORES[0]}"),
        ({"incomplete": FAILED_SCORES}, ["error", "failure", "skipped"], f"⚠️ not complete: {FAILED_SCORES[0]}"),
    ],
)
def test_titles_and_test_cases_say_what_the_gates_say(
    changed: dict[str, object], tags: list[str | None], title: str
) -> None:
    found = made_comparison(**changed)
    cases = list(checked(comparison_junit(found)).iter("testcase"))
    assert [case[0].tag if len(case) else None for case in cases] == tags
    assert comparison_markdown(found).splitlines()[:2] == [MARK, f"### ragtriage: {title}"]


def test_the_page_holds_every_part(tmp_path: Path) -> None:
    text = unescape(page_of(tmp_path, made_comparison(), QUOTES))

    for part in ("gates", "metrics", "findings", "headlines", "by", "changed", "left-out", "how"):
        assert f'<section id="{part}">' in text
    assert "✗ groundedness is worse</h1>" in text
    told = "Grounded: worse: difference −0.096, 95 % interval −0.136 to −0.056, margin −0.030, sees 0.055"
    assert f'aria-label="{told}"' in text
    assert "<del>Five euros</del>" in text
    assert "<script" not in text


@pytest.mark.parametrize("text", [HOSTILE, "x" * 1_000_000])
def test_nothing_from_outside_is_markup_or_notifies_anybody(text: str, tmp_path: Path) -> None:
    gate = replace(WORSE, name=f"groundedness@topic:{text}", slice=("topic", text), says=text)
    found = made_comparison(text, gates=(WORSE, gate), incomplete=(text,), notes=(text,))
    quotes = {text: Quote(text, text, None)}
    junit, markdown = comparison_junit(found, quotes), comparison_markdown(made_comparison(text), quotes)
    page = page_of(tmp_path, found, {text: Quote(text, text, "")})

    checked(junit)
    for one, most in ((junit, 20_000), (markdown, 5_000), (page, 100_000)):
        assert "<script" not in one
        assert "\x1b" not in one
        assert len(one) < most
    assert not re.search(r"@(?!\u200b)", markdown)
    assert "](" not in markdown
    assert "://e" not in markdown
    rows = [line for line in markdown.splitlines() if line.startswith("|") and ("script" in line or "xxx" in line)]
    assert rows
    assert {line.count("|") for line in rows} == {5}  # four cells
    markdown.encode()
    assert not re.search(r"(?:src|href)=\"(?!#)", page)


def test_texts_stand_in_it_only_if_they_are_to_be_quoted() -> None:
    assert "euros" not in comparison_junit(made_comparison()) + comparison_markdown(made_comparison())
    body = checked(comparison_junit(made_comparison(), QUOTES))[0][0][0].text or ""
    assert body.endswith("q117\nquery: What costs it?\nbase: Five euros.\nnew: Nothing.")
    assert "<b>base</b> Five euros.<br><b>new</b> Nothing." in comparison_markdown(made_comparison(), QUOTES)
    assert escaped("_a_b_ x_1") == "&#95;a_b&#95; x_1"


def test_a_long_one_is_cut_and_says_by_how_much() -> None:
    found = made_comparison("x" * 1_000_000)
    assert found.worse
    case = found.worse.cases[0]
    many = replace(
        found,
        worse=ChangedCases("groundedness", 5_000, tuple(replace(case, id=f"{i}" + "|" * 90) for i in range(5_000))),
        better=ChangedCases("groundedness", 5_000, (case,) * 5_000),
    )
    text = comparison_markdown(many)

    assert MOST - 1_000 < len(text) <= MOST
    assert re.search(r"\nand [\d,]+ more lines\n", text)
    assert text.rstrip().endswith("</details>")


def test_words_that_differ_are_marked_on_their_side() -> None:
    assert word_diff("It costs 5.", "It costs 6.") == (
        [("It costs ", False), ("5", True), (".", False)],
        [("It costs ", False), ("6", True), (".", False)],
    )
    assert word_diff(None, "New") == ([("", False)], [("New", False)])
