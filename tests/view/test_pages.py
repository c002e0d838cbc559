"""What every address of the viewer answers."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient
from viewed import CASES, EVIL, HOST, Viewer, some_records

from examples import examples
from ragtriage.core.verdicts import Score
from ragtriage.runs.case_row import FACTS, CaseRow, Columns
from ragtriage.view.export import MOST_AT_ONCE, Exports, _in_order
from ragtriage.view.pages import Pages, answering

EVERY = (
    "/", "/help", "/runs/1", "/runs/1?by=tenant", "/runs/1?threshold=groundedness:0.9", "/runs/1/cases",
    "/runs/1/cases?sort=groundedness", "/runs/1/cases?sort=-unsupported_claims", "/runs/1/cases/0", "/runs/1/cases/1",
    "/runs/1/cases/2?sort=groundedness", "/runs/2/cases?tag.tenant=a", "/nothing", "/runs/99", "/runs/1/cases/999",
    "/runs/1/cases?groundedness=..abc",
)  # fmt: skip


@pytest.mark.parametrize("path", EVERY)
def test_no_text_of_a_stranger_becomes_markup(viewer: Viewer, path: str) -> None:
    page = viewer.get(path).text

    assert "<script>alert" not in page
    assert "<img" not in page
    assert "<i>" not in page
    assert "</main>\x00" not in page
    assert "\x00" not in page
    assert "\u202e" not in page
    assert page.count("</main>") == 1
    assert page.count("<script") == 1


def test_runs_lead_to_their_cases(viewer: Viewer) -> None:
    runs = viewer.text("/")
    assert len(re.findall(r"\d\.\d\d<br>", runs)) == 2 * 7
    assert "before &lt;b&gt;" in runs
    page = viewer.text("/runs/1?by=tenant")

    links = {unescape(link) for link in re.findall(r'href="(/runs/1/cases[^"]*)"', page)}
    assert len(links) > 20
    for link in sorted(links):
        answer = viewer.get(link)
        assert answer.status_code in (200, 303), link


def test_a_list_has_pages_that_lead_forth_and_back(viewer: Viewer) -> None:
    first = viewer.ids("/runs/1/cases?sort=input")
    page = viewer.text("/runs/1/cases?sort=input")
    (forth,) = re.findall(r'rel="next" href="([^"]+)"', page)
    second = viewer.ids(unescape(forth))
    (back,) = re.findall(r'rel="prev" href="([^"]+)"', viewer.text(unescape(forth)))

    assert first == [str(i) for i in range(50)]
    assert second == [str(i) for i in range(50, 100)]
    assert viewer.ids(unescape(back)) == first
    assert viewer.ids("/runs/1/cases?sort=input&after=99") == [str(i) for i in range(100, CASES)]
    assert f"{CASES} of {CASES} cases" in page


def test_filters_take_effect_and_can_be_taken_away_one_by_one(viewer: Viewer) -> None:
    page = viewer.text("/runs/1/cases?tag.tenant=a&groundedness=..0.5&sort=groundedness&threshold=groundedness:0.9")
    wanted = [
        one for one in some_records()
        if one.case.tags["tenant"] == "a" and getattr(one.outcomes["groundedness"], "value", 9) <= 0.5
    ]  # fmt: skip

    assert f"{len(wanted)} of {CASES} cases" in page
    chips = [unescape(one) for one in re.findall(r'class="filter" href="([^"]+)"', page)]
    assert len(chips) == 2
    assert sum("tag.tenant=a" in chip for chip in chips) == 1
    assert sum("groundedness=..0.5" in chip for chip in chips) == 1
    assert all("sort=groundedness" in chip for chip in chips)
    assert 'href="/runs/1/cases?threshold=groundedness%3A0.9">clear all' in page
    assert 'action="/runs/1/cases"' in page


FAR = [{"address": address, "status": 404, "says": ["Not here"]} for address in
       (f"/runs/1/cases/{'9' * 5000}", f"/runs/{'9' * 200}")]  # fmt: skip


@pytest.mark.parametrize("row", [*examples("addresses", "pages"), *(pytest.param(one, id="far") for one in FAR)])
def test_an_address_is_answered_or_says_what_is_wrong_with_it(viewer: Viewer, row: dict[str, Any]) -> None:
    viewer.shows(row)


def test_a_case_is_found_by_its_id_and_two_ticked_runs_lead_nowhere_but_to_their_comparison(viewer: Viewer) -> None:
    for position, record in enumerate(some_records()[:5]):
        answer = viewer.get(f"/runs/1/cases?{urlencode({'id': record.case.id})}")
        assert answer.status_code == 303
        assert answer.headers["location"] == f"/runs/1/cases/{position}"

    assert viewer.get("/compare?run=2&run=1").headers["location"] == "/compare/1/2"
    evil = viewer.get(f"/compare?{urlencode([('run', '//evil.example'), ('run', '/evil.example')])}")
    assert evil.status_code != 303 or evil.headers["location"].startswith("/compare/")


def test_lists_and_exports_are_read_by_the_thresholds_of_the_address(viewer: Viewer) -> None:
    usual, strict = (viewer.text(f"/runs/1/cases?sort=input{more}") for more in ("", "&threshold=groundedness:1"))
    low = 'class="num bad"'
    assert strict.count(low) > usual.count(low)

    strict = "kind=no-fault&threshold=groundedness:1,response_precision:1,source_precision:1"
    few, all_ = (len(viewer.get(f"/runs/1/export.jsonl?{one}").text.splitlines()) for one in (strict, "kind=no-fault"))
    assert f"{few} of {CASES}" in viewer.text(f"/runs/1/cases?{strict}")
    assert all_ > few


def test_a_list_is_ordered_by_probability_and_searched_for_words(viewer: Viewer) -> None:
    page = viewer.text("/runs/1/cases?sort=unsupported_claims")
    shown = [int(one) for one in re.findall(r"<strong>(\d+) %</strong>", page)]
    assert len(shown) == 50
    assert shown == sorted(shown, reverse=True)
    assert shown[0] > shown[-1]

    assert viewer.ids("/runs/1/cases?q=case-042") == ["42"]
    assert viewer.ids("/runs/1/cases?q=42%20question&sort=input") == ["42"]
    assert viewer.ids(f"/runs/1/cases?q={quote('フェリー')}") == ["3"]
    assert viewer.ids(f"/runs/1/cases?{urlencode({'q': 'العبّارة'})}") == ["2"]
    assert viewer.ids(f"/runs/1/cases?{urlencode({'q': '<script>'})}") == ["0"]
    assert viewer.ids("/runs/1/cases?q=%25%25") == []
    quoted = '" OR words:x*'
    assert viewer.ids(f"/runs/1/cases?{urlencode({'q': quoted})}") == []


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_a_list_is_exported_in_its_order(viewer: Viewer, form: str) -> None:
    answer = viewer.get(f"/runs/1/export.{form}?tag.tenant=a&sort=-groundedness")

    assert answer.status_code == 200
    assert answer.headers["content-disposition"] == f'attachment; filename="run-1.{form}"'
    if form == "jsonl":
        rows = [json.loads(line) for line in answer.text.splitlines()]
        assert [row["id"] for row in rows] == [
            some_records()[int(at)].case.id
            for page in ("", "&after=" + viewer.ids("/runs/1/cases?tag.tenant=a&sort=-groundedness")[-1])
            for at in viewer.ids("/runs/1/cases?tag.tenant=a&sort=-groundedness" + page)
        ]


def test_an_export_can_leave_out_texts_and_leaves_nothing_open(viewer: Viewer) -> None:
    with_texts, without = (viewer.get(f"/runs/1/export.jsonl{more}").text for more in ("", "?texts=0"))

    assert "Question 7:" in with_texts
    assert "Question 7:" not in without
    assert '"evidence"' in with_texts
    quoted = {part.component.text for one in some_records() for score in one.outcomes.values()
              if isinstance(score, Score) for part in score.parts}  # fmt: skip
    assert [text for text in quoted if json.dumps(text, ensure_ascii=False) in without] == []
    assert len(without.splitlines()) == CASES
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(3):
        viewer.get("/runs/1/export.csv?kind=no-fault")
    assert len(list(Path("/dev/fd").iterdir())) == before


def test_one_case_is_saved_as_a_page_that_loads_nothing(viewer: Viewer) -> None:
    answer = viewer.get("/runs/1/cases/6.html")

    assert answer.headers["content-disposition"] == 'attachment; filename="case-006.html"'
    assert "Question 6:" in answer.text
    assert re.findall(r'(?:src|href)="(?!#)([^"]+)"', answer.text) in ([], ["data:,"])
    assert EVIL not in viewer.get("/runs/1/cases/0.html").text


def test_script_and_style_are_small_and_of_their_types_and_the_state_is_told(viewer: Viewer) -> None:
    script, style = viewer.get("/static/view.js"), viewer.get("/static/view.css")

    assert script.headers["content-type"].startswith("text/javascript")
    assert style.headers["content-type"].startswith("text/css")
    assert len(script.content) + len(style.content) <= 60_000
    assert "innerHTML" not in script.text
    assert viewer.get("/runs/1/state").json() == {"state": "finished", "done": 100, "failed": 10, "rows": CASES}


class Rows:
    """A place that tells what is read of it."""

    def __init__(self) -> None:
        self.read_at: list[range] = []

    def read(self, what: Columns, positions: range) -> Iterator[CaseRow]:
        """Cases at some positions."""
        self.read_at.append(positions)
        return (CaseRow(at, f"case {at}") for at in positions)


def test_an_export_reads_near_cases_in_one_pass_and_passes_over_far_ones() -> None:
    place, wanted = Rows(), [905, 3, 9, 900, 1]

    rows = list(_in_order(place, np.array(wanted), FACTS))  # type: ignore[arg-type]  # what is asked of it is there

    assert [row.position for row in rows] == sorted(wanted)
    assert place.read_at == [range(1, 10), range(900, 906)]
    assert list(_in_order(Rows(), np.array([], np.int64), FACTS)) == []  # type: ignore[arg-type]  # as above


def test_more_exports_at_once_than_threads_are_spared_for_are_refused(viewer: Viewer) -> None:
    exports = Exports(viewer.runs)
    page = answering(Pages(viewer.runs, "here"), exports.cases)
    client = TestClient(Starlette(routes=[Route("/runs/{key}/export.{form}", page)]), HOST)

    for _ in range(MOST_AT_ONCE):
        assert exports._free.acquire(blocking=False)
    refused = client.get("/runs/1/export.csv")
    exports._free.release()

    assert (refused.status_code, "files are being made already" in refused.text) == (503, True)
    for _ in range(2):
        assert client.get("/runs/1/export.csv").status_code == 200
