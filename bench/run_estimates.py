"""What a run of 100 cases tells, against the truth: its mean scores, and how many of its cases have a fault.

`diagnosis.py` calls it. Cases are drawn from a labelled set with replacement. To move the share of supported sentences,
each is drawn with the weight exp(λ · its true groundedness), with the λ that gives the wanted share. The judge isn't
told that share, except in the rows that say so (`--base-rate supported=SHARE`).
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ragtriage.runs.metric_tally import ExpectedCount

RUNS, SIZE = 500, 100
"""Runs that are drawn, and cases of each."""
SHARES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
"""Of supported sentences, to which the cases are moved."""
CLOSE = 0.03
"""A mean score is right up to this error."""
LEAST = 5
"""A rule that truly holds for fewer cases is left out."""
STEEPEST = 60.0
"""The highest λ."""
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Figures:
    """Of the same cases in the same order."""

    scores: Mapping[str, Floats]
    """Score → shape (n, 2): the true one and the judge's, nan where either isn't defined."""
    rules: Mapping[str, Floats]
    """Rule → shape (n, 2): 1 where it truly holds, else 0; the probability that it does."""
    sentences: Floats
    """Shape (n, 2): how many are supported, and how many aren't."""

    def frequent(self) -> list[str]:
        """The rules that hold often enough to be looked at."""
        return [name for name, rule in self.rules.items() if rule[:, 0].sum() >= LEAST]


def weights_of(sentences: Floats, share: float | None) -> Floats:
    """With which weights cases are drawn so that so many sentences are supported; all alike for None."""
    n = sentences.sum(axis=1)
    own = np.divide(sentences[:, 0], n, out=np.full(len(n), sentences[:, 0].sum() / n.sum()), where=n > 0)
    low, high = -STEEPEST, STEEPEST
    for _ in range(60 if share is not None else 0):
        middle = (low + high) / 2
        weights = np.exp(middle * (own - 1.0 if middle > 0 else own))
        low, high = (middle, high) if weights @ sentences[:, 0] / (weights @ n) < (share or 0) else (low, middle)
    steep = 0.0 if share is None else low
    weights = np.exp(steep * (own - 1.0 if steep > 0 else own))
    return np.asarray(weights / weights.sum())


def drawn(figures: Figures, share: float | None) -> Places:
    """Runs of cases by position, shape (RUNS, SIZE); always the same ones."""
    weights = weights_of(figures.sentences, share)
    return np.random.default_rng(0).choice(len(weights), size=(RUNS, SIZE), p=weights)


def biases(score: Floats, runs: Places) -> Floats:
    """By how much the mean of each run is above the true one."""
    return np.asarray(np.nanmean(score[runs, 1], axis=1) - np.nanmean(score[runs, 0], axis=1))


def intervals(probabilities: Floats) -> tuple[Floats, Floats, Floats]:
    """The expected count of each run and its ends; probabilities of shape (runs, cases)."""
    counts = [ExpectedCount.of(float(p.sum()), float((p * (1 - p)).sum()), SIZE) for p in probabilities]
    value, low, high = np.array([(count.value, count.low, count.high) for count in counts]).T
    return value, low, high


def inside(rule: Floats, runs: Places) -> float:
    """In how many runs the true number lies within the interval."""
    true = rule[runs, 0].sum(axis=1)
    _, low, high = intervals(rule[runs, 1])
    return float(np.mean((true >= low - 1e-9) & (true <= high + 1e-9)))


@dataclass(frozen=True)
class Mix:
    """Runs of one share of supported sentences."""

    name: str
    figures: Figures
    runs: Places


def mixes(figures: Figures, told: Mapping[float, Figures]) -> list[Mix]:
    """The cases as they are, and at every share, not told and told; arguments as of `print_runs`."""
    own = figures.sentences[:, 0].sum() / figures.sentences.sum()
    runs = {share: drawn(figures, share) for share in (None, *SHARES)}
    found = [Mix(f"{own:.0%}, as they are", figures, runs[None])]
    found += [Mix(f"{share:.0%}", figures, runs[share]) for share in SHARES]
    return found + [Mix(f"{share:.0%}, told", told[share], runs[share]) for share in SHARES]


def print_runs(figures: Figures, told: Mapping[float, Figures]) -> None:
    """How good the mean scores and the expected counts of the runs are.

    Args:
        figures: of a judge that isn't told the share.
        told: share → of a judge that is.
    """
    spread = [1 / (weights_of(figures.sentences, share) ** 2).sum() for share in SHARES]
    print(f"\n{RUNS} runs of {SIZE} cases, by the share of supported sentences. As many cases count effectively:")
    print("; ".join(f"{share:.0%}: {n:.0f}" for share, n in zip(SHARES, spread, strict=True)) + ".")
    print(f"\nShare of runs whose mean score is off by at most {CLOSE} (mean error).")
    names = list(figures.scores)
    print(f"\n| supported | {' | '.join(names)} |\n|---|" + "---|" * len(names))
    for mix in mixes(figures, told):
        errors = [biases(mix.figures.scores[name], mix.runs) for name in names]
        print(
            f"| {mix.name} | " + " | ".join(f"{(abs(e) <= CLOSE).mean():.2f} ({e.mean():+.3f})" for e in errors) + " |"
        )
    print("\nShare of runs in which the true number of cases lies in the interval (expected less true number, mean).")
    names = figures.frequent()
    print(f"\n| supported | {' | '.join(names)} |\n|---|" + "---|" * len(names))
    print("| cases, truly | " + " | ".join(f"{figures.rules[name][:, 0].sum():.0f}" for name in names) + " |")
    for mix in mixes(figures, told):
        rules = [mix.figures.rules[name] for name in names]
        off = [(rule[mix.runs, 1] - rule[mix.runs, 0]).sum(axis=1).mean() for rule in rules]
        cells = [f"{inside(rule, mix.runs):.2f} ({o:+.1f})" for rule, o in zip(rules, off, strict=True)]
        print(f"| {mix.name} | " + " | ".join(cells) + " |")
