"""Worked examples of every decomposition: a text and its components, as data."""

from typing import Any

import pytest

from examples import examples
from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_facts, split_sentences


@pytest.mark.parametrize("row", examples("sentences"))
def test_sentences(row: dict[str, Any]) -> None:
    assert [c.text for c in split_sentences(row["text"])] == row["components"]


@pytest.mark.parametrize("row", examples("facts"))
def test_facts(row: dict[str, Any]) -> None:
    assert [c.text for c in split_facts(row["text"])] == row["components"]


@pytest.mark.parametrize("row", examples("questions"))
def test_questions(row: dict[str, Any]) -> None:
    assert [c.text for c in split_questions(row["text"])] == row["components"]


@pytest.mark.parametrize("row", examples("claims"))
def test_claims_and_remarks(row: dict[str, Any]) -> None:
    found = [[c.text, "remark"] if c.remark else [c.text] for c in split_claims(row["text"])]
    assert found == row["components"]


@pytest.mark.parametrize("row", examples("remarks"))
def test_remarks(row: dict[str, Any]) -> None:
    assert all(c.remark for c in split_claims(row["text"])) is row["remark"]


@pytest.mark.parametrize("row", examples("declines"))
def test_declines(row: dict[str, Any]) -> None:
    verdict = declines(row["query"], row["response"])
    assert verdict.value == row["value"]
    assert verdict.score is not None
    assert (verdict.score > 0.5) is (verdict.value == "yes")
    assert verdict.explanation
