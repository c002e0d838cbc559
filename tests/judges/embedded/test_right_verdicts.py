"""What anybody can tell from the texts, the embedded judge tells: `right_verdicts.jsonl` has a question a line.

Its fields are a question's; `explanation` is a part of what is said, and `above` and `below` bound the chance, or the
score of a similarity. Of texts whose truth is known, by the hundred, a part is asked where all take long: how many the
judge may get wrong is what was measured; `python bench/details.py` and `python bench/healthy.py` ask all.
"""

from pathlib import Path
from typing import Any

import pytest
from contract import answers
from record_golden_verdicts import question_of

from examples import examples, rows_of
from ragtriage import Case, Source, diagnose, evaluate_sync, needs_of, thresholds_with
from ragtriage.core import questions as ask
from ragtriage.core.verdicts import NOT_SUPPORTED, Score, Verdict
from ragtriage.diagnosis.rules import RULES
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.metrics import metrics_named


@pytest.mark.parametrize("row", examples("right_verdicts"))
def test_what_anybody_can_tell_is_told(embedded: EmbeddedJudge, row: dict[str, Any]) -> None:
    (found,) = answers(embedded, [question_of(row)])

    assert isinstance(found, Verdict)
    assert found.value == row["value"], found
    assert found.contradicted == row.get("contradicted", found.contradicted)
    assert row.get("explanation", "") in found.explanation
    chance = found.score if row["kind"] == "similarity" else found.chance
    if "above" in row or "below" in row:
        assert chance is not None
        assert row.get("above", 0) < chance < row.get("below", 1.01)


def test_a_claim_with_its_roles_swapped_is_less_likely_than_the_right_one(embedded: EmbeddedJudge) -> None:
    sources = (
        "Staff may work from abroad for up to 20 days a year. Directors must agree in writing beforehand.",
        "Contractors may not work from abroad at all.",
    )
    claims = ("Staff may work from abroad for up to 20 days a year.", "Contractors may work from abroad.")
    right, wrong = answers(embedded, [ask.supported(claim, sources) for claim in claims])

    assert (right.score or 0.0) > (wrong.score or 0.0)


def covered(judge: EmbeddedJudge, query: str, response: str, *sources: str, metric: str) -> Score:
    case = Case("1", query, tuple(map(Source, sources)), response)
    (record,) = evaluate_sync([case], judge, metrics=metrics_named([metric]))
    outcome = record.outcomes[metric]
    assert isinstance(outcome, Score)
    return outcome


@pytest.mark.parametrize("row", examples("short_replies"))
def test_short_replies_cover_what_was_asked_and_some_of_so_many_things_less(
    embedded: EmbeddedJudge, row: dict[str, Any]
) -> None:
    found = covered(embedded, row["query"], row["response"], *row["sources"], metric="response_query_coverage")

    assert found.value > 0.8 if row["covered"] else found.value < 0.3
    if row.get("grounded"):
        grounded = covered(embedded, row["query"], row["response"], *row["sources"], metric="groundedness")
        assert grounded.value > 0.8
        assert [[part.good for part in one.parts] for one in (found, grounded)] == [[True]] * 2


TESTS = Path(__file__).parents[2]
METRICS = metrics_named(["thelma", "-self_distinctness", "-fact_precision"])


def chances(judge: EmbeddedJudge, claims: list[tuple[str, list[str], str]]) -> list[float]:
    """The chance that each of these (claim, sources, query) is supported; a half where the judge can't tell."""
    verdicts = answers(judge, [ask.supported(claim, sources, query, claim) for claim, sources, query in claims])
    return [0.5 if one.chance is None else one.chance for one in verdicts if isinstance(one, Verdict)]


@pytest.mark.parametrize(("name", "least", "most", "red"), [("first", 21, 4, 2), ("second", 17, 4, 1)])
def test_wrong_details_are_found_and_true_claims_mostly_left_alone(
    embedded: EmbeddedJudge, name: str, least: int, most: int, red: int
) -> None:
    rows = rows_of(TESTS / "details" / f"{name}.jsonl")[::8]
    altered = chances(
        embedded, [(one["claim"], row["sources"], row["query"]) for row in rows for one in row["altered"]]
    )
    true = chances(embedded, [(claim, row["sources"], row["query"]) for row in rows for claim in row["true"]])

    assert (len(rows), len(altered), len(true)) == (5, 30, 30)
    cut = sorted(true)[most]  # below it lie as many true claims as may
    assert sum(chance < cut for chance in altered) >= least
    assert sum(chance <= NOT_SUPPORTED for chance in true) <= red


def test_few_healthy_answers_are_blamed(embedded: EmbeddedJudge) -> None:
    """Asked is every tenth case: two more may be blamed than were when this was measured, and one more surely."""
    rows = [row for file in sorted((TESTS / "healthy").glob("*.jsonl")) for row in rows_of(file)[::10]]
    cases = [Case(r["id"], r["query"], tuple(map(Source, r["sources"])), r["response"]) for r in rows]

    blamed = {
        record.case.id: findings
        for record in evaluate_sync(cases, embedded, metrics=METRICS, also=needs_of(RULES))
        if (findings := [f for f in diagnose(record, thresholds_with({})) if f.kind in {"failure", "quality"}])
    }

    assert len(rows) == 35
    assert len(blamed) <= 2, blamed
    assert sum(any(f.sure for f in findings) for findings in blamed.values()) <= 1


@pytest.mark.parametrize(("name", "least", "most", "hidden"), [("first", 45, 1, 5), ("second", 40, 1, 2)])
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
