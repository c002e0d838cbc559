"""Answers in which nothing is wrong, in the shapes that applications give: few of them may be blamed.

Of the larger files half the cases are asked; `python bench/healthy.py` asks all.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ragtriage import Case, Source, diagnose, evaluate_sync, needs_of, thresholds_with
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.metrics import metrics_named

HEALTHY = Path(__file__).parents[2] / "healthy"
METRICS = metrics_named(["thelma", "-self_distinctness", "-fact_precision"])


@pytest.mark.parametrize(
    ("name", "every", "most", "most_surely"),
    [
        ("shapes", 1, 9, 3),
        ("everyday", 2, 5, 1),
        ("later", 1, 8, 2),
        ("institutions", 2, 3, 1),
        ("assistants", 2, 2, 1),
        ("services", 2, 2, 1),
    ],
)
def test_few_healthy_answers_are_blamed(
    embedded: EmbeddedJudge, name: str, every: int, most: int, most_surely: int
) -> None:
    lines = (HEALTHY / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines[::every]]
    cases = [Case(r["id"], r["query"], tuple(map(Source, r["sources"])), r["response"]) for r in rows]

    blamed = {
        record.case.id: findings
        for record in evaluate_sync(cases, embedded, metrics=METRICS, also=needs_of(RULES))
        if (findings := [f for f in diagnose(record, thresholds_with({})) if f.kind in {"failure", "quality"}])
    }

    assert len(blamed) <= most, blamed.keys()
    assert sum(any(f.sure for f in findings) for findings in blamed.values()) <= most_surely
