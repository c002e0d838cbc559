"""Comparisons in the viewer: as a whole, as a list of pairs, and a pair with both sides."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from viewed import Viewer, looked_at, viewer_of

from compared_runs import ScriptedJudge, answers, store_run
from examples import examples
from ragtriage.core.questions import KINDS
from ragtriage.store import Store, open_store
from ragtriage.view.opened_runs import NotReadYetError, OpenedRuns
from ragtriage.view.server import FolderRun, StoreRuns

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


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    folder = tmp_path_factory.mktemp("compared")
    with open_store(folder / ".ragtriage") as there:
        store_run(answers(COUNT, bad=(3, 50)), folder=folder, store=there)
        store_run(changed_rows(), folder=folder, store=there)
        store_run(changed_rows(), folder=folder, store=there, judge=ScriptedJudge(other=KINDS))
        yield there


@pytest.fixture(scope="module")
def looked(store: Store) -> Iterator[Viewer]:
    viewer = viewer_of(StoreRuns(store))
    yield viewer
    viewer.runs.close()


@pytest.mark.parametrize("row", examples("addresses", "comparisons"))
def test_a_page_shows_what_the_example_says(looked: Viewer, row: dict[str, Any]) -> None:
    looked.shows(row)


class Unread(OpenedRuns):
    """Runs that nobody has read yet."""

    def result(self, what: Any, version: str, work: Any, patience: float, nbytes: Any = None) -> Any:
        """What some work gives."""
        raise NotReadYetError(0, 0)


def test_a_folder_has_nothing_to_compare_with_and_a_page_that_is_not_ready_renews_itself(store: Store) -> None:
    viewer = viewer_of(FolderRun(store.run(1)))
    page = viewer.page("/compare/folder/folder", 400)
    viewer.runs.close()
    assert "two runs of a store can be compared, and only run 1 is looked at" in page

    viewer = viewer_of(StoreRuns(store), opened=Unread)
    for path in ("/compare/1/2", "/compare/1/2/cases", "/compare/1/2/cases/3"):
        assert '<meta http-equiv="refresh" content="2">' in viewer.get(path).text
    viewer.runs.close()


def test_broken_pairs_come_first_then_fixed_ones_and_a_component_is_that_of_the_new_side(looked: Viewer) -> None:
    ids = looked.pairs("/compare/1/2/cases")
    assert (set(ids[:2]), ids[2]) == ({"q7", "q8"}, "q50")
    assert ids[3] == "q3", "its scores changed, its faults didn't"
    assert len(ids) == 50
    assert set(looked.pairs("/compare/1/2/cases?sort=groundedness")[:2]) == {"q7", "q8"}
    assert looked.pairs("/compare/1/2/cases?sort=-groundedness")[0] == "q50"
    other = looked.page("/compare/1/2/cases/11")
    assert re.search(r'>Another one</th><td class="num">–<[^/]*</span></td><td class="num">2</td>', other)

    (choices,) = re.findall(r'<select name="component">(.*?)</select>', looked.page("/compare/1/2/cases"))
    found = re.findall(r'<option value="([^"]+)">\1 \((\d+)\)', choices)
    assert found == [("none", "56"), ("prompt or generator", "3")]


def test_the_list_has_a_second_page(looked: Viewer) -> None:
    page = looked.page("/compare/1/2/cases?sort=input")
    assert "59 of 59 pairs" in page
    (after,) = re.findall(r'rel="next" href="([^"]+)"', page)

    second = looked.pairs(after)
    assert second == [f"q{i}" for i in range(51, 60)]
    (before,) = re.findall(r'rel="prev" href="([^"]+)"', looked.page(after))
    assert looked.pairs(before) == looked.pairs("/compare/1/2/cases?sort=input") == [f"q{i}" for i in range(1, 51)]


@pytest.mark.parametrize("row", examples("addresses", "pairs"))
def test_filters_choose_pairs(looked: Viewer, row: dict[str, Any]) -> None:
    assert sorted(looked.pairs(f"/compare/1/2/cases?{row['filters']}")) == row["pairs"]


def test_a_pair_is_found_by_its_id_and_knows_its_neighbours_in_the_list(looked: Viewer) -> None:
    found = looked.ready("/compare/1/2/cases?id=q50")
    assert (found.status_code, found.headers["location"]) == (303, "/compare/1/2/cases/49")

    page = looked.page("/compare/1/2/cases/49?sort=-groundedness&groundedness=..0.5")
    assert "1 of 59" in page
    assert 'id="before"' not in page
    (after,) = re.findall(r'id="after" rel="next" href="([^"]+)"', page)
    assert "2 of 59" in looked.page(after)
    (back,) = re.findall(r'id="back" href="([^"]+)"', page)
    assert looked.pairs(back)[0] == "q50"


def test_no_text_of_a_stranger_becomes_markup(looked: Viewer) -> None:
    for path in ("/compare/1/2", "/compare/1/2/cases?q=script", "/compare/1/2/cases/6", "/compare/1/2?by=<script>"):
        page = looked.ready(path).text
        assert "<script>" not in page
        assert page.count("</main>") == 1
        assert " style=" not in page


def test_trials_are_one_side(tmp_path: Path) -> None:
    def made(store: Store) -> None:
        store_run(answers(6, bad=(1,)), folder=tmp_path, store=store)
        store_run(answers(6, bad=(2,)), folder=tmp_path, store=store, trials=2)

    with looked_at(tmp_path / ".ragtriage", made) as (_, viewer):
        page = viewer.page("/compare/1/3")
        ids = viewer.pairs("/compare/1/3/cases?change=broken")

    assert "runs 2 and 3" in page
    assert "run 3 is a further trial of run 2" in page
    assert ids == ["q2"]
