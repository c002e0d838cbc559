"""How far the judge is off on a domain that nothing was estimated on, and whether intervals of means hold that.

    PYTHONPATH=training python bench/domains.py TRAIN

TRAIN is the folder of training data; read are those natural cases that the reader wasn't trained on (`splits.py`). For
every domain and score it finds the step in all log odds that makes the mean score the true one, and from all domains
but one the standard deviation of such a step (`BETWEEN_DOMAINS`), beyond what so few cases would show anyway
(DerSimonian and Laird 1986, about 0). With that number it counts on the domain that was left out how often the interval
of a mean holds the true one: of all its cases, and of runs of 100 cases that are drawn from it.

Then it looks at two versions of one application: the new one lacks the sentences that no source supports, in every
second case that has any. By how much is the difference of means off, against the means themselves? It also prints what
a base rate learnt from 100 labels of a domain does to its means, and how likely `unsupported_claims` is in cases where
no failure truly holds.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from calibrate import LEAST, LEFT_OUT, TASKS, odds_of, shift_of, truth
from splits import split_of

from diagnosis import THRESHOLDS, case_of, true_record
from ragtriage import Score, diagnose, evaluate_sync, needs_of
from ragtriage.core.case import Record
from ragtriage.core.statistics import percentile_interval, resamples_of
from ragtriage.core.verdicts import log_odds
from ragtriage.diagnosis.findings import assess
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.decision_thresholds import BASE_RATES
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.metrics import metrics_named
from ragtriage.runs.metric_tally import BETWEEN_DOMAINS, interval_of_mean
from ragtriage.trust.label_fits import HELD_BACK, RATED_BY

RUNS, SIZE = 100, 100
"""Runs that are drawn from a domain, and cases of each."""
RESAMPLES = 400
LABELS = 100
"""From which a base rate is learnt."""
METRICS = metrics_named(list(TASKS))
FAULTS = ("unsupported_claims", "missing_information", "unused_information", "unaddressed_answer", "stray_claims")
Floats = npt.NDArray[np.float64]
Row = dict[str, Any]


@dataclass(frozen=True)
class Cases:
    """The cases of one domain with one score; arrays have the shape (n,)."""

    true: Floats
    judged: Floats
    odds: tuple[Floats, ...]
    """Of each case the log odds of the verdicts that its score counts."""

    @property
    def moves(self) -> Floats:
        """How far a step in all log odds moves each score."""
        return np.array([np.mean(p * (1 - p)) for p in map(_chances, self.odds)])

    @property
    def doubts(self) -> Floats:
        """The variance of each score, if every verdict is right with its chance."""
        return np.array([np.sum(p * (1 - p)) / len(p) ** 2 for p in map(_chances, self.odds)])

    def step(self) -> tuple[float, float]:
        """The step that makes the mean the true one, and its standard error."""
        return shift_of([("", float(true), odds) for true, odds in zip(self.true, self.odds, strict=True)])

    def intervals(self, at: npt.NDArray[np.int64], between: float) -> list[tuple[float, float]]:
        """Of the mean over the cases at these places: the choice of cases alone, with doubts, between domains too."""
        values, n = self.judged[at], len(at)
        draws = np.concatenate([values[some].mean(axis=1) for some in resamples_of(n, resamples=RESAMPLES)])
        mean, alone = float(values.mean()), percentile_interval(draws)
        doubt, moved = float(self.doubts[at].sum()) / n**2, float(self.moves[at].mean())
        return [alone, *(interval_of_mean(mean, alone, doubt, moved, one) for one in (0.0, between))]


def _chances(odds: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-odds)))


def read(train: Path) -> dict[str, Row]:
    """The natural cases that the reader wasn't trained on, by id."""
    rows: dict[str, Row] = {}
    for path in sorted((train / "natural").glob("*.jsonl")):
        if path.stem not in LEFT_OUT:
            with path.open(encoding="utf-8") as lines:
                cases = [json.loads(line) for line in lines]
            rows |= {case["id"]: case for case in cases if split_of(path.stem, case["id"], case["domain"])}
    return rows


def judged(rows: Mapping[str, Row], judge: EmbeddedJudge) -> list[tuple[Row, Record]]:
    """Every case with what the judge says of it, by id."""
    cases = (case_of(row) for row in rows.values() if truth(row))
    found = evaluate_sync(cases, judge, metrics=METRICS, also=needs_of(RULES))
    return sorted(((rows[record.case.id], record) for record in found), key=lambda one: one[0]["id"])


def by_domain(found: Sequence[tuple[Row, Record]]) -> dict[tuple[str, str], Cases]:
    """(Score, domain) → its cases, of domains with enough of them."""
    parts: dict[tuple[str, str], list[tuple[float, float, Floats]]] = defaultdict(list)
    for row, record in found:
        for name, true in truth(row).items():
            said, odds = record.outcomes.get(name), odds_of(record, name) if name in record.outcomes else np.empty(0)
            if isinstance(true, Score) and isinstance(said, Score) and len(odds):
                parts[name, row["domain"]].append((true.value, said.value, odds))
    return {
        key: Cases(
            *(np.array(column) for column in list(zip(*some, strict=True))[:2]), tuple(odds for *_, odds in some)
        )
        for key, some in sorted(parts.items())
        if len(some) >= LEAST
    }


def between_of(steps: Sequence[tuple[float, float]]) -> float:
    """The standard deviation of steps beyond their standard errors: DerSimonian and Laird's, about 0."""
    step, error = np.array(steps).T
    weight = 1 / error**2
    return float(np.sqrt(max(0.0, (weight @ step**2 - len(step)) / weight.sum())))


def print_coverage(domains: Mapping[tuple[str, str], Cases]) -> None:
    """The standard deviation without each domain, and how often the intervals hold the true mean there."""
    steps = {key: cases.step() for key, cases in domains.items()}
    names = sorted({domain for _, domain in domains})
    left = {name: between_of([step for (_, other), step in steps.items() if other != name]) for name in names}
    print(f"{len(names)} domains, all of them: {between_of([*steps.values()]):.2f}; shipped: {BETWEEN_DOMAINS}")
    print("without: " + ", ".join(f"{name} {value:.2f}" for name, value in left.items()))
    print("\nHow often the interval of a mean holds the true mean: of all cases of a domain; of runs of 100 from it.")
    print(
        "\n| score | domains | choice of cases | and doubts | and between domains | a number for each score | shipped |"
    )
    print("|---|---|---|---|---|---|---|")
    rng, every = np.random.default_rng(0), []
    for name in TASKS:
        whole: list[list[bool]] = []
        runs: list[list[bool]] = []
        for (score, domain), cases in domains.items():
            if score != name:
                continue
            n = len(cases.true)
            own = between_of([step for (one, other), step in steps.items() if one == name and other != domain])
            numbers = own, BETWEEN_DOMAINS
            for some, places in ((whole, [np.arange(n)]), (runs, [*rng.integers(0, n, (RUNS, SIZE))])):
                for at in places:
                    ends = [*cases.intervals(at, left[domain]), *(cases.intervals(at, one)[-1] for one in numbers)]
                    true = float(cases.true[at].mean())
                    some.append([low - 1e-9 <= true <= high + 1e-9 for low, high in ends])
        every.append((whole, runs))
        print(_line(name, len(whole), whole, runs))
    print(_line("all", len(names), *([one for own in every for one in own[kind]] for kind in (0, 1))))


def _line(name: str, count: int, whole: Sequence[Sequence[bool]], runs: Sequence[Sequence[bool]]) -> str:
    cells = (f"{a:.2f}; {b:.2f}" for a, b in zip(np.mean(whole, axis=0), np.mean(runs, axis=0), strict=True))
    return f"| {name} | {count} | {' | '.join(cells)} |"


def better(row: Row, number: int) -> Row:
    """The new version of a case: without its unsupported sentences, if it is one of every second and some are left."""
    kept = [sentence for sentence in row["response"] if sentence[1] != 0]
    return row if number % 2 or not any(label == 1 for _, label, *_ in kept) else {**row, "response": kept}


def print_versions(old: Sequence[tuple[Row, Record]], new: Sequence[tuple[Row, Record]]) -> None:
    """By how much means of groundedness, and their difference, are off in each domain."""
    values: dict[str, list[tuple[float, float, float, float]]] = defaultdict(list)
    for (row, before), (later, after) in zip(old, new, strict=True):
        outcomes = [truth(one).get("groundedness") for one in (row, later)]
        outcomes += [record.outcomes["groundedness"] for record in (before, after)]
        scores = [outcome.value for outcome in outcomes if isinstance(outcome, Score)]
        if len(scores) == 4:
            values[row["domain"]].append((scores[0], scores[1], scores[2], scores[3]))
    print("\nGroundedness of two versions: by how much the judge is off (true value).")
    print("\n| domain | cases | mean of base | mean of new | difference |\n|---|---|---|---|---|")
    errors = []
    for domain, some in sorted(values.items()):
        if len(some) < LEAST:
            continue
        base, later, judged_base, judged_new = np.mean(some, axis=0)
        off = judged_base - base, judged_new - later, judged_new - judged_base - (later - base)
        errors.append(off)
        cells = (f"{o:+.3f} ({t:.3f})" for o, t in zip(off, (base, later, later - base), strict=True))
        print(f"| {domain} | {len(some)} | {' | '.join(cells)} |")
    spread = np.std(errors, axis=0, ddof=1)
    print(f"| between domains (sd) | | {' | '.join(f'{one:.3f}' for one in spread)} |")


def share_of_yes(rows: Sequence[Row], kind: str) -> float:
    """How many of the labelled sentences are supported, or of the sub-questions answered by a source."""
    if kind == "supported":
        told = [label == 1 for row in rows for _, label, *_ in row["response"] if label is not None]
    else:
        told = [2 in map(int, grades.values()) for row in rows for _, grades, _ in row["sub"]]
    return float(np.mean(told))


def print_base_rates(domains: Mapping[tuple[str, str], Cases], found: Sequence[tuple[Row, Record]]) -> None:
    """By how much a domain's mean is off, as it is and with a base rate as `trust calibrate` learns it."""
    print(f"\nError of a domain's mean, as it is and with the share of yes of {LABELS} labels as base rate.\n")
    for kind, name in RATED_BY.items():
        errors = []
        for (score, domain), cases in domains.items():
            if score == name:
                share = share_of_yes([row for row, _ in found if row["domain"] == domain], kind)
                rate = (share * LABELS + BASE_RATES[kind] * HELD_BACK) / (LABELS + HELD_BACK)
                step = log_odds(rate) - log_odds(BASE_RATES[kind])
                means = (np.mean([_chances(odds + by).mean() for odds in cases.odds]) for by in (0.0, step))
                errors.append([float(mean - cases.true.mean()) for mean in means])
        before, after = np.abs(errors).mean(axis=0)
        better = sum(abs(b) < abs(a) for a, b in errors)
        print(f"{name}: {before:.3f}, {after:.3f}; smaller in {better} of {len(errors)} domains")


def print_suspicion(found: Sequence[tuple[Row, Record]]) -> None:
    """How likely `unsupported_claims` is in cases where no failure truly holds."""
    likely = []
    for row, record in found:
        true = {finding.rule for finding in diagnose(true_record(record.case, truth(row)), THRESHOLDS)}
        if not true & {*FAULTS}:
            likely.append(assess(record, THRESHOLDS).probabilities.get("unsupported_claims", 0.0))
    print(f"\n{len(likely)} cases without a failure: mean probability of unsupported_claims {np.mean(likely):.2f}")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("train", type=Path)
    rows = read(parser.parse_args().train)
    judge = EmbeddedJudge()
    found = judged(rows, judge)
    domains = by_domain(found)
    print_coverage(domains)
    print_base_rates(domains, found)
    later = {i: better(row, number) for number, (i, row) in enumerate(sorted(rows.items()))}
    print_versions(found, judged(later, judge))
    print_suspicion(found)
    judge.close()


if __name__ == "__main__":
    main()
