"""The self-test of a judge on a user's own cases: agreement by metric, and failures."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Undefined
from ragtriage.metrics import metrics_named
from ragtriage.trust.pair_files import pair_row
from ragtriage.trust.pair_scoring import (
    PairAgreement,
    ScoredPair,
    ScoreValue,
    agreement_by_length,
    agreement_by_overlap,
    pair_agreement,
)


@dataclass(frozen=True, slots=True)
class MetricTest:
    """One metric's pairs."""

    metric: str
    agreement: PairAgreement
    length: float | None
    """What length alone would have got, in [0, 1]."""
    overlap: float | None
    """What word overlap alone would have got, in [0, 1]; None for a metric without a form in words."""
    failures: tuple[ScoredPair, ...]
    """The pairs whose better version doesn't score higher, in the order of the file; not those the judge failed on."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        failures = [
            {"better_score": _number(one.better), "worse_score": _number(one.worse), **pair_row(one.pair)}
            for one in self.failures
        ]
        return {**as_builtins(self.agreement), "length": self.length, "overlap": self.overlap, "failures": failures}


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a self-test found."""

    metrics: tuple[MetricTest, ...]
    """Those that have pairs, in the order of METRICS."""
    skipped: Mapping[str, Mapping[str, int]]
    """A metric → why no pair was made → on how many cases; empty where pairs were given."""

    @property
    def incomplete(self) -> bool:
        """Whether the judge failed somewhere: the same command tries that again."""
        return any(one.agreement.failed for one in self.metrics)

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        return {"metrics": {one.metric: one.as_json() for one in self.metrics}, "skipped": as_builtins(self.skipped)}


def self_test_of(scored: Sequence[ScoredPair], skipped: Mapping[str, Mapping[str, int]]) -> SelfTest:
    """Put together what was scored; the pairs each by its own metric."""
    tests = []
    for metric in metrics_named(sorted({one.pair.metric for one in scored})) if scored else ():
        name = metric.name
        some = [one for one in scored if one.pair.metric == one.metric == name]
        counted = [one for one in some if not one.failed]
        pairs = [one.pair for one in counted]
        tests.append(
            MetricTest(
                name,
                pair_agreement(some),
                agreement_by_length(pairs),
                agreement_by_overlap(pairs),
                tuple(one for one in counted if not one.agrees),
            )
        )
    return SelfTest(tuple(tests), skipped)


def _number(value: ScoreValue) -> float | None:
    return None if isinstance(value, Undefined) else value
