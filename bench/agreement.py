"""How far judges agree with people on labelled sets, as a table.

    python bench/agreement.py DATA OUT [--judge NAME …] [--only TASK_OR_SET …] [--model FOLDER --fold N]
    python bench/agreement.py DATA OUT --judge embedded embedded+reader:deberta-v3-base-mnli-fever-anli
    python bench/agreement.py DATA OUT --judge openai:m --base-url http://127.0.0.1:8000/v1

A judge is whatever `--judge` of the commands takes, a jury aside: the embedded one, with a hub model, a language model.

DATA/<task>/<set>.jsonl[.gz] holds the rows, as `ragtriage trust agreement` takes them, with a `label` of 0 or 1.
DATA/score.py scores predictions; without one a shorter table of the sets with labels is printed.
OUT/<fingerprint>/<task>/<set>.jsonl gets them; those that the same judge made already stay. Verdicts and
preferences go through the code behind that command; a triad scores the difference of its metric between the better
and the worse side.

`BAcc` is the balanced accuracy at the best threshold for the set, `as shipped` that of the verdicts, where unknown
counts as wrong. Beside stand word overlap (*floor*), length, and what others published (DATA/anchors.json).
"""

import argparse
import asyncio
import gzip
import hashlib
import json
import math
import subprocess
import sys
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage import Case, Score, Source, evaluate_sync
from ragtriage.core import questions as ask
from ragtriage.core.questions import KINDS
from ragtriage.core.statistics import auc
from ragtriage.evaluation.predict import TASKS
from ragtriage.judges.build import judge_named
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.judge_config import EMBEDDED
from ragtriage.judges.llm.options import LLMOptions
from ragtriage.judges.protocol import Judge
from ragtriage.trust.labelled_rows import predict_rows, read_labelled_rows
from ragtriage.trust.pair_files import SHORT

FOLDS = 3
CURVES = ("supported/ragtruth-qa-sentence",)
"""Sets whose share of unsupported claims is an application's own, or near it."""
CUTS = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def write(path: Path, scores: dict[str, float | None]) -> None:
    """One line a row."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"id": i, "score": s}) + "\n" for i, s in scores.items()), encoding="utf-8")


def count_questions(path: Path, out: Path, judge: Judge) -> None:
    """How many sub-questions each query asks."""

    async def counts(rows: list[dict[str, Any]]) -> dict[str, float | None]:
        asked = [ask.questions(row.get("text", row.get("query"))) for row in rows]
        return {rows[at]["id"]: float(len(found)) async for at, found in judge.ask(asked) if isinstance(found, tuple)}

    write(out, asyncio.run(counts(rows_of(path))))


def compare_sides(path: Path, out: Path, judge: Judge) -> None:
    """The metric of the better side less that of the worse; an undefined side gives no score."""
    rows = rows_of(path)

    def cases() -> Iterator[Case]:
        for row in rows:
            for side in ("better", "worse"):
                sources = tuple(Source(text) for text in row[side]["sources"])
                yield Case(f"{row['id']}/{side}", row["query"], sources, row[side]["response"])

    found = {record.case.id: record.outcomes for record in evaluate_sync(cases(), judge)}
    scores: dict[str, float | None] = {}
    for row in rows:
        better, worse = (found[f"{row['id']}/{side}"][SHORT[row["metric"]]] for side in ("better", "worse"))
        both = isinstance(better, Score) and isinstance(worse, Score)
        scores[row["id"]] = better.value - worse.value if both else None
    write(out, scores)


def prefer(path: Path, out: Path, judge: Judge) -> None:
    """Which of two answers the judge prefers, and by how much; an unfinished pair gives no score."""
    lines = predict_rows(read_labelled_rows(str(path), "preference"), judge)
    write(out, {line["id"]: line["score"] for line in lines})


def published(data: Path) -> dict[str, str]:
    """Set → what others published of it."""
    path = data / "anchors.json"
    known = json.loads(path.read_text(encoding="utf-8"))["anchors"] if path.exists() else {}
    return {
        name: "; ".join(f"{one['who']} {one['measure']} {one['value']}" for one in some) for name, some in known.items()
    }


def as_shipped(rows: list[dict[str, Any]], predictions: list[dict[str, Any]]) -> float:
    """Balanced accuracy of the verdicts themselves; unknown is wrong."""
    said = {row["id"]: row["verdict"] for row in predictions}
    hits: dict[int, list[bool]] = {0: [], 1: []}
    for row in rows:
        hits[row["label"]].append(said.get(row["id"]) == ("yes" if row["label"] else "no"))
    return sum(sum(some) / len(some) for some in hits.values()) / 2


def print_table(data: Path, out: Path, columns: Mapping[str, Path], rows: Path | None = None) -> None:
    """What DATA/score.py says of each judge, and the balanced accuracy of its verdicts, a line a set.

    `rows` are scored instead of all that DATA holds.
    """
    scored = rows or data
    found: dict[str, dict[str, Any]] = {}
    for judge, folder in columns.items():
        target = out / f"{folder.name}.json"
        given = [folder, scored, "--dev-predictions", folder, "--dev-data", scored, "--json", target]
        subprocess.run([sys.executable, data / "score.py", *given], check=True, stdout=subprocess.DEVNULL)
        found[judge] = json.loads(target.read_text(encoding="utf-8"))
    names = list(dict.fromkeys(name for some in found.values() for name in some))
    print("| set | rows | " + " | ".join([*columns, "floor", "length", "published"]) + " |")
    print("|---|---|" + "---|" * (len(columns) + 3))
    anchors = published(data)
    for name in names:
        some = {judge: scores[name] for judge, scores in found.items() if name in scores}
        first = next(iter(some.values()))
        cells = [
            cell(some[judge]["judge"], shipped(scored, columns[judge], name)) if judge in some else ""
            for judge in columns
        ]
        print(
            f"| {name.replace('#', ' · ')} | {first['n']:,} | "
            + " | ".join([*cells, cell(first["floor"], None), cell(first["length"], None), anchors.get(name, "")])
            + " |"
        )


def print_short_table(data: Path, columns: Mapping[str, Path]) -> None:
    """AUC of the scores and balanced accuracy of the verdicts, where rows have labels; no DATA/score.py is needed."""
    print("| set | rows | " + " | ".join(columns) + " |\n|---|---|" + "---|" * len(columns))
    for path in sorted(data.glob("*/*.jsonl*")):
        stem = f"{path.parent.name}/{path.name.split('.jsonl')[0]}"
        rows = rows_of(path)
        if not rows or not all(row.get("label") in (0, 1) for row in rows):
            continue
        cells = []
        for folder in columns.values():
            found = folder / f"{stem}.jsonl"
            cells.append(short_cell(rows, rows_of(found)) if found.exists() else "")
        print(f"| {stem} | {len(rows):,} | " + " | ".join(cells) + " |")


def short_cell(rows: list[dict[str, Any]], predictions: list[dict[str, Any]]) -> str:
    """What one judge reaches on one set; rows that it failed on are counted."""
    label = {row["id"]: row["label"] for row in rows}
    known = [row for row in predictions if row["score"] is not None and row["id"] in label]
    scores, truth = np.array([row["score"] for row in known]), np.array([label[row["id"]] for row in known])
    both = len(set(truth)) == 2
    told = f"AUC {auc(truth, scores)(np.ones(len(truth))):.2f}, BAcc as shipped {as_shipped(rows, predictions):.2f}"
    failed = f", {len(rows) - len(known)} without a score" if len(known) < len(rows) else ""
    return (told if both else "labels of one kind alone") + failed


def print_curve(data: Path, columns: Mapping[str, Path]) -> None:
    """How many of the claims that a judge calls unsupported are, and how many of those it finds, by its score."""
    for name in CURVES:
        path = next(data.glob(f"{name}.jsonl*"), None)
        if path is None or not all((folder / f"{name}.jsonl").exists() for folder in columns.values()):
            continue
        label = {row["id"]: row["label"] for row in rows_of(path)}
        share = 1 - sum(label.values()) / len(label)
        print(f"\n{name}, {share:.2f} unsupported: precision and share found of those with at most this score\n")
        print("| judge | " + " | ".join(f"{cut:g}" for cut in CUTS) + " |\n|---|" + "---|" * len(CUTS))
        for judge, folder in columns.items():
            score = {row["id"]: row["score"] for row in rows_of(folder / f"{name}.jsonl")}
            cells = []
            for cut in CUTS:
                called = [label[i] for i, s in score.items() if s is not None and s <= cut]
                wrong = called.count(0)
                cells.append(f"{wrong / len(called):.2f}, {wrong / (share * len(label)):.2f}" if called else "none")
            print(f"| {judge} | " + " | ".join(cells) + " |")


def cell(scores: Mapping[str, Any], verdicts: float | None) -> str:
    """AUC and balanced accuracy, or what a set has instead."""
    main = [name for name in ("AUC", "BAcc", "accuracy", "Spearman", "agreement", "accepted") if name in scores]
    parts = []
    for name in main:
        value, low, high = scores[name]
        interval = f" [{low:.2f}, {high:.2f}]" if name != "BAcc" and math.isfinite(low) else ""
        parts.append(f"{name} {value:.2f}{interval}")
    return ", ".join(parts) + ("" if verdicts is None else f", as shipped {verdicts:.2f}")


def shipped(data: Path, folder: Path, name: str) -> float | None:
    """See `as_shipped`; None for sets without labels of 0 and 1."""
    whole, _, part = name.partition("#")
    path = next(data.glob(f"{whole}.jsonl*"))
    rows = [row for row in rows_of(path) if not part or row.get("part") == part]
    if not rows or not all(row.get("label") in (0, 1) for row in rows):
        return None
    return as_shipped(rows, rows_of(folder / f"{whole}.jsonl"))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--only", nargs="*", help="these tasks, or sets (supported/wice)")
    parser.add_argument("--judge", nargs="+", default=["embedded"])
    parser.add_argument("--base-url", help="address of an OpenAI-compatible server, for judges openai:NAME")
    parser.add_argument("--any-language", action="store_true", help="also judge rows in other languages")
    parser.add_argument("--model", type=Path, help="a folder with another reader of the embedded judge")
    parser.add_argument("--fold", type=int, help="only rows of this fold, which that reader wasn't trained on")
    args = parser.parse_args()
    options = LLMOptions(base_url=args.base_url)
    judges = {name: judge_named(name, any_language=args.any_language, options=options) for name in args.judge}
    if args.model:
        judges = {"embedded": EmbeddedJudge(model=args.model)}
    columns = {name: args.out / column_of(name, judge) for name, judge in judges.items()}
    data = args.data if args.fold is None else rows_of_fold(args.data, args.out / f"fold-{args.fold}", args.fold)
    for name, folder in columns.items():
        predict_all(data, folder, judges[name], args.only)
    if (args.data / "score.py").exists():
        print_table(args.data, args.out, columns, None if args.fold is None else data)
    else:
        print_short_table(data, columns)
    print_curve(data, columns)


def column_of(name: str, judge: Judge) -> str:
    """The folder of a judge's predictions: by its answers to all kinds, since readers answer some of them."""
    if name == EMBEDDED:
        return judge.fingerprint("supported")
    return hashlib.sha256("".join(map(judge.fingerprint, KINDS)).encode()).hexdigest()[:16]


def rows_of_fold(data: Path, out: Path, fold: int) -> Path:
    """The rows of one fold of all sets, as `training/splits.py` divides them, in files of their own."""
    for path in sorted(data.glob("*/*.jsonl*")):
        rows = [r for r in rows_of(path) if zlib.crc32(str(r.get("group", r["id"])).encode()) % FOLDS == fold]
        target = out / path.parent.name / f"{path.name.split('.jsonl')[0]}.jsonl"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return out


def predict_all(data: Path, folder: Path, judge: Judge, only: list[str] | None) -> None:
    """Predictions for every set; those that are there stay."""
    verdicts = {task.replace("-", "_"): task for task in TASKS}
    for path in sorted(data.glob("*/*.jsonl*")):
        task, stem = path.parent.name, path.name.split(".jsonl")[0]
        out = folder / task / f"{stem}.jsonl"
        if out.exists() or (only and task not in only and f"{task}/{stem}" not in only):
            continue
        started = time.perf_counter()
        if task in verdicts:
            lines = predict_rows(read_labelled_rows(str(path), verdicts[task]), judge)
            out.parent.mkdir(parents=True, exist_ok=True)
            out.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        elif task == "questions":
            count_questions(path, out, judge)
        elif task == "triads":
            compare_sides(path, out, judge)
        elif task == "preference":
            prefer(path, out, judge)
        else:
            continue
        print(f"{task}/{stem}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
