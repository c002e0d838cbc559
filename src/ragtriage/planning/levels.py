"""From metrics to the distinct steps that they need, in an order in which they can be taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.core.metric import Metric
from ragtriage.core.steps import Decompose, Match, Relation, Step, Target, Unit, conditions

QUESTIONS_OF_QUERY = Decompose("query", "questions")
"""Whatever is held against the query is only asked if the query asks something."""

FOR_THE_QUERY: tuple[Unit, ...] = ("facts", "needed_sentences")
"""What is only taken from sources if the query asks something."""

UNASKED: tuple[Unit, ...] = ("segments", "sources", "samples", "ids", "whole")
"""Units that need no judge."""

MANY: tuple[Target, ...] = ("each source", "each citation", "other citations")
"""Targets against which a component may be held as often as there are sources."""
CITED: tuple[Target, ...] = ("cited sources", "each citation", "other citations")
"""Targets that need a judge only where a component cites sources that exist."""

SEEN: tuple[Relation, ...] = ("retrieved",)
"""Relations that are seen without a judge."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be found out, each thing once."""

    metrics: tuple[Metric, ...]
    steps: tuple[Step, ...]
    """Distinct, every step behind those that it depends on."""
    levels: tuple[tuple[Step, ...], ...]
    """The same steps, grouped so that those of one level can be asked at the same time."""
    also: tuple[Step, ...] = ()
    """The steps that somebody needs beside the metrics."""

    def shared(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that serve more than one metric → the metrics' names."""
        users = {str(s): tuple(m.name for m in self.metrics if s in closure(m.needs.values())) for s in self.steps}
        return {step: names for step, names in users.items() if len(names) > 1}

    def questions(self, sources: int, sizes: Mapping[Unit, int], *, turns: int = 0) -> tuple[int, int]:
        """How many questions a case takes, (at least, at most).

        Args:
            sources: how many sources were retrieved.
            sizes: how many components each unit has (facts: over all sources); a unit that is left out has none.
            turns: how many messages went before the query.
        """
        known: dict[Unit, int] = {"samples": 0, **sizes, "sources": sources, "whole": 1}
        least = most = 0
        for step in self.steps:
            if not asks(step) or (isinstance(step, Match) and step.against == "conversation" and not turns):
                continue
            if isinstance(step, Decompose):
                count = sources if step.of == "sources" else 1
            else:
                own = step.components
                count = (own.count or known.get(own.into, 0)) * (sources if step.against in MANY else 1)
            most += count
            least += 0 if isinstance(step, Match) and (step.where or step.against in CITED) else count
        return least, most


def plan(metrics: Sequence[Metric], also: Iterable[Step] = ()) -> Plan:
    """Collect the steps of several metrics, each distinct step once.

    Args:
        metrics: what to compute.
        also: further steps, for example those that diagnosis rules need.
    """
    also = tuple(also)
    needed = [step for m in metrics for step in m.needs.values()] + list(also)
    at = _placed(closure(needed))
    levels = tuple(tuple(step for step in at if at[step] == level) for level in sorted(set(at.values())))
    return Plan(tuple(metrics), tuple(step for level in levels for step in level), levels, also)


def asks(step: Step) -> bool:
    """Whether a judge is needed for it."""
    return step.into not in UNASKED if isinstance(step, Decompose) else step.relation not in SEEN


def dependencies(step: Step) -> tuple[Step, ...]:
    """The steps whose outcome this one needs."""
    if isinstance(step, Decompose):
        return (QUESTIONS_OF_QUERY,) if step.of == "sources" and step.into in FOR_THE_QUERY else ()
    found: list[Step] = [step.components]
    if step.against == "query":
        found.append(QUESTIONS_OF_QUERY)
    found += [condition.step for condition in conditions(step)]
    return tuple(found)


def closure(steps: Iterable[Step]) -> tuple[Step, ...]:
    """These steps and all that they depend on, each once, dependencies first."""
    seen: dict[Step, None] = {}

    def visit(step: Step) -> None:
        if step not in seen:
            for earlier in dependencies(step):
                visit(earlier)
            seen[step] = None

    for step in steps:
        visit(step)
    return tuple(seen)


def _placed(steps: Sequence[Step]) -> dict[Step, int]:
    """Step → level. Whatever is asked about single sources waits for the last of it, so that a source is read once.

    Steps that come after each other by what they depend on can't be asked together: they form *waves*, and only what is
    in the same wave waits for each other.

    Args:
        steps: dependencies first.
    """
    waves: dict[Step, int] = {}
    for step in steps:
        waves[step] = max((waves[earlier] for earlier in dependencies(step)), default=0) + _by_source(step)
    level: dict[Step, int] = {}

    def earliest(step: Step) -> int:
        return 1 + max((level[earlier] for earlier in dependencies(step)), default=-1)

    for wave in sorted(set(waves.values())):
        own = [step for step in steps if waves[step] == wave]
        together = [step for step in own if _by_source(step)]
        level |= dict.fromkeys(together, max(map(earliest, together), default=0))
        for step in own:
            if step not in level:
                level[step] = earliest(step)
    return {step: level[step] for step in steps}


def _by_source(step: Step) -> bool:
    """Whether it asks about every source by itself; a segment may cite a single one."""
    if isinstance(step, Decompose):
        return step.of == "sources" and asks(step)
    single = step.against in {"each source", "cited sources", "each citation"}
    return single or step.components == Decompose("sources", "sources")
