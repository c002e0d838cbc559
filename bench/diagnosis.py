"""How often the diagnosis blames a sound answer, and how often it finds a fault: on cases with true labels.

    python bench/diagnosis.py NATURAL.jsonl [NATURAL.jsonl …] [--domain NAME …] [--judge NAME] [--limit N] [--binary]

Reads natural cases (question, passages, sub-questions with grades, response sentences with labels), computes the true
scores from the labels and the judge's from the texts, and prints:

- each score's mean, correlation and expected calibration error;
- for every rule how often it truly holds, was shown or sure, and was so rightly; the share of sound cases blamed;
- which sentences of the responses were marked as unsupported, and whether the chances of claims are right;
- what 100 cases drawn from these tell of the mean scores and of how many cases have a fault (`run_estimates.py`).

Verdicts are never shown the labels. For figures that are held out, name domains that nothing was fitted on: those of
`training/splits.py`. A sub-question that only several passages together might answer makes a case's coverage ambiguous;
such cases are left out. `--binary` drops the chances, so that every verdict counts as 1 or 0.
"""

import argparse
import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from run_estimates import SHARES, Figures, print_runs

from ragtriage import Case, Score, Source, Undefined, diagnose, evaluate_sync, needs_of, thresholds_with
from ragtriage.core.case import Record
from ragtriage.core.verdicts import Component, Outcome, Part, Verdict, Verdicts, chance_of
from ragtriage.diagnosis.findings import Assessment, assess
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.build import build_judge
from ragtriage.judges.judge_config import JudgeConfig
from ragtriage.judges.protocol import Judge
from ragtriage.judges.session import JudgeSession
from ragtriage.judges.wrappers.cached import InMemory
from ragtriage.metrics import metrics_named
from ragtriage.metrics.aggregate import share
from ragtriage.metrics.thelma import DECLINES

METRICS = metrics_named(["thelma", "-self_distinctness", "-fact_precision"])
THRESHOLDS = thresholds_with({})
BLAME = ("failure", "quality")
BINS = 15
"""Of an expected calibration error, each with as many cases or claims as the next."""
DRAWS = 200
"""Sets of labels drawn from the chances, to see what error a judge has whose chances are all right."""
Floats = npt.NDArray[np.float64]
Row = dict[str, Any]


def case_of(row: Row) -> Case:
    """The case, without a label."""
    sources = tuple(Source("\n".join(passage)) for passage in row["passages"])
    return Case(row["id"], row["question"], sources, " ".join(text for text, *_ in row["response"]))


def truth_of(row: Row) -> dict[str, Outcome] | None:
    """The scores that the labels amount to; None if the coverage is ambiguous."""
    grades = [[int(grade) for grade in grades.values()] for _, grades, _ in row["sub"]]
    if any(2 not in some and some.count(1) > 1 for some in grades):
        return None
    labelled = [(text, label, needed) for text, label, _, needed in row["response"] if label is not None]
    passages = range(1, len(row["passages"]) + 1)
    essential = {p for p, _ in row["essential"]}

    def share_of(values: list[bool], texts: Sequence[str] = ()) -> Outcome:
        if not values:
            return Undefined("nothing to judge")
        components = [Component(text) for text in texts or [""] * len(values)]
        return share(components, [Verdict("yes" if value else "no") for value in values])

    return {
        "source_precision": share_of([p in essential for p in passages]),
        "source_query_coverage": share_of([2 in some for some in grades]),
        "response_precision": share_of([needed == 1 for *_, needed in labelled]),
        "response_query_coverage": share_of([bool(covered) for *_, covered in row["sub"]]),
        "groundedness": share_of([label == 1 for _, label, _ in labelled], [text for text, *_ in labelled]),
    }


def true_record(case: Case, truth: dict[str, Outcome]) -> Record:
    """A record as the labels would have it; it declines where no sentence makes a claim and nothing is covered."""
    coverage = truth["response_query_coverage"]
    declines = isinstance(truth["groundedness"], Undefined) and isinstance(coverage, Score) and coverage.value == 0
    cells = ((Verdict("yes" if declines else "no"),),)
    return Record(case, {str(DECLINES): Verdicts((Component(case.response or ""),), cells)}, truth)


@dataclass(frozen=True)
class Sentence:
    """A labelled sentence of a response, with the claims that the judge found in it."""

    supported: bool
    claims: tuple[Part, ...]

    @property
    def marked(self) -> bool:
        """Whether one of its claims is called unsupported."""
        return any(part.good is False for part in self.claims)

    @property
    def lowest(self) -> float:
        """The lowest chance of its claims; 1 where it has none, so that nothing can be marked."""
        return min(self.chances(), default=1.0)

    def chances(self) -> list[float]:
        """Of its claims that they are supported."""
        return [chance for part in self.claims if (chance := chance_of(part.cell)) is not None]


@dataclass(frozen=True)
class Judged:
    """A case as the labels have it and as the judge does."""

    row: Row
    truth: Mapping[str, Outcome]
    record: Record
    true_rules: Mapping[str, str]
    """Rules that hold by the labels, each with its kind."""
    assessed: Assessment

    def pair(self, name: str) -> tuple[float, float]:
        """A score by the labels and by the judge; nan where either isn't defined."""
        outcomes = self.truth[name], self.record.outcomes[name]
        values = [outcome.value for outcome in outcomes if isinstance(outcome, Score)]
        return (values[0], values[1]) if len(values) == 2 else (np.nan, np.nan)

    def shown(self, *, sure: bool = False) -> dict[str, str]:
        """Rules that the judge shows, each with its kind; only the sure ones on request."""
        return {found.rule: found.kind for found in self.assessed.findings if found.sure or not sure}

    def sentences(self) -> Iterator[Sentence]:
        """Those with a label; a claim belongs to the sentence that it shares most characters with."""
        texts = [text for text, *_ in self.row["response"]]
        starts = list(accumulate((len(text) + 1 for text in texts), initial=0))
        outcome = self.record.outcomes["groundedness"]
        claims: list[list[Part]] = [[] for _ in texts]
        for part in outcome.parts if isinstance(outcome, Score) else ():
            if part.component.span:
                start, end = part.component.span
                shared = [min(end, at + len(text)) - max(start, at) for at, text in zip(starts, texts, strict=False)]
                claims[int(np.argmax(shared))].append(part)
        for (_, label, *_), own in zip(self.row["response"], claims, strict=True):
            if label is not None:
                yield Sentence(label == 1, tuple(own))


def judged(rows: Mapping[str, Row], truths: Mapping[str, dict[str, Outcome]], judge: Judge) -> list[Judged]:
    """Every case, judged; in the order of their ids."""
    found = []
    cases = (case_of(rows[i]) for i in truths)
    for record in evaluate_sync(cases, judge, metrics=METRICS, also=needs_of(RULES)):
        truth = truths[record.case.id]
        true_rules = {f.rule: f.kind for f in diagnose(true_record(record.case, truth), THRESHOLDS)}
        found.append(Judged(rows[record.case.id], truth, record, true_rules, assess(record, THRESHOLDS)))
    return sorted(found, key=lambda one: one.record.case.id)


def binned(p: Floats) -> list[npt.NDArray[np.bool_]]:
    """Bins of equal mass; values that are equal stay together, so that there may be fewer."""
    edges = np.unique(np.quantile(p, np.linspace(0, 1, BINS + 1)[1:-1], method="higher"))
    places = np.searchsorted(edges, p, side="right")
    return [places == place for place in np.unique(places)]


def calibration_error(p: Floats, y: Floats) -> float:
    """Expected calibration error: by how much the means of bins are off, weighted by the bins' sizes."""
    return float(sum(some.mean() * abs(p[some].mean() - y[some].mean()) for some in binned(p)))


def table(head: str, rows: Iterable[Sequence[object]]) -> None:
    """Print a table; floats with three digits, and nothing but a dash for nan."""
    names = head.split(", ")
    print("\n| " + " | ".join(names) + " |\n|" + "---|" * len(names))
    for row in rows:
        cells = [("–" if np.isnan(x) else f"{x:.3f}") if isinstance(x, float) else str(x) for x in row]
        print("| " + " | ".join(cells) + " |")


def print_scores(cases: Sequence[Judged]) -> None:
    """Each score against the true one."""

    def lines() -> Iterator[Sequence[object]]:
        for name in (metric.name for metric in METRICS):
            pairs = np.array([case.pair(name) for case in cases])
            x, y = pairs[~np.isnan(pairs).any(axis=1)].T
            if not len(x):
                continue
            error = calibration_error(y, x)
            yield name, len(x), float(x.mean()), float(y.mean()), float(np.corrcoef(x, y)[0, 1]), error

    table("score, n, true mean, judge's mean, correlation, calibration error", lines())


def print_rules(cases: Sequence[Judged]) -> None:
    """Each rule that truly holds or was shown: how often, and how often rightly."""

    def lines() -> Iterator[Sequence[object]]:
        for rule in (rule.name for rule in RULES):
            true = sum(rule in case.true_rules for case in cases)
            row: list[object] = [rule, true]
            for sure in (False, True):
                said = [case for case in cases if rule in case.shown(sure=sure)]
                right = sum(rule in case.true_rules for case in said)
                row += [len(said), right, ratio(right, len(said)), ratio(right, true)]
            if true or row[2]:
                yield row

    table("rule, truly, shown, rightly, precision, recall, sure, rightly, precision, recall", lines())


def ratio(part: int, whole: int) -> float:
    """A share; nan of nothing."""
    return part / whole if whole else float("nan")


def print_blame(cases: Sequence[Judged]) -> None:
    """How many sound cases are blamed; one unsupported sentence among many leaves the shares good."""
    print()
    shares = [rule.name for rule in RULES if rule.kind in BLAME and rule.reads_level()]
    every = [rule.name for rule in RULES if rule.kind in BLAME]
    for name, faults in {"by their shares": shares, "in every sentence": every}.items():
        sound = [case for case in cases if not any(rule in case.true_rules for rule in faults)]
        for sure in (False, True):
            blamed = sum(any(kind in BLAME for kind in case.shown(sure=sure).values()) for case in sound)
            print(
                f"{len(sound)} cases sound {name}: blamed{' surely' * sure} {blamed} ({ratio(blamed, len(sound)):.1%})"
            )


def print_sentences(cases: Sequence[Judged]) -> None:
    """How many sentences are marked, and whether another cut would tell them apart better."""
    sentences = [sentence for case in cases for sentence in case.sentences()]
    bad = np.array([not s.supported for s in sentences])
    marked, lowest = np.array([s.marked for s in sentences]), np.array([s.lowest for s in sentences])

    def balanced(said: npt.NDArray[np.bool_]) -> float:
        return float((said[bad].mean() + (~said)[~bad].mean()) / 2)

    cuts = np.unique(lowest)
    found = [balanced(lowest <= cut) for cut in cuts]
    best = int(np.argmax(found))
    allowed = float(np.quantile(lowest[~bad], 0.05))
    print(
        f"\n{bad.sum()} unsupported sentences, {marked[bad].mean():.3f} marked; {(~bad).sum()} supported ones, "
        f"{marked[~bad].mean():.3f} marked; below the chance that one in twenty supported ones lies below "
        f"({allowed:.2f}): {(lowest[bad] < allowed).mean():.3f}\nbalanced accuracy {balanced(marked):.3f}; at the best "
        f"cut of these cases ({cuts[best]:.2f}) {found[best]:.3f}"
    )


def print_chances(cases: Sequence[Judged]) -> None:
    """Whether the chances of claims are right; a claim has the label of its sentence."""
    sentences = [sentence for case in cases for sentence in case.sentences()]
    claims = {
        "claims": [(chance, s.supported) for s in sentences for chance in s.chances()],
        "claims that are the only one of their sentence": [
            (s.chances()[0], s.supported) for s in sentences if len(s.claims) == len(s.chances()) == 1
        ],
        "sentences, by their lowest chance": [(s.lowest, s.supported) for s in sentences if s.chances()],
    }

    def lines() -> Iterator[Sequence[object]]:
        rng = np.random.default_rng(0)
        for name, pairs in claims.items():
            p, y = np.array(pairs, dtype=float).T
            right = float(np.mean([calibration_error(p, rng.random(len(p)) < p) for _ in range(DRAWS)]))
            yield name, len(p), float(y.mean()), float(p.mean()), calibration_error(p, y), right

    table("supported, n, share of yes, mean chance, calibration error, the same if all chances were right", lines())


def figures_of(cases: Sequence[Judged]) -> Figures:
    """What `run_estimates` draws from: rules, and the groups under which a run counts several."""
    groups: dict[str, list[str]] = {rule.name: [rule.name] for rule in RULES}
    for rule in RULES:
        groups.setdefault(f"{rule.kind}, {rule.component}", []).append(rule.name)

    def likely(case: Judged, names: Sequence[str]) -> tuple[float, float]:
        none = math.prod(1.0 - case.assessed.probabilities.get(name, 0.0) for name in names)
        return float(any(name in case.true_rules for name in names)), 1.0 - none

    counts = [Counter(sentence.supported for sentence in case.sentences()) for case in cases]
    return Figures(
        {metric.name: np.array([case.pair(metric.name) for case in cases]) for metric in METRICS},
        {
            name: np.array([likely(case, names) for case in cases])
            for name, names in groups.items()
            if len(names) > 1 or name in {rule.name for rule in RULES}
        },
        np.array([(count[True], count[False]) for count in counts], dtype=float),
    )


def judge_of(name: str, memory: InMemory, rates: Mapping[str, float], *, binary: bool) -> Judge:
    """A judge that is told these base rates; what was answered before stays known."""
    config = JudgeConfig((name,), matching="binary" if binary else "soft", base_rates=rates)
    return build_judge(JudgeSession.of(config), memory).judge


def read_rows(paths: Sequence[Path], domains: Collection[str] | None, limit: int | None) -> dict[str, Row]:
    """The cases of these files by their ids."""
    rows: dict[str, Row] = {}
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            cases = [json.loads(line) for line in lines]
        wanted = [case for case in cases if not domains or case["domain"] in domains]
        rows |= {case["id"]: case for case in wanted[:limit]}
    return rows


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--domain", nargs="+", help="cases of these domains only")
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--binary", action="store_true", help="count every verdict as 1 or 0")
    args = parser.parse_args()
    rows = read_rows(args.files, args.domain, args.limit)
    truths = {i: truth for i, row in rows.items() if (truth := truth_of(row)) is not None}
    judge: Callable[[Mapping[str, float]], Judge]
    judge = partial(judge_of, args.judge, InMemory(), binary=args.binary)
    cases = judged(rows, truths, judge({}))
    print(f"{len(truths)} cases; {len(rows) - len(truths)} ambiguous ones left out")
    for told in (print_scores, print_rules, print_blame, print_sentences, print_chances):
        told(cases)
    figures = figures_of(cases)
    moved = {share: figures_of(judged(rows, truths, judge({"supported": share}))) for share in SHARES}
    print_runs(figures, moved)


if __name__ == "__main__":
    main()
