"""Finds the bands of a cascade: between which scores the embedded judge isn't sure enough to decide.

    python bench/cascade.py SCORES

SCORES is the file WORK/runs/RUN/scores.pkl that `training/calibrate.py` leaves: every score is out of fold, five folds
over whole cases. A kind of question is asked of several things (a fact, a source, a claim): a band must hold for each
of them alone, so the strictest of their cuts counts. Whether a response answers is left out: nearly all do, and of the
few that the judge says don't only half really don't.

A cut is as wide as two demands allow. What is decided is right at least nine times in ten (`RIGHT`) at the shares that
applications have (`SHARES`). And of all that deserves the other answer at most one in ten is decided wrongly (`LOST`):
where nine claims in ten are supported, calling all of them so would be right nine times in ten, and find nothing. The
ends of 95 % intervals, by bootstrap over cases, are printed beside.
"""

import argparse
import pickle
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ragtriage.core.verdicts import CHECK

RIGHT = 0.9
LOST = 0.1
DRAWS = 200
FEWEST = 20
"""Decided rows below which nothing can be said."""
STEP = 0.01
CLOSED = (-1.0, 2.0)
"""Cuts beyond all scores, for no and for yes."""
ASKED_OF = {
    "supported": (("supported", ""),),
    "answered": (("answered", "passage as asked"),),
    "essential": (("essential_fact", "sentence"), ("essential", "source"), ("essential_claim", "response")),
    "relevant": (("relevant", ""),),
    "same_answer": (("same_answer", ""),),
}
"""Kind → the models that answer it, each with the rows that an evaluation asks of it; "" for all but the cut-down."""


SHARES = {"supported": (0.9, 0.9), "relevant": (0.8, 0.8), "same_answer": (0.8, 0.5)}
"""Share of yes at which a no, and a yes, must be right; that of the labels for the other kinds. Of right answers both
are told, since an application may give few or many."""
TAUGHT = ("short", "reordered")
"""Rows with a text that was cut down or shuffled: they teach, and set no figure."""
EASY = ("relevant",)
"""Kinds of which a yes proves little: their wrong rows are another question's texts, which no search would find."""


@dataclass(frozen=True)
class Rows:
    """What the judge said out of fold, and the truth."""

    y: np.ndarray
    p: np.ndarray
    said: np.ndarray
    """Whether its verdict is yes."""
    group: np.ndarray

    def weights(self, share: float | None) -> np.ndarray:
        """By which the share of yes is this one; all 1 if None."""
        if share is None:
            return np.ones(len(self.y))
        return np.where(self.y == 1, share / self.y.mean(), (1 - share) / (1 - self.y.mean()))


@dataclass(frozen=True)
class DecisionThreshold:
    """One side of a band on one set of rows."""

    right: float
    """How often what is decided is right."""
    right_low: float
    """The lower end of its interval."""
    lost: float
    """Of what deserves the other answer, the share that is decided wrongly."""
    lost_high: float
    """The upper end of its interval."""
    share: float
    """Of all questions, how many are decided on this side."""

    def __str__(self) -> str:
        return (
            f"right {self.right:.2f} (from {self.right_low:.2f}), loses {self.lost:.2f} (to {self.lost_high:.2f}), "
            f"decides {self.share:.2f}"
        )


def selected(scores: dict[str, np.ndarray], wanted: str) -> Rows:
    """The rows that an evaluation asks."""
    keep = scores["kind"] == wanted if wanted else ~np.isin(scores["kind"], TAUGHT)
    p = scores["p"][keep]
    return Rows(scores["label"][keep], p, p >= CHECK, scores["group"][keep])


def measured(rows: Rows, at: float, yes: int, share: float | None) -> DecisionThreshold:
    """What deciding `yes` from this score on means (0: deciding no up to it)."""
    weight = rows.weights(share)
    decided = rows.said & (rows.p >= at) if yes else ~rows.said & (rows.p <= at)
    good = weight * (decided & (rows.y == yes))
    bad = weight * (decided & (rows.y != yes))
    other = weight * (rows.y != yes)
    _, case = np.unique(rows.group, return_inverse=True)
    sums = np.stack([np.bincount(case, one) for one in (good, bad, other)])
    drawn = np.random.default_rng(0).multinomial(sums.shape[1], np.full(sums.shape[1], 1 / sums.shape[1]), DRAWS)
    g, b, o = sums @ drawn.T
    whole = good.sum() + bad.sum()
    return DecisionThreshold(
        good.sum() / max(whole, 1e-9),
        float(np.quantile(g / np.maximum(g + b, 1e-9), 0.025)),
        bad.sum() / max(other.sum(), 1e-9),
        float(np.quantile(b / np.maximum(o, 1e-9), 0.975)),
        whole / weight.sum(),
    )


def widest(rows: Rows, yes: int, share: float | None) -> float:
    """The cut that decides most of what may be decided; one that decides nothing if nothing may."""
    for at in np.round(np.arange(0.5, 1.0, STEP) if yes else np.arange(0.5, 0.0, -STEP), 2):
        if (rows.p >= at if yes else rows.p <= at).sum() < FEWEST:
            break
        cut = measured(rows, float(at), yes, share)
        if cut.right >= RIGHT and cut.lost <= LOST:
            return float(at)
    return CLOSED[yes]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scores", type=Path)
    found = pickle.loads(parser.parse_args().scores.read_bytes())
    for kind, asked_of in ASKED_OF.items():
        if any(task not in found for task, _ in asked_of):
            continue  # `fuse.py --refit` alone writes it
        sets = {f"{task} {wanted}".strip(): selected(found[task], wanted) for task, wanted in asked_of}
        shares = SHARES.get(kind, (None, None))
        own = {name: [widest(some, yes, shares[yes]) for yes in (0, 1)] for name, some in sets.items()}
        low = min(cuts[0] for cuts in own.values())
        high = CLOSED[1] if kind in EASY else max(cuts[1] for cuts in own.values())
        print(f"\n{kind} {low:g}:{high:g}")
        for name, some in sets.items():
            print(f"  {name}: {len(some.y)} rows, by itself {own[name][0]:g}:{own[name][1]:g}")
            for yes, at in ((0, low), (1, high)):
                if at != CLOSED[yes]:
                    print(f"    {'yes' if yes else 'no'}: {measured(some, at, yes, shares[yes])}")


if __name__ == "__main__":
    main()
