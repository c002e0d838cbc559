"""Which verdicts, and which components, are not the same in all trials."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import get_args

from ragtriage.core.record import Record
from ragtriage.core.steps import Relation, Unit
from ragtriage.core.verdicts import Cell, Component, Verdict, Verdicts
from ragtriage.planning.relations import RELATIONS, UNITS
from ragtriage.runs.repeats.summary import KindRepeat, UnitRepeat

_BITS = {"yes": 1, "no": 2, "unknown": 4}
_FAILED = 8
_SEEN = 16
"""What a number grows by for each trial in which its component occurs; the bits below say what was found."""
_MARK = 64


@dataclass(slots=True)
class OccurrenceCounts:
    """In how many trials each verdict or component occurs, and what was found: one number each."""

    found: dict[int, int] = field(default_factory=dict)
    """Case and verdict or component → in how many trials it occurs, and what was found."""

    def count(self, case: int, item: object, cell: Cell = None) -> None:
        """Count one item of a case (a component, or a verdict on it) in one trial, with the verdict if there is one."""
        key = case << _MARK | (hash(item) & ((1 << _MARK) - 1))
        bit = 0 if cell is None else _BITS[cell.value] if isinstance(cell, Verdict) else _FAILED
        self.found[key] = (self.found.get(key, 0) + _SEEN) | bit

    def compared(self, trials: int) -> Iterator[tuple[int, bool]]:
        """(case, whether the verdict differs) for each item that occurs in all of several trials."""
        for key, found in self.found.items():
            if found // _SEEN == trials > 1:
                yield key >> _MARK, (found % _SEEN).bit_count() > 1


def component_keys(components: Sequence[Component]) -> Iterator[tuple[str, int | None, int]]:
    """What tells components apart between trials: text and source, and the order of those that share both."""
    before: Counter[tuple[str, int | None]] = Counter()
    for component in components:
        name = component.text, component.source
        yield *name, before[name]
        before[name] += 1


class StepFlips:
    """Counts the steps of records: verdicts by kind of question, components by unit."""

    def __init__(self) -> None:
        self._kinds: dict[str, OccurrenceCounts] = {}
        self._units: dict[str, OccurrenceCounts] = {}

    def add(self, case: int, record: Record) -> None:
        """Count one record of one trial."""
        for step, known in record.steps.items():
            if isinstance(known, Verdicts):
                seen = self._kinds.setdefault(step.partition("(")[0], OccurrenceCounts())
                for key, row in zip(component_keys(known.components), known.cells, strict=True):
                    for column, cell in enumerate(row):
                        if cell is not None:
                            seen.count(case, (step, key, column), cell)
            elif isinstance(known, tuple):
                seen = self._units.setdefault(step, OccurrenceCounts())
                for key in component_keys(known):
                    seen.count(case, key)

    def kinds(self, trials: int) -> tuple[KindRepeat, ...]:
        """Every kind of question that was asked, in the order of the vocabulary."""
        order = {kind: place for place, kind in enumerate(get_args(Relation)) if RELATIONS[kind].question}
        found = []
        for kind in sorted(self._kinds.keys() & order.keys(), key=order.__getitem__):
            differ = [changed for _, changed in self._kinds[kind].compared(trials)]
            found.append(KindRepeat(kind, len(differ), sum(differ) / len(differ) if differ else None))
        return tuple(found)

    def units(self, trials: int) -> tuple[UnitRepeat, ...]:
        """Every decomposition that a judge was asked for and that replaces no field, in the order of the units."""
        asked = [unit for unit in get_args(Unit) if UNITS[unit].question and not UNITS[unit].replaces]
        order = {unit: place for place, unit in enumerate(asked)}
        found = []
        for step in sorted(self._units, key=lambda s: (order.get(s.partition("(")[0], len(order)), s)):
            seen = self._units[step].found.values()
            if step.partition("(")[0] in order and seen and trials > 1:
                found.append(UnitRepeat(step, len(seen), sum(n // _SEEN == trials for n in seen) / len(seen)))
        return tuple(found)
