"""Runs to be looked at, and a browser's requests without a browser."""

import random
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from made_records import synthetic
from ragtriage.core.case import Record
from ragtriage.core.verdicts import Undefined
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.metrics import THELMA
from ragtriage.runs.evaluation_config import EvaluationConfig, to_stored
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.store import RunWriter, Store, open_store
from ragtriage.view.opened_runs import OpenedRuns, RunSource
from ragtriage.view.pages import Pages
from ragtriage.view.security import Guard
from ragtriage.view.server import StoreRuns, application

NAMES = tuple(metric.name for metric in THELMA)
CONFIG = EvaluationConfig(THELMA, thresholds_with({}))
PORT = 7421
HOST = f"http://127.0.0.1:{PORT}"
CASES = 110
"""Three pages of a list."""
EVIL = "<script>alert(1)</script></main>\x00\u202egnp.exe <img src=x onerror=alert(2)> {{ 7 * 7 }}"
LONG = "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen" * 6
RIGHT_TO_LEFT = "كم تبلغ رسوم العبّارة إلى الجزيرة؟ "
NO_SPACES = "島へのフェリーの運賃はいくらですか" * 12
ODD_ID = "a/b%00 \"q\" 'x' <i>?&#"


def some_records(count: int = CASES) -> list[Record]:
    """Records of all sorts, the same every time: odd ids and texts, an undefined and a failed score, tags."""
    chance = random.Random(11)
    base = [synthetic(chance) for _ in range(12)]
    found = []
    for i in range(count):
        record = base[i % len(base)]
        tags = {"tenant": ("a", "b")[i % 2], **({"odd": EVIL} if i % 5 == 0 else {})}
        case = replace(record.case, id=f"case-{i:03}", query=f"Question {i}: {record.case.query}", tags=tags)
        outcomes = dict(record.outcomes)
        if i % 7 == 3:
            outcomes["groundedness"] = Undefined("nothing was claimed")
        if i % 11 == 4:
            outcomes["source_precision"] = Undefined("the connection broke", failed=True)
        found.append(Record(case, record.steps, outcomes))
    for i, (query, name) in enumerate(
        ((EVIL, f"evil {EVIL}"), (LONG, LONG), (RIGHT_TO_LEFT * 20, "rtl"), (NO_SPACES, "cjk"), ("Odd?", ODD_ID))
    ):
        if i < count:
            case = replace(found[i].case, id=name, query=query)
            found[i] = replace(found[i], case=case)
    return found


def begun(store: Store, rows: str, count: int, config: EvaluationConfig = CONFIG, **more: Any) -> RunWriter:
    """A run that is being written."""
    names = tuple(m.name for m in config.metrics)
    return store.begin(
        RunIdentity(rows, names, {"supported": "1"}), input=f"{rows}.jsonl", rows=count, judge="embedded",
        configuration=to_stored(config, ALL_ROWS, {}) | more,
    )  # fmt: skip


def write(run: RunWriter, records: Iterable[Record], config: EvaluationConfig = CONFIG) -> None:
    """Keep records with their headings, behind those that are there, and commit them."""
    for record in records:
        run.keep(record, config.heading(record, config.assess(record)))
    run.flush()


def stored(store: Store, rows: str, records: Sequence[Record], **more: Any) -> int:
    """A finished run of these records; its number."""
    with begun(store, rows, len(records), **more) as run:
        write(run, records)
        run.finish()
    return run.number


@dataclass
class Viewer:
    """The viewer of some runs, and a browser that it knows."""

    source: RunSource
    runs: OpenedRuns
    guard: Guard
    client: TestClient
    told: list[str] = field(default_factory=list)

    def get(self, path: str, **more: Any) -> Any:
        """An answer; redirections aren't followed."""
        return self.client.get(path, follow_redirects=False, **more)

    def ready(self, path: str) -> Any:
        """An answer, as soon as it is more than a page that waits."""
        for _ in range(2000):
            answer = self.get(path)
            if 'http-equiv="refresh"' not in answer.text:
                return answer
            time.sleep(0.02)
        raise AssertionError(f"{path} is never read")

    def text(self, path: str, status: int = 200) -> str:
        """A page."""
        answer = self.ready(path)
        assert answer.status_code == status, answer.text
        return str(answer.text)

    def page(self, path: str, status: int = 200) -> str:
        """The same without entities and places to break a line."""
        return unescape(self.text(path, status).replace("<wbr>", ""))

    def shows(self, row: dict[str, Any]) -> str:
        """The page at the address of an example, when it answers and says what that tells."""
        page = self.page(row["address"], row["status"])
        assert [said for said in row["says"] if said not in page] == []
        assert [said for said in row.get("never", ()) if said in page] == []
        assert [said for said in row.get("once", ()) if page.count(said) != 1] == []
        return page

    def ids(self, path: str) -> list[str]:
        """The positions that a list shows, in its order."""
        return re.findall(r'<td class="id"><a href="/runs/\w+/cases/(\d+)', self.text(path))

    def pairs(self, path: str) -> list[str]:
        """The ids that a list of pairs shows, in its order."""
        return re.findall(r'<td class="id"><a [^>]*>([^<]*)</a>', self.page(path))


def viewer_of(
    source: RunSource,
    thresholds: dict[str, float] | None = None,
    *,
    known: bool = True,
    writing: bool = False,
    labels: Path | None = None,
    opened: type[OpenedRuns] = OpenedRuns,
) -> Viewer:
    """The viewer of some runs."""
    runs = opened(source, thresholds)
    pages = Pages(runs, "the store", None, writing=writing)
    told: list[str] = []
    app = application(runs, pages, labels or Path("labels.jsonl"))
    guard = Guard(app, PORT, ["quality.example"], writing=writing, told=told.append)
    client = TestClient(guard, base_url=HOST)
    if known:
        assert client.get(guard.new_address().removeprefix(HOST), follow_redirects=False).status_code == 303
    return Viewer(source, runs, guard, client, told)


@contextmanager
def looked_at(path: Path, made: Callable[[Store], object], **more: Any) -> Iterator[tuple[Store, Viewer]]:
    """A store with what was made in it, and its viewer."""
    with open_store(path) as store:
        made(store)
        viewer = viewer_of(StoreRuns(store), **more)
        yield store, viewer
        viewer.runs.close()
