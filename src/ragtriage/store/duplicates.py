"""Where every part of a run in a folder stands in the whole, and which cases don't count as their id came before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ragtriage.runs.manifest import Manifest, Part, PartPlan
from ragtriage.store.part_file import ENTRY, Entries

AT_ONCE = 32
"""Parts that are read together."""
AT_A_TIME = 4_000_000
"""Ids that are compared together; of more, those with the same first bits."""
MOST_GOES = 256


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A case whose id an earlier one has."""

    part: int
    """The place of its part among those that are done."""
    position: int
    row: int
    first_part: int
    first_row: int
    made_up: bool
    """Whether the id stands for the content."""


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A part that is done, and what stands before it."""

    plan: PartPlan
    part: Part
    rows_before: int
    """Rows of its file before it, as far as these are done."""
    lines_before: int
    all_before: int
    """Rows of the whole input before it; a file of which no row can be used counts as one."""


def laid_out(manifest: Manifest, parts: Mapping[str, Part]) -> tuple[PlacedPart, ...]:
    """The parts that are done, in the order of the input."""
    found = []
    rows: dict[int, int] = defaultdict(int)
    lines: dict[int, int] = defaultdict(int)
    unusable = list(accumulate((bool(file.problem) for file in manifest.files), initial=0))
    before = 0
    for plan in manifest.plan:
        part = parts.get(plan.id)
        if plan.first is not None and plan.first > 1 and not manifest.read_options.mapping.get("rows"):
            before += max(0, plan.first - 1 - rows[plan.file])
            rows[plan.file] = plan.first - 1
        if part is None:
            continue
        found.append(PlacedPart(plan, part, rows[plan.file], lines[plan.file], before + unusable[plan.file]))
        rows[plan.file] += part.rows
        lines[plan.file] += part.lines
        before += part.rows
    return tuple(found)


def find_duplicates(placed: Sequence[PlacedPart], ids_of: Callable[[PlacedPart], Entries]) -> list[Duplicate]:
    """Compare the ids of all parts, in as many goes as keep them in memory.

    Args:
        placed: the parts, in the order of the input.
        ids_of: reads those of one.
    """
    goes, total = 1, sum(one.part.cases for one in placed)
    while goes < MOST_GOES and total > goes * AT_A_TIME:
        goes *= 2

    def slice_of(one: PlacedPart, go: int) -> Entries:
        entries = ids_of(one)
        first = (entries["high"] >> np.uint64(56)).astype(int)
        return entries if goes == 1 else entries[(first * goes // MOST_GOES) == go]

    found: list[Duplicate] = []
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for go in range(goes):
            found += duplicates_in(list(threads.map(slice_of, placed, [go] * len(placed))))
    return sorted(found, key=lambda one: (one.part, one.position))


def duplicates_in(parts: Sequence[Entries]) -> Iterator[Duplicate]:
    """Cases whose id an earlier one has, in the order of the input.

    Args:
        parts: the ids of every part, or the same slice of each by digest, in the order of the input.
    """
    whole = np.concatenate(parts) if parts else np.empty(0, ENTRY)
    owner = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    order = np.lexsort((whole["position"], owner, whole["low"], whole["high"]))
    ids = whole[["high", "low"]][order]
    same = np.zeros(len(order), bool)
    same[1:] = ids[1:] == ids[:-1]
    firsts = np.maximum.accumulate(np.where(same, 0, np.arange(len(order))))
    found = []
    for at in np.flatnonzero(same):
        later, first = order[at], order[firsts[at]]
        entry = whole[later]
        own = int(owner[later]), int(entry["position"]), int(entry["row"])
        found.append(Duplicate(*own, int(owner[first]), int(whole[first]["row"]), bool(entry["made_up"])))
    yield from sorted(found, key=lambda one: (one.part, one.position))


def starts(placed: Sequence[PlacedPart], duplicates: Sequence[Duplicate]) -> list[int]:
    """How many cases stand before each part, duplicates left out; one number more than parts: all of them."""
    lost = [0] * len(placed)
    for one in duplicates:
        lost[one.part] += 1
    return list(accumulate((one.part.cases - lost[at] for at, one in enumerate(placed)), initial=0))
