"""How many expectations hold of rows that say what is right.

    python bench/cases.py FILE.jsonl|FOLDER … [--judge NAME] [--list]

A row is what `ragtriage evaluate` reads, with `expect`, a list: a claim or sub-question with its verdict, a score with
a bound or that of another row, a rule that is found or not, the component, a pattern that a finding's sentence fits, an
undefined score, or that the row is evaluated at all. Rows whose `why` begins with "Control" are counted apart. Files
are counted each by itself, and all together. `expect` and `why` are read here and by nothing else.
"""

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ragtriage import (
    RULES,
    Case,
    Finding,
    Record,
    Score,
    Undefined,
    Verdict,
    diagnose,
    evaluate_sync,
    headline,
    judge_named,
    metrics_named,
    needs_of,
    open_cases,
    thresholds_with,
)
from ragtriage.core.steps import Match
from ragtriage.core.verdicts import highest
from ragtriage.metrics.thelma import ANSWERED_BY_ONE, ANSWERED_TOGETHER, SUPPORTED

VALUES = {"supported": "yes", "not supported": "no"}
ANSWERED = {"answered by the sources": "yes", "not answered by the sources": "no"}
SAME = 0.005
"""How far two scores may be apart that are the same."""


@dataclass
class Evaluated:
    """One row with all that was found."""

    record: Record
    findings: Sequence[Finding]
    component: str


@dataclass
class Count:
    """How many expectations of a file hold."""

    rows: int = 0
    held: int = 0
    all: int = 0
    controls_held: int = 0
    controls: int = 0
    missed: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        controls = f"; controls {self.controls_held} of {self.controls}" if self.controls else ""
        return f"{self.held} of {self.all} expectations of {self.rows} rows hold{controls}"


def rows_of(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def evaluated(rows: Sequence[Mapping[str, Any]], judge: str) -> dict[str, Evaluated]:
    """What is found of rows that can be used, by their ids, without what they expect."""
    shown = [{name: value for name, value in row.items() if name not in ("expect", "why")} for row in rows]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(row)}\n" for row in shown)
        file.flush()
        cases = [row for row in open_cases(file.name).rows() if isinstance(row, Case)]
    thresholds, found = thresholds_with({}), {}
    metrics = metrics_named(["thelma", "citations"])
    for record in evaluate_sync(cases, judge_named(judge), metrics=metrics, also=needs_of(RULES)):
        findings = diagnose(record, thresholds)
        found[record.case.id] = Evaluated(record, findings, headline(record, findings, thresholds).component)
    return found


def holds(expected: Mapping[str, Any], one: Evaluated | None, others: Mapping[str, Evaluated]) -> bool:
    """Whether an expectation holds of a row."""
    if one is None:
        return False
    for kind, check in CHECKS.items():
        if kind in expected:
            return check(expected, one, others)
    raise SystemExit(f"not known: {expected}")


def _claim(expected: Mapping[str, Any], one: Evaluated, _: object) -> bool:
    without = expected.get("without")
    told = [value for claim, value in claims(one) if expected["claim"] in claim and not (without and without in claim)]
    return VALUES[expected["verdict"]] in told


def _question(expected: Mapping[str, Any], one: Evaluated, _: object) -> bool:
    wanted = ANSWERED[expected["verdict"]]
    return any(expected["question"] in question and value == wanted for question, value in questions(one))


def _score(expected: Mapping[str, Any], one: Evaluated, _: object) -> bool:
    value = score(one, expected["score"])
    return value is not None and expected.get("at_least", value) <= value <= expected.get("at_most", value)


def _same_score(expected: Mapping[str, Any], one: Evaluated, others: Mapping[str, Evaluated]) -> bool:
    if expected["as"] not in others:
        return False
    own, other = (score(row, expected["same_score"]) for row in (one, others[expected["as"]]))
    return own is not None and other is not None and abs(own - other) <= SAME


Check = Callable[[Mapping[str, Any], Evaluated, Mapping[str, Evaluated]], bool]
CHECKS: dict[str, Check] = {
    "evaluated": lambda expected, _one, _others: bool(expected["evaluated"]),
    "claim": _claim,
    "no_claim": lambda expected, one, _: not any(expected["no_claim"] in claim for claim, _ in claims(one)),
    "question": _question,
    "score": _score,
    "same_score": _same_score,
    "rule": lambda expected, one, _: expected["rule"] in {finding.rule for finding in one.findings},
    "rule_absent": lambda expected, one, _: expected["rule_absent"] not in {finding.rule for finding in one.findings},
    "component": lambda expected, one, _: one.component == expected["component"],
    "finding_like": lambda expected, one, _: any(re.search(expected["finding_like"], str(f)) for f in one.findings),
    "undefined": lambda expected, one, _: isinstance(one.record.outcomes.get(expected["undefined"]), Undefined),
}
"""What may be expected, each by the name of its field."""


def claims(one: Evaluated) -> Iterator[tuple[str, str]]:
    """The claims of a response with the value of each verdict."""
    return _verdicts(one, SUPPORTED)


def questions(one: Evaluated) -> Iterator[tuple[str, str]]:
    """The sub-questions with whether the sources answer them."""
    return _verdicts(one, ANSWERED_BY_ONE, ANSWERED_TOGETHER)


def score(one: Evaluated, metric: str) -> float | None:
    """A score, None where it is undefined."""
    outcome = one.record.outcomes.get(metric)
    return outcome.value if isinstance(outcome, Score) else None


def _verdicts(one: Evaluated, *steps: Match) -> Iterator[tuple[str, str]]:
    known = [found for step in steps if (found := one.record.verdicts(step)) is not None]
    for at, component in enumerate(known[0].components if known else ()):
        cell = highest([found.best()[at] for found in known])
        yield component.text, cell.value if isinstance(cell, Verdict) else ""


def counted(path: Path, judge: str) -> Count:
    """What holds of a file."""
    rows, found = rows_of(path), Count()
    results = evaluated(rows, judge)
    for row in rows:
        one = results.get(row["id"])
        control = row.get("why", "").startswith("Control")
        found.rows += 1
        for expected in row["expect"]:
            held = holds(expected, one, results)
            if control:
                found.controls += 1
                found.controls_held += held
            else:
                found.all += 1
                found.held += held
            if not held:
                found.missed.append(f"{row['id']}{' (control)' * control}: {json.dumps(expected)}\n{_said(one)}")
    return found


def _said(one: Evaluated | None) -> str:
    if one is None:
        return "    rejected"
    scores = " ".join(f"{name} {outcome}" for name, outcome in one.record.outcomes.items())
    told = [f"{value} {text!r}" for text, value in claims(one)]
    rules = ", ".join(f"{f.rule} {f.probability:.2f}" for f in one.findings) or "no finding"
    return f"    {scores}\n    claims: {'; '.join(told)}\n    {rules} · {one.component}"


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--judge", default="embedded")
    parser.add_argument("--list", action="store_true", help="name each expectation that doesn't hold")
    args = parser.parse_args()
    paths = [path for given in args.files for path in (sorted(given.glob("*.jsonl")) if given.is_dir() else [given])]
    total = Count()
    for path in paths:
        found = counted(path, args.judge)
        print(f"{path.stem}: {found}")
        if args.list:
            print("".join(f"  {one}\n" for one in found.missed), end="")
        for name in ("rows", "held", "all", "controls_held", "controls"):
            setattr(total, name, getattr(total, name) + getattr(found, name))
    print(f"all: {total}")


if __name__ == "__main__":
    main()
