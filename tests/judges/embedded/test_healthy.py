"""Answers in which nothing is wrong, in the shapes that applications give: few of them may be blamed.

Asked are every sixth case, and those that were blamed when all were: one more may be, and one more surely.
`python bench/healthy.py` asks all.
"""

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
    ("name", "blamed_before", "surely"),
    [
        ("shapes", "shape-08 shape-34 shape-38 shape-45 shape-46 shape-48", 1),
        ("everyday", "everyday-18 everyday-28 everyday-36 everyday-59", 3),
        ("later", "later-12 later-14 later-16", 1),
        ("institutions", "hb-15 hb-16 hb-25 hb-37 hb-38", 0),
        ("assistants", "ha-07", 0),
        ("services", "hc-06 hc-10 hc-50", 1),
    ],
)
def test_few_healthy_answers_are_blamed(embedded: EmbeddedJudge, name: str, blamed_before: str, surely: int) -> None:
    known = blamed_before.split()
    rows = [json.loads(line) for line in (HEALTHY / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    asked = [row for at, row in enumerate(rows) if at % 6 == 0 or row["id"] in known]
    cases = [Case(r["id"], r["query"], tuple(map(Source, r["sources"])), r["response"]) for r in asked]

    blamed = {
        record.case.id: findings
        for record in evaluate_sync(cases, embedded, metrics=METRICS, also=needs_of(RULES))
        if (findings := [f for f in diagnose(record, thresholds_with({})) if f.kind in {"failure", "quality"}])
    }

    assert {row["id"] for row in asked} > set(known)
    assert len(blamed) <= len(known) + 1, blamed.keys()
    assert sum(any(f.sure for f in findings) for findings in blamed.values()) <= surely + 1
