"""Whether the embedded judge's confidence means what it says, as a diagram.

    python bench/reliability.py SCORES OUT.svg

SCORES is the file WORK/runs/RUN/scores.pkl that `training/fuse.py` writes: every score is out of fold, five folds over
whole cases. Left: of the verdicts with such a confidence, how many were right; a judge whose confidence is true lies on
the diagonal; unknown is wrong. Right: how many of the unsupported claims are found, and how many of the claims called
so really are, at every cut, where one claim in ten is unsupported; the cuts of no and of red are marked.
"""

from __future__ import annotations

import argparse
import json
import pickle
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np

from ragtriage.judges.embedded.encoder import MODEL

UNSUPPORTED = 0.1
BINS = np.array([0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 1.0])
COLOURS = {"supported": "#1f6feb", "answered": "#bf5700", "essential": "#2da44e", "essential_part": "#8250df"}
CUTS = json.loads((MODEL / "coefficients.json").read_text(encoding="utf-8"))["thresholds"]
MARKS = {"no": CUTS["unsure"], "red": CUTS["sure"]}
SIZE, LEFT, TOP = 240, 50, 30


def weighted(task: str, y: np.ndarray) -> np.ndarray:
    """For `supported`, weights by which one claim in ten is unsupported."""
    share = UNSUPPORTED / (1 - y.mean())
    return np.where(y == 1, (1 - UNSUPPORTED) / y.mean(), share) if task == "supported" else np.ones(len(y))


def reliability(task: str, y: np.ndarray, p: np.ndarray, yes: np.ndarray) -> list[tuple[float, float, int]]:
    """(mean confidence, share that is right, verdicts) of each bin that holds at least 20."""
    unknown = (p > MARKS["no"]) & ~yes & (task == "supported")
    confidence, right, weight = np.where(yes, p, 1 - p), (yes == (y == 1)) & ~unknown, weighted(task, y)
    found = []
    for low, high in pairwise(BINS):
        some = (confidence >= low) & ((confidence < high) | (high == 1.0))
        if some.sum() >= 20:
            mean = np.average(confidence[some], weights=weight[some])
            found.append((float(mean), float(np.average(right[some], weights=weight[some])), int(some.sum())))
    return found


def precisions(y: np.ndarray, p: np.ndarray) -> list[tuple[float, float, float]]:
    """(cut, share found, share right) of calling unsupported what has at most this probability."""
    weight = weighted("supported", y)
    found = []
    for cut in np.arange(0.02, 0.62, 0.02):
        called = p <= cut
        wrong = weight[called & (y == 0)].sum()
        if called.sum() >= 10:
            found.append((float(cut), float(wrong / weight[y == 0].sum()), float(wrong / weight[called].sum())))
    return found


def place(x: float, y: float, panel: int) -> tuple[float, float]:
    """Shares of 0 to 1 as points of the picture."""
    return LEFT + panel * (SIZE + 90) + x * SIZE, TOP + (1 - y) * SIZE


def line(points: list[tuple[float, float]], colour: str) -> str:
    """Points joined by a line."""
    joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{joined}" fill="none" stroke="{colour}" stroke-width="2"/>'


def text(x: float, y: float, words: str, colour: str = "#57606a", anchor: str = "start") -> str:
    """Words at a point."""
    return f'<text x="{x:.0f}" y="{y:.0f}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def axes(panel: int, across: str, up: str) -> Iterator[str]:
    """A frame from 0 to 1 with its marks."""
    x, y = place(0, 1, panel)
    yield f'<rect x="{x}" y="{y}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#d0d7de"/>'
    for at in (0, 0.25, 0.5, 0.75, 1):
        yield text(place(at, 0, panel)[0], TOP + SIZE + 16, f"{at:g}", anchor="middle")
        yield text(x - 6, place(0, at, panel)[1] + 4, f"{at:g}", anchor="end")
    yield text(x + SIZE / 2, TOP + SIZE + 34, across, anchor="middle")
    yield text(x, TOP - 10, up)


def drawn(scores: dict[str, dict[str, np.ndarray]]) -> Iterator[str]:
    """The picture."""
    width, height = 2 * SIZE + LEFT + 110, SIZE + TOP + 50
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
    yield 'font-family="sans-serif" font-size="12">'
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    yield from axes(0, "confidence", "share that is right")
    yield line([place(0, 0, 0), place(1, 1, 0)], "#d0d7de")
    for number, (task, colour) in enumerate(COLOURS.items()):
        points = reliability(task, *(scores[task][name] for name in ("label", "p", "yes")))
        print(f"{task}: " + "; ".join(f"{c:.2f} → {r:.2f} ({n})" for c, r, n in points))
        yield line([place(c, r, 0) for c, r, _ in points], colour)
        for c, r, _ in points:
            x, y = place(c, r, 0)
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>'
        yield text(LEFT + 12, TOP + 20 + 16 * number, task.replace("_part", " (a claim)"), colour)
    yield from axes(1, "share of the unsupported that is found", "share of those called unsupported that are")
    curve = precisions(scores["supported"]["label"], scores["supported"]["p"])
    yield line([place(found, right, 1) for _, found, right in curve], COLOURS["supported"])
    for name, cut in MARKS.items():
        _, found, right = min(curve, key=lambda one: abs(one[0] - cut))
        print(f"{name}: finds {found:.2f}, right {right:.2f}")
        x, y = place(found, right, 1)
        yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#cf222e"/>' + text(x + 8, y + 16, name, "#cf222e")
    yield "</svg>"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    parser.add_argument("out", type=Path)
    args = parser.parse_args()
    args.out.write_text("\n".join(drawn(pickle.loads(args.scores.read_bytes()))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
