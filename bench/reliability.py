"""Whether the chances of the embedded judge's verdicts are right, as a diagram.

    python bench/reliability.py SCORES OUT.svg

SCORES is the file WORK/runs/RUN/scores.pkl that `training/fuse.py` writes: every chance is out of fold, five folds over
whole cases, and not yet moved by `training/calibrate.py`, which hardly moves `supported` and moves `answered` most.
Left: of the questions with such a chance, how many have the label yes; where the chances are right, the points lie on
the diagonal. Right: how many of the unsupported claims are found, and how many of the claims called so really are, at
every cut, where one claim in ten is unsupported; the two cuts of the bands are marked.
"""

import argparse
import pickle
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from drawing import BLUE, FRAME, RED, Panel, picture, text

from ragtriage.core.verdicts import CHECK, NOT_SUPPORTED

UNSUPPORTED = 0.1
"""The share of unsupported claims at which precision is told."""
LEAST = 20
"""A bin with fewer questions isn't drawn."""
ONLY_TAUGHT = ("short", "reordered")
"""Kinds of rows that were made to fit on, and aren't what applications have."""
COLOURS = {
    "supported": BLUE,
    "answered": "#bf5700",
    "answered_response": "#9a6700",
    "essential": "#2da44e",
    "essential_claim": "#8250df",
    "essential_fact": "#bf3989",
}
NAMES = {
    "answered": "answered, by a source",
    "answered_response": "answered, by the response",
    "essential": "essential, a source",
    "essential_claim": "essential, a claim",
    "essential_fact": "essential, a fact",
}
CUTS = {f"check, below {CHECK:g}": CHECK, f"not supported, up to {NOT_SUPPORTED:g}": NOT_SUPPORTED}
SIZE, LEFT, TOP, GAP = 260, 44, 50, 70
TICKS = (0, 0.25, 0.5, 0.75, 1)
Floats = npt.NDArray[np.float64]


def reliability(y: Floats, p: Floats) -> list[tuple[float, float, int]]:
    """(mean chance, share of yes, questions) of each tenth that holds enough."""
    tenths = np.minimum((p * 10).astype(int), 9)
    bins = [tenths == tenth for tenth in range(10)]
    return [(float(p[some].mean()), float(y[some].mean()), int(some.sum())) for some in bins if some.sum() >= LEAST]


def precision(y: Floats, p: Floats, cut: float) -> tuple[float, float, float]:
    """Share of the unsupported that is found up to a cut, share of those that is right, share of the supported."""
    found, wrong = float((p[y == 0] <= cut).mean()), float((p[y == 1] <= cut).mean())
    right = found * UNSUPPORTED
    return found, right / max(1e-9, right + wrong * (1 - UNSUPPORTED)), wrong


def left(panel: Panel, scores: dict[str, dict[str, Floats]]) -> Iterator[str]:
    """Chance against share of yes."""
    yield from panel.axes("Do the chances come true?", "mean chance", "share with the label yes")
    yield panel.line([(0, 0), (1, 1)], FRAME)
    for number, (task, colour) in enumerate(COLOURS.items()):
        points = reliability(scores[task]["label"], scores[task]["p"])
        print(f"{task}: " + "; ".join(f"{c:.2f} → {r:.2f} ({n})" for c, r, n in points))
        yield panel.line([(c, r) for c, r, _ in points], colour, 1.5)
        yield from (panel.dot(c, r, colour, 2.5) for c, r, _ in points)
        x, y = panel.place(0.98, 0.32)
        yield text(x, y + 15 * number, NAMES.get(task, task), colour, "end")


def right(panel: Panel, y: Floats, p: Floats) -> Iterator[str]:
    """Precision against recall of calling a claim unsupported."""
    up = "share of the claims called so that are"
    yield from panel.axes("Calling a claim unsupported", "share of the unsupported claims that is found", up)
    curve = [precision(y, p, cut) for cut in np.quantile(p[y == 0], np.linspace(0.02, 1, 80))]
    yield panel.line([(found, right) for found, right, _ in curve], BLUE)
    for name, cut in CUTS.items():
        found, right, wrong = precision(y, p, cut)
        print(f"up to {cut}: finds {found:.3f}, right {right:.3f}, of the supported {wrong:.3f}")
        x, at = panel.place(found, right)
        yield panel.dot(found, right, RED, 4)
        beside = (x + 9, at - 5, name, RED) if found < 0.5 else (x - 9, at + 14, name, RED, "end")
        yield text(*beside)


def drawn(scores: dict[str, dict[str, Floats]]) -> str:
    """The picture."""
    panels = [Panel(LEFT + number * (SIZE + GAP), TOP, SIZE, TICKS) for number in (0, 1)]
    supported = scores["supported"]
    parts = [*left(panels[0], scores), *right(panels[1], supported["label"], supported["p"])]
    return picture(LEFT + 2 * SIZE + GAP + 30, TOP + SIZE + 46, parts)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    scores = pickle.loads(args.scores.read_bytes())
    kept = {task: ~np.isin(some["kind"], ONLY_TAUGHT) for task, some in scores.items()}
    scores = {task: {name: some[name][kept[task]] for name in ("label", "p")} for task, some in scores.items()}
    args.out.write_text(drawn(scores), encoding="utf-8")


if __name__ == "__main__":
    main()
