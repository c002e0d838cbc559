"""Is a reference-free score to be trusted? It is read as a classifier of correctness (table 1 of "GRAMMAR").

Low precision is optimism: wrong answers pass. Low recall is cynicism: right answers fail.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
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
    scores: Mapping[str, float | None] | None = None,
    interval: IntervalKind = "wilson",
) -> Reliability:
    """Hold one score against the truth: an answer passes if its score is at or above the threshold."""
    seen: list[tuple[bool, bool]] = []
    for row, decision in zip(rows, decisions, strict=True):
        value = _number(scores.get(row.id) if scores is not None else row.columns.get(score))
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


@dataclass(frozen=True, slots=True)
class Published:
    """A row of GRAMMAR's table 1: the same kind of score, of another application by another judge."""

    name: str
    precision: IntervalEstimate
    recall: IntervalEstimate


PUBLISHED: Mapping[str, Published] = MappingProxyType(
    {
        "groundedness": Published("RAGAS-Fact", IntervalEstimate(0.19, 0.11, 0.27), IntervalEstimate(0.92, 0.86, 0.97)),
        "self_consistency": Published(
            "SelfCheck", IntervalEstimate(0.15, 0.08, 0.22), IntervalEstimate(0.50, 0.40, 0.59)
        ),
    }
)
"""Our score → the row of the paper's table that asks the same: supported claims / claims, and four samples that all
agree."""


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """Scores of answers in a file of their own."""

    rows: Mapping[str, Mapping[str, Any]]
    """By id."""

    def of(self, name: str) -> dict[str, float | None]:
        """One score: id → its value; rows without it are left out."""
        return {key: scores[name] for key, scores in self.rows.items() if name in scores}


def read_scores(path: Path) -> ScoreFile:
    """The scores of a JSONL file, which may be gzipped: `{id, scores: {name: number}}`, or flat rows."""
    read = ((key, values, values.get("scores")) for _, key, values in lines_by_id(path))
    return ScoreFile({key: scores if isinstance(scores, dict) else values for key, values, scores in read})


def _number(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
