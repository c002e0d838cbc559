"""Two sides with their cases paired: every number of both, weighted and grouped, and what changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.core.errors import ConfigError
from ragtriage.core.statistics import Flags, Numbers, Places
from ragtriage.core.validation import near_names
from ragtriage.runs.compare.case_table import FoundColumns
from ragtriage.runs.compare.changes import ChangedTexts, changed_texts
from ragtriage.runs.compare.comparison import Pairs
from ragtriage.runs.compare.pairing import Pairing
from ragtriage.runs.compare.sides import Side
from ragtriage.runs.compare.statistics import Paired


@dataclass(frozen=True, slots=True)
class Matched:
    """Two sides and their pairs; columns have the shape (pairs,)."""

    base: Side
    new: Side
    pairing: Pairing
    texts: ChangedTexts
    weight: Numbers
    """New's, the largest 1."""
    group: Places

    def scores(self, metric: str) -> tuple[Paired, int]:
        """One metric's scores of the pairs on which no judge failed, and on how many one did."""
        at = self.pairing
        base, new = self.base.table.scores[metric][at.base], self.new.table.scores[metric][at.new]
        failed = self.base.table.failed[metric][at.base] | self.new.table.failed[metric][at.new]
        paired = Paired(np.where(failed, np.nan, base), np.where(failed, np.nan, new), self.weight, self.group)
        return paired, int(failed.sum())

    def findings(self, rule: str) -> Paired | None:
        """Whether a rule holds on each pair, from 0 to 1; None where a side doesn't know it."""
        return self._found(rule, lambda found: found.holds)

    def likely(self, rule: str) -> Paired | None:
        """How likely a rule is to hold on each pair, from 0 to 1; None where a side doesn't know it."""
        return self._found(rule, lambda found: found.likely)

    def _found(self, rule: str, of: Callable[[FoundColumns], Mapping[str, Numbers]]) -> Paired | None:
        base, new = (of(found) if (found := side.table.found) else {} for side in (self.base, self.new))
        if rule not in base or rule not in new:
            return None
        return Paired(base[rule][self.pairing.base], new[rule][self.pairing.new], self.weight, self.group)

    def tag(self, name: str) -> list[str | None]:
        """A tag's value on each pair, new's."""
        values = self.new.table.tags.get(name, [None] * len(self.new.table))
        return [values[int(place)] for place in self.pairing.new]

    def ids(self, chosen: Places | Flags) -> list[str]:
        """New's ids of some pairs."""
        return [self.new.table.ids[int(place)] for place in self.pairing.new[chosen]]


def match(base: Side, new: Side, pairing: Pairing, cluster: str | None) -> tuple[Matched, Pairs]:
    """Put the two sides together."""
    texts = changed_texts(base.table, new.table, pairing)
    weight = new.table.weight[pairing.new]
    weight = weight / weight.max()
    count = len(pairing.new)
    group, without, other = np.arange(count), 0, 0
    if cluster is not None:
        mine = _tag_of(new, cluster, pairing.new)
        theirs = _tag_of(base, cluster, pairing.base)
        if all(value is None for value in mine):
            raise ConfigError(f"--cluster {cluster}: no paired case has this tag{_there(new, cluster)}")
        group, without = groups_of(mine)
        other = sum(None is not one != two for one, two in zip(theirs, mine, strict=True) if two is not None)
    pairs = Pairs(
        paired=count,
        by=pairing.by,
        only_base=len(pairing.only_base),
        only_new=len(pairing.only_new),
        other_question=len(pairing.other_question),
        ambiguous=len(pairing.ambiguous),
        groups=len(np.unique(group)),
        cluster=cluster,
        without_cluster=without,
        other_cluster=other,
    )
    return Matched(base, new, pairing, texts, weight, group), pairs


def groups_of(values: Sequence[str | None]) -> tuple[Places, int]:
    """A number for each value, one of its own where there is none; and how many have none."""
    numbers: dict[str, int] = {}
    found = [-1 if value is None else numbers.setdefault(value, len(numbers)) for value in values]
    group = np.array(found, np.int64)
    none = group < 0
    group[none] = len(numbers) + np.arange(int(none.sum()))
    return group, int(none.sum())


def _tag_of(side: Side, tag: str, places: Places) -> list[str | None]:
    values = side.table.tags.get(tag)
    return [values[int(place)] if values else None for place in places]


def _there(side: Side, tag: str) -> str:
    tags = [name for name, values in side.table.tags.items() if any(value is not None for value in values)]
    near = near_names(tag, tags)
    if near:
        return f": did you mean {near[0]}?"
    return f": there is {', '.join(tags[:10])}{' …' if len(tags) > 10 else ''}" if tags else ": they have none"
