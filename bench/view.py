"""How fast the viewer answers for a run of so many cases in a file, and how much memory it takes.

    python bench/view.py [--cases 1000000] [--quick] [--keep FOLDER] [--without-thresholds] [--server]

The run is made without a judge: made-up records of `tests/made_records.py`, each copied with an id, a question and
scores of its own. Times are those of a client of this machine, one request at a time; `--quick` is 20,000 cases, and
with `--server` they are copied into a PostgreSQL server of this machine, and read there.
"""

import argparse
import contextlib
import http.client
import os
import random
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode, urlsplit

sys.path += [str(Path(__file__).parents[1] / "tests")]
from made_records import WORDS, synthetic
from postgresql_server import new_schema
from ragtriage.diagnosis.rules import RULES, thresholds_with
from ragtriage.metrics import THELMA
from ragtriage.runs.case_row import digest
from ragtriage.runs.evaluation_config import EvaluationConfig, to_stored
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.selection import ALL_ROWS
from ragtriage.runs.tally import SlicedTally, keep_counts
from ragtriage.store import Store, open_store
from ragtriage.store.copying import copy_run

CONFIG = EvaluationConfig(THELMA, thresholds_with({}))
NAMES = tuple(metric.name for metric in THELMA)
BASE = 500
"""Cases that are written as an evaluation writes them; all others are copies of them. Divides the number of all."""
QUICK = 20_000
PORTION = 20_000


def fill(folder: Path, cases: int, chance: random.Random) -> float:
    """A finished run of so many cases; its bytes a case."""
    with open_store(folder) as store:
        identity = RunIdentity("made up", NAMES)
        stored = to_stored(CONFIG, ALL_ROWS, {})
        with store.begin(identity, input="made-up.jsonl", rows=cases, judge="embedded", configuration=stored) as run:
            for i in range(min(BASE, cases)):
                made = synthetic(chance)
                query = f"Question {i}: {made.case.query}"
                record = replace(made, case=replace(made.case, id=f"case-{i}", query=query))
                run.keep(record, CONFIG.heading(record, CONFIG.assess(record)))
            run.finish()
    path = folder / "runs.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        for first in range(BASE, cases, PORTION):
            _copy(connection, range(first, min(cases, first + PORTION)), chance)
            connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with open_store(folder) as store:
        _keep_counts(store, cases)
    return path.stat().st_size / cases


def _keep_counts(store: Store, cases: int) -> None:
    """What an evaluation would have kept, but that every copy is counted as the case that it is a copy of."""
    first, whole = SlicedTally(CONFIG), SlicedTally(CONFIG)
    for record in store.run(1).records(range(BASE)):
        first.add(record)
    counts = first.whole.counts()
    for _ in range(cases // BASE):
        whole.whole.take(counts, moments=True)
    keep_counts(store.run(1), CONFIG, whole)


OWN = {
    "cases": {"id": "new.id", "id_digest": "new.digest", "content": "new.digest"},
    "case_texts": {"hash": "CASE c.role WHEN 'query' THEN new.hash ELSE c.hash END"},
    "scores": {"value": "CASE WHEN value IS NULL OR abs(random()) % 3 THEN value ELSE abs(random()) % 101 / 100.0 END"},
    "readings": {"head": "substr(new.query, 1, 60)"},
}
"""Table → what of a copy is its own, beside its position."""


def _copy(connection: sqlite3.Connection, places: range, chance: random.Random) -> None:
    """Copies of the first cases at these places, with questions and scores of their own."""
    columns = "position INTEGER PRIMARY KEY, base, id, digest, query, hash"
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS new ({columns})")
    connection.execute("DELETE FROM new")
    made = []
    for at in places:
        query = f"Question {at}: {' '.join(chance.choices(WORDS, k=8))}?"
        made.append((at, at % BASE, f"case-{at}", digest(f"case-{at}"), query, digest(query)))
    connection.executemany("INSERT INTO new VALUES (?, ?, ?, ?, ?, ?)", made)
    connection.execute("INSERT OR IGNORE INTO texts SELECT hash, query FROM new")
    for table, own in OWN.items():
        base = f"base_{table}"
        first = f"SELECT * FROM main.{table} WHERE position < {BASE}"
        connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {base} AS {first}")
        connection.execute(f"CREATE INDEX IF NOT EXISTS temp.{base}_position ON {base} (position)")
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        read = ", ".join({"position": "new.position", **own}.get(name, f"c.{name}") for name in names)
        source = f"FROM new JOIN {base} c ON c.position = new.base"
        connection.execute(f"INSERT INTO {table} ({', '.join(names)}) SELECT {read} {source}")


class Server:
    """The command, and a browser that it knows."""

    def __init__(self, folder: Path, store: str = "") -> None:
        self._began = time.monotonic()
        command = [sys.executable, "-m", "ragtriage", "view", "--no-browser", "--store", store or str(folder)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        assert self.process.stdout
        address = urlsplit(self.process.stdout.readline().strip())
        self._connection = http.client.HTTPConnection(address.netloc, timeout=3600)
        _, cookie = self._ask(f"/?{address.query}")
        self._cookie = {"cookie": cookie.partition(";")[0]}
        self.ask("/")
        self.first = time.monotonic() - self._began

    _cookie: dict[str, str] = {}  # noqa: RUF012  # until it is known

    def _ask(self, path: str) -> tuple[str, str]:
        self._connection.request("GET", path, headers={"connection": "close", **self._cookie})
        answer = self._connection.getresponse()
        text = answer.read().decode()
        assert answer.status in (200, 303), f"{path}: {answer.status} {text[:2000]}"
        return text, answer.headers.get("set-cookie", "")

    def ask(self, path: str) -> tuple[str, float]:
        """A page, and the milliseconds that it took."""
        began = time.perf_counter()
        text, _ = self._ask(path)
        return text, 1000 * (time.perf_counter() - began)

    def wait(self, path: str) -> float:
        """Seconds until a page is more than one that waits."""
        began = time.monotonic()
        while 'http-equiv="refresh"' in self.ask(path)[0]:
            time.sleep(0.2)
        return time.monotonic() - began

    def memory(self) -> str:
        """The most that was ever in memory, and what is now, in MB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        peak, now = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) / 1000 for name in ("VmHWM", "VmRSS"))
        return f"{peak:.0f} MB at most, {now:.0f} MB now"

    def close(self) -> None:
        """Ctrl-C."""
        self.process.terminate()
        self.process.wait()


def lists(cases: int, chance: random.Random) -> Iterator[str]:
    """Addresses of lists with random filters, orders and pages."""
    rules = [rule.name for rule in RULES]
    while True:
        given: dict[str, str] = {}
        if chance.random() < 0.3:
            given["rule"] = chance.choice(rules)
        if chance.random() < 0.3:
            given["kind"] = chance.choice(["failure", "quality", "no-fault"])
        if chance.random() < 0.2:
            given["sure"] = chance.choice("01")
        if chance.random() < 0.2:
            given["tag.topic"] = chance.choice(["fees", "ships"])
        for name in chance.sample(NAMES, chance.choice([0, 0, 1, 2])):
            given[name] = f"..{chance.randrange(100) / 100}"
        if chance.random() < 0.7:
            given["sort"] = chance.choice(["", "-"]) + chance.choice([*NAMES, "input"])
        if chance.random() < 0.5:
            given["after"] = str(chance.randrange(cases))
        yield f"/runs/1/cases?{urlencode(given)}"


def told(what: str, taken: Sequence[float]) -> None:
    """Print how long something took."""
    ordered = sorted(taken)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    print(f"{what}: median {statistics.median(taken):.0f} ms, p95 {p95:.0f} ms, most {ordered[-1]:.0f} ms", flush=True)


def on_server(folder: Path) -> str:
    """The address of a store on a server of this process's own, with a copy of the run."""
    address, _ = new_schema()
    with open_store(folder) as here, open_store(address) as there:
        copy_run(here.run(1), there)
    return address


def measure(folder: Path, store: str, cases: int, chance: random.Random, *, thresholds: bool) -> None:
    """Print what there is to be known."""
    server = Server(folder, store)
    try:
        print(f"start to the first page: {server.first:.2f} s", flush=True)
        print(f"the numbers of the run on the first page: {server.wait('/'):.1f} s after that", flush=True)
        print(f"the first list: {server.wait('/runs/1/cases'):.1f} s after that; {server.memory()}", flush=True)
        made = lists(cases, chance)
        told("lists", [server.ask(next(made))[1] for _ in range(200)])
        told("cases", [server.ask(f"/runs/1/cases/{chance.randrange(cases)}?sort=groundedness")[1] for _ in range(50)])
        told("runs", [server.ask("/")[1] for _ in range(20)])
        print(f"the run as a whole: {server.wait('/runs/1'):.1f} s", flush=True)
        told("the run", [server.ask("/runs/1")[1] for _ in range(20)])
        print(f"memory: {server.memory()}", flush=True)
        print(f"the first search: {server.wait('/runs/1/cases?q=ferry'):.1f} s", flush=True)
        words = ["ferry sailings", "refunded noon", "case-123", "question 77", "island ticket weather"]
        told("searches", [server.ask(f"/runs/1/cases?{urlencode({'q': word})}")[1] for word in words for _ in range(2)])
        print(f"memory: {server.memory()}", flush=True)
        if thresholds:
            seconds = server.wait("/runs/1/cases?threshold=groundedness:0.9")
            print(f"other thresholds: {seconds:.1f} s, {cases / seconds:,.0f} cases/s; {server.memory()}", flush=True)
        size = sum(len(server.ask(f"/static/{name}")[0].encode()) for name in ("view.js", "view.css"))
        print(f"script and style: {size / 1000:.1f} kB", flush=True)
    finally:
        server.close()


def main() -> None:
    """Make a run, if there is none yet, and look at it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--cases", type=int, default=1_000_000)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK:,} cases")
    parser.add_argument("--keep", type=Path, help="a folder that holds the run, or is to hold it")
    parser.add_argument("--server", action="store_true", help="read the run in PostgreSQL")
    parser.add_argument("--without-thresholds", action="store_true", help="leave out what takes longest")
    given = parser.parse_args()
    if given.cases % BASE:
        parser.error(f"--cases has to be a multiple of {BASE}")
    cases, chance = QUICK if given.quick else given.cases, random.Random(5)
    with tempfile.TemporaryDirectory() as own:
        folder = given.keep or Path(own)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "runs.sqlite").exists():
            began = time.monotonic()
            size = fill(folder, cases, chance)
            print(f"{cases:,} cases made in {time.monotonic() - began:.0f} s, {size:,.0f} bytes each", flush=True)
        os.chdir(folder)
        store = on_server(folder) if given.server else ""
        measure(folder, store, cases, chance, thresholds=not given.without_thresholds)


if __name__ == "__main__":
    sys.exit(main())
