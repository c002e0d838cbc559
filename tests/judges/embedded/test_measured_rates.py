"""Texts whose truth is known, by the hundred: how many the judge may get wrong, as far as was measured.

A part of the rows is asked where all take long; `python bench/details.py` and `python bench/healthy.py` ask all.
"""

from pathlib import Path

import pytest
from contract import answers

from examples import rows_of
from ragtriage import Case, Source, Verdict, diagnose, evaluate_sync, needs_of, thresholds_with
from ragtriage.core import questions as ask
from ragtriage.core.verdicts import NOT_SUPPORTED
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.metrics import metrics_named

TESTS = Path(__file__).parents[2]
METRICS = metrics_named(["thelma", "-self_distinctness", "-fact_precision"])


def chances(judge: EmbeddedJudge, claims: list[tuple[str, list[str], str]]) -> list[float]:
    """The chance that each of these (claim, sources, query) is supported; a half where the judge can't tell."""
    verdicts = answers(judge, [ask.supported(claim, sources, query, claim) for claim, sources, query in claims])
    return [0.5 if one.chance is None else one.chance for one in verdicts if isinstance(one, Verdict)]


@pytest.mark.parametrize(("name", "least", "most", "red"), [("first", 20, 8, 3), ("second", 11, 9, 4)])
def test_wrong_details_are_found_and_true_claims_mostly_left_alone(
    embedded: EmbeddedJudge, name: str, least: int, most: int, red: int
) -> None:
    rows = rows_of(TESTS / "details" / f"{name}.jsonl")[::4]
    altered = chances(
        embedded, [(one["claim"], row["sources"], row["query"]) for row in rows for one in row["altered"]]
    )
    true = chances(embedded, [(claim, row["sources"], row["query"]) for row in rows for claim in row["true"]])

    assert (len(rows), len(altered), len(true)) == (10, 60, 60)
    cut = sorted(true)[most]  # below it lie as many true claims as may
    assert sum(chance < cut for chance in altered) >= least
    assert sum(chance <= NOT_SUPPORTED for chance in true) <= red


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
    """Asked are every sixth case, and those that were blamed when all were: one more may be, and one more surely."""
    known = blamed_before.split()
    asked = [
        row for at, row in enumerate(rows_of(TESTS / "healthy" / f"{name}.jsonl")) if at % 6 == 0 or row["id"] in known
    ]
    cases = [Case(r["id"], r["query"], tuple(map(Source, r["sources"])), r["response"]) for r in asked]

    blamed = {
        record.case.id: findings
        for record in evaluate_sync(cases, embedded, metrics=METRICS, also=needs_of(RULES))
        if (findings := [f for f in diagnose(record, thresholds_with({})) if f.kind in {"failure", "quality"}])
    }

    assert {row["id"] for row in asked} > set(known)
    assert len(blamed) <= len(known) + 1, blamed.keys()
    assert sum(any(f.sure for f in findings) for findings in blamed.values()) <= surely + 1


@pytest.mark.parametrize(("name", "least", "most", "hidden"), [("first", 39, 1, 5), ("second", 34, 1, 2)])
def test_refusals_are_known_and_answers_mostly_not_taken_for_one(
    embedded: EmbeddedJudge, name: str, least: int, most: int, hidden: int
) -> None:
    rows = rows_of(TESTS / "refusals" / f"{name}.jsonl")
    plain = [row for row in rows if row["kind"] == "answer" and not row["remarks"]]
    told = answers(embedded, [ask.declines(row["query"], row["response"]) for row in rows])
    split = answers(embedded, [ask.claims(row["response"], row["query"]) for row in plain])

    declining = [
        row["kind"] for row, one in zip(rows, told, strict=True) if isinstance(one, Verdict) and one.value == "yes"
    ]
    remarks = [c.text for found in split if isinstance(found, tuple) for c in found if c.remark]
    assert len(rows) == 150
    assert declining.count("refusal") >= least
    assert declining.count("answer") <= most
    assert declining.count("partial") == 0
    assert len(remarks) <= hidden, remarks
