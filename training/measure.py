"""What a run of `train.py` knows of readings that it wasn't trained on: AUC, and how often a claim is above its twin.

python training/measure.py WORK RUN [RUN …]
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from arrays import Packed

if TYPE_CHECKING:
    from pairs import Pair

LEAST = 20
"""Rows of each label below which no figure is given."""


def auc(y: np.ndarray, p: np.ndarray) -> float:
    """Area under the ROC curve, ties half."""
    _, where, count = np.unique(p, return_inverse=True, return_counts=True)
    rank = (np.cumsum(count) - (count - 1) / 2)[where]
    yes = int(y.sum())
    return float((rank[y == 1].sum() - yes * (yes + 1) / 2) / (yes * (len(y) - yes)))


Groups = dict[tuple[str, str, str], list[int]]
Twins = dict[tuple[str, str], dict[int, tuple[list[float], list[float]]]]
"""Split and kind → number of the twins → the logits of the altered ones, and of the others."""


def grouped(packed: Packed, pairs: Sequence[Pair], logits: np.ndarray) -> tuple[Groups, Twins]:
    """Targets by split, head and kind, and the logits of twins."""
    groups: Groups = defaultdict(list)
    twins: Twins = defaultdict(lambda: defaultdict(lambda: ([], [])))
    for number, pair in enumerate(pairs):
        first, last = packed.first_target[number : number + 2]
        split = f"{pair.split} {pair.origin}" if pair.origin.startswith("agreement") else pair.split
        # the last targets of a text that was cut off aren't there
        for at, (head, start, end, label, _) in zip(range(first, last), pair.targets, strict=False):
            if not pair.split or label not in (0, 1):
                continue
            part = "" if (start, end) == (0, len(pair.second)) else " (a sentence in its text)"
            groups[split, head, "all"].append(at)
            groups[split, head, pair.kind + part].append(at)
            if pair.twin >= 0:
                for kind in ("all", pair.kind):
                    twins[split, kind][pair.twin][int(label)].append(float(logits[at]))
    return groups, twins


def report(packed: Packed, pairs: Sequence[Pair], logits: np.ndarray, run: Mapping[str, object]) -> None:
    """Figures by split, head and kind."""
    groups, twins = grouped(packed, pairs, logits)
    for (split, head, kind), rows in sorted(groups.items()):
        y, p = packed.label[rows], logits[rows]
        if split.startswith("fold") and split.split()[1] != str(run.get("fold")):
            continue
        if min((y == 1).sum(), (y == 0).sum()) >= LEAST:
            print(f"{split:8s} {head:10s} {kind:36s} {len(y):6d} rows, {y.mean():.2f} yes: AUC {auc(y, p):.3f}")
    for (split, kind), found in sorted(twins.items()):
        order = [(high > low) + (high == low) / 2 for no, yes in found.values() for high in yes for low in no]
        if len(order) >= LEAST:
            print(f"{split:8s} twins      {kind:36s} {len(order):6d} pairs: {np.mean(order):.3f} in order")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", type=Path)
    parser.add_argument("runs", nargs="+")
    args = parser.parse_args()
    packed = Packed.load(args.work / "packed.npz")
    pairs = pickle.loads((args.work / "readings.pkl").read_bytes())
    for name in args.runs:
        folder = args.work / "runs" / name
        print(f"\n{name}")
        logits = np.load(folder / "logits.npy").astype(np.float32)
        report(packed, pairs, logits, json.loads((folder / "run.json").read_text()))


if __name__ == "__main__":
    main()
