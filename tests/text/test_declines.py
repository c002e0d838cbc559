"""What rules alone know of refusals, and of a yes or no alone: no answer is taken for one."""

from pathlib import Path
from typing import Any

import pytest

from examples import examples, rows_of
from ragtriage.text.claim_parts import Marks
from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.short_answers import is_yes, stated

REFUSALS = Path(__file__).parents[1] / "refusals"
QUERY = "How tall is the tower?"
UNUSUAL = "On heights, these pages keep their counsel."


@pytest.mark.parametrize("row", examples("declines"))
def test_declines(row: dict[str, Any]) -> None:
    verdict = declines(row["query"], row["response"])
    assert verdict.value == row["value"]
    assert verdict.score is not None
    assert (verdict.score > 0.5) is (verdict.value == "yes")
    assert verdict.explanation


@pytest.mark.parametrize(("name", "least", "hidden"), [("first", 12, 4), ("second", 6, 1)])
def test_rules_take_no_answer_for_a_refusal_and_hide_little_of_it(name: str, least: int, hidden: int) -> None:
    rows = rows_of(REFUSALS / f"{name}.jsonl")
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


@pytest.mark.parametrize("row", examples("short_answers", "replies"))
def test_whether_a_reply_is_a_yes_or_no_and_nothing_else(row: dict[str, Any]) -> None:
    assert is_yes(row["said"]) is row["yes"]


@pytest.mark.parametrize("row", examples("short_answers", "statements"))
def test_what_it_states(row: dict[str, Any]) -> None:
    assert (stated(row["query"], yes=True), stated(row["query"], yes=False)) == (row["yes"], row["no"])
