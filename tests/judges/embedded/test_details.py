"""Claims with one wrong detail: many are found, and few true ones put in doubt.

Half the cases are asked; `python bench/details.py` asks all.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from ragtriage import Verdict
from ragtriage.core.questions import supported
from ragtriage.judges.embedded import EmbeddedJudge

DETAILS = Path(__file__).parents[2] / "details"


def refused(judge: EmbeddedJudge, claims: list[tuple[str, list[str], str]]) -> int:
    """How many (claim, sources, query) are surely unsupported: shown in red."""

    async def ask() -> int:
        questions = [supported(claim, sources, query, claim) for claim, sources, query in claims]
        answers = [answer async for _, answer in judge.ask(questions)]
        return sum(isinstance(answer, Verdict) and answer.value == "no" and answer.sure for answer in answers)

    return asyncio.run(ask())


@pytest.mark.parametrize(("name", "least", "most"), [("first", 17, 5), ("second", 17, 9)])
def test_wrong_details_are_found_and_true_claims_mostly_left_alone(
    embedded: EmbeddedJudge, name: str, least: int, most: int
) -> None:
    rows = [json.loads(line) for line in (DETAILS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[::2]]

    altered = refused(
        embedded, [(one["claim"], row["sources"], row["query"]) for row in rows for one in row["altered"]]
    )
    true = refused(embedded, [(claim, row["sources"], row["query"]) for row in rows for claim in row["true"]])

    assert (len(rows), altered >= least, true <= most) == (20, True, True), (altered, true)
