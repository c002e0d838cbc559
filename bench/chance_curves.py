"""How far off the chances of a fitted curve are on further cases, by simulation.

    python bench/chance_curves.py [--repetitions 100]

Each made-up judge turns the true log odds of a yes (mean ln 4, standard deviation 2, so that about seven in ten are
yes) into those that it states: times the first number, plus the second. A row is the calibration error on 5,000 further
verdicts, in 15 bins of equal size: of the judge's own probabilities, of its verdicts as 1 and 0, and of curves fitted
to some labels, on average over the repetitions; how many of the curves have at most .05; how many are written. Draws
with fewer than ten labels of either kind are left out.
"""

import argparse

import numpy as np

from ragtriage.trust.chance_fits import fit_curve, too_few_for_a_curve
from ragtriage.trust.corrected_mean import NO, YES, AnyArray
from ragtriage.trust.label_fits import LabelledScores

JUDGES = {
    "right": (1.0, 0.0),
    "too sure": (3.0, 0.0),
    "not sure enough": (0.4, 0.0),
    "too kind": (1.0, 2.0),
    "too sure, too strict": (2.5, -1.5),
    "not sure enough, too strict": (0.5, -1.0),
}
LABELS = (50, 100, 200, 600)
FURTHER, BINS = 5000, 15


def drawn(random: np.random.Generator, n: int, times: float, plus: float) -> LabelledScores:
    """Verdicts of one judge, each with its label and in a case of its own."""
    odds = random.normal(np.log(4.0), 2.0, n)
    p = 1 / (1 + np.exp(-(times * odds + plus)))
    truth = random.random(n) < 1 / (1 + np.exp(-odds))
    return LabelledScores(p, truth.astype(float), np.ones(n), np.arange(n), np.where(p >= 0.5, YES, NO))


def error(chance: AnyArray, truth: AnyArray) -> float:
    """The expected calibration error: |mean chance − share of yes| over the bins."""
    bins = np.array_split(np.argsort(chance), BINS)
    return float(sum(abs(chance[at].mean() - truth[at].mean()) * len(at) for at in bins) / len(chance))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=100)
    repetitions = parser.parse_args().repetitions
    print(
        "| judge | labels | its own | as 1 and 0 | with a curve | up to .05 | written |\n|---|---|---|---|---|---|---|"
    )
    for name, (times, plus) in JUDGES.items():
        for n in LABELS:
            rows = []
            for seed in range(repetitions):
                random = np.random.default_rng(seed)
                labels, further = drawn(random, n, times, plus), drawn(random, FURTHER, times, plus)
                if too_few_for_a_curve(labels):
                    continue
                found = fit_curve(labels, (labels.verdict == YES).astype(float), name, "")
                chance = np.array([found.curve.at(p) for p in further.score])
                hard = (further.verdict == YES).astype(float)
                rows.append([error(one, further.truth) for one in (further.score, hard, chance)] + [found.better])
            own, hard, curve, written = np.mean(rows, axis=0)
            within = np.mean([row[2] <= 0.05 for row in rows])
            print(f"| {name} | {n} | {own:.3f} | {hard:.3f} | {curve:.3f} | {within:.2f} | {written:.2f} |", flush=True)


if __name__ == "__main__":
    main()
