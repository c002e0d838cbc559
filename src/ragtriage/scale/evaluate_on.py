"""An input becomes a record set: planned, worked on by many processes, finished."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, field

from ragtriage.core.errors import InputError
from ragtriage.scale.driver import Driven, Driver, Stop, unfinished
from ragtriage.scale.finish import finish, reopen
from ragtriage.scale.markers import Marker, read_markers
from ragtriage.scale.orders import Orders
from ragtriage.scale.places import Folder, folder_at
from ragtriage.scale.plan import RunPlan, check_same, read_plan, write_plan
from ragtriage.scale.pool import Pool
from ragtriage.scale.progress import Progress
from ragtriage.scale.record_set import RecordSet, record_set
from ragtriage.scale.sign_of_life import SignOfLife

Share = tuple[int, int]
"""Which of how many drivers of one record set this is, from 1."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """One command's part in a record set."""

    address: str
    """Of the record set, as it was given."""
    plan: RunPlan
    orders: Orders
    new_pool: Callable[[Folder, int], Pool]
    """Starts the processes, at most as many as there are partitions."""
    share: Share | None = None
    strict: bool = False
    show: Callable[[str], None] = lambda _: None
    """Takes the line that says how far it is."""
    begun: Callable[[int, int, int], None] = lambda *_: None
    """Called before the work: partitions to be worked on, all partitions, cases that are done."""
    stop: Stop = field(default_factory=Stop)


@dataclass(frozen=True, slots=True)
class PartitionedResult:
    """What became of it."""

    records: RecordSet
    driven: Driven
    complete: bool
    """Whether every partition of the record set is done, also those of other shares."""

    @property
    def cut_off(self) -> bool:
        """Whether a file couldn't be read to its end."""
        return any(marker.ends for marker in self.records.markers.values())


def evaluate_partitioned(wanted: Wanted) -> PartitionedResult:
    """Begin a record set or go on with one.

    Raises:
        InputError: the record set is another run's: its input changed, or something else is asked for.
        JudgeError: the judge can't work at all, or no process can be had.
        StoreError: the record set can't be read or written, or another driver works on it.
    """
    folder = folder_at(wanted.address)
    known = read_plan(folder)
    if known is not None:
        check_same(known, wanted.plan, wanted.address)
    plan = known or wanted.plan
    part = f"-{wanted.share[0]}-of-{wanted.share[1]}" if wanted.share else ""
    with ExitStack() as stack:
        life = stack.enter_context(SignOfLife(folder, part))
        if known is None:
            write_plan(folder, plan)
        markers = read_markers(folder)
        driven = _driven(wanted, folder, plan, markers, life)
        # others may have come to their end meanwhile
        all_markers = read_markers(folder) | driven.markers if wanted.share else driven.markers
        whole = {name for name, marker in all_markers.items() if not marker.left}
        complete = all(one.id in whole for one in plan.partitions) and not driven.changed
        if complete and not any(marker.cases for marker in all_markers.values()):
            raise InputError(_nothing_usable(folder, plan, all_markers, wanted.address))
        if complete:
            return PartitionedResult(finish(folder, plan, all_markers, wanted.address), driven, complete)
    return PartitionedResult(record_set(folder, plan, all_markers, wanted.address), driven, complete)


def _driven(wanted: Wanted, folder: Folder, plan: RunPlan, markers: Mapping[str, Marker], life: SignOfLife) -> Driven:
    todo = unfinished(plan, markers, wanted.share)
    wanted.begun(len(todo), len(plan.partitions), sum(marker.cases for marker in markers.values()))
    if not todo:
        return Driven(dict(markers))
    reopen(folder)
    part = f"-{wanted.share[0]}-of-{wanted.share[1]}" if wanted.share else ""
    again = {one.id for one in todo}
    done = sum(marker.cases for name, marker in markers.items() if name not in again)
    progress = Progress(folder, len(todo), plan.rows, done, part, wanted.show)
    with closing(wanted.new_pool(folder, len(todo))) as pool:
        return Driver(folder, plan, pool, progress, life.check, wanted.strict, wanted.stop).drive(todo, markers)


def _nothing_usable(folder: Folder, plan: RunPlan, markers: Mapping[str, Marker], address: str) -> str:
    found = record_set(folder, plan, markers, address).rejected()
    first = f": row {found[0].row}: {found[0].reason}" if found else ""
    return f"{', '.join(plan.inputs)}: none of its {len(found)} rows can be used; the first{first}"
