"""What rows that join one evaluation cost beside the judge, and how much of one batch's rate is left of them.

    python bench/harness.py CASES.jsonl [--rows 1000] [--repeat 3] [--in-flight 32]

Two measurements, each side by side in one run and repeated; medians are told.

- beside the judge: `--rows` rows by a judge that answers at once, `--in-flight` at a time, with a store on disk: the
  time a row takes through the harness, and as one batch through the loop that every command runs.
- rate: CASES by the embedded judge with nothing remembered, `--in-flight` at a time from threads, and as one batch.
"""

from __future__ import annotations

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

from ragtriage import FakeJudge
from ragtriage.adapters.harness import Harness

Rows = list[dict[str, Any]]


def one_by_one(harness: Harness, rows: Rows, in_flight: int) -> None:
    with ThreadPoolExecutor(in_flight) as threads:
        list(threads.map(harness.judged, rows))


def as_one_batch(harness: Harness, rows: Rows, _: int) -> None:
    harness.judge_rows(rows)


WAYS: dict[str, Callable[[Harness, Rows, int], None]] = {"in flight": one_by_one, "one batch": as_one_batch}


def seconds(way: str, rows: Rows, judge: Any, in_flight: int, *, kept: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        harness = Harness("bench", None, {"judge": judge, **({} if kept else {"store": None})})
        WAYS[way](harness, rows[:2], in_flight)  # the judge loads its model
        begun = time.perf_counter()
        WAYS[way](harness, rows[2:], in_flight)
        took = time.perf_counter() - begun
        harness.close()
        os.chdir("/")
    return took


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
    for title, rows, judge, kept in (
        ("beside the judge", made(given.rows + 2), None, True),
        ("embedded judge", cases, "embedded", False),
    ):
        found: dict[str, list[float]] = {way: [] for way in WAYS}
        for _ in range(given.repeat):
            for way, times in found.items():
                who = judge or FakeJudge.from_table(default="yes")
                times.append(1e3 * seconds(way, rows, who, given.in_flight, kept=kept) / (len(rows) - 2))
        each = {way: statistics.median(times) for way, times in found.items()}
        told = ", ".join(f"{way} {ms:.2f} ms a row" for way, ms in each.items())
        print(f"{title}: {told}; {each['one batch'] / each['in flight']:.0%} of one batch's rate", flush=True)


if __name__ == "__main__":
    main()
