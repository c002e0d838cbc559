"""Labelling in the browser: blind, into the terminal's file, and only from the viewer's own pages."""

import io
import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from html import escape, unescape
from pathlib import Path
from typing import Any

import pytest
from viewed import HOST, Viewer, stored, viewer_of

from in_process import said_by
from made_records import NO, YES, synthetic
from ragtriage.core.case import Record, Turn
from ragtriage.core.verdicts import Verdicts
from ragtriage.metrics.thelma import groundedness
from ragtriage.runs.run import Run
from ragtriage.store import Store, open_store
from ragtriage.trust.label_files import PROMPTS, Label, LabelFile, draw_items, read_labels
from ragtriage.trust.label_session import items_of_run
from ragtriage.view.server import StoreRuns

OWN = {"sec-fetch-site": "same-origin", "origin": HOST}
QUESTION = PROMPTS["groundedness"].question
CASES = 12
"""Of six claims each."""
JUDGE = "it stands there|it isn't there|perhaps not|too close to call|0.9|0.1|unsupported|verdict".split("|")
"""What the judge says of these cases, and what a page would call it."""
SUPPORT = str(groundedness.needs["support"])
EVIL = "<script>alert(1)</script></main>\x00\u202e {{ 7 * 7 }}"


def records() -> list[Record]:
    chance, found = random.Random(11), []
    for i in range(CASES):
        record = synthetic(chance)
        history = (Turn("user", "And before this?"), Turn("assistant", EVIL)) if i % 2 else ()
        case = replace(record.case, id=f"case/{i} é", query=f"Q{i} {EVIL}", history=history)
        found.append(replace(record, case=case))
    return found


@dataclass
class Labeller:
    """A browser that the viewer knows, and the file of labels."""

    viewer: Viewer
    file: Path

    def text(self, path: str, status: int = 200) -> str:
        """A page."""
        return self.viewer.text(path, status)

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """What the viewer's own script would send."""
        return self.viewer.client.post(path, json=body, headers=OWN | headers)

    def answer(self, page: str, said: str) -> Any:
        """Answer the item of a page, as the script does."""
        to, body = labelled(page)
        return self.post(to, body | {"answer": said})

    @property
    def labels(self) -> list[Label]:
        """What the file holds."""
        return list(read_labels(self.file)[0])


def labelled(page: str) -> tuple[str, dict[str, Any]]:
    """Where a page's item is sent to, and what of it."""
    found = {
        name: unescape(re.findall(rf'data-{name}="([^"]*)"', page)[0]) for name in ("labelling", "item", "version")
    }
    return found["labelling"], {"item": json.loads(found["item"]), "version": found["version"]}


def labeller(source: Any, file: Path, *, writing: bool = True) -> Labeller:
    return Labeller(viewer_of(source, writing=writing, labels=file), file)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with open_store(tmp_path_factory.mktemp("labelled") / "store") as there:
        assert stored(there, "rows", records()) == 1
        yield there


@pytest.fixture
def viewer(store: Store, tmp_path: Path) -> Labeller:
    return labeller(StoreRuns(store), tmp_path / "labels.jsonl")


ANA = "/runs/1/label?metric=groundedness&n=5&by=Ana"


def test_a_page_shows_the_item_and_nothing_that_the_judge_said_and_looking_writes_nothing(
    viewer: Labeller, store: Store
) -> None:
    run = store.run(1)
    items = items_of_run(run, ["groundedness"])
    for at, one in enumerate(draw_items(items, ["groundedness"], 5, 0).items):
        page = viewer.text(f"{ANA}&at={at}")
        main = page.partition("<main")[2].partition("</main>")[0]
        assert f"<h1>{QUESTION}</h1>" in main
        assert one.text in main
        assert all(source.text in main for source in run.record(one.case).case.known_sources)
        assert ("Before it: 2 turns" in main) == bool(run.record(one.case).case.history)
        assert f"{at + 1} of 5" in page
        assert "by Ana" in main
        assert not [said for said in JUDGE if said in main]
        assert "<script>alert" not in page
        assert "\x00" not in page
        assert "\u202e" not in page
        assert "style=" not in page

    form = viewer.text("/runs/1/label")
    assert f"Grounded: {QUESTION}" in form
    assert 'value="source_precision">' in form
    viewer.text(ANA)
    assert viewer.labels == []


def test_two_verdicts_of_one_text_make_the_same_page(tmp_path: Path) -> None:
    """What the judge says changes no byte of what a person sees, its version included."""
    pages = []
    for good in (True, False):
        made = records()
        for i, record in enumerate(made):
            known = record.steps[SUPPORT]
            assert isinstance(known, Verdicts)
            steps = {**record.steps, SUPPORT: replace(known, cells=((YES if good else NO,),) * len(known.cells))}
            made[i] = replace(record, steps=steps, outcomes={**record.outcomes, "groundedness": groundedness(steps)})
        with open_store(tmp_path / f"store-{good}") as there:
            stored(there, "rows", made)
            viewer = labeller(StoreRuns(there), tmp_path / f"{good}" / "labels.jsonl")
            pages.append(viewer.text(ANA))
            assert viewer.answer(pages[-1], "yes").status_code == 200
            assert viewer.labels[0].verdict == ("yes" if good else "no")
    assert pages[0] == pages[1]


def test_an_answer_is_in_the_file_before_the_next_item_and_undo_goes_back(viewer: Labeller) -> None:
    page = viewer.text(ANA)
    answered = viewer.answer(page, "yes")

    assert [(one.label, one.by, one.run, one.draw) for one in viewer.labels] == [
        (True, "Ana", "1", "groundedness; 72 items; seed 0")
    ]
    following = viewer.text(answered.json()["to"])
    assert "You said yes to" in following
    assert "1 of 5 labelled" in following
    back = unescape(re.findall(r'id="label-back" href="([^"]*)"', following)[0])
    again = viewer.text(back)
    assert labelled(again) == labelled(page)
    assert "You said yes." in again
    viewer.answer(again, "no")
    assert [one.label for one in viewer.labels] == [False]
    viewer.answer(viewer.text(ANA), "skip")
    assert [one.label for one in viewer.labels] == [False, None]


def test_all_answered_leads_to_the_result(viewer: Labeller) -> None:
    for _ in range(5):
        to = viewer.answer(viewer.text(ANA), "no").json()["to"]

    assert to.startswith("/runs/1/label/result?")
    assert viewer.viewer.ready(ANA).headers["location"].startswith("/runs/1/label/result?")
    page = viewer.text(to)
    different = [one for one in viewer.labels if one.verdict == "yes"]
    assert f"{5 - len(different)} of 5 (" in page or any(one.verdict == "unknown" for one in viewer.labels)
    assert page.count('href="/runs/1/cases?id=case%2F') == len(different) > 0
    assert "too few labels: 5, and it takes 20" in page
    assert "Go on with what is left" not in page
    assert "Go on with what is left" in viewer.text(to.replace("n=5", "n=9"))


def test_a_text_that_was_forgotten_is_not_shown_with_its_label(tmp_path: Path) -> None:
    with open_store(tmp_path / "store") as store:
        stored(store, "rows", records())
        viewer = labeller(StoreRuns(store), tmp_path / "labels.jsonl")
        for _ in range(5):
            viewer.answer(viewer.text(ANA), "no")
        (text, *_) = (one.text for one in viewer.labels if one.verdict == "yes")
        assert escape(text) in viewer.text("/runs/1/label/result")

        store.forget_texts(1)

        page = viewer.text("/runs/1/label/result")
        assert escape(text) not in page
        assert "(the text was deleted)" in page


def test_the_terminal_goes_on_with_the_browsers_labels_and_back(
    viewer: Labeller, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    for said in ("yes", "no"):
        viewer.answer(viewer.text(ANA), said)
    monkeypatch.setattr(sys, "stdin", io.StringIO("n\ns\nq\n"))
    where = ("-o", viewer.file, "--store", store.where)
    told = said_by(("trust", "label", "1", "--n", "5", "--by", "Ana", *where))
    assert told.code == 3
    assert "2 of 5 were labelled before" in told.out

    page = viewer.text(ANA)
    assert "4 of 5 labelled" in page
    assert "5 of 5" in page
    viewer.answer(page, "yes")
    assert [one.label for one in viewer.labels] == [True, False, False, None, True]


class Switched(StoreRuns):
    """Runs of one store, and then of another where the same run was continued otherwise."""

    now: Store | None = None

    def run(self, key: str) -> Run:
        """See `RunSource`."""
        return (Switched.now or self.store).run(key)


def test_a_label_of_an_item_that_has_changed_is_refused_and_it_is_shown_anew(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = [replace(one, case=replace(one.case, query="Another question?")) for one in records()]
    with open_store(tmp_path / "other") as other:
        stored(other, "rows", made)
        viewer = labeller(Switched(store), tmp_path / "labels.jsonl")
        page = viewer.text(ANA)
        monkeypatch.setattr(Switched, "now", other)
        refused = viewer.answer(page, "yes")

        assert refused.status_code == 409
        assert "The item has changed" in refused.json()["said"]
        assert viewer.labels == []
        anew = viewer.text(refused.json()["to"])
        assert "The item has changed" in anew
        assert "Another question?" in anew
        assert viewer.answer(anew, "yes").status_code == 200


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"item": ["case/0 é", "groundedness", 0], "answer": "maybe", "version": ""}, "answer"),
        ({"item": ["case/0 é", "groundedness"], "answer": "yes", "version": ""}, "item"),
        ({"answer": "yes", "version": "", "item": ["a", "b", 0], "file": "/etc/x.jsonl"}, "file"),
        ([], "can't be used"),
    ],
)
def test_what_is_no_label_is_refused(viewer: Labeller, body: Any, said: str) -> None:
    answered = viewer.post(ANA, body)
    assert answered.status_code == 400
    assert said in answered.json()["said"]
    assert viewer.labels == [] if viewer.file.exists() else True


def test_only_its_own_pages_write_and_only_with_write(viewer: Labeller, store: Store) -> None:
    page = viewer.text(ANA)
    to, body = labelled(page)
    body |= {"answer": "yes"}
    assert viewer.post(to, body, **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert viewer.post(to, body, origin="http://evil.example").status_code == 403
    assert viewer.post(to, body, **{"content-type": "text/plain"}).status_code == 415
    assert viewer.post(to, body).status_code == 200

    reading = labeller(StoreRuns(store), viewer.file, writing=False)
    assert "ragtriage view --write" in reading.text(ANA, 403)
    assert reading.post(to, body).status_code == 403
    assert len(viewer.labels) == 1
    assert "What the labels say" in reading.text("/runs/1/label/result")


def test_what_of_an_address_or_a_file_can_not_be_used_is_named(viewer: Labeller) -> None:
    for part in ("n=0", "n=1e3", "n=99999", "at=5", "at=-1", "seed=x", "metric=nosuch", "by=" + "x" * 101):
        address = f"/runs/1/label?{part}" + ("" if part.startswith("n=") else "&n=5")
        assert part.partition("=")[0] in viewer.text(address, 400)
    viewer.answer(viewer.text(ANA), "yes")
    assert "another draw" in viewer.text(f"{ANA}&seed=1", 400)
    viewer.file.write_text('{"a": 1}\n', encoding="utf-8")
    assert "holds no label" in viewer.text(ANA, 400)


def test_the_result_has_two_people_corrected_means_and_a_curve(viewer: Labeller, store: Store) -> None:
    items = items_of_run(store.run(1), ["groundedness"])
    draw = draw_items(items, ["groundedness"], 60, 0)
    with LabelFile(viewer.file) as file:
        for at, item in enumerate(draw.items):
            for by, said in (("Ana", item.verdict == "yes"), ("Ben", (item.verdict == "yes") != (at % 4 == 0))):
                about = "1", item.case, item.metric, item.component, item.text, said, item.verdict, item.score
                file.add(Label(*about, draw.inclusion, by=by, draw=draw.name))
        file.add(Label(*about, None, by="Cem"))  # not drawn at random
    page = viewer.text("/runs/1/label/result")

    assert re.findall(r'<th scope="row" dir="auto">(\w+)</th>', page) == ["Ana", "Ben"]
    assert "not used: 1 label picked on purpose" in page
    assert "45 of 60 (63–84 %)" in page  # Ana and Ben
    assert re.search(r"Ana, Ben</th><td>45 of 60 \(63–84 %\)</td><td>0\.\d\d \(", page)
    assert re.search(r'Grounded</th><td class="num">0\.\d\d</td><td class="num">0\.\d\d</td>', page)
    assert '<svg class="curve"' in page
    assert page.count("<circle") >= 2
    assert "ragtriage trust calibrate" in page
    assert "style=" not in page
