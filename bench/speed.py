"""How fast the embedded judge evaluates, and in how much memory.

    python bench/speed.py TRIPLES.jsonl [--cases 500 5000] [--repeat 3]

TRIPLES holds cases (query, contexts, response). They are varied into as many as are asked for, so that no two texts are
the same and no cache is measured: in every copy each word of five letters and more is changed by a permutation of the
copy's own, which keeps length, punctuation and the words' frequencies. Each measurement runs in a process of its own,
through the same path as `ragtriage evaluate`, all seven scores, with a store on disk. Medians of the repeats.
"""

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from ragtriage.diagnosis.rules import thresholds_with
from ragtriage.execution.evaluate_file import evaluate_file
from ragtriage.judges.build import judge_named
from ragtriage.metrics import THELMA
from ragtriage.readers import open_cases
from ragtriage.runs.evaluation_config import EvaluationConfig
from ragtriage.store import open_store

WORD = re.compile(r"[A-Za-z]{5,}")


def varied(rows: list[dict[str, object]], count: int) -> Iterator[dict[str, object]]:
    """`count` cases, no two with the same sentence: words are swapped for other words of the same rows."""
    words = sorted({w for row in rows for w in WORD.findall(json.dumps(row))})
    for i in range(count):
        row = rows[i % len(rows)]
        if i < len(rows):
            mapping: dict[str, str] = {}
        else:
            other = words[:]
            random.Random(i).shuffle(other)
            mapping = dict(zip(words, other, strict=True))

        def change(text: str, mapping: dict[str, str] = mapping, i: int = i) -> str:
            # a third of the long words changes: the rest keeps question, sources and answer about the same things
            return WORD.sub(lambda m: mapping.get(m[0], m[0]) if hash((m[0], i)) % 3 == 0 else m[0], text)

        yield {
            "id": f"c{i}",
            "query": change(str(row["query"])),
            "contexts": [change(text) for text in row["contexts"]],  # type: ignore[attr-defined]
            "response": change(str(row["response"])),
        }


def measure(path: str, judge: str) -> None:
    """Evaluate one file and print seconds and peak memory as JSON; runs in a process of its own."""
    config = EvaluationConfig(THELMA, thresholds_with({}))
    with tempfile.TemporaryDirectory() as folder, open_store(folder) as store:
        started = time.perf_counter()
        summary = evaluate_file(open_cases(path), judge_named(judge), store, config).first.tally.summary()
        seconds = time.perf_counter() - started
        size = sum(entry.stat().st_size for entry in Path(folder).iterdir())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"cases": summary.cases, "failed": summary.failed, "seconds": seconds}
    print(json.dumps({**found, "peak_mb": peak, "store_mb": size / 2**20}))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("triples", type=Path)
    parser.add_argument("--cases", type=int, nargs="+", default=[500])
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(str(args.triples), args.judge)
        return
    rows = [json.loads(line) for line in args.triples.read_text(encoding="utf-8").splitlines()]
    print(f"{os.cpu_count()} cores\n")
    print("| cases | cases a second | seconds | peak MB | store MB | failed |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for count in args.cases:
            path = Path(folder) / f"{count}.jsonl"
            with path.open("w", encoding="utf-8") as out:
                out.writelines(json.dumps(row) + "\n" for row in varied(rows, count))
            command = [sys.executable, __file__, str(path), "--measure", "--judge", args.judge]
            environment = {**os.environ, "PYTHONHASHSEED": "0"}
            runs = [
                json.loads(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)
                for _ in range(args.repeat)
            ]
            middle = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
            print(
                f"| {count} | {count / middle['seconds']:.1f} | {middle['seconds']:.1f} | {middle['peak_mb']:.0f} "
                f"| {middle['store_mb']:.1f} | {middle['failed']:.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
