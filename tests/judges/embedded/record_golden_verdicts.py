"""Records the answers of `golden_verdicts.jsonl` again: `python tests/judges/embedded/record_golden_verdicts.py`.

An answer that changed is only written if the version of its kind was raised in `ragtriage.judges.embedded.versions`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.versions import VERSIONS

GOLDEN = Path(__file__).with_name("golden_verdicts.jsonl")
TOLERANCE = 0.02
"""How far a probability may be off on another processor: without VNNI, int8 rounds another way."""

Row = dict[str, Any]


def rows() -> list[Row]:
    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def question_of(row: Row) -> Question:
    fields = ("subject", "query", "context", "at")
    own = {field: row[field] for field in fields if field in row}
    return Question(row["kind"], evidence=tuple(row.get("evidence", ())), **own)


def answers_to(some: Sequence[Row]) -> list[Any]:
    """The answers of today, as the file has them."""
    found: dict[int, Answer] = {}

    async def ask(judge: EmbeddedJudge, places: Sequence[int]) -> None:
        async for at, answer in judge.ask([question_of(some[place]) for place in places]):
            found[places[at]] = answer

    for fast in (False, True):
        judge = EmbeddedJudge(fast=fast)
        asyncio.run(ask(judge, [place for place, row in enumerate(some) if row.get("fast", False) is fast]))
        judge.close()
    return [_as_json(found[place]) for place in range(len(some))]


def is_same(recorded: Any, answer: Any) -> bool:
    """Whether two answers are the same: decisions and texts exactly, numbers within the tolerance."""
    if isinstance(recorded, dict) and isinstance(answer, dict) and recorded.keys() == answer.keys():
        return all(is_same(recorded[name], answer[name]) for name in recorded)
    if isinstance(recorded, float) and isinstance(answer, float):
        return abs(recorded - answer) <= TOLERANCE
    return bool(recorded == answer)


def recorded_again(some: Sequence[Row], answers: Sequence[Any], versions: dict[str, int]) -> list[Row]:
    """The rows with the answers and versions of today.

    Raises:
        ValueError: an answer changed whose version wasn't raised.
    """
    changed = [
        row["kind"]
        for row, answer in zip(some, answers, strict=True)
        if not is_same(row["answer"], answer) and versions[row["kind"]] <= row["version"]
    ]
    if changed:
        kinds = ", ".join(sorted(set(changed)))
        raise ValueError(
            f"{len(changed)} answers changed and their versions didn't: raise {kinds} in VERSIONS of "
            "ragtriage/judges/embedded/versions.py, then record again"
        )
    return [
        row if is_same(row["answer"], answer) and versions[row["kind"]] == row["version"]
        else {**row, "version": versions[row["kind"]], "answer": answer}
        for row, answer in zip(some, answers, strict=True)
    ]  # fmt: skip


def current_versions() -> dict[str, int]:
    return {kind: version.number for kind, version in VERSIONS.items()}


def _as_json(answer: Answer) -> Any:
    if isinstance(answer, Verdict):
        numbers = {"score": answer.score, "confidence": answer.confidence}
        rounded = {name: None if number is None else round(number, 4) for name, number in numbers.items()}
        return {"value": answer.value, **rounded, "sure": answer.sure}
    assert isinstance(answer, tuple), answer
    return [{"text": c.text, "span": list(c.span) if c.span else None, "remark": c.remark} for c in answer]


def main() -> None:
    old = rows()
    try:
        new = recorded_again(old, answers_to(old), current_versions())
    except ValueError as error:
        sys.exit(str(error))
    GOLDEN.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in new), encoding="utf-8")
    sys.stdout.write(f"{sum(a != b for a, b in zip(old, new, strict=True))} of {len(old)} answers recorded again\n")


if __name__ == "__main__":
    main()
