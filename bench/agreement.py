"""The embedded judge's predictions on labelled sets, one file a set, by the path that an evaluation takes.

    python bench/agreement.py DATA OUT [--only TASK …]

DATA/<task>/<set>.jsonl[.gz] holds the rows, OUT/<task>/<set>.jsonl gets {id, score}. Verdicts go through the code
behind `ragtriage judge ask`, numbers of sub-questions through `judge split`; a triad scores the difference of its
metric between the better and the worse side. Preferences need metrics that aren't there yet and are left out.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ragtriage import Case, EmbeddedJudge, Score, Source, evaluate_sync
from ragtriage.judges.rows import TASKS
from ragtriage.judging import ask_rows, split_rows

METRICS = {
    "SP1": "source_precision",
    "SP2": "fact_precision",
    "SQC": "source_query_coverage",
    "RP": "response_precision",
    "RQC": "response_query_coverage",
    "SD": "self_distinctness",
    "GR": "groundedness",
}


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def write(path: Path, scores: dict[str, float | None]) -> None:
    """One line a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": i, "score": s}) + "\n" for i, s in scores.items()), encoding="utf-8")


def count_questions(path: Path, out: Path) -> None:
    """How many sub-questions each query asks."""
    parts = out.with_suffix(".parts")
    split_rows("questions", path, parts, "embedded")
    write(out, {row["id"]: float(len(row["components"])) for row in rows_of(parts)})
    parts.unlink()


def compare_sides(path: Path, out: Path) -> None:
    """The metric of the better side less that of the worse; an undefined side gives no score."""
    rows = rows_of(path)

    def cases() -> Iterator[Case]:
        for row in rows:
            for side in ("better", "worse"):
                sources = tuple(Source(text) for text in row[side]["sources"])
                yield Case(f"{row['id']}/{side}", row["query"], sources, row[side]["response"])

    found = {record.case.id: record.outcomes for record in evaluate_sync(cases(), EmbeddedJudge())}
    scores: dict[str, float | None] = {}
    for row in rows:
        better, worse = (found[f"{row['id']}/{side}"][METRICS[row["metric"]]] for side in ("better", "worse"))
        both = isinstance(better, Score) and isinstance(worse, Score)
        scores[row["id"]] = better.value - worse.value if both else None
    write(out, scores)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", help="these tasks")
    args = parser.parse_args()
    verdicts = {task.replace("-", "_"): task for task in TASKS}
    for path in sorted(args.data.glob("*/*.jsonl*")):
        task, out = path.parent.name, args.out / path.parent.name / f"{path.name.split('.jsonl')[0]}.jsonl"
        started = time.perf_counter()
        if args.only and task not in args.only:
            continue
        if task in verdicts:
            ask_rows(verdicts[task], path, out, "embedded")
        elif task == "questions":
            count_questions(path, out)
        elif task == "triads":
            compare_sides(path, out)
        else:
            continue
        print(f"{task}/{out.stem}: {time.perf_counter() - started:.0f} s", flush=True)


if __name__ == "__main__":
    main()
