"""The parts of a run in a folder as one input: where each stands, and which rows don't count.

Cases with the id of an earlier one don't, and rows that can't be used, which are told as one process tells them that
reads the whole input.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from ragtriage.core.case import Case
from ragtriage.readers import Rejected
from ragtriage.readers.case_rows import twin_problem
from ragtriage.runs.manifest import CommittedPart, Manifest, PartPlan
from ragtriage.runs.run import RejectedRow
from ragtriage.store.part_file import ENTRY, Entries

AT_ONCE = 32
"""Parts that are read together."""
AT_A_TIME = 4_000_000
"""Ids that are compared together; of more, those with the same first bits."""
MOST_GOES = 256
EARLIER = "an earlier row"
"""What a row with the id of another one says that it repeats: which one that is isn't known within a part."""


@dataclass(frozen=True, slots=True)
class Duplicate:
    """A case whose id an earlier one has."""

    part: int
    """The place of its part among those that are done."""
    position: int
    row: int
    made_up: bool
    """Whether the id stands for the content."""


@dataclass(frozen=True, slots=True)
class PlacedPart:
    """A part that is done, and what stands before it."""

    plan: PartPlan
    part: CommittedPart
    rows_before: int
    """Rows of its file before it, as far as these are done."""
    all_before: int
    """Rows of the whole input before it; a file of which no row can be used counts as one."""


def laid_out(manifest: Manifest, parts: Mapping[str, CommittedPart]) -> tuple[PlacedPart, ...]:
    """The parts that are done, in the order of the input."""
    found = []
    rows: dict[int, int] = defaultdict(int)
    unusable = list(accumulate((bool(file.problem) for file in manifest.files), initial=0))
    before = 0
    for plan in manifest.plan:
        part = parts.get(plan.id)
        if plan.first is not None and plan.first > 1 and not manifest.read_options.mapping.get("rows"):
            before += max(0, plan.first - 1 - rows[plan.file])
            rows[plan.file] = plan.first - 1
        if part is None:
            continue
        found.append(PlacedPart(plan, part, rows[plan.file], before + unusable[plan.file]))
        rows[plan.file] += part.rows
        before += part.rows
    return tuple(found)


def find_duplicates(placed: Sequence[PlacedPart], ids_of: Callable[[PlacedPart], Entries]) -> list[Duplicate]:
    """Compare the ids of all parts, in as many goes as keep them in memory."""
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

    Given are the ids of every part, or the same slice of each by digest, in the order of the input.
    """
    whole = np.concatenate(parts) if parts else np.empty(0, ENTRY)
    owner = np.repeat(np.arange(len(parts)), [len(one) for one in parts])
    order = np.lexsort((whole["position"], owner, whole["low"], whole["high"]))
    ids = whole[["high", "low"]][order]
    same = np.zeros(len(order), bool)
    same[1:] = ids[1:] == ids[:-1]
    for later in np.sort(order[same]):
        entry = whole[later]
        yield Duplicate(int(owner[later]), int(entry["position"]), int(entry["row"]), bool(entry["made_up"]))


def starts(placed: Sequence[PlacedPart], duplicates: Sequence[Duplicate]) -> list[int]:
    """How many cases stand before each part, duplicates left out; one number more than parts: all of them."""
    lost = [0] * len(placed)
    for one in duplicates:
        lost[one.part] += 1
    return list(accumulate((one.part.cases - lost[at] for at, one in enumerate(placed)), initial=0))


def rejected_rows(
    manifest: Manifest,
    placed: Sequence[PlacedPart],
    duplicates: Sequence[Duplicate],
    rejected_of: Callable[[PlacedPart], Sequence[Rejected]],
    case_of: Callable[[int, int], Case],
) -> Iterator[RejectedRow]:
    """All rows that can't be used: of files, of parts, and those whose id came before.

    `case_of` reads the case of a part (its place among those that are done) at a position, without its texts.
    """

    def told(one: PlacedPart, row: int, field: str | None, reason: str) -> RejectedRow:
        """A row of a part, with the file and the row in it where there are several files."""
        place = f"{manifest.file_of(one.plan).name}, row {one.rows_before + row}: " if len(manifest.files) > 1 else ""
        return RejectedRow(one.all_before + row, field, place + reason)

    yield from _of_files(manifest, placed)
    for one in placed:
        for row in rejected_of(one) if one.part.rejected else ():
            yield told(one, row.row, row.field, row.reason)
    for again in duplicates:
        problem = twin_problem(case_of(again.part, again.position), EARLIER, has_ids=not again.made_up)
        yield told(placed[again.part], again.row, *problem)


def _of_files(manifest: Manifest, placed: Sequence[PlacedPart]) -> Iterator[RejectedRow]:
    """Files of which no row can be used."""
    for at, file in enumerate(manifest.files):
        if file.problem:
            before = [one.all_before + one.part.rows for one in placed if one.plan.file < at]
            since = manifest.files[placed[len(before) - 1].plan.file if before else 0 : at]
            yield RejectedRow(max(before, default=0) + sum(bool(one.problem) for one in since) + 1, None, file.problem)
