"""Refusals and remarks in many wordings: most are known for what they are, and few answers are taken for one."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from ragtriage.text import declines, split_claims
from ragtriage.text.remark_model import masked, remark_probabilities

REFUSALS = Path(__file__).parents[1] / "refusals"


@pytest.mark.parametrize(("name", "least", "most", "hidden"), [("first", 39, 1, 5), ("second", 34, 1, 2)])
def test_refusals_are_known_and_answers_mostly_not_taken_for_one(name: str, least: int, most: int, hidden: int) -> None:
    rows = [json.loads(line) for line in (REFUSALS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    declining = [row["kind"] for row in rows if declines(row["query"], row["response"]).value == "yes"]
    answers = [row for row in rows if row["kind"] == "answer" and not row["remarks"]]
    remarks = [c.text for row in answers for c in split_claims(row["response"], row["query"]) if c.remark]

    assert len(rows) == 150
    assert declining.count("refusal") >= least
    assert declining.count("answer") <= most
    assert declining.count("partial") == 0
    assert len(remarks) <= hidden, remarks


def test_what_a_clause_is_about_is_masked() -> None:
    assert masked("Refund: the terms don’t mention 14 refunds.", "Do I get a refund?") == [
        "BEGIN", "the", "terms", "don't", "mention", "NUM", "ASKED", "END",
    ]  # fmt: skip


def test_the_chances_of_a_clause_are_shares_of_one() -> None:
    lack, other = remark_probabilities("The documents I was given don't mention a fee.", "Is there a fee?")

    assert lack > 0.9
    assert 0 <= other <= 1 - lack
    assert remark_probabilities("A fee of 20 euros is due in May.", "Is there a fee?")[0] < 0.1


@pytest.mark.parametrize("unit", ["a", "a ", "a'", "a-", "a: ", "not ", "**"])
def test_time_grows_with_the_clause(unit: str) -> None:
    begin = time.perf_counter()
    split_claims(unit * (20_000 // len(unit)), "What is a?")

    assert time.perf_counter() - begin < 20, "less than a second on an idle machine"
