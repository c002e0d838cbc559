"""What anybody can tell from the texts, the embedded judge tells: `right_verdicts.jsonl` has a question a line.

Its fields are a question's; `explanation` is a part of what is said, and `above` and `below` bound the chance, or the
score of a similarity.
"""

from typing import Any

import pytest
from contract import answers
from record_golden_verdicts import question_of

from examples import examples
from ragtriage import Case, Source, evaluate_sync
from ragtriage.core import questions as ask
from ragtriage.core.verdicts import Score, Verdict
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
