"""A comparison's gates as JUnit, held against what Jenkins' schema junit-10 allows."""

from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from made_comparison import HOSTILE, SHARE, UNSURE, WORSE, made_comparison
from ragtriage.report.comparison_files import comparison_junit
from ragtriage.report.comparison_words import Quote

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
"""Element of junit-10.xsd → the attributes that it must have, and those that it may have beside."""
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


def test_a_gate_is_a_test_case() -> None:
    root = checked(comparison_junit(made_comparison(gates=(WORSE, UNSURE, SHARE)), seconds=0.8))
    worse, unsure, share = root.iter("testcase")

    assert (worse.get("classname"), worse.get("name")) == ("ragtriage.fail_if_worse", "groundedness=0.03")
    assert worse[0].attrib == {"type": "worse", "message": WORSE.says}
    assert worse[0].text == f"{WORSE.says}\nworst cases: q117"
    assert (unsure[0].tag, unsure[0].get("message")) == ("skipped", UNSURE.says)
    assert (share[0].get("type"), share[0].text) == ("fails", f"{SHARE.says}\nworst cases: q117, q2")
    assert root[0].get("timestamp") == "2026-11-23T11:30:00"
    assert root.get("time") == "0.800"


@pytest.mark.parametrize(
    ("changed", "tags"),
    [
        ({"gates": ()}, [None]),
        ({"gates": (), "incomplete": ("run 8: scores failed on 1 case",)}, ["error"]),
        ({"incomplete": ("run 8: scores failed on 1 case",)}, ["error", "failure", "skipped"]),
        ({"gates": (replace(UNSURE, failed=True),)}, ["failure"]),
        ({"gates": (replace(WORSE, failed=False, outcome="no worse"),)}, [None]),
    ],
)
def test_what_isnt_complete_is_an_error_and_a_gate_that_passes_is_empty(
    changed: dict[str, object], tags: list[str | None]
) -> None:
    cases = list(checked(comparison_junit(made_comparison(**changed))).iter("testcase"))
    assert [case[0].tag if len(case) else None for case in cases] == tags


@pytest.mark.parametrize("text", [HOSTILE, "x" * 1_000_000])
def test_any_id_and_text_can_stand_in_it(text: str) -> None:
    gate = replace(WORSE, name=f"groundedness@topic:{text}", slice=("topic", text), says=text)
    found = made_comparison(text, gates=(WORSE, gate), incomplete=(text,))
    written = comparison_junit(found, {text: Quote(text, text, None)})

    checked(written)
    assert "<script" not in written
    assert "\x1b" not in written
    assert len(written) < 20_000


def test_texts_stand_in_it_only_if_they_are_to_be_quoted() -> None:
    quotes = {"q117": Quote("What costs it?", "Five euros.", "Nothing.")}
    assert "euros" not in comparison_junit(made_comparison())
    body = checked(comparison_junit(made_comparison(), quotes))[0][0][0].text or ""
    assert body.endswith("q117\nquery: What costs it?\nbase: Five euros.\nnew: Nothing.")
