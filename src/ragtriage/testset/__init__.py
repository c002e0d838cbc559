"""Test sets whose answers are known: what they reveal of an application, and of scores without references."""

from ragtriage.testset.answered_rows import Row, read_rows
from ragtriage.testset.correctness import Decision, decide, typed_match
from ragtriage.testset.reliability import Reliability, reliability_of
from ragtriage.testset.scoring import (
    ClusterComparison,
    ClusterDifference,
    ClusterScores,
    ModularScores,
    ScoringOptions,
    score_balanced,
    score_decided,
    score_rows,
)

__all__ = [
    "ClusterComparison",
    "ClusterDifference",
    "ClusterScores",
    "Decision",
    "ModularScores",
    "Reliability",
    "Row",
    "ScoringOptions",
    "decide",
    "read_rows",
    "reliability_of",
    "score_balanced",
    "score_decided",
    "score_rows",
    "typed_match",
]
