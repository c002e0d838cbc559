"""Worked examples of every decomposition: a text and its components, as data."""

import json
from pathlib import Path
from typing import Any

import pytest

from ragtriage.text.claims import split_claims
from ragtriage.text.declines import declines
from ragtriage.text.questions import split_questions
from ragtriage.text.sentences import split_facts, split_sentences

HERE = Path(__file__).parent
SPLITS = {
    "sentences": split_sentences,
    "facts": split_facts,
    "questions": split_questions,
}


def rows(name: str) -> list[Any]:
    lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [pytest.param(row, id=f"{name}-{number}") for number, row in enumerate(map(json.loads, lines), 1)]


@pytest.mark.parametrize(("name", "row"), [(name, p.values[0]) for name in SPLITS for p in rows(name)])
def test_components(name: str, row: dict[str, Any]) -> None:
    assert [c.text for c in SPLITS[name](row["text"])] == row["components"]


@pytest.mark.parametrize("row", rows("claims"))
def test_claims_and_remarks(row: dict[str, Any]) -> None:
    found = [[c.text, "remark"] if c.remark else [c.text] for c in split_claims(row["text"])]
    assert found == row["components"]


@pytest.mark.parametrize("row", rows("remarks"))
def test_remarks(row: dict[str, Any]) -> None:
    assert all(c.remark for c in split_claims(row["text"])) is row["remark"]


@pytest.mark.parametrize("row", rows("declines"))
def test_declines(row: dict[str, Any]) -> None:
    verdict = declines(row["query"], row["response"])
    assert verdict.value == row["value"]
    assert verdict.score is not None
    assert (verdict.score > 0.5) is (verdict.value == "yes")
    assert verdict.explanation
