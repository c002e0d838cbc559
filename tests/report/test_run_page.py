"""The HTML report as a file: well-formed, escaped, loading nothing, bounded."""

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ragtriage.core.case import Case, Record, Source
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis.findings import Finding, diagnose
from ragtriage.metrics import THELMA
from ragtriage.report import run_page as module
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, run_report
from ragtriage.runs.run import About
from ragtriage.runs.summary import Summary, Tally

Many = Callable[[int], Iterator[tuple[Record, tuple[Finding, ...]]]]
VOID = {"meta", "link", "input", "br", "hr", "img", "wbr"}
DRAWN = {"rect", "line"}
"""Closed in place, as SVG allows."""


class Outline(HTMLParser):
    """Checks that elements nest, and collects ids, links and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.loads: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        if tag not in VOID:
            self.open.append(tag)
        self._look(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins and ends."""
        assert tag in DRAWN | VOID, tag
        self._look(tag, attrs)

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        assert self.open.pop() == tag

    def _look(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name == "href":
                self.links.append(value or "")
            if name in ("src", "srcset", "action", "data", "poster", "style"):
                self.loads.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.handlers.append(name)


def summary_of(cases: list[tuple[Record, tuple[Finding, ...]]], thresholds: dict[str, float]) -> Summary:
    tally = Tally(THELMA, thresholds)
    for record, _ in cases:
        tally.add(record)
    return tally.summary()


def written(
    folder: Path, cases: list[tuple[Record, tuple[Finding, ...]]], thresholds: dict[str, float], full: int = 300
) -> str:
    path = folder / "report.html"
    header = Header(
        "7", "rows.jsonl", "embedded", "2026-11-21", thresholds=thresholds, rejected=1, rejections=("row 2",)
    )
    summary = summary_of(cases, thresholds)
    write_run_page(path, run_report(header, summary, {"fees": summary}), lambda: iter(cases), full)
    return path.read_text("utf-8")


def outline(text: str) -> Outline:
    parser = Outline()
    parser.feed(text)
    parser.close()
    assert parser.open == []
    return parser


def rows_of(text: str) -> list[list[object]]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    assert found
    rows: list[list[object]] = json.loads(found[1])
    return rows


def test_it_is_well_formed_and_loads_nothing(
    tmp_path: Path, rich_record: Record, many: Many, thresholds: dict[str, float]
) -> None:
    cases = [(rich_record, diagnose(rich_record, thresholds)), *many(30)]

    text = written(tmp_path, cases, thresholds)

    parsed = outline(text)
    assert parsed.loads == []
    assert parsed.handlers == []
    assert re.findall(r"https?://|@import|url\(", text) == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {link.removeprefix("#") for link in parsed.links} <= set(parsed.ids)
    assert all(link.startswith("#") for link in parsed.links)


def test_the_policy_forbids_everything_but_its_own_script_and_style(
    tmp_path: Path, many: Many, thresholds: dict[str, float]
) -> None:
    text = written(tmp_path, list(many(3)), thresholds)

    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    for element in re.findall(r"<(?:script|style)>(.*?)</", text, re.DOTALL):
        assert base64.b64encode(hashlib.sha256(element.encode()).digest()).decode() in policy[1]


def test_whatever_a_user_wrote_is_shown_and_not_run(tmp_path: Path, thresholds: dict[str, float]) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} "
    evil += "\x00\x1b\ud800 \u05e9\u05dc\u05d5\u05dd"
    case = Case(evil, evil, (Source(evil, evil),), evil, reference=evil, tags={evil: evil})
    record = Record(case, outcomes={"groundedness": Undefined(evil, failed=True)})
    path = tmp_path / "report.html"
    summary = summary_of([(record, ())], thresholds)
    said = About(evil, evil, evil)
    header = Header(evil, evil, evil, evil, evil, thresholds=thresholds, rejected=2, rejections=(evil,), about=said)

    write_run_page(path, run_report(header, summary, {evil: summary}), lambda: [(record, ())])

    text = path.read_text("utf-8")
    parsed = outline(text)
    assert (parsed.loads, parsed.handlers) == ([], [])
    assert text.count("<script") == 3
    assert "<img" not in text
    assert "\x00" not in text
    assert "49" not in text.partition("<main")[2].partition("<script")[0].replace("&#3", "")
    assert rows_of(text)[0][1] == "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} ���…"


def test_every_look_state_and_reason_is_there(
    tmp_path: Path, rich_record: Record, thresholds: dict[str, float]
) -> None:
    text = written(tmp_path, [(rich_record, diagnose(rich_record, thresholds))], thresholds)

    for look in ("supported", "unsupported", "check", "unknown", "extraneous", "remark", "essential"):
        assert f'<mark class="m {look}' in text
    assert '<mark class="m supported repeated" data-c="c1-3">You can pay by card.</mark>' in text
    assert '<mark class="m unsupported" data-c="c1-1 c1-2">it is due today</mark>' in text
    for state in ("yes", "no", "check", "unknown", "failed", "not-asked"):
        assert f'<td class="s-{state}"' in text
    assert "A claim without a place." in text
    assert "the judge failed on 1 of 3: the connection broke" in text
    assert "check this: perhaps not supported" in text


def test_the_worst_stand_in_full_and_all_as_rows(tmp_path: Path, many: Many, thresholds: dict[str, float]) -> None:
    cases = list(many(50))

    text = written(tmp_path, cases, thresholds, full=5)

    rows = rows_of(text)
    assert len(rows) == 50
    assert text.count('<details class="case ') == 5
    places = sorted(rows, key=lambda row: int(str(row[0])))
    kinds = [row[3] for row in places]
    assert kinds[0] == "failure"
    assert kinds.index("failure") <= (kinds.index("waste") if "waste" in kinds else 50)
    assert f'<span class="case-id">{places[0][1]}</span>' in text
    assert "5 of 50 cases are shown in full." in text


def test_long_texts_are_cut_and_say_so(tmp_path: Path, thresholds: dict[str, float]) -> None:
    case = Case("long", "q" * 1_000_000, (Source("s" * 10_000_000),) * 50, "r" * 10_000_000, reference="x" * 1_000_000)

    text = written(tmp_path, [(Record(case), ())], thresholds)

    assert len(text) < 300_000
    assert "characters left out" in text
    assert "30 more sources not listed" in text


def test_full_cases_stop_where_the_file_is_large_enough(
    tmp_path: Path, many: Many, thresholds: dict[str, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 100_000)

    text = written(tmp_path, list(many(50)), thresholds)

    assert 0 < text.count('<details class="case ') < 10
    assert len(rows_of(text)) == 50


def test_an_empty_and_an_unfinished_run(tmp_path: Path, thresholds: dict[str, float]) -> None:
    path = tmp_path / "report.html"
    header = Header("1", "rows.jsonl", "embedded", thresholds=thresholds, state="open", of=500)

    write_run_page(path, run_report(header, summary_of([], thresholds)), list)

    text = path.read_text("utf-8")
    outline(text)
    assert "No case was evaluated" in text
    assert "0 of 500 cases so far (open)" in text


def test_a_failing_report_leaves_the_old_one(tmp_path: Path, many: Many, thresholds: dict[str, float]) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", "utf-8")
    cases = list(many(3))

    def breaks() -> Iterator[tuple[Record, tuple[Finding, ...]]]:
        yield cases[0]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        write_run_page(path, run_report(Header("1"), summary_of(cases, thresholds)), breaks)

    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_cases_may_look_alike(tmp_path: Path, rich_record: Record, thresholds: dict[str, float]) -> None:
    findings = diagnose(rich_record, thresholds)
    other = replace(rich_record, case=replace(rich_record.case, id="case 2"))

    parsed = outline(written(tmp_path, [(rich_record, findings), (other, findings)], thresholds))

    assert len(parsed.ids) == len(set(parsed.ids))
