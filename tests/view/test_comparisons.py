"""Comparisons in the viewer: as a whole, as a list of pairs, and a pair with both sides."""

import re
import time
from collections.abc import Callable, Iterator
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from compared_runs import ScriptedJudge, answers, store_run
from ragtriage.core.questions import KINDS
from ragtriage.store import Store, open_store
from ragtriage.view.opened_runs import NotReadYetError, OpenedRuns
from ragtriage.view.pages import Pages
from ragtriage.view.server import FolderRun, StoreRuns, application

COUNT = 60
"""Cases of the old side; the new one lacks the first, so that positions differ."""
EVIL = "<script>alert(1)</script></main>"
Rows = list[dict[str, Any]]


def changed_rows() -> Rows:
    """Broken: q7, q8. Fixed: q50. q3 has more of the same fault, q11 its sources reordered, q12 another source."""
    rows = answers(COUNT, bad=(3, 7, 8), topic=lambda i: "ab"[i % 2])
    rows[7]["answer"] += f"; bad {EVIL}"
    rows[3]["answer"] += "; bad thing"
    rows[11]["contexts"].reverse()
    rows[12]["contexts"][1] = "Another one"
    return rows[1:]


class Looked:
    """The viewer's pages, as soon as what they show is read."""

    def __init__(self, runs: OpenedRuns) -> None:
        self._client = TestClient(application(runs, Pages(runs, "here")), "http://127.0.0.1", follow_redirects=False)

    def answer(self, path: str) -> Any:
        """What an address gives."""
        for _ in range(600):
            found = self._client.get(path)
            if 'http-equiv="refresh"' not in found.text:
                return found
            time.sleep(0.1)
        raise AssertionError(f"{path} is never read")

    def page(self, path: str, status: int = 200) -> str:
        """The same as a text, without entities and places to break a line."""
        found = self.answer(path)
        assert found.status_code == status, found.text
        return unescape(found.text.replace("<wbr>", ""))

    def ids(self, path: str) -> list[str]:
        """Those of a list, in its order."""
        return re.findall(r'<td class="id"><a [^>]*>([^<]*)</a>', self.page(path))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("compared")
    with open_store(folder / ".ragtriage") as there:
        store_run(answers(COUNT, bad=(3, 50)), folder=folder, store=there)
        store_run(changed_rows(), folder=folder, store=there)
        store_run(changed_rows(), folder=folder, store=there, judge=ScriptedJudge(other=KINDS))
        yield there


@pytest.fixture(scope="module")
def looked(store: Store) -> Iterator[Looked]:
    runs = OpenedRuns(StoreRuns(store))
    yield Looked(runs)
    runs.close()


def test_it_says_what_compare_says_and_leads_to_the_pairs(looked: Looked) -> None:
    page = looked.page("/compare/1/2")

    for part in ("metrics", "findings", "headlines", "changed", "how"):
        assert f'<section id="{part}">' in page
    assert "59 of 60 cases paired by id; 1 only in base" in page
    assert re.search(r'href="/compare/1/2/cases\?change=broken">2 cases broken</a>', page)
    assert 'href="/compare/1/2/cases?id=q50">q50</a>' in page
    assert 'href="/runs/1">run 1</a>' in page
    found = looked.answer("/compare/1/2/cases?id=q50")
    assert (found.status_code, found.headers["location"]) == (303, "/compare/1/2/cases/49")


def test_slices_are_those_of_a_tag(looked: Looked) -> None:
    assert '<section id="by">' not in looked.page("/compare/1/2")
    assert '<section id="by">' in looked.page("/compare/1/2?by=topic")
    assert "no paired case has this tag" in looked.page("/compare/1/2?by=colour", 400)


def test_other_judges_are_refused_with_a_way_to_compare_all_the_same(looked: Looked) -> None:
    page = looked.page("/compare/2/3", 400)
    assert "run 2 and run 3 were judged differently" in page

    (again,) = re.findall(r'href="([^"]+)">Compare them all the same', page)
    assert again == "/compare/2/3?across_judges=1"
    page = looked.page(again)
    assert "Compared although the judge differs" in page
    assert 'href="/compare/2/3/cases?across_judges=1"' in page
    assert looked.page("/compare/2/3/cases?across_judges=1").count('<td class="id">') == 50


@pytest.mark.parametrize(
    ("path", "status", "said"),
    [
        ("/compare/1/1", 400, "both sides are run 1"),
        ("/compare/1/99", 404, "99"),
        ("/compare/1/2/cases/4711", 404, "run 2 has no case at 4,711 that has a pair in run 1"),
        ("/compare/1/2/cases?id=q0", 404, "run 2 holds no case"),
        ("/compare/1/2/cases?groundednes=..0", 400, "did you mean groundedness?"),
        ("/compare/1/2/cases?change=broke", 400, "did you mean broken?"),
        ("/compare/1/2/cases?groundedness=low", 400, "write a range such as"),
        ("/compare/1/2/cases?groundedness=1e308..", 200, "No pair fits"),
    ],
)
def test_what_cannot_be_shown_is_told(looked: Looked, path: str, status: int, said: str) -> None:
    assert said in looked.page(path, status)


def test_a_folder_has_nothing_to_compare_with(store: Store) -> None:
    runs = OpenedRuns(FolderRun(store.run(1)))
    page = Looked(runs).page("/compare/folder/folder", 400)
    runs.close()

    assert "two runs of a store can be compared, and only run 1 is looked at" in page


class Unread(OpenedRuns):
    """Runs that nobody has read yet."""

    def result(
        self,
        what: Any,
        version: str,
        work: Callable[[], Any],
        patience: float,
        nbytes: Callable[[Any], int] = lambda _: 0,
    ) -> Any:
        """What some work gives."""
        raise NotReadYetError(0, 0)


def test_a_page_that_is_not_ready_renews_itself(store: Store) -> None:
    runs = Unread(StoreRuns(store))
    client = TestClient(application(runs, Pages(runs, "here")), "http://127.0.0.1")

    for path in ("/compare/1/2", "/compare/1/2/cases", "/compare/1/2/cases/3"):
        assert '<meta http-equiv="refresh" content="2">' in client.get(path).text
    runs.close()


def test_broken_pairs_come_first_then_fixed_ones(looked: Looked) -> None:
    ids = looked.ids("/compare/1/2/cases")

    assert (set(ids[:2]), ids[2]) == ({"q7", "q8"}, "q50")
    assert ids[3] == "q3", "its scores changed, its faults didn't"
    assert len(ids) == 50


def test_the_list_has_a_second_page(looked: Looked) -> None:
    page = looked.page("/compare/1/2/cases?sort=input")
    assert "59 of 59 pairs" in page
    (after,) = re.findall(r'rel="next" href="([^"]+)"', page)

    second = looked.ids(after)
    assert second == [f"q{i}" for i in range(51, 60)]
    (before,) = re.findall(r'rel="prev" href="([^"]+)"', looked.page(after))
    assert looked.ids(before) == looked.ids("/compare/1/2/cases?sort=input") == [f"q{i}" for i in range(1, 51)]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ("change=fixed", {"q50"}),
        ("change=broken", {"q7", "q8"}),
        ("groundedness=..-0.1", {"q3", "q7", "q8"}),
        ("groundedness=0.1..", {"q50"}),
        ("groundedness=..-0.1&q=7", {"q7"}),
        ("q=q9", {"q9"}),
        ("change=broken&groundedness=0..", set()),
        ("groundedness=undefined", set()),
    ],
)
def test_filters_choose_pairs(looked: Looked, wanted: str, ids: set[str]) -> None:
    assert set(looked.ids(f"/compare/1/2/cases?{wanted}")) == ids


def test_a_component_is_that_of_the_new_side(looked: Looked) -> None:
    page = looked.page("/compare/1/2/cases")
    (choices,) = re.findall(r'<select name="component">(.*?)</select>', page)

    assert re.findall(r'<option value="([^"]+)">\1 \((\d+)\)', choices) == [
        ("none", "56"),
        ("prompt or generator", "3"),
    ]
    assert set(looked.ids("/compare/1/2/cases?component=prompt+or+generator")) == {"q3", "q7", "q8"}


def test_a_difference_orders_from_the_worst_and_back(looked: Looked) -> None:
    page = looked.page("/compare/1/2/cases?sort=groundedness")

    assert 'aria-sort="ascending"><a href="/compare/1/2/cases?sort=-groundedness"' in page
    assert set(looked.ids("/compare/1/2/cases?sort=groundedness")[:2]) == {"q7", "q8"}
    assert looked.ids("/compare/1/2/cases?sort=-groundedness")[0] == "q50"


def test_a_pair_shows_both_sides(looked: Looked) -> None:
    page = looked.page("/compare/1/2/cases/49")

    assert "✓ fixed" in page
    assert "<del>bad</del> claim 50" in page
    assert "<ins>good</ins> claim 50" in page
    assert 'href="/runs/1/cases/50">run 1</a>' in page
    assert 'href="/runs/2/cases/49">run 2</a>' in page
    assert page.count('id="c1-2"') == page.count('id="c2-2"') == 1
    assert '<span class="change better">▲<span class="vh"> better</span></span> +0.' in page
    assert "Sources: the same" in page


def test_a_pair_knows_its_neighbours_in_the_list(looked: Looked) -> None:
    page = looked.page("/compare/1/2/cases/49?sort=-groundedness&groundedness=..0.5")

    assert "1 of 59" in page
    assert 'id="before"' not in page
    (after,) = re.findall(r'id="after" rel="next" href="([^"]+)"', page)
    assert "2 of 59" in looked.page(after)
    (back,) = re.findall(r'id="back" href="([^"]+)"', page)
    assert looked.ids(back)[0] == "q50"


def test_sources_that_moved_are_listed_with_both_places(looked: Looked) -> None:
    reordered, other = looked.page("/compare/1/2/cases/10"), looked.page("/compare/1/2/cases/11")

    assert "Sources: reordered" in reordered
    assert '<th scope="row" dir="auto">Other 11</th><td class="num">2</td><td class="num">1</td>' in reordered
    assert "Sources: others" in other
    assert re.search(r'>Another one</th><td class="num">–<[^/]*</span></td><td class="num">2</td>', other)
    assert re.search(r'>Other 12</th><td class="num">2</td><td class="num">–<', other)
    assert "Only in run 1" in other


def test_no_text_of_a_stranger_becomes_markup(looked: Looked) -> None:
    for path in ("/compare/1/2", "/compare/1/2/cases?q=script", "/compare/1/2/cases/6", "/compare/1/2?by=<script>"):
        page = looked.answer(path).text
        assert "<script>" not in page
        assert page.count("</main>") == 1
        assert " style=" not in page


def test_a_run_leads_to_the_one_before(looked: Looked) -> None:
    assert "run before" not in looked.page("/runs/1")
    assert '<a id="compare" href="/compare/1/2">Compare with the run before (1)</a>' in looked.page("/runs/2")


def test_trials_are_one_side(tmp_path: Path) -> None:
    with open_store(tmp_path / ".ragtriage") as there:
        store_run(answers(6, bad=(1,)), folder=tmp_path, store=there)
        store_run(answers(6, bad=(2,)), folder=tmp_path, store=there, trials=2)
        runs = OpenedRuns(StoreRuns(there))
        found = Looked(runs)
        page = found.page("/compare/1/3")
        ids = found.ids("/compare/1/3/cases?change=broken")
        runs.close()

    assert "runs 2 and 3" in page
    assert "run 3 is a further trial of run 2" in page
    assert ids == ["q2"]


def test_how_two_runs_are_compared_goes_along_from_page_to_page(looked: Looked) -> None:
    query = "threshold=groundedness%3A0.1&by=topic"
    assert f'<a id="compare" href="/compare/1/2?{query}">' in looked.page(f"/runs/2?{query}")
    page = looked.page(f"/compare/1/2?{query}")
    pairs = looked.page(f"/compare/1/2/cases?{query}")
    pair = looked.page(f"/compare/1/2/cases/49?{query}")

    assert f'href="/compare/1/2/cases?{query}"' in page
    assert f'href="/runs/1?{query}">run 1</a>' in page
    assert page.count('name="by"') == 1
    assert f'<a href="/compare/1/2?{query}">1 → 2</a>' in pairs
    assert f'<a href="/compare/1/2?{query}">1 → 2</a>' in pair
    assert f'href="/runs/1/cases/50?{query}">run 1</a>' in pair


def test_thresholds_of_an_address_are_those_of_the_comparison(looked: Looked) -> None:
    own, others = (looked.page(f"/compare/1/2/cases{query}") for query in ("", "?threshold=groundedness:0.1"))
    assert ("none → <strong>unsupported claims" in own, "none → <strong>stray claims" in own) == (True, False)
    assert ("none → <strong>unsupported claims" in others, "none → <strong>stray claims" in others) == (False, True)
    assert "no metric is called 'groundednes'" in looked.page("/compare/1/2?threshold=groundednes:0", 400)
