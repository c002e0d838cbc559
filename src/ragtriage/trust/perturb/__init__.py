"""Worse versions of a user's own cases, made by rules so that the direction is known (after THELMA, appendix C)."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ragtriage.core.case import Case
from ragtriage.core.statistics import ranked
from ragtriage.trust.pair_files import SHORT, LabelledPair
from ragtriage.trust.perturb.changes import (
    CannotPerturb,
    FileContext,
    PerturbedCase,
    answer_dropped,
    answer_removed,
    irrelevant_source,
    repeat_added,
    stray_fact,
    unneeded_sentence,
    unusable_reason,
)
from ragtriage.trust.perturb.claim_changes import claim_altered

PERTURBATIONS: Mapping[str, Callable[[Case, FileContext], PerturbedCase]] = MappingProxyType(
    {
        "source_precision": irrelevant_source,
        "fact_precision": stray_fact,
        "source_query_coverage": answer_removed,
        "response_precision": unneeded_sentence,
        "response_query_coverage": answer_dropped,
        "self_distinctness": repeat_added,
        "groundedness": claim_altered,
    }
)
"""A metric → what makes a case worse by it."""


@dataclass(frozen=True, slots=True)
class PerturbedPairs:
    """What was made of the cases of a file."""

    cases: int
    pairs: tuple[LabelledPair, ...]
    skipped: Mapping[str, Mapping[str, int]]
    """A metric → why no pair was made → on how many cases."""


def perturb(cases: Sequence[Case], seed: int = 0, metrics: Sequence[str] = tuple(PERTURBATIONS)) -> PerturbedPairs:
    """Make one pair a case and metric, where it can be done safely.

    What is added to a case is taken from the others; which rows stand beside matters only for that.
    """
    context = FileContext(cases, seed)
    short = {name: in_paper for in_paper, name in SHORT.items()}
    pairs: list[LabelledPair] = []
    skipped: dict[str, Counter[str]] = {name: Counter() for name in metrics}
    for case in cases:
        why = unusable_reason(case)
        for name in metrics:
            if why:
                skipped[name][why] += 1
                continue
            try:
                worse, change = PERTURBATIONS[name](case, context)
            except CannotPerturb as problem:
                skipped[name][str(problem)] += 1
            else:
                pairs.append(LabelledPair(f"{case.id}/{short[name]}", case.id, name, case, worse, change))
    counted = {name: ranked(reasons) for name, reasons in skipped.items() if reasons}
    return PerturbedPairs(len(cases), tuple(pairs), counted)
