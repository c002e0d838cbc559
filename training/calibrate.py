"""Shifts the chances until the expected scores of whole cases are right, in the coefficients and in `scores.pkl`.

    PYTHONPATH=bench python training/calibrate.py WORK TRAIN RUN

`fuse.py` fits what single questions say. An evaluation asks about claims and sub-questions that it finds itself, and
takes the best of several sources, so each task's log odds are moved until the mean score over natural cases that the
reader wasn't trained on (`splits.FUSION`) is that of the labels. Questions of search logs (`search.jsonl`) are left
out: their answers have few labels, and of their passages one in two has no answer at all. Then prints, for every
domain, by how much more it would have to be moved: what a text unlike these may differ by. First the judge without the
larger reader is shifted, then what that says: where it doesn't read all, the mean may need a second run.
"""

import argparse
import json
import pickle
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from splits import split_of

from diagnosis import case_of, truth_of
from ragtriage import Score, evaluate_sync, needs_of
from ragtriage.core.case import Record
from ragtriage.core.verdicts import Outcome, chance_of
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.scorer import DOUBTED
from ragtriage.judges.embedded.versions import LARGER
from ragtriage.metrics import metrics_named

TASKS = {
    "groundedness": "supported",
    "source_query_coverage": "answered",
    "response_query_coverage": "answered_response",
    "response_precision": "essential_claim",
    "source_precision": "essential",
    "fact_precision": "essential_fact",
}
"""Score → the task whose fusion decides its verdicts, without the larger reader."""
BY_LARGER = {name: task + LARGER for name, task in TASKS.items() if task in DOUBTED}
"""The same of questions that the larger reader reads, too."""
LEFT_OUT = ("search", "answers")
LEAST = 20
"""Cases of a domain below which it isn't looked at alone."""
FARTHEST = 6.0
"""Log odds up to here are moved; what is surer is sure for another reason."""
Case = tuple[str, float, np.ndarray]
"""A case's domain, its true score, and the log odds of what its score counts."""


def truth(row: dict[str, Any]) -> dict[str, Outcome]:
    """The scores that the labels amount to; nothing where they are ambiguous."""
    scores = truth_of(row)
    if scores is None:
        return {}
    facts = sum(map(len, row["passages"]))
    return scores | {"fact_precision": Score(len(row["essential"]) / facts, facts)}


def odds_of(record: Record, name: str) -> np.ndarray:
    """The log odds of the verdicts that a score counts."""
    outcome = record.outcomes[name]
    chances = [chance_of(part.cell) for part in outcome.parts] if isinstance(outcome, Score) else []
    p = np.clip([chance for chance in chances if chance is not None], 1e-4, 1 - 1e-4)
    return np.asarray(np.log(p / (1 - p)))


def shift_of(cases: Sequence[Case]) -> tuple[float, float]:
    """What makes the mean expected score the true one, and its standard error."""
    low, high = -FARTHEST, FARTHEST
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if bias_of(cases, middle).mean() < 0 else (low, middle)
    slope = (bias_of(cases, low + 0.05).mean() - bias_of(cases, low - 0.05).mean()) / 0.1
    return low, float(bias_of(cases, low).std() / np.sqrt(len(cases)) / max(slope, 1e-6))


def moved(p: np.ndarray, shift: float) -> np.ndarray:
    """Probabilities with their log odds moved."""
    odds = p / (1 - p) * np.exp(shift)
    return np.asarray(odds / (1 + odds))


def bias_of(cases: Sequence[Case], shift: float) -> np.ndarray:
    """By how much each case's expected score is above the true one."""
    return np.array([(1 / (1 + np.exp(-odds - shift))).mean() - true for _, true, odds in cases])


def shifted(folder: Path, rows: Mapping[str, dict[str, Any]], splits: Mapping[str, str], *, fast: bool) -> None:
    """Shift the tasks of a judge in its files, and print by how much."""
    tasks = TASKS if fast else BY_LARGER
    judge = EmbeddedJudge(fast=fast, model=folder)
    found: dict[tuple[str, str], list[Case]] = defaultdict(list)
    truths = {i: truth(row) for i, row in rows.items()}
    cases = [case_of(row) for i, row in rows.items() if truths[i]]
    for record in evaluate_sync(cases, judge, metrics=metrics_named([*tasks]), also=needs_of(RULES)):
        i = record.case.id
        for name in tasks:
            true, odds = truths[i][name], odds_of(record, name)
            if isinstance(true, Score) and len(odds):
                found[name, splits[i]].append((rows[i]["domain"], true.value, odds))
    judge.close()
    out = folder / "coefficients.json"
    written = json.loads(out.read_text(encoding="utf-8"))
    scores = pickle.loads((folder / "scores.pkl").read_bytes())
    for name, task in tasks.items():
        shift, error = shift_of(found[name, "fusion"])
        written["fusion"][task]["bias"] = round(written["fusion"][task]["bias"] + shift, 4)
        own = scores[task.removesuffix(LARGER)]  # those of the judge with both readers
        some = own["larger"] if not fast else ~own["larger"]
        own["p"][some] = moved(own["p"][some], shift)
        print(f"{name}: {len(found[name, 'fusion'])} cases, {task} moved by {shift:+.2f} ± {error:.2f}")
        every = found[name, "fusion"] + found[name, "held"]
        for domain in sorted({domain for domain, *_ in every}):
            own = [(one, true, odds + shift) for one, true, odds in every if one == domain]
            if len(own) >= LEAST:
                print(f"  {domain}: {len(own)} cases, {'{:+.2f} ± {:.2f}'.format(*shift_of(own))} more")
    out.write_text(json.dumps(written) + "\n", encoding="utf-8")
    (folder / "scores.pkl").write_bytes(pickle.dumps(scores))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("train", type=Path)
    parser.add_argument("run")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows: dict[str, dict[str, Any]] = {}
    splits: dict[str, str] = {}
    for path in sorted((args.train / "natural").glob("*.jsonl")):
        if path.stem not in LEFT_OUT:
            with path.open(encoding="utf-8") as lines:
                for row in map(json.loads, lines):
                    if split := split_of(path.stem, row["id"], row["domain"]):
                        rows[row["id"]], splits[row["id"]] = row, split
    for fast in (True, False):
        shifted(args.work / "runs" / args.run, rows, splits, fast=fast)


if __name__ == "__main__":
    main()
