"""The pairs of a comparison as columns, so that any filter in any order is a few array operations."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ragtriage.core.display import signed
from ragtriage.core.statistics import Numbers
from ragtriage.diagnosis.rules import Rule
from ragtriage.report.comparison_words import BETTER, WORSE
from ragtriage.runs.compare.changed_cases import fault_flags, source_change
from ragtriage.runs.compare.comparison import COMPARED, Comparison, MetricComparison, SourceChange
from ragtriage.runs.compare.matched import Matched
from ragtriage.runs.run import Run
from ragtriage.view.case_index import MICRO, UNDEFINED, CasePlaces, ColumnIndex, shown_number
from ragtriage.view.filters import CHANGE_WORDS, OWN, Selection

CHANGES = tuple(CHANGE_WORDS)
SOURCES: tuple[SourceChange, ...] = get_args(SourceChange)
SHOWN = 2
"""Decimals of a difference that are shown."""
Codes = NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class ShownDifference:
    """A difference of two scores as it is shown."""

    text: str
    """`−0.25`; `–` where a side has no score."""
    word: Literal["better", "worse", ""]
    """Empty where nothing that is shown changed."""

    @property
    def mark(self) -> str:
        """The sign of the word."""
        return {"better": BETTER, "worse": WORSE}.get(self.word, "")


def shown_difference(value: float | None, direction: int) -> ShownDifference:
    """A difference new − base; `direction` is 1 where more is better, −1 where less is."""
    if value is None:
        return ShownDifference("–", "")
    if not round(value, SHOWN):
        return ShownDifference("0", "")
    return ShownDifference(signed(value, SHOWN), "better" if direction * value > 0 else "worse")


@dataclass(frozen=True, slots=True)
class ListedPair:
    """One pair in a list."""

    position: int
    """In the new run."""
    base_position: int
    change: str
    """One of `CHANGES`."""
    heading: tuple[str, str]
    """On the base and on the new side: the rule of the most pressing finding, else the component."""
    sources: SourceChange
    differences: Mapping[str, ShownDifference]


class PairIndex(ColumnIndex):
    """The pairs of two runs, in the order of the new one.

    Their own order is by `CHANGES`, then by how much the scores changed. `found` is their comparison, which says which
    metrics can be compared; `base` and `new` are the first runs of both sides, whose positions are taken.
    """

    def __init__(self, matched: Matched, found: Comparison, rules: Sequence[Rule], base: Run, new: Run) -> None:
        pairing, flags = matched.pairing, fault_flags(matched, rules)
        theirs, mine = matched.base.table.found, matched.new.table.found
        super().__init__()
        if not (flags and theirs and mine):
            raise ValueError("the sides must be read with their findings")
        compared = {row.name: row for row in found.metrics if row.verdict in COMPARED}
        own = tuple(compared[m.name] for m in matched.new.metrics if m.name in compared)
        at = _positions(base, matched.base.table.ids)[pairing.base], _positions(new, matched.new.table.ids)[pairing.new]
        there = np.flatnonzero((at[0] >= 0) & (at[1] >= 0))  # all, unless a run was written meanwhile
        kept = pairing.base[there], pairing.new[there]
        self.metrics: tuple[MetricComparison, ...] = own
        self.base_positions, self.positions = at[0][there], at[1][there]
        changes = np.select([flags.broken, flags.fixed, flags.others], [0, 1, 2], 3).astype(np.uint8)
        self._changes = changes[there]
        self._sources = np.fromiter(
            (SOURCES.index(source_change(matched, int(pair))) for pair in there), np.uint8, len(there)
        )
        self._headings = (
            _coded([theirs.heading[int(place)] for place in kept[0]]),
            _coded([mine.heading[int(place)] for place in kept[1]]),
        )
        self.components, self._components = _coded([mine.component[int(place)] for place in kept[1]])
        differences = {row.name: matched.scores(row.name)[0].change[there] for row in own}
        self.numbers = {name: _millionths(values) for name, values in differences.items()}
        moved = np.zeros(len(there))
        for row in own:
            moved += np.nan_to_num(np.abs(differences[row.name])) / (row.range[1] - row.range[0] or 1.0)
        self._rank = np.argsort(np.lexsort((-moved, self._changes))).astype(np.int32)
        """Of each pair in their own order."""

    @property
    def nbytes(self) -> int:
        """Its memory, with all orders that may be asked for."""
        columns: list[NDArray[Any]] = [
            self.base_positions, self.positions, self._rank, self._changes, self._sources, self._components,
            *(codes for _, codes in self._headings), *self.numbers.values(),
        ]  # fmt: skip
        own = sum(one.nbytes for one in columns)
        return own + (1 + 2 * len(self.metrics)) * len(self) * np.dtype(np.int32).itemsize

    def select(self, wanted: Selection, found: NDArray[np.int64] | None = None) -> CasePlaces:
        """The places of the wanted pairs, in the wanted order.

        `found` are the positions in the new run of the cases that have the wanted words; None if no word is wanted.
        """
        masks = []
        if wanted.change:
            masks.append(self._changes == CHANGES.index(wanted.change))
        if wanted.component:
            known = self.components.index(wanted.component) if wanted.component in self.components else -1
            masks.append(self._components == known)
        if found is not None:
            masks.append(np.isin(self.positions, found))
        with self._lock:
            return self.ordered(wanted, masks)

    def _key(self, name: str, *, descending: bool) -> NDArray[Any]:
        return self._rank if name == OWN else super()._key(name, descending=descending)

    def rows(self, places: Sequence[int]) -> list[ListedPair]:
        """Some pairs as they are listed."""
        return [self._row(int(place)) for place in places]

    def _row(self, place: int) -> ListedPair:
        (before, theirs), (after, mine) = self._headings
        return ListedPair(
            int(self.positions[place]),
            int(self.base_positions[place]),
            CHANGES[self._changes[place]],
            (before[theirs[place]], after[mine[place]]),
            SOURCES[self._sources[place]],
            {
                row.name: shown_difference(shown_number(self.numbers[row.name][place]), row.direction)
                for row in self.metrics
            },
        )

    def counts(self, places: CasePlaces) -> dict[str, Counter[str]]:
        """How many of some pairs changed in which way, and are counted under which component."""
        return {
            "change": _counted(CHANGES, self._changes[places]),
            "component": _counted(self.components, self._components[places]),
        }


def _positions(run: Run, ids: Sequence[str]) -> NDArray[np.int64]:
    """Where cases stand in a run, by their ids; −1 for one that isn't there."""
    known = {row.id: row.position for row in run.facts()}
    return np.fromiter((known.get(name, -1) for name in ids), np.int64, len(ids))


def _coded(values: Sequence[str]) -> tuple[tuple[str, ...], Codes]:
    """The different values, and of each the number of its own."""
    known: dict[str, int] = {}
    column = np.fromiter((known.setdefault(value, len(known)) for value in values), np.uint16, len(values))
    return tuple(known), column


def _millionths(values: Numbers) -> NDArray[np.int32]:
    most = float(np.iinfo(np.int32).max)
    whole = np.clip(np.round(np.nan_to_num(values) * MICRO), -most, most).astype(np.int32)
    return np.where(np.isnan(values), np.int32(UNDEFINED), whole)


def _counted(names: Sequence[str], codes: NDArray[Any]) -> Counter[str]:
    counts = np.bincount(codes, minlength=len(names))
    return Counter({name: int(count) for name, count in zip(names, counts, strict=True)})
