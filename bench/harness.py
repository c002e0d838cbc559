"""What rows that join one evaluation cost beside the judge, and how much of one batch's rate is left of them.

    python bench/harness.py CASES.jsonl [--rows 1000] [--repeat 3] [--in-flight 32]

Three ways, one after the other in each repeat, each with a store on disk and nothing remembered: a file through
`evaluate_file`, as every command does; rows that are handed over all at once; rows that threads hand over,
`--in-flight` at a time. Medians of the repeats, of the time and of the processor's time of a row:

- beside the judge: `--rows` rows by a judge that answers at once. What a way takes more than the file is the harness's.
- embedded judge: CASES, where only the rate matters.
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ragtriage import EmbeddedJudge, FakeJudge, open_cases, open_store
from ragtriage.adapters.harness import Harness
from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.judges.protocol import Judge
from ragtriage.metrics import THELMA
from ragtriage.runs.evaluation_config import EvaluationConfig

Rows = list[dict[str, Any]]


def as_a_file(judge: Judge, rows: Rows, _: int) -> None:
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    with open_store() as store:
        evaluate_file(open_cases("rows.jsonl"), judge, store, EvaluationConfig(THELMA, thresholds_with({})))


def all_at_once(judge: Judge, rows: Rows, _: int) -> None:
    harness = Harness("bench", None, {"judge": judge})
    harness.judge_rows(rows)
    harness.close()


def in_flight(judge: Judge, rows: Rows, at_once: int) -> None:
    harness = Harness("bench", None, {"judge": judge})
    with ThreadPoolExecutor(at_once) as threads:
        list(threads.map(harness.judged, rows))
    harness.close()


WAYS: dict[str, Callable[[Judge, Rows, int], None]] = {
    "as a file": as_a_file, "all at once": all_at_once, "in flight": in_flight,
}  # fmt: skip


def measured(way: str, judge: Judge, rows: Rows, at_once: int) -> tuple[float, float]:
    """Milliseconds a row, and of the processor's time."""
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        begun, worked = time.perf_counter(), time.process_time()
        WAYS[way](judge, rows, at_once)
        found = (time.perf_counter() - begun) / len(rows), (time.process_time() - worked) / len(rows)
        os.chdir("/")
    return 1e3 * found[0], 1e3 * found[1]


def made(count: int) -> Rows:
    sources = ["Parcels take two days.", "Members ship for free."]
    return [{"question": f"Parcel {i}?", "answer": f"It takes {i} days.", "contexts": sources} for i in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", type=Path)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--in-flight", type=int, default=32)
    given = parser.parse_args()
    cases = [json.loads(line) for line in given.cases.read_text(encoding="utf-8").splitlines()]
    rows = made(given.rows)
    for title, own, judge in (
        ("beside the judge", rows, lambda: FakeJudge.from_table(default="yes")),
        ("embedded judge", cases, EmbeddedJudge),
    ):
        found: dict[str, list[tuple[float, float]]] = {way: [] for way in WAYS}
        for way in WAYS:
            measured(way, judge(), own[:2], given.in_flight)  # what is loaded once
        for _ in range(given.repeat):
            for way, times in found.items():
                times.append(measured(way, judge(), own, given.in_flight))
        for way, times in found.items():
            took, worked = (statistics.median(one) for one in zip(*times, strict=True))
            print(f"{title}, {way}: {took:.2f} ms a row, {worked:.2f} ms of the processor's", flush=True)


if __name__ == "__main__":
    main()
