"""How far two people who labelled the same items agree: the bound of what a judge can reach."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ragtriage.core.statistics import ClusterBootstrap, IntervalEstimate, kappa, wilson
from ragtriage.trust.label_files import Label


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Two people's labels of the same items."""

    one: str
    other: str
    same: int
    of: int
    """Items with a yes or no of both."""
    kappa: IntervalEstimate
    """Cohen's kappa (1960), at most 1, 0 is chance, with its 95 % interval by bootstrap over cases; undefined where
    both always gave the same one answer."""

    @property
    def share(self) -> IntervalEstimate:
        """The share of the same answers, with its 95 % interval (Wilson 1927)."""
        return wilson(self.same, self.of)


def people_agreement(labels: Sequence[Label]) -> tuple[PeopleAgreement, ...]:
    """Every two people who said yes or no of the same items of a run, sorted by their names.

    An item is the same only where its text is.
    """
    by_person: dict[str, dict[Any, Label]] = {}
    for label in labels:
        if label.label is not None:
            key = label.run, label.case, label.metric, label.component, label.text
            by_person.setdefault(label.by, {})[key] = label
    found = []
    for one, other in combinations(sorted(by_person), 2):
        both = [key for key in by_person[one] if key in by_person[other]]
        if both:
            found.append(_agreement(one, other, [(by_person[one][key], by_person[other][key]) for key in both]))
    return tuple(found)


def _agreement(one: str, other: str, pairs: Sequence[tuple[Label, Label]]) -> PeopleAgreement:
    said = np.array([[float(bool(label.label)) for label in pair] for pair in pairs])
    drawn = ClusterBootstrap([own.case for own, _ in pairs])
    same = int((said[:, 0] == said[:, 1]).sum())
    return PeopleAgreement(one, other, same, len(pairs), drawn.estimate(kappa(said[:, 0], said[:, 1])))
