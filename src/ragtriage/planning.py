"""From metrics to the distinct steps that they need, in an order in which they can be taken."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ragtriage.metric import Metric
from ragtriage.steps import Decompose, Match, Step, Unit

QUESTIONS_OF_QUERY = Decompose("query", "questions")
"""Whatever is held against the query is only asked if the query asks something."""

FACTS_OF_SOURCES = Decompose("sources", "facts")

UNASKED: tuple[Unit, ...] = ("sources", "whole")
"""Units that need no judge."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What has to be found out, each thing once."""

    metrics: tuple[Metric, ...]
    steps: tuple[Step, ...]
    """Distinct, every step behind those that it depends on."""
    levels: tuple[tuple[Step, ...], ...]
    """The same steps, grouped so that those of one level can be asked at the same time."""

    def shared(self) -> Mapping[str, tuple[str, ...]]:
        """The steps that serve more than one metric → the metrics' names."""
        users = {str(s): tuple(m.name for m in self.metrics if s in _closure(m.needs.values())) for s in self.steps}
        return {step: names for step, names in users.items() if len(names) > 1}

    def questions(self, sources: int, sizes: Mapping[Unit, int], *, turns: int = 0) -> tuple[int, int]:
        """How many questions a case takes, (at least, at most).

        Args:
            sources: how many sources were retrieved.
            sizes: how many components each unit has (facts: over all sources).
            turns: how many messages went before the query.
        """
        known: dict[Unit, int] = {**sizes, "sources": sources, "whole": 1}
        least = most = 0
        for step in self.steps:
            if isinstance(step, Match) and step.against == "conversation" and not turns:
                continue
            if isinstance(step, Decompose):
                count = 0 if step.into in UNASKED else sources if step.of == "sources" else 1
            else:
                count = known.get(step.components.into, 0) * (sources if step.against == "each source" else 1)
            most += count
            least += 0 if isinstance(step, Match) and step.where else count
        return least, most


def plan(metrics: Sequence[Metric], also: Iterable[Step] = ()) -> Plan:
    """Collect the steps of several metrics, each distinct step once.

    Args:
        metrics: what to compute.
        also: further steps, for example those that diagnosis rules need.
    """
    needed = [step for m in metrics for step in m.needs.values()] + list(also)
    depth = {step: _depth(step) for step in _closure(needed)}
    levels = tuple(tuple(s for s in depth if depth[s] == level) for level in sorted(set(depth.values())))
    return Plan(tuple(metrics), tuple(step for level in levels for step in level), levels)


def dependencies(step: Step) -> tuple[Step, ...]:
    """The steps whose outcome this one needs."""
    if isinstance(step, Decompose):
        # facts are only needed if the query asks something; and so a source is asked once for all that is asked of it
        return (QUESTIONS_OF_QUERY,) if step == FACTS_OF_SOURCES else ()
    found: list[Step] = [step.components]
    if step.against == "query":
        found.append(QUESTIONS_OF_QUERY)
    if step.where:
        found.append(step.where.step)
    return tuple(found)


def _closure(steps: Iterable[Step]) -> tuple[Step, ...]:
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


def _depth(step: Step) -> int:
    return 1 + max((_depth(earlier) for earlier in dependencies(step)), default=-1)
