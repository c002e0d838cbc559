"""Is a reference-free score to be trusted? It is read as a classifier of correctness (table 1 of "GRAMMAR").

Low precision is optimism: wrong answers pass. Low recall is cynicism: right answers fail.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from ragtriage.core.errors import ConfigError
from ragtriage.core.statistics import IntervalEstimate, wald, wilson
from ragtriage.readers.json_objects import lines_by_id
from ragtriage.testset.answered_rows import Row
from ragtriage.testset.correctness import Decision

IntervalKind = Literal["wilson", "wald"]


@dataclass(frozen=True, slots=True)
class Reliability:
    """One score with a threshold, held against what is right."""

    score: str
    threshold: float
    precision: IntervalEstimate
    """Of the answers that it passes, those that are right. Undefined if it passes none."""
    recall: IntervalEstimate
    """Of the right answers, those that it passes. Undefined if none is right."""
    right: IntervalEstimate
    """Of all answers that have the score, those that are right: the precision of a score that passes every answer."""
    left_out: int
    """Rows without the score, or undecided."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        return asdict(self)


def reliability_of(
    rows: Sequence[Row],
    decisions: Sequence[Decision],
    score: str,
    threshold: float,
    scores: Mapping[str, Mapping[str, Any]] | None = None,
    interval: IntervalKind = "wilson",
) -> Reliability:
    """Hold one score against the truth: an answer passes if its score is at or above the threshold.

    `scores` has those of each row's id; without them a score is a column of the rows.
    """
    seen: list[tuple[bool, bool]] = []
    for row, decision in zip(rows, decisions, strict=True):
        own = row.columns if scores is None else scores.get(row.id, {})
        value = _number(own.get(score))
        if value is not None and decision.correct is not None:
            seen.append((value >= threshold, decision.correct))
    if not seen:
        raise ConfigError(f"no decided row has a number under {score!r}: name a column, or give a file with --scores")
    hits = sum(passed and right for passed, right in seen)
    share = wilson if interval == "wilson" else wald
    return Reliability(
        score,
        threshold,
        share(hits, sum(passed for passed, _ in seen)),
        share(hits, sum(right for _, right in seen)),
        share(sum(right for _, right in seen), len(seen)),
        len(rows) - len(seen),
    )


TABLE_1 = ("groundedness", "self_consistency")
"""Our scores that ask what the paper's RAGAS-Fact and SelfCheck do: supported claims / claims, and four samples that
all agree."""


def read_scores(path: Path) -> dict[str, Mapping[str, Any]]:
    """Id → scores, of a JSONL file, which may be gzipped: `{id, scores: {name: number}}`, or flat rows."""
    found = {}
    for _, key, values in lines_by_id(path):
        scores = values.get("scores")
        found[key] = scores if isinstance(scores, dict) else values
    return found


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
