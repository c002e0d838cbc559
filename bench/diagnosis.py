"""How often the diagnosis blames a sound answer, and how often it finds a fault: on cases with true labels.

    python bench/diagnosis.py NATURAL.jsonl [NATURAL.jsonl …] [--domain NAME …] [--judge NAME] [--limit N]

Reads natural cases (question, passages, sub-questions with grades, response sentences with labels), computes the true
scores from the labels and the judge's from the texts, and prints: each score's mean, bias and correlation; for every
rule how often it truly holds, was found and was found rightly; and the share of sound cases that were blamed. Verdicts
are never shown the labels. For figures that are held out, name domains that nothing was fitted on: those of
`training/splits.py`. A sub-question that only several passages together might answer
makes a case's coverage ambiguous; such cases are left out.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from ragtriage import Case, Score, Source, Undefined, diagnose, evaluate_sync, needs_of, thresholds_with
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Component, Outcome, Verdict, Verdicts
from ragtriage.diagnosis import RULES
from ragtriage.judges.build import judge_named
from ragtriage.metrics import metrics_named
from ragtriage.metrics.response import DECLINES

METRICS = metrics_named(["thelma", "-self_distinctness", "-fact_precision"])
BLAME = ("failure", "quality")


def case_of(row: dict[str, Any]) -> Case:
    """The case, without a label."""
    sources = tuple(Source("\n".join(passage)) for passage in row["passages"])
    return Case(row["id"], row["question"], sources, " ".join(text for text, *_ in row["response"]))


def truth_of(row: dict[str, Any]) -> dict[str, Outcome] | None:
    """The scores that the labels amount to; None if the coverage is ambiguous."""
    grades = [[int(grade) for grade in grades.values()] for _, grades, _ in row["sub"]]
    if any(2 not in some and some.count(1) > 1 for some in grades):
        return None
    labelled = [(label, needed) for _, label, _, needed in row["response"] if label is not None]
    passages = range(1, len(row["passages"]) + 1)
    essential = {p for p, _ in row["essential"]}

    def share(values: list[bool]) -> Outcome:
        return Score(sum(values) / len(values), len(values)) if values else Undefined("nothing to judge")

    return {
        "source_precision": share([p in essential for p in passages]),
        "source_query_coverage": share([2 in some for some in grades]),
        "response_precision": share([needed == 1 for _, needed in labelled]),
        "response_query_coverage": share([bool(covered) for *_, covered in row["sub"]]),
        "groundedness": share([label == 1 for label, _ in labelled]),
    }


def true_record(case: Case, truth: dict[str, Outcome]) -> Record:
    """A record as the labels would have it; it declines where no sentence makes a claim and nothing is covered."""
    coverage = truth["response_query_coverage"]
    declines = isinstance(truth["groundedness"], Undefined) and isinstance(coverage, Score) and coverage.value == 0
    cells = ((Verdict("yes" if declines else "no"),),)
    return Record(case, {str(DECLINES): Verdicts((Component(case.response or ""),), cells)}, truth)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--domain", nargs="+", help="cases of these domains only")
    parser.add_argument("--judge", default="embedded")
    args = parser.parse_args()
    rows = {}
    for path in args.files:
        with path.open(encoding="utf-8") as lines:
            cases = [json.loads(line) for line in lines]
        wanted = [case for case in cases if not args.domain or case["domain"] in args.domain]
        rows |= {case["id"]: case for case in wanted[: args.limit]}
    truths = {i: truth for i, row in rows.items() if (truth := truth_of(row)) is not None}
    thresholds = thresholds_with({})
    pairs: dict[str, list[tuple[float, float]]] = defaultdict(list)
    true: Counter[str] = Counter()
    found: Counter[str] = Counter()
    both: Counter[str] = Counter()
    sure: Counter[str] = Counter()
    sound = blamed = blamed_surely = 0
    judge = judge_named(args.judge)
    cases = (case_of(rows[i]) for i in truths)
    for record in evaluate_sync(cases, judge, metrics=METRICS, also=needs_of(RULES)):
        truth = truths[record.case.id]
        for name, expected in truth.items():
            got = record.outcomes[name]
            if isinstance(expected, Score) and isinstance(got, Score):
                pairs[name].append((expected.value, got.value))
        expected_rules = {f.rule: f.kind for f in diagnose(true_record(record.case, truth), thresholds)}
        findings = diagnose(record, thresholds)
        true.update(list(expected_rules))
        found.update(f.rule for f in findings)
        sure.update(f.rule for f in findings if f.sure and f.rule in expected_rules)
        both.update(f.rule for f in findings if f.rule in expected_rules)
        if not any(kind in BLAME for kind in expected_rules.values()):
            sound += 1
            blamed += any(f.kind in BLAME for f in findings)
            blamed_surely += any(f.kind in BLAME and f.sure for f in findings)
    print(f"{len(truths)} cases; {len(rows) - len(truths)} ambiguous ones left out\n")
    print("| score | n | true mean | judge's mean | correlation |\n|---|---|---|---|---|")
    for name, values in pairs.items():
        x, y = np.array(values).T
        print(f"| {name} | {len(x)} | {x.mean():.3f} | {y.mean():.3f} | {np.corrcoef(x, y)[0, 1]:.3f} |")
    print(
        "\n| rule | truly | found | rightly | surely and rightly | precision | recall |\n|---|---|---|---|---|---|---|"
    )
    for rule in RULES:
        n = rule.name
        precision = f"{both[n] / found[n]:.2f}" if found[n] else "–"
        recall = f"{both[n] / true[n]:.2f}" if true[n] else "–"
        print(f"| {n} | {true[n]} | {found[n]} | {both[n]} | {sure[n]} | {precision} | {recall} |")
    print(f"\nsound cases: {sound}; blamed {blamed} ({blamed / max(1, sound):.1%}), surely {blamed_surely}")


if __name__ == "__main__":
    main()
