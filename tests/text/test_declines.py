"""What rules alone know of refusals: some wordings, and no answer that is taken for one."""

import json
from pathlib import Path

import pytest

from ragtriage.text.claims import Marks, split_claims
from ragtriage.text.declines import declines

REFUSALS = Path(__file__).parents[1] / "refusals"
QUERY = "How tall is the tower?"
UNUSUAL = "On heights, these pages keep their counsel."


@pytest.mark.parametrize(("name", "least", "hidden"), [("first", 12, 4), ("second", 6, 1)])
def test_rules_take_no_answer_for_a_refusal_and_hide_little_of_it(name: str, least: int, hidden: int) -> None:
    rows = [json.loads(line) for line in (REFUSALS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    declining = [row["kind"] for row in rows if declines(row["query"], row["response"]).value == "yes"]
    answers = [row for row in rows if row["kind"] == "answer" and not row["remarks"]]
    remarks = [c.text for row in answers for c in split_claims(row["response"], row["query"]) if c.remark]

    assert len(rows) == 150
    assert declining.count("refusal") >= least
    assert declining.count("answer") == declining.count("partial") == 0
    assert len(remarks) <= hidden, remarks


def declining(query: str, text: str) -> Marks:
    """All of it says that something is lacking."""
    return Marks(kinds=((0, len(text), "declines"),))


def remarking(query: str, text: str) -> Marks:
    """All of it is a remark that says nothing of a lack."""
    return Marks(kinds=((0, len(text), "remark"),))


def test_a_wording_that_no_rule_knows_declines_where_it_is_marked_so() -> None:
    assert declines(QUERY, UNUSUAL).value == "no"
    verdict = declines(QUERY, UNUSUAL, declining)
    assert verdict.value == "yes"
    assert UNUSUAL in verdict.explanation


def test_another_remark_is_no_refusal() -> None:
    assert declines(QUERY, UNUSUAL, remarking).value == "no"


def test_what_is_marked_as_declining_beside_a_claim_is_hedged_where_both_are_one_sentence() -> None:
    said = "The height is missing, but the tower has 204 steps."
    at = said.index("but")

    def marker(query: str, text: str) -> Marks:
        return Marks(
            cuts=((at, "clause"),), subjects=((at + 4, at + 13),), kinds=((0, at, "declines"), (at, 60, "claim"))
        )

    assert [(c.text, c.remark) for c in split_claims(said, QUERY, marker=marker)] == [
        ("The height is missing,", True),
        ("The tower has 204 steps.", False),
    ]
    assert declines(QUERY, said, marker).value == "no"
