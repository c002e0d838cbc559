"""What a run of `train.py` knows of readings that it wasn't trained on: AUC, and how often a claim is above its twin.

    python training/measure.py WORK RUN [RUN …]
"""

from __future__ import annotations

import argparse
import pickle
from collections import defaultdict
from pathlib import Path

import numpy as np
from arrays import HEADS, Packed
from pairs import Pair

LEAST = 20
"""Rows of each label below which no figure is given."""


def auc(y: np.ndarray, p: np.ndarray) -> float:
    """Area under the ROC curve, ties half."""
    _, where, count = np.unique(p, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[where]
    yes = int(y.sum())
    return float((rank[y == 1].sum() - yes * (yes + 1) / 2) / (yes * (len(y) - yes)))


def report(packed: Packed, pairs: list[Pair], logits: np.ndarray, run: dict[str, object]) -> None:
    """Figures by split, head and kind."""
    reading = np.repeat(np.arange(len(pairs)), np.diff(packed.first_target))
    whole = np.array([len(pairs[r].second) for r in reading])
    groups: dict[tuple[str, str, str], list[int]] = defaultdict(list)
    twins: dict[tuple[str, str], dict[int, dict[int, list[float]]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    at = 0
    for number, pair in enumerate(pairs):
        for which, target in enumerate(pair.targets):
            if at >= packed.first_target[number + 1]:
                break
            head, start, end, label, _ = target
            if pair.split and label in (0, 1):
                part = "" if (start, end) == (0, len(pair.second)) else " (a sentence in its text)"
                split = pair.split if not pair.origin.startswith("agreement") else f"{pair.split} {pair.origin}"
                groups[split, head, "all"].append(at)
                groups[split, head, (pair.kind or "") + part].append(at)
                if pair.twin >= 0:
                    for kind in ("all", pair.kind):
                        twins[split, kind][pair.twin][int(label)].append(float(logits[at]))
            at += 1
    del whole
    for (split, head, kind), rows in sorted(groups.items()):
        y, p = packed.label[rows], logits[rows]
        if split.startswith("fold") and split.split()[1] != str(run.get("fold")):
            continue
        if min((y == 1).sum(), (y == 0).sum()) >= LEAST:
            print(f"{split:8s} {head:10s} {kind:36s} {len(y):6d} rows, {y.mean():.2f} yes: AUC {auc(y, p):.3f}")
    for (split, kind), found in sorted(twins.items()):
        pairs_of = [(h, l) for both in found.values() for h in both.get(1, []) for l in both.get(0, [])]
        if len(pairs_of) >= LEAST:
            print(f"{split:8s} twins      {kind:36s} {len(pairs_of):6d} pairs: {np.mean([(h > l) + (h == l) / 2 for h, l in pairs_of]):.3f} in order")


def main() -> None:
    """Command line."""
    import json

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("runs", nargs="+")
    args = parser.parse_args()
    packed = Packed.load(args.work / "packed.npz")
    pairs = pickle.loads((args.work / "readings.pkl").read_bytes())
    for name in args.runs:
        folder = args.work / "runs" / name
        print(f"\n{name}")
        report(packed, pairs, np.load(folder / "logits.npy").astype(np.float32), json.loads((folder / "run.json").read_text()))


if __name__ == "__main__":
    main()
