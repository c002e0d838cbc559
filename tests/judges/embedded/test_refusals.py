"""Refusals and remarks in many wordings: most are known for what they are, and few answers are taken for one."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from ragtriage.core import questions as ask
from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.embedded import EmbeddedJudge

REFUSALS = Path(__file__).parents[2] / "refusals"


@pytest.fixture(scope="module")
def judge() -> Iterator[EmbeddedJudge]:
    one = EmbeddedJudge()
    yield one
    one.close()


def answers(judge: EmbeddedJudge, questions: Sequence[Question]) -> list[Answer]:
    async def found() -> dict[int, Answer]:
        return {place: answer async for place, answer in judge.ask(questions)}

    return [answer for _, answer in sorted(asyncio.run(found()).items())]


@pytest.mark.parametrize(("name", "least", "most", "hidden"), [("first", 39, 1, 5), ("second", 34, 1, 2)])
def test_refusals_are_known_and_answers_mostly_not_taken_for_one(
    judge: EmbeddedJudge, name: str, least: int, most: int, hidden: int
) -> None:
    rows = [json.loads(line) for line in (REFUSALS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
    plain = [row for row in rows if row["kind"] == "answer" and not row["remarks"]]

    told = answers(judge, [ask.declines(row["query"], row["response"]) for row in rows])
    split = answers(judge, [ask.claims(row["response"], row["query"]) for row in plain])

    declining = [
        row["kind"] for row, one in zip(rows, told, strict=True) if isinstance(one, Verdict) and one.value == "yes"
    ]
    remarks = [c.text for found in split if isinstance(found, tuple) for c in found if c.remark]
    assert len(rows) == 150
    assert declining.count("refusal") >= least
    assert declining.count("answer") <= most
    assert declining.count("partial") == 0
    assert len(remarks) <= hidden, remarks
