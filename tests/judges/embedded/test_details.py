"""Claims with one wrong detail: many are found, and few true ones put in doubt.

A fourth of the cases is asked; `python bench/details.py` asks all.
"""

import asyncio
import json
from pathlib import Path

import pytest

from ragtriage import Verdict
from ragtriage.core.questions import supported
from ragtriage.core.verdicts import NOT_SUPPORTED
from ragtriage.judges.embedded import EmbeddedJudge

DETAILS = Path(__file__).parents[2] / "details"


def chances(judge: EmbeddedJudge, claims: list[tuple[str, list[str], str]]) -> list[float]:
    """The chance that each of these (claim, sources, query) is supported; a half where the judge can't tell."""

    async def ask() -> list[float]:
        questions = [supported(claim, sources, query, claim) for claim, sources, query in claims]
        verdicts = [answer async for _, answer in judge.ask(questions) if isinstance(answer, Verdict)]
        return [0.5 if verdict.chance is None else verdict.chance for verdict in verdicts]

    return asyncio.run(ask())


@pytest.mark.parametrize(("name", "least", "most", "red"), [("first", 20, 8, 3), ("second", 11, 9, 4)])
def test_wrong_details_are_found_and_true_claims_mostly_left_alone(
    embedded: EmbeddedJudge, name: str, least: int, most: int, red: int
) -> None:
    rows = [json.loads(line) for line in (DETAILS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()[::4]]

    altered = chances(
        embedded, [(one["claim"], row["sources"], row["query"]) for row in rows for one in row["altered"]]
    )
    true = chances(embedded, [(claim, row["sources"], row["query"]) for row in rows for claim in row["true"]])

    assert (len(rows), len(altered), len(true)) == (10, 60, 60)
    cut = sorted(true)[most]  # below it lie as many true claims as may
    assert sum(chance < cut for chance in altered) >= least
    assert sum(chance <= NOT_SUPPORTED for chance in true) <= red
