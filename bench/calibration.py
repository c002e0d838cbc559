"""How often the 95 % interval of a corrected mean holds the truth, by simulation.

    python bench/calibration.py [--repetitions 2000] [--only TEXT]

Every repetition draws new cases, each with a truth of its own (beta-distributed with the given correlation between its
components), 1 to 8 components a case or as many as said, the judge's verdicts with the given errors, and labels: at
random, or nos and unknowns three times as likely as yes. The truth is the mean over all cases that could be drawn.
"""

import argparse
from dataclasses import dataclass

import numpy as np

from ragtriage.trust.corrected_mean import NO, UNKNOWN, YES, JudgedComponents, corrected_mean

VERDICTS = 3
TRUTHS = (0.02, 0.05, 0.2, 0.5, 0.8, 0.9, 0.95, 0.98)


@dataclass(frozen=True)
class Setting:
    """How cases, judge and labels come about."""

    name: str
    cases: int
    labels: int
    alike: float
    """Correlation of the truth within a case."""
    sensitivity: float
    """How often a yes is said of what is so."""
    specificity: float
    """How often a no is said of what isn't so."""
    unknown: float = 0.0
    even: bool = True
    """Whether every component is as likely to be labelled."""
    fewest: int = 1
    """Components of a case, at least."""
    most: int = 8


SETTINGS = (
    Setting("independent, 50 labels", 200, 50, 0.0, 0.9, 0.7),
    Setting("clustered, 50 labels", 200, 50, 0.3, 0.9, 0.7, 0.05),
    Setting("clustered, 60 labels, nos drawn thrice as often", 200, 60, 0.3, 0.9, 0.7, 0.05, even=False),
    Setting("few cases, 100 labels", 60, 100, 0.5, 0.9, 0.6),
    Setting("30 cases of 4 to 8, 150 labels", 30, 150, 0.2, 0.85, 0.8, fewest=4),
    Setting("20 cases of 4 to 8, 100 labels", 20, 100, 0.2, 0.85, 0.8, fewest=4),
    Setting("clustered, good judge, 200 labels", 300, 200, 0.3, 0.95, 0.9),
    Setting("judge that always says yes, 50 labels", 200, 50, 0.1, 1.0, 0.0),
)


def drawn(setting: Setting, truth: float, random: np.random.Generator) -> JudgedComponents:
    """One run with labels."""
    sizes = random.integers(setting.fewest, setting.most + 1, setting.cases)
    case = np.repeat(np.arange(setting.cases), sizes)
    each = np.full(setting.cases, truth)
    if setting.alike:
        total = (1 - setting.alike) / setting.alike
        each = random.beta(truth * total, (1 - truth) * total, setting.cases)
    is_so = random.random(len(case)) < each[case]
    yes = np.where(
        is_so, random.random(len(case)) < setting.sensitivity, random.random(len(case)) > setting.specificity
    )
    said = np.where(yes, YES, NO)
    said[random.random(len(case)) < setting.unknown] = UNKNOWN
    if setting.even:
        labels = min(setting.labels, len(case))
        chance = np.full(len(case), labels / len(case))
        labelled = np.zeros(len(case), bool)
        labelled[random.choice(len(case), labels, replace=False)] = True
    else:
        wanted = np.where(said == YES, 1.0, 3.0)
        chance = np.minimum(1.0, wanted * setting.labels / wanted.sum())
        labelled = random.random(len(case)) < chance
    return JudgedComponents(case, (1.0 / sizes)[case], said, np.where(labelled, is_so, np.nan), chance)


def plus_minus(sample: JudgedComponents) -> tuple[float, float]:
    """The usual interval, to compare: the same estimate ± 1.96 standard errors that allow for clustered labels."""
    told = np.flatnonzero(~np.isnan(sample.truth))
    weight = sample.weight / sample.weight.sum()
    said, truth, heavy = sample.verdict[told], sample.truth[told], weight[told] / sample.inclusion[told]
    mass = np.bincount(said, heavy, VERDICTS)
    right = np.bincount(said, heavy * truth, VERDICTS) / np.where(mass > 0, mass, 1.0)
    share = np.bincount(sample.verdict, weight, VERDICTS)
    mean = share @ right
    cases = int(sample.case.max()) + 1
    influence = np.bincount(sample.case, weight * (right[sample.verdict] - mean), cases)
    influence += np.bincount(sample.case[told], share[said] * heavy / mass[said] * (truth - right[said]), cases)
    error = 1.96 * np.sqrt(influence @ influence)
    return float(mean - error), float(mean + error)


def coverage(setting: Setting, truth: float, repetitions: int, seed: int = 0) -> tuple[float, float, float, float]:
    """(share of intervals that hold the truth, mean width, mean of the corrected means, share of the usual ones)."""
    random = np.random.default_rng(seed)
    samples = [drawn(setting, truth, random) for _ in range(repetitions)]
    found = [corrected_mean(sample, 0.0) for sample in samples]
    usual = float(np.mean([low <= truth <= high for low, high in map(plus_minus, samples)]))
    held = [one.low <= truth <= one.high for one in found if one]
    width = [one.high - one.low for one in found if one]
    return float(np.mean(held)), float(np.mean(width)), float(np.mean([one.mean for one in found if one])), usual


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--only", default="", help="settings whose name holds this text")
    options = parser.parse_args()
    repetitions = options.repetitions
    every = []
    for setting in (one for one in SETTINGS if options.only in one.name):
        print(setting.name)
        for truth in TRUTHS:
            held, width, mean, usual = coverage(setting, truth, repetitions)
            every.append(held)
            told = f"held {held:.3f}, width {width:.3f}, mean {mean:.3f}; ± 1.96 errors would have held {usual:.3f}"
            print(f"  truth {truth:.2f}: {told}", flush=True)
    within = sum(0.93 <= held <= 0.97 for held in every)
    print(f"{within} of {len(every)} within .93 to .97; lowest {min(every):.3f}, highest {max(every):.3f}")


if __name__ == "__main__":
    main()
