"""The self-test of a judge on a user's own cases: agreement by metric, baselines, failures, and what moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ragtriage.core.case import Case
from ragtriage.core.verdicts import Undefined
from ragtriage.trust.baselines import agreement_by_length, agreement_by_overlap
from ragtriage.trust.pairs import Pair, as_row
from ragtriage.trust.pairwise import Agreement, ScoredPair, agreement_of, by_metric
from ragtriage.trust.perturb.paraphrase import copied
from ragtriage.trust.stability import Stability

_OF_SOURCES = ("source_precision", "fact_precision")


@dataclass(frozen=True, slots=True)
class MetricTest:
    """One metric's pairs."""

    metric: str
    agreement: Agreement
    length: float | None
    """What length alone would have got, in [0, 1]."""
    overlap: float | None
    """What word overlap alone would have got, in [0, 1]; None for a metric without a form in words."""
    failures: tuple[ScoredPair, ...]
    """The pairs whose better version doesn't score higher, in the order of the file; not those the judge failed on."""
    copies: int = 0
    """Of `agreement.n`, repeats in the very words of the sentence: no rule has others, and they're easy to find."""
    copies_agreed: int = 0
    """Of `copies`, those that agree."""
    zeros: int = 0
    """Of `agreement.ties`, sources by which the judge finds nothing of use in either version: 0 against 0."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        failures = [
            {"better_score": _value(one.better), "worse_score": _value(one.worse), **as_row(one.pair)}
            for one in self.failures
        ]
        found = {
            "length": self.length,
            "overlap": self.overlap,
            "copies": self.copies,
            "copies_agreed": self.copies_agreed,
            "zeros": self.zeros,
            "failures": failures,
        }
        return {**self.agreement.as_json(), **found}


@dataclass(frozen=True, slots=True)
class SelfTest:
    """What a self-test found."""

    metrics: tuple[MetricTest, ...]
    """Those that have pairs, in the order of METRICS."""
    skipped: Mapping[str, Mapping[str, int]]
    """A metric → why no pair was made → on how many cases; empty where pairs were given."""
    stability: Stability | None
    """None where it wasn't looked for."""

    @property
    def incomplete(self) -> bool:
        """Whether the judge failed somewhere: the same command tries that again."""
        stable = self.stability
        beside = stable is not None and (stable.failed or stable.reordered.failed or stable.paraphrased.failed)
        return bool(beside) or any(one.agreement.failed for one in self.metrics)

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines."""
        return {
            "metrics": {one.metric: one.as_json() for one in self.metrics},
            "skipped": {name: dict(reasons) for name, reasons in self.skipped.items()},
            "stability": self.stability.as_json() if self.stability else None,
        }


def self_test_of(
    scored: Sequence[ScoredPair],
    skipped: Mapping[str, Mapping[str, int]],
    stability: Stability | None,
    seed: int = 0,
) -> SelfTest:
    """Put together what was scored.

    Args:
        scored: pairs, each by its own metric.
        skipped: see `SelfTest.skipped`.
        stability: see `SelfTest.stability`.
        seed: of the resamples.
    """
    tests = []
    for name, some in by_metric(scored):
        counted = [one.pair for one in some if not one.failed]
        failures = tuple(one for one in some if not one.agrees and not one.failed)
        lexical = agreement_by_length(counted), agreement_by_overlap(counted)
        copies = [one for one in some if not one.failed and _copy(one.pair)]
        zeros = sum(one.better == one.worse == 0 for one in some) if name in _OF_SOURCES else 0
        tests.append(
            MetricTest(
                name, agreement_of(some, seed), *lexical, failures, len(copies), sum(c.agrees for c in copies), zeros
            )
        )
    return SelfTest(tuple(tests), skipped, stability)


def bases_of(pairs: Sequence[Pair]) -> list[Case]:
    """The better versions of pairs, each once, under the name of their group."""
    found: dict[Any, Case] = {}
    taken: dict[str, int] = {}
    for pair in pairs:
        case = pair.better
        key = (case.query, case.sources, case.response, case.history)
        if key not in found:
            taken[pair.group] = taken.get(pair.group, 0) + 1
            number = taken[pair.group]
            found[key] = replace(case, id=pair.group if number == 1 else f"{pair.group} ({number})")
    return list(found.values())


def _copy(pair: Pair) -> bool:
    return pair.change is not None and copied(pair.change.before, pair.change.after)


def _value(value: float | Undefined) -> float | None:
    return None if isinstance(value, Undefined) else value
