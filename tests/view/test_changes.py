"""Runs that change while they are looked at, other places, and how the viewer is started."""

import contextlib
import json
import re
import socket
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from viewed import Viewer, begun, looked_at, some_records, stored, viewer_of, write

from in_process import plain_environment, said_by
from ragtriage.core.errors import ConfigError
from ragtriage.runs.case_row import CaseRow, Columns
from ragtriage.runs.run import Place, Run
from ragtriage.store import Store, open_store
from ragtriage.store.folder import open_folder
from ragtriage.store.schema import runs
from ragtriage.view.history import history_of
from ragtriage.view.opened_runs import MOST_BYTES, NotReadYetError
from ragtriage.view.server import MOST_TRIED, PORT, FolderRun, StoreRuns, listening

RECORDS = some_records(12)


@pytest.fixture
def changing(tmp_path: Path) -> Iterator[tuple[Store, Viewer]]:
    with looked_at(tmp_path, lambda there: stored(there, "rows", RECORDS)) as found:
        yield found


def everywhere(viewer: Viewer) -> str:
    """All pages on which texts of the run stand."""
    paths = ("/", "/runs/1", "/runs/1/cases?sort=input", "/runs/1/cases?q=question", "/runs/1/cases/7")
    pages = [viewer.text(path) for path in paths]
    return "\n".join([*pages, viewer.get("/runs/1/cases/7.html").text, viewer.get("/runs/1/export.jsonl").text])


def test_texts_that_were_forgotten_are_not_shown_again(changing: tuple[Store, Viewer]) -> None:
    store, viewer = changing
    assert everywhere(viewer).count("Question 7:") >= 4

    store.forget_texts(1, ["case-006"])
    page = viewer.text("/runs/1/cases?sort=input")
    assert "Question 6:" not in page
    assert "Question 7:" in page

    store.forget_texts(1)
    after = everywhere(viewer)
    assert "Question 7:" not in after
    assert RECORDS[7].case.query not in unescape(after)
    assert viewer.ids("/runs/1/cases?q=ferry") == []
    assert "case-007" in after


@pytest.mark.parametrize("state", ["running", "interrupted"])
def test_an_unfinished_run_that_nobody_writes_is_read_again_at_once(changing: tuple[Store, Viewer], state: str) -> None:
    store, viewer = changing
    with store.database.writing() as connection:
        connection.execute(runs.update().values(state=state))
    assert "Question 7:" in viewer.text("/runs/1/cases?sort=input")

    store.forget_texts(1)

    assert "Question 7:" not in viewer.text("/runs/1/cases?sort=input")


def test_a_deleted_run_is_a_page_that_says_which_there_are(changing: tuple[Store, Viewer]) -> None:
    store, viewer = changing
    stored(store, "others", RECORDS[:5])
    viewer.text("/runs/1/cases")

    store.forget_texts(1)
    store.delete(1)

    for path in ("/runs/1", "/runs/1/cases", "/runs/1/cases/3", "/runs/1/state", "/runs/1/export.csv"):
        assert "there is no run 1; the newest are 2" in viewer.text(path, status=404)
    assert 'href="/runs/1"' not in viewer.text("/")


def test_a_run_that_is_being_written_says_how_far_it_is(changing: tuple[Store, Viewer]) -> None:
    store, viewer = changing
    with begun(store, "further", 12) as run:
        write(run, RECORDS[:4])
        page = viewer.text("/runs/2/cases")
        assert "This run is being written" in page
        assert 'data-live="/runs/2/state" data-done="4"' in page
        assert viewer.get("/runs/2/state").json() == {"state": "running", "done": 4, "failed": 0, "rows": 12}
        write(run, RECORDS[4:])
        assert viewer.get("/runs/2/state").json() == {"state": "running", "done": 11, "failed": 1, "rows": 12}
        run.finish()

    page = viewer.text("/runs/2/cases")
    assert "12 of 12 cases" in page
    assert "being written" not in page


class SlowPlace:
    """A place whose cases are read only when it is told."""

    def __init__(self, place: Place, go: threading.Event, reads: list[str]) -> None:
        self._place, self._go, self._reads = place, go, reads

    def __getattr__(self, name: str) -> Any:
        return getattr(self._place, name)

    def read(self, what: Columns, positions: range | None = None) -> Iterator[CaseRow]:
        """See `Place`."""
        if positions is None:
            self._reads.append(self._place.info.state)
            self._go.wait(10)
        yield from self._place.read(what, positions)


@dataclass(frozen=True, slots=True)
class SlowRuns(StoreRuns):
    """A store whose places are slow."""

    go: threading.Event
    reads: list[str]

    def run(self, key: str) -> Run:
        """See `RunSource`."""
        place: Any = SlowPlace(self.store.run(key).place, self.go, self.reads)
        return Run(place)


def test_a_run_that_is_written_faster_than_it_is_read_is_shown(tmp_path: Path) -> None:
    go, reads = threading.Event(), []  # type: ignore[var-annotated]  # of texts
    with open_store(tmp_path) as store, begun(store, "rows", 12) as run:
        viewer = viewer_of(SlowRuns(store, go, reads))
        for some in (RECORDS[:4], RECORDS[4:6], RECORDS[6:8]):
            write(run, some)
            for ask in (viewer.runs.ready, viewer.runs.report):
                with pytest.raises(NotReadYetError):
                    ask("1", patience=0.0)
            viewer.runs.opened("1").began -= 60
        assert len(reads) <= 2
        go.set()

        assert viewer.runs.report("1", patience=10).summary.cases == 8
        assert len(viewer.runs.ready("1", patience=10).index) == 8
        viewer.runs.close()


def test_an_empty_store_says_what_to_do(tmp_path: Path) -> None:
    with looked_at(tmp_path, lambda _: None) as (_, viewer):
        assert "ragtriage evaluate" in viewer.text("/")
        assert "evaluate a file first" in viewer.text("/runs/1", status=404)


def test_a_run_in_a_folder_is_shown_as_one_in_a_store(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="runs in folders need the extra 'parquet'")
    sys.path += [str(Path(__file__).parents[1] / folder) for folder in ("execution", "store")]
    from scripted_judges import evaluated, row, written  # noqa: PLC0415  # of another folder

    rows, out = written(tmp_path / "rows.jsonl", [row(i) for i in range(8)]), tmp_path / "run"
    evaluated([rows], out, texts=True)
    viewer = viewer_of(FolderRun(open_folder(str(out))))

    assert 'href="/runs/folder"' in viewer.text("/")
    assert viewer.text("/runs/folder")
    assert viewer.ids("/runs/folder/cases?sort=input") == [str(i) for i in range(8)]
    assert viewer.text("/runs/folder/cases/3")
    assert len(viewer.get("/runs/folder/export.jsonl").text.splitlines()) == 8
    assert viewer.text("/runs/1", status=404)
    said_by(["forget", str(out), "--yes"])
    told = json.loads(viewer.get("/runs/folder/export.jsonl").text.splitlines()[0])
    assert "deleted" in str(told["query"])
    viewer.runs.close()


def test_thresholds_of_the_command_are_those_of_every_run(changing: tuple[Store, Viewer]) -> None:
    strict = viewer_of(changing[1].source, {"groundedness": 1.0, "response_precision": 1.0})
    low = [one.text("/runs/1/cases").count('class="num bad"') for one in (strict, changing[1])]
    strict.runs.close()

    assert low[0] > low[1]


@contextlib.contextmanager
def taken(count: int) -> Iterator[int]:
    """So many ports in a row that somebody listens on; the first of them."""
    with contextlib.ExitStack() as stack:
        while True:
            first = socket.create_server(("127.0.0.1", 0))
            number = first.getsockname()[1]
            try:
                further = [socket.create_server(("127.0.0.1", number + i)) for i in range(1, count)]
            except OSError:
                first.close()
                continue
            for one in (first, *further):
                stack.enter_context(one)
            yield number
            return


def test_a_taken_port_is_stepped_over_unless_it_was_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with taken(2) as number:
        monkeypatch.setattr("ragtriage.view.server.PORT", number)
        with listening(None) as found:
            assert number + 2 <= found.getsockname()[1] < number + MOST_TRIED
            socket.create_connection(found.getsockname()).close()  # a browser that is opened at once is heard
        with pytest.raises(ConfigError, match=f"--port {number}: can't be listened on"):
            listening(number)
    with taken(1) as number:
        monkeypatch.setattr("ragtriage.view.server.PORT", number)
        monkeypatch.setattr("ragtriage.view.server.MOST_TRIED", 1)
        with pytest.raises(ConfigError, match=f"^ports {number} to {number}: can't be listened on"):
            listening(None)
    assert PORT == 7421


def test_the_command_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with plain_environment(), taken(1) as number:
        none = said_by(["view", "--no-browser"])
        open_store(tmp_path / ".ragtriage").close()
        busy = said_by(["view", "--no-browser", "--port", number])
        open_to_all = said_by(["view", "--no-browser", "--host", "0.0.0.0"])
        nobody = said_by(["view", "7", "--no-browser"])
        for name in [one for one in sys.modules if one.split(".")[0] in ("starlette", "uvicorn")]:
            monkeypatch.delitem(sys.modules, name)
        for name in [one for one in sys.modules if one.startswith("ragtriage.view")]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "starlette", None)
        without = said_by(["view", "--no-browser"])

    assert none.code == 2
    assert busy.code == 2
    assert re.search(rf"--port {number}: can't be listened on \(.*\): name a free one with --port", busy.err)
    assert open_to_all.code == 2
    assert "give --allow-host NAME" in open_to_all.err
    assert nobody.code == 2
    assert "evaluate a file first" in nobody.err
    assert without.code == 2
    assert "the viewer's pages need the extra 'view'" in without.err


def test_large_results_are_let_go_of_and_small_ones_stay(changing: tuple[Store, Viewer]) -> None:
    _, viewer = changing
    done: list[str] = []

    def ask(what: str, nbytes: int) -> None:
        viewer.runs.result(what, "1", lambda: done.append(what), 10.0, lambda _: nbytes)

    for what in ("small", "large", "larger", "larger", "large"):
        ask(what, 0 if what == "small" else MOST_BYTES)
    assert done == ["small", "large", "larger", "large"]

    done.clear()
    for what in ("one", "two", "three", "one", "two", "three"):
        ask(what, MOST_BYTES // 3)
    assert done == ["one", "two", "three"]


def test_a_line_joins_only_runs_of_one_input_and_judge(tmp_path: Path) -> None:
    names = ("rows", "others", "rows", "others", "new")
    with looked_at(tmp_path, lambda there: [stored(there, rows, RECORDS) for rows in names]) as (_, viewer):
        viewer.text("/")
        line = history_of(viewer.runs).lines["groundedness"]

    xs = [f"{x}" for x, _, _ in line.points]
    assert [[point.partition(",")[0] for point in path.split()] for path in line.paths] == [
        [xs[0], xs[2]], [xs[1], xs[3]],
    ]  # fmt: skip
