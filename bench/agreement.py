"""Runs the embedded judge over labelled rows and writes one prediction a row.

    python bench/agreement.py DATA OUT [--only TASK] [--sets NAME ...]

DATA/<task>/<set>.jsonl[.gz] holds the rows, OUT/<task>/<set>.jsonl gets {id, verdict, confidence, score}. The judge
sees the question's fields only, by the same path as in an evaluation.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import time
from pathlib import Path
from typing import Any

from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.rows import TASKS, Task, predict

_AT_ONCE = 500


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", help="one task")
    parser.add_argument("--sets", nargs="*", help="these sets only")
    args = parser.parse_args()
    tasks: dict[str, Task] = {task.replace("-", "_"): task for task in TASKS}
    judge = EmbeddedJudge()
    for path in sorted(args.data.glob("*/*.jsonl*")):
        folder, name = path.parent.name, path.name.split(".jsonl")[0]
        if folder not in tasks or (args.only and folder != args.only) or (args.sets and name not in args.sets):
            continue
        began = time.monotonic()
        rows = rows_of(path)
        found: list[dict[str, Any]] = []
        for start in range(0, len(rows), _AT_ONCE):
            found += asyncio.run(predict(judge, tasks[folder], rows[start : start + _AT_ONCE]))
        target = args.out / folder / f"{name}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(json.dumps(one) + "\n" for one in found), encoding="utf-8")
        print(f"{folder}/{name}: {len(rows)} rows in {time.monotonic() - began:.0f} s", flush=True)
    judge.close()


if __name__ == "__main__":
    main()
