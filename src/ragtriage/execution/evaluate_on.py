"""An input becomes a record set: planned, worked on by many processes, finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from ragtriage.core.display import listed, plural
from ragtriage.core.errors import InputError
from ragtriage.core.filesystems import Folder, folder_at
from ragtriage.runs.manifest import Manifest, check_same, check_versions, read_plan, write_plan
from ragtriage.runs.part import Part
from ragtriage.execution.execute import Outcome, Driver, Stop, own_partitions, unfinished
from ragtriage.store.folder_writer import finish, reopen
from ragtriage.execution.job import Job
from ragtriage.execution.pools import Pool
from ragtriage.execution.progress import Progress, rows_of
from ragtriage.store.folder import FolderPlace, folder_place, committed
from ragtriage.store.folder_lease import FolderLease

Share = tuple[int, int]
"""Which of how many drivers of one record set this is, from 1."""


@dataclass(frozen=True, slots=True)
class Begun:
    """What a command finds before it works."""

    new: bool
    """Whether it begins the record set."""
    todo: int
    """Partitions that it is to work on."""
    own: int
    """Partitions of its share, done or not; all without a share."""
    partitions: int
    """Of the record set."""
    cases: int
    """That are done, of its share."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One command's part in a record set."""

    address: str
    """Of the record set, as it was given."""
    plan: Manifest
    orders: Job
    new_pool: Callable[[Folder, int], Pool]
    """Starts the processes, at most as many as there are partitions."""
    share: Share | None = None
    strict: bool = False
    show: Callable[[str], None] = lambda _: None
    """Takes the line that says how far it is."""
    begun: Callable[[Begun], None] = lambda _: None
    """Called before the work."""
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True)
class PartitionedResult:
    """What became of it."""

    records: FolderPlace
    driven: Outcome
    complete: bool
    """Whether every partition of the record set is done, also those of other shares."""
    left: int = 0
    """Partitions of this command's share that aren't done."""
    left_to_others: int = 0
    """Partitions of other shares that aren't done."""

    @property
    def cut_off(self) -> bool:
        """Whether a file couldn't be read to its end."""
        return any(marker.ends for marker in self.records.markers.values())


def evaluate_partitioned(wanted: Wanted) -> PartitionedResult:
    """Begin a record set or go on with one.

    Raises:
        InputError: the record set is another run's: its input changed, or something else is asked for.
        JudgeError: the judge can't work at all, or no process can be had.
        StoreError: the record set can't be read or written, or another driver works on the same partitions.
    """
    folder = folder_at(wanted.address)
    _known(folder, wanted)  # what is refused should be so without a wait for another driver
    part = f"-{wanted.share[0]}-of-{wanted.share[1]}" if wanted.share else ""
    with ExitStack() as stack:
        life = stack.enter_context(FolderLease(folder, part))
        known = _known(folder, wanted)  # another driver may have begun it meanwhile
        plan = known or wanted.plan
        if known is None:
            write_plan(folder, plan)
            plan = read_plan(folder) or plan  # another share may have begun in the same moment
            check_same(plan, wanted.plan, wanted.address)
        markers = committed(folder)
        driven = _driven(wanted, folder, plan, markers, life, new=known is None)
        # others may have come to their end meanwhile
        all_markers = committed(folder) if wanted.share else driven.markers
        whole = {name for name, marker in all_markers.items() if not marker.left}
        missing = {one.id for one in plan.partitions} - whole
        left = sum(one.id in missing for one in own_partitions(plan, wanted.share))
        complete = not missing and not driven.changed
        if complete and not any(marker.cases for marker in all_markers.values()):
            raise InputError(_nothing_usable(folder, plan, all_markers, wanted.address))
        if complete:
            return PartitionedResult(finish(folder, plan, all_markers, wanted.address), driven, complete)
    found = folder_place(folder, plan, all_markers, wanted.address)
    return PartitionedResult(found, driven, complete, left, len(missing) - left)


def _known(folder: Folder, wanted: Wanted) -> Manifest | None:
    """The plan of the record set, if it was begun."""
    known = read_plan(folder)
    if known is not None:
        check_same(known, wanted.plan, wanted.address)
    return known


def _driven(
    wanted: Wanted, folder: Folder, plan: Manifest, markers: Mapping[str, Part], life: FolderLease, *, new: bool
) -> Outcome:
    todo = unfinished(plan, markers, wanted.share)
    if todo:
        check_versions(plan, wanted.plan, wanted.address)
        _check_arithmetic(wanted, markers)
    own = own_partitions(plan, wanted.share)
    cases = sum(markers[one.id].cases for one in own if one.id in markers)
    wanted.begun(Begun(new, len(todo), len(own), len(plan.partitions), cases))
    if not todo:
        return Outcome(dict(markers))
    reopen(folder)
    part = f"-{wanted.share[0]}-of-{wanted.share[1]}" if wanted.share else ""
    again = {one.id for one in todo}
    before = sum(markers[one.id].cases for one in own if one.id in markers and one.id not in again)
    progress = Progress(folder, len(todo), rows_of(plan, own), before, part, wanted.show)
    with closing(wanted.new_pool(folder, len(todo))) as pool:
        try:
            return Driver(folder, plan, pool, progress, life.check, wanted.strict, wanted.stop).drive(todo, markers)
        finally:
            progress.end(pool.spent())


def _check_arithmetic(wanted: Wanted, markers: Mapping[str, Part]) -> None:
    """Refuse to go on strictly with a record set that holds what was computed in two ways."""
    probes = Counter(marker.probe for marker in markers.values() if marker.probe)
    if wanted.strict and len(probes) > 1:
        found = sorted(probes.items(), key=lambda one: (-one[1], one[0]))
        counts = listed([f"{probe} in {plural(count, 'partition')}" for probe, count in found], "and")
        raise InputError(
            f"--strict: {wanted.address} already holds the work of processors with {len(probes)} kinds of arithmetic "
            f"({counts}): give another --out, or leave --strict out"
        )


def _nothing_usable(folder: Folder, plan: Manifest, markers: Mapping[str, Part], address: str) -> str:
    found = folder_place(folder, plan, markers, address).rejected()
    first = f": row {found[0].row}: {found[0].reason}" if found else ""
    return f"{', '.join(plan.inputs)}: none of its {len(found)} rows can be used; the first{first}"
