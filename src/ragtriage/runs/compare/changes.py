"""What differs between two sides: the texts of the pairs, how they were judged, and which metrics that can touch."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ragtriage.core.metric import Metric
from ragtriage.core.questions import KINDS
from ragtriage.core.statistics import Flags
from ragtriage.core.steps import Decompose, Field, Step
from ragtriage.planning.levels import plan
from ragtriage.planning.relations import REPLACING_KINDS, needs_judge
from ragtriage.runs.compare.case_table import DIGESTED, EMPTY, CaseTable, Digested
from ragtriage.runs.compare.comparison import Changes, ChangeVerdict
from ragtriage.runs.compare.pairing import Pairing
from ragtriage.runs.compare.sides import Side

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


def other_languages(base: Side, new: Side) -> bool:
    """Whether one side judged languages that the other left undefined."""
    return base.fingerprints.get(ANY_LANGUAGE) != new.fingerprints.get(ANY_LANGUAGE)
