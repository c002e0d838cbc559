"""The self-test of a judge on a user's own cases: agreement by metric, and failures."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.validation import as_builtins
from ragtriage.core.verdicts import Undefined
from ragtriage.metrics import metrics_named
from ragtriage.trust.pair_files import LabelledPair, pair_row
from ragtriage.trust.pair_scoring import (
    PairAgreement,
    ScoredPair,
    ScoreValue,
    agreement_by_length,
    agreement_by_overlap,
    pair_agreement,
    version_key,
)
from ragtriage.trust.wording import is_copy


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
    copies: int = 0
    """Of `agreement.pairs`, repeats in the very words of the sentence: no rule has others, and they're easy to find."""
    copies_agreed: int = 0
    """Of `copies`, those that agree."""
    zeros: int = 0
    """Of `agreement.ties`, sources by which the judge finds nothing of use in either version: 0 against 0."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        failures = [
            {"better_score": _number(one.better), "worse_score": _number(one.worse), **pair_row(one.pair)}
            for one in self.failures
        ]
        numbers = {name: getattr(self, name) for name in ("length", "overlap", "copies", "copies_agreed", "zeros")}
        return {**as_builtins(self.agreement), **numbers, "failures": failures}


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


def self_test_of(scored: Sequence[ScoredPair], skipped: Mapping[str, Mapping[str, int]], seed: int = 0) -> SelfTest:
    """Put together what was scored; the pairs each by its own metric."""
    tests = []
    for metric in metrics_named(sorted({one.pair.metric for one in scored})) if scored else ():
        name = metric.name
        some = [one for one in scored if one.pair.metric == one.metric == name]
        counted = [one for one in some if not one.failed]
        pairs = [one.pair for one in counted]
        copies = [one for one in counted if one.pair.change and is_copy(one.pair.change.before, one.pair.change.after)]
        of_sources = name in {"source_precision", "fact_precision"}
        tests.append(
            MetricTest(
                name,
                pair_agreement(some, seed),
                agreement_by_length(pairs),
                agreement_by_overlap(pairs),
                tuple(one for one in counted if not one.agrees),
                len(copies),
                sum(one.agrees for one in copies),
                sum(one.better == one.worse == 0 for one in some) if of_sources else 0,
            )
        )
    return SelfTest(tuple(tests), skipped)


def base_cases(pairs: Sequence[LabelledPair]) -> list[Case]:
    """The better versions of pairs, each once, under the name of their group."""
    found: dict[Any, Case] = {}
    numbers: Counter[str] = Counter()
    for pair in pairs:
        key = version_key(pair.better)
        if key not in found:
            numbers[pair.group] += 1
            number = numbers[pair.group]
            found[key] = replace(pair.better, id=pair.group if number == 1 else f"{pair.group} ({number})")
    return list(found.values())


def _number(value: ScoreValue) -> float | None:
    return None if isinstance(value, Undefined) else value
