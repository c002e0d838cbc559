"""Where every case and row of a record set stands in the whole, and which cases don't count as their id came before."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

from ragtriage.core.errors import StoreError
from ragtriage.core.filesystems import Folder
from ragtriage.scale.ids import ENTRY, Entries, doubles_in, read_entries
from ragtriage.scale.markers import ANEW, AT_ONCE, Marker, again
from ragtriage.scale.partitions import Partition
from ragtriage.scale.plan import RunPlan

DOUBLES = "doubles.json"
"""The doubles of a complete record set."""
AT_A_TIME = 4_000_000
"""Ids that are compared together; of more, those with the same first bits."""
MOST_TASKS = 256


@dataclass(frozen=True, slots=True)
class Double:
    """A case whose id an earlier one has."""

    partition: int
    """The place of its partition in the layout."""
    position: int
    row: int
    first_partition: int
    first_row: int
    made_up: bool
    """Whether the id stands for the content."""


@dataclass(frozen=True, slots=True)
class Placed:
    """A partition that is done, and what stands before it."""

    partition: Partition
    marker: Marker
    rows_before: int
    """Rows of its file before it, as far as these are done."""
    lines_before: int
    all_before: int
    """Rows of the whole input before it; a file of which no row can be used counts as one."""


def laid_out(plan: RunPlan, markers: Mapping[str, Marker]) -> tuple[Placed, ...]:
    """The partitions that are done, in the order of the input."""
    found = []
    rows: dict[int, int] = defaultdict(int)
    lines: dict[int, int] = defaultdict(int)
    unusable = list(accumulate((bool(file.problem) for file in plan.files), initial=0))
    before = 0
    for partition in plan.partitions:
        marker = markers.get(partition.id)
        if partition.first is not None and partition.first > 1 and not plan.reading.mapping.get("rows"):
            before += max(0, partition.first - 1 - rows[partition.file])
            rows[partition.file] = partition.first - 1
        if marker is None:
            continue
        all_before = before + unusable[partition.file]
        found.append(Placed(partition, marker, rows[partition.file], lines[partition.file], all_before))
        rows[partition.file] += marker.rows
        lines[partition.file] += marker.lines
        before += marker.rows
    return tuple(found)


def find_doubles(folder: Folder, placed: Sequence[Placed]) -> list[Double]:
    """Compare the ids of all partitions, in as many goes as keep them in memory.

    Raises:
        StoreError: an id file can't be read.
    """
    tasks = 1
    total = sum(one.marker.cases for one in placed)
    while tasks < MOST_TASKS and total > tasks * AT_A_TIME:
        tasks *= 2
    found = [double for task in range(tasks) for double in _doubles_of(folder, placed, task, tasks)]
    return sorted(found, key=lambda one: (one.partition, one.position))


def _doubles_of(folder: Folder, placed: Sequence[Placed], task: int, tasks: int) -> Iterator[Double]:
    """The doubles among the ids whose first byte is in the task's range."""
    low, high = task * MOST_TASKS // tasks, (task + 1) * MOST_TASKS // tasks

    def slice_of(one: Placed) -> Entries:
        entries = ids_of(folder, one.marker)
        if tasks == 1:
            return entries
        first = (entries["high"] >> 56).astype(int)
        return entries[(first >= low) & (first < high)].copy()

    with ThreadPoolExecutor(AT_ONCE) as threads:
        parts = list(threads.map(slice_of, placed))
    yield from (Double(*one) for one in doubles_in(parts))


def ids_of(folder: Folder, marker: Marker) -> Entries:
    """The ids of one partition.

    Raises:
        StoreError: they can't be read.
    """
    content = folder.read(marker.ids)
    if content is None:
        raise StoreError(f"{folder.at(marker.ids)} is missing: {again(marker)}")
    if len(content) != marker.cases * ENTRY.itemsize:
        raise StoreError(f"{folder.at(marker.ids)} is damaged: {again(marker)}")
    return read_entries(content)


def keep_doubles(folder: Folder, doubles: Sequence[Double]) -> None:
    """Write the doubles of a complete record set."""
    told = [[getattr(one, name) for name in Double.__slots__] for one in doubles]
    folder.write(DOUBLES, json.dumps(told).encode())


def read_doubles(folder: Folder, placed: Sequence[Placed]) -> list[Double] | None:
    """The doubles of a complete record set; None where it isn't complete.

    Raises:
        StoreError: they can't be read.
    """
    content = folder.read(DOUBLES)
    if content is None:
        return None
    try:
        found = [Double(*one) for one in json.loads(content)]
        sound = all(0 <= one.position < placed[one.partition].marker.cases for one in found)
        sound = sound and all(0 <= one.first_partition <= one.partition for one in found)
    except (ValueError, TypeError, IndexError):
        sound = False
    if not sound:
        raise StoreError(f"{folder.at(DOUBLES)} is damaged: {ANEW}")
    return found


def starts(placed: Sequence[Placed], doubles: Sequence[Double]) -> list[int]:
    """How many cases stand before each partition, doubles left out; one number more than partitions: all of them."""
    lost = [0] * len(placed)
    for one in doubles:
        lost[one.partition] += 1
    return list(accumulate((one.marker.cases - lost[at] for at, one in enumerate(placed)), initial=0))
