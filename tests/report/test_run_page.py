"""The HTML report as a file: well-formed, escaped, loading nothing, bounded."""

import base64
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from shown import CONFIG, HEADER, INFO, THRESHOLDS, Found, Many, page_of, summary_of

from ragtriage import METRICS
from ragtriage.core.case import Case, Record, Source
from ragtriage.core.verdicts import Score, Undefined
from ragtriage.diagnosis.findings import diagnose
from ragtriage.report import run_page as module
from ragtriage.report.run_document import ALIKE, ALWAYS, repeats_report
from ragtriage.report.run_page import write_run_page
from ragtriage.report.run_report import Header, RepeatsReport, run_report
from ragtriage.runs.case_row import CaseRow
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.repeats import repeat_summary
from ragtriage.runs.run import About

VOID = {"meta", "link", "input", "br", "hr", "img", "wbr"}
DRAWN = {"rect", "line"}
"""Closed in place, as SVG allows."""


class Outline(HTMLParser):
    """Checks that elements nest, and collects their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        if tag not in VOID:
            self.open.append(tag)
        self.attributes += attrs

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins and ends."""
        assert tag in DRAWN | VOID, tag
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        """An element ends."""
        assert self.open.pop() == tag

    def values(self, name: str) -> list[str]:
        """Of an attribute."""
        return [value or "" for key, value in self.attributes if key == name]

    @property
    def active(self) -> list[str]:
        """Attributes that load or run something."""
        loads = {"src", "srcset", "action", "data", "poster", "style"}
        return [name for name, _ in self.attributes if name in loads or name.startswith("on")]


HEAD = replace(HEADER, rejected=1, rejections=("row 2",))


def page(folder: Path, cases: Sequence[Found], full: int = 300) -> str:
    """The page of these cases, which are a slice as well."""
    summary = summary_of(record for record, _ in cases)
    return page_of(folder, cases, summary, HEAD, full, slices={"fees": summary})


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


def test_it_is_well_formed_loads_nothing_and_may_run_nothing_but_its_own(
    tmp_path: Path, rich_record: Record, many: Many
) -> None:
    findings = diagnose(rich_record, THRESHOLDS)
    alike = replace(rich_record, case=replace(rich_record.case, id="case 2"))
    text = page(tmp_path, [(rich_record, findings), (alike, findings), *many(30)])

    parsed = outline(text)
    ids, links = parsed.values("id"), parsed.values("href")
    assert parsed.active == []
    assert re.findall(r"https?://|@import|url\(", text) == []
    assert len(ids) == len(set(ids))
    assert {link.removeprefix("#") for link in links} <= set(ids)
    assert all(link.startswith("#") for link in links)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy
    assert "default-src &#39;none&#39;" in policy[1]
    assert "unsafe" not in policy[1]
    for element in re.findall(r"<(?:script|style)>(.*?)</", text, re.DOTALL):
        assert base64.b64encode(hashlib.sha256(element.encode()).digest()).decode() in policy[1]


def test_whatever_a_user_wrote_is_shown_and_not_run(tmp_path: Path) -> None:
    evil = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} "
    evil += "\x00\x1b\ud800 \u05e9\u05dc\u05d5\u05dd"
    case = Case(evil, evil, (Source(evil, evil),), evil, reference=evil, tags={evil: evil})
    record = Record(case, outcomes={"groundedness": Undefined(evil, failed=True)})
    said = About(evil, evil, evil).stored()
    info = replace(INFO, address=evil, input=evil, judge=evil, created=evil, configuration=said)
    header = Header(info, CONFIG, rejected=2, rejections=(evil,))

    text = page_of(tmp_path, [(record, ())], header=header, slices={evil: summary_of([record])})

    parsed = outline(text)
    assert parsed.active == []
    assert text.count("<script") == 3
    assert "<img" not in text
    assert "\x00" not in text
    assert "49" not in text.partition("<main")[2].partition("<script")[0].replace("&#3", "")
    assert rows_of(text)[0][1] == "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"' {{ 7*7 }} ���…"


def test_every_look_state_and_reason_is_there(tmp_path: Path, rich_record: Record) -> None:
    text = page(tmp_path, [(rich_record, diagnose(rich_record, THRESHOLDS))])

    for look in ("supported", "unsupported", "check", "unknown", "extraneous", "remark", "essential"):
        assert f'<mark class="m {look}' in text
    assert '<mark class="m supported repeated" data-c="c1-3">You can pay by card.</mark>' in text
    assert '<mark class="m unsupported" data-c="c1-1 c1-2">it is due today</mark>' in text
    for state in ("yes", "no", "check", "unknown", "failed", "not-asked"):
        assert f'<td class="s-{state}"' in text
    assert "A claim without a place." in text
    assert "the judge failed on 1 of 3: the connection broke" in text
    assert "check this: perhaps not supported" in text


def test_the_worst_stand_in_full_as_far_as_the_file_is_small_and_all_as_rows(
    tmp_path: Path, many: Many, monkeypatch: pytest.MonkeyPatch
) -> None:
    cases = list(many(50))
    text = page(tmp_path, cases, full=5)

    rows = rows_of(text)
    assert len(rows) == 50
    assert text.count('<details class="case ') == 5
    places = sorted(rows, key=lambda row: int(str(row[0])))
    kinds = [row[3] for row in places]
    assert kinds[0] == "failure"
    assert kinds.index("failure") <= (kinds.index("waste") if "waste" in kinds else 50)
    assert f'<span class="case-id">{places[0][1]}</span>' in text
    assert "5 of 50 cases are shown in full." in text

    monkeypatch.setattr(module, "MOST_BYTES", 100_000)
    text = page(tmp_path, cases)
    assert 0 < text.count('<details class="case ') < 10
    assert len(rows_of(text)) == 50


def test_long_texts_are_cut_and_an_empty_or_unfinished_run_is_told(tmp_path: Path) -> None:
    case = Case("long", "q" * 1_000_000, (Source("s" * 10_000_000),) * 50, "r" * 10_000_000, reference="x" * 1_000_000)
    text = page(tmp_path, [(Record(case), ())])
    assert len(text) < 300_000
    assert "characters left out" in text
    assert "30 more sources not listed" in text

    text = page_of(tmp_path, [], header=Header(replace(INFO, state="interrupted", rows=500)))
    outline(text)
    assert "No case was evaluated" in text
    assert "0 of 500 cases so far (interrupted)" in text


def test_a_failing_report_leaves_the_old_one(tmp_path: Path, many: Many) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", "utf-8")
    cases = list(many(3))

    def breaks() -> Iterator[Found]:
        yield cases[0]
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        write_run_page(path, run_report(Header(INFO), summary_of(record for record, _ in cases)), breaks)

    assert path.read_text("utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


# -- repetitions


def repeated(folder: Path, judge: str, *trials: Record) -> str:
    """The page of a case that was evaluated so many times."""
    scored = [[CaseRow(0, record.case.id, outcomes=record.outcomes)] for record in trials]
    repeats = repeat_summary(scored, EvaluationConfig(METRICS, THRESHOLDS, ()))
    header, summary = Header(replace(INFO, judge=judge)), summary_of(trials[:1], METRICS, {})
    return page_of(folder, [(trials[0], ())], summary, header, repeats=RepeatsReport(repeats, (1, 2)))


def test_repetitions_stand_in_the_report_only_where_a_run_was_repeated(tmp_path: Path, rich_record: Record) -> None:
    evil = replace(rich_record, case=replace(rich_record.case, id="<script>alert(1)</script>"))
    other = {"groundedness": Score(0.875, 8)}
    text, harmless = (
        repeated(tmp_path, "openai:m", one, replace(one, outcomes={**one.outcomes, **other}))
        for one in (rich_record, evil)
    )

    assert 'id="repetitions"' not in page(tmp_path, [(rich_record, ())])
    assert text.count('id="repetitions"') == 1
    assert 'href="#repetitions"' in text
    assert "2 trials of 1 case." in text
    for head in ("spread", "flips", "sees"):
        assert f">{head}</th>" in text
    assert '<th scope="row" dir="auto">case/1</th>' in text
    assert "<script>alert(1)</script>" not in harmless
    assert repeats_report(repeat_summary([], EvaluationConfig(METRICS, THRESHOLDS, ())))[1] == ()


@pytest.mark.parametrize(("judge", "told"), [("embedded", ALWAYS), ("openai:m", ALIKE)])
def test_trials_that_are_the_same_are_said_to_be_so(tmp_path: Path, rich_record: Record, judge: str, told: str) -> None:
    whole = replace(rich_record, outcomes={n: o for n, o in rich_record.outcomes.items() if isinstance(o, Score)})
    text = repeated(tmp_path, judge, whole, whole)

    assert told in text
    assert ">sees</th>" in text
    assert "Least alike" not in text
