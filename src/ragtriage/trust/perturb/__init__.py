"""Worse versions of a user's own cases, made by rules so that the direction is known (after THELMA, appendix C)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ragtriage.core.case import Case
from ragtriage.text.language import language_of
from ragtriage.trust.pairs import SHORT_OF, Pair
from ragtriage.trust.perturb.alterations import claim_altered
from ragtriage.trust.perturb.responses import answer_dropped, repeat_added, unneeded_sentence
from ragtriage.trust.perturb.sources import answer_removed, irrelevant_source, stray_fact
from ragtriage.trust.perturb.surroundings import Made, Skipped, Surroundings, refused

Perturbation = Callable[[Case, Surroundings], Made | Skipped]

PERTURBATIONS: Mapping[str, Perturbation] = MappingProxyType(
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
OTHER_LANGUAGE = "it isn't in English, and the rules know no other language"


@dataclass(frozen=True, slots=True)
class Perturbed:
    """What was made of the cases of a file."""

    cases: int
    pairs: tuple[Pair, ...]
    skipped: Mapping[str, Mapping[str, int]]
    """A metric → why no pair was made → on how many cases."""

    def as_json(self) -> dict[str, Any]:
        """The stable form for machines: how many pairs, and what was skipped."""
        made = Counter(pair.metric for pair in self.pairs)
        return {
            "cases": self.cases,
            "made": {name: made[name] for name in PERTURBATIONS},
            "skipped": {name: dict(reasons) for name, reasons in self.skipped.items()},
        }


def perturb(cases: Sequence[Case], seed: int = 0, metrics: Sequence[str] = tuple(PERTURBATIONS)) -> Perturbed:
    """Make one pair a case and metric, where it can be done safely.

    Args:
        cases: of one file: what is added to a case is taken from the others.
        seed: of what is drawn; which rows stand beside matters only for what is added.
        metrics: for which of PERTURBATIONS.
    """
    around = Surroundings(cases, seed)
    pairs: list[Pair] = []
    skipped: dict[str, Counter[str]] = {name: Counter() for name in metrics}
    for case in cases:
        why = refused(case) or (OTHER_LANGUAGE if language_of(case) != "en" else "")
        for name in metrics:
            found = Skipped(why) if why else PERTURBATIONS[name](case, around)
            if isinstance(found, Skipped):
                skipped[name][found.reason] += 1
            else:
                pairs.append(Pair(f"{case.id}/{SHORT_OF[name]}", case.id, name, case, found.worse, found.change))
    counted = {name: dict(_most_first(reasons)) for name, reasons in skipped.items() if reasons}
    return Perturbed(len(cases), tuple(pairs), counted)


def _most_first(counter: Counter[str]) -> Iterator[tuple[str, int]]:
    yield from sorted(counter.items(), key=lambda item: (-item[1], item[0]))


__all__ = ["PERTURBATIONS", "Made", "Perturbation", "Perturbed", "Skipped", "Surroundings", "perturb"]
