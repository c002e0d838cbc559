"""Records golden verdicts and their sources again: `python tests/judges/embedded/record_golden_verdicts.py`.

An answer that changed is only written to `golden_verdicts.jsonl` if the version of its kind was raised in
`ragtriage.judges.embedded.versions`. Changed tables, constants and model files are only written to
`verdict_sources.json` if some version was raised, or with `--same-verdicts`: by it you say that no question is answered
another way, because a pattern was rewritten to match the same, a constant was split or added, or nothing reads it.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verdict_sources import SOURCES, changed_sources, named, recorded_sources, verdict_sources

from ragtriage.core.questions import Question
from ragtriage.core.verdicts import Answer, Verdict
from ragtriage.judges.embedded import EmbeddedJudge
from ragtriage.judges.embedded.versions import VERSIONS

GOLDEN = Path(__file__).with_name("golden_verdicts.jsonl")
TOLERANCE = 0.02
"""How far a probability may be off on another processor: without VNNI, int8 rounds another way."""

RAISE = "Raise the version of the kinds that use it in VERSIONS of ragtriage/judges/embedded/versions.py"

Row = dict[str, Any]


def rows() -> list[Row]:
    return [json.loads(line) for line in GOLDEN.read_text(encoding="utf-8").splitlines()]


def question_of(row: Row) -> Question:
    fields = ("subject", "query", "context", "at")
    own = {field: row[field] for field in fields if field in row}
    return Question(row["kind"], evidence=tuple(row.get("evidence", ())), **own)


def answers_to(some: Sequence[Row]) -> list[Any]:
    """The answers of today, as the file has them."""

    async def ask(judge: EmbeddedJudge) -> dict[int, Answer]:
        return {place: answer async for place, answer in judge.ask([question_of(row) for row in some])}

    judge = EmbeddedJudge()
    found = asyncio.run(ask(judge))
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


def check_sources(changed: Sequence[str], some: Sequence[Row], versions: dict[str, int]) -> None:
    """Check that a version was raised where sources changed.

    Raises:
        ValueError: none was.
    """
    if changed and not any(versions[row["kind"]] > row["version"] for row in some):
        raise ValueError(
            f"changed since the last recording: {named(changed)}. {RAISE}, then record again; with "
            "--same-verdicts if no question is answered another way"
        )


def current_versions() -> dict[str, int]:
    return {kind: version.number for kind, version in VERSIONS.items()}


def _as_json(answer: Answer) -> Any:
    if isinstance(answer, Verdict):
        numbers = {"score": answer.score, "confidence": answer.confidence}
        rounded = {name: None if number is None else round(number, 4) for name, number in numbers.items()}
        told = {"contradicted": True} if answer.contradicted else {}
        return {"value": answer.value, **rounded, "sure": answer.sure, **told}
    assert isinstance(answer, tuple), answer
    return [{"text": c.text, "span": list(c.span) if c.span else None, "remark": c.remark} for c in answer]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--same-verdicts", action="store_true", help="the changed sources change no verdict")
    args = parser.parse_args()
    old, versions, sources = rows(), current_versions(), verdict_sources()
    changed = changed_sources(recorded_sources(), sources)
    try:
        if not args.same_verdicts:
            check_sources(changed, old, versions)
        new = recorded_again(old, answers_to(old), versions)
    except ValueError as error:
        sys.exit(str(error))
    GOLDEN.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in new), encoding="utf-8")
    SOURCES.write_text(json.dumps(sources, ensure_ascii=False, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    again = sum(a != b for a, b in zip(old, new, strict=True))
    sys.stdout.write(f"recorded again: {again} of {len(old)} answers, {len(changed)} of {len(sources)} sources\n")


if __name__ == "__main__":
    main()
