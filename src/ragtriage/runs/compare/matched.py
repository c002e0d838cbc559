"""Two sides with their cases paired: every number of both, weighted and grouped, and what differs between them.

What differs are the texts of the pairs and how they were judged, which says what metrics can be touched by it.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ragtriage.core.errors import ConfigError
from ragtriage.core.metric import Metric
from ragtriage.core.questions import KINDS
from ragtriage.core.statistics import Flags, Numbers, Places
from ragtriage.core.steps import Decompose, Field, Step
from ragtriage.core.validation import near_names
from ragtriage.planning.levels import plan
from ragtriage.planning.relations import REPLACING_KINDS, needs_judge
from ragtriage.runs.compare.case_table import DIGESTED, EMPTY, CaseTable, Digested, FoundColumns
from ragtriage.runs.compare.comparison import Changes, ChangeVerdict, Pairs
from ragtriage.runs.compare.sides import Pairing, Side
from ragtriage.runs.compare.statistics import Paired

_SIMILAR: Mapping[str, str] = {"similar": "similarity"}
"""Relation → the kind of its question, where that has another name."""
_READ: Mapping[Field, tuple[Digested, ...]] = {
    "query": ("query", "history"),
    "sources": ("sources", "order"),
    "response": ("response",),
    "reference": ("reference",),
    "samples": ("others",),
    "relevant ids": ("others",),
}
"""Field of a case → the digests that change with it."""
_TARGETS: Mapping[str, Field] = {
    "sources": "sources", "each source": "sources", "response": "response", "reference": "reference",
    "cited sources": "sources", "each citation": "sources", "other citations": "sources", "true segments": "response",
}  # fmt: skip
_ALWAYS: tuple[Digested, ...] = ("query", "history", "others")
"""What may change any score: most questions hold the query."""
ANY_LANGUAGE = "any language"
"""Under which the fingerprints say whether languages are judged that the judge wasn't measured on."""


@dataclass(frozen=True, slots=True)
class ChangedTexts:
    """Which pairs differ in what; the columns have the shape (pairs,)."""

    differs: Mapping[Digested, Flags]
    """True where both digests are known and differ."""
    unknown: Mapping[Digested, Flags]
    conversations: bool
    """Whether some case may have a conversation before its query."""

    def judged(self, read: Collection[Digested]) -> Flags:
        """The pairs of which something in `read` changed, or isn't known to be the same."""
        changed: Flags = np.logical_or.reduce([self.differs[name] | self.unknown[name] for name in read])
        return changed


def changed_texts(base: CaseTable, new: CaseTable, pairing: Pairing) -> ChangedTexts:
    """Compare the digests of every pair."""
    differs: dict[Digested, Flags] = {}
    unknown: dict[Digested, Flags] = {}
    for name in DIGESTED:
        theirs, mine = base.digests[name][pairing.base], new.digests[name][pairing.new]
        unknown[name] = (theirs == 0) | (mine == 0)
        differs[name] = (theirs != mine) & ~unknown[name]
    histories = base.digests["history"], new.digests["history"]
    return ChangedTexts(differs, unknown, any((column != EMPTY).any() for column in histories))


def changes_between(base: Side, new: Side, texts: ChangedTexts, shared: Collection[str]) -> Changes:
    """What changed, counted."""
    differs = texts.differs
    read: tuple[Digested, ...] = ("query", "history", "reference", "sources", "response")
    unknown = int(np.logical_or.reduce([texts.unknown[name] for name in read]).sum())
    other_sources, response = differs["sources"], differs["response"]
    order = differs["order"] & ~other_sources
    kinds = tuple(kind for kind in KINDS if _differ(base, new, kind))
    asked = {kind for m in new.metrics if m.name in shared for kind in kinds_of(m, conversations=texts.conversations)}
    judged = bool(asked & {*kinds})
    prompt = int((response & ~other_sources & ~order & ~texts.unknown["sources"]).sum())
    counts: dict[Digested, int] = {name: int(differs[name].sum()) for name in read}
    both = base.thresholds.keys() | new.thresholds.keys()
    versions = (base.header.version, new.header.version)
    return Changes(
        query=counts["query"],
        history=counts["history"],
        reference=counts["reference"],
        sources=counts["sources"],
        response=counts["response"],
        source_order=int(order.sum()),
        unknown=unknown,
        same_sources_other_response=prompt,
        kinds=kinds,
        judge=judged,
        metrics=tuple(name for name in shared if base.definitions.get(name) != new.definitions.get(name)),
        thresholds=tuple(sorted(n for n in both if base.thresholds.get(n) != new.thresholds.get(n))),
        rules=base.rules != new.rules,
        versions=versions if all(versions) and versions[0] != versions[1] else None,
        reading=_reading(counts, prompt, int(order.sum()), unknown, judged=judged),
    )


def _differ(base: Side, new: Side, kind: str) -> bool:
    theirs, mine = base.fingerprints.get(kind), new.fingerprints.get(kind)
    return theirs is not None and mine is not None and theirs != mine


def _reading(counts: Mapping[Digested, int], prompt: int, order: int, unknown: int, *, judged: bool) -> str:
    same = not any(counts.values()) and not order and not unknown
    if judged:
        mine, both = "the application is the same", "the judge differs too"
        return f"{mine}: any difference is the judge's" if same else f"{both}: a difference may be the judge's"
    others = "other sources" if counts["sources"] else "the same sources in another order" if order else ""
    if others:
        return f"{others}: a change of retrieval{' (too)' if counts['response'] else ''}"
    if prompt:
        return "same sources, other responses: a change of prompt or generator"
    if counts["response"]:
        return "other responses"
    asked = counts["query"] or counts["history"] or counts["reference"]
    return "the questions changed, the answers didn't" if asked else "nothing that is judged changed" if same else ""


def kinds_of(metric: Metric, *, conversations: bool = True) -> frozenset[str]:
    """The kinds of questions that a metric asks a judge; without conversations no query is written out first."""
    kinds = {_kind(step) for step in plan((metric,)).steps if needs_judge(step)}
    return frozenset(kinds if conversations else kinds - {*REPLACING_KINDS})


def _kind(step: Step) -> str:
    name = step.into if isinstance(step, Decompose) else step.relation
    return _SIMILAR.get(name, name)


def read_by(metric: Metric) -> frozenset[Digested]:
    """The digests that change where something that a metric is judged by does; all if its steps aren't known."""
    if not metric.needs:
        return frozenset(DIGESTED)
    return frozenset({*_ALWAYS, *(name for step in plan((metric,)).steps for name in _of_step(step))})


def _of_step(step: Step) -> Iterator[Digested]:
    if isinstance(step, Decompose):
        yield from _READ[step.of]
        return
    yield from _READ[step.components.of]
    if field := _TARGETS.get(step.against):
        yield from _READ[field]


def incomparable(
    base: Side, new: Side, name: str, texts: ChangedTexts, *, across_judges: bool
) -> tuple[ChangeVerdict, str] | None:
    """Why a metric can't be compared, as a verdict and a sentence; None if it can."""
    mine, theirs = ({m.name: m for m in side.metrics} for side in (new, base))
    if name not in theirs:
        return "only in new", "the base side doesn't have it"
    if name not in mine:
        return "only in base", "the new side doesn't have it"
    if base.definitions[name] != new.definitions[name]:
        return "redefined", "it is defined otherwise now"
    other = sorted(kind for kind in kinds_of(mine[name], conversations=texts.conversations) if _differ(base, new, kind))
    if other and not across_judges:
        return "judged differently", f"the judge differs in {', '.join(other)}"
    return None


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
