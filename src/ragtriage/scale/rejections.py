"""The rows that can't be used, told as one process tells them that reads the whole input."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, get_args

from ragtriage.core.case import Case
from ragtriage.core.errors import StoreError
from ragtriage.readers.case_rows import twin_problem
from ragtriage.readers.json_files import moved_line
from ragtriage.scale.layout import Double, Placed
from ragtriage.scale.markers import again
from ragtriage.scale.places import Folder
from ragtriage.scale.plan import RunPlan

Told = tuple[int, str | None, str]
"""The row's number, the field at fault, the reason."""
Rejection = tuple[int, int | None, str | None, str, int | None]
"""The row's number in its partition, its line, the field at fault, the reason, the row that it repeats."""


class Partitions(Protocol):
    """What is needed of a record set."""

    @property
    def folder(self) -> Folder:
        """Where it lies."""
        ...

    @property
    def plan(self) -> RunPlan:
        """Its plan."""
        ...

    @property
    def placed(self) -> Sequence[Placed]:
        """The partitions that are done."""
        ...

    @property
    def doubles(self) -> Sequence[Double]:
        """The cases that don't count, as their id came before."""
        ...

    @property
    def light_case(self) -> Callable[[int, int], Case]:
        """The case of a partition at a position, without its texts."""
        ...


def rejected_rows(found: Partitions) -> Iterator[Told]:
    """All rows that can't be used: of files, of partitions, and those whose id came before.

    Raises:
        StoreError: they can't be read.
    """
    yield from _of_files(found)
    first_of = {(one.partition, one.row): one for one in found.doubles}
    for place, one in enumerate(found.placed):
        if not one.marker.rejected:
            continue
        for row, line, name, reason, twin_of in _read(found.folder, one):
            told = reason
            if twin_of is not None:
                # the row that it repeats may be the repetition of one in another partition itself
                earlier = first_of.get((place, twin_of))
                first = (earlier.first_partition, earlier.first_row) if earlier else (place, twin_of)
                told = reason.replace(f"row {twin_of}", f"row {_row(found, first, place)}", 1)
            elif line is not None:
                told = moved_line(reason, line, one.lines_before)
            yield one.all_before + row, name, _named(found, place, row, told)
    for double in found.doubles:
        first = (double.first_partition, double.first_row)
        case = found.light_case(double.partition, double.position)
        name, told = twin_problem(case, _row(found, first, double.partition), has_ids=not double.made_up)
        number = found.placed[double.partition].all_before + double.row
        yield number, name, _named(found, double.partition, double.row, told)


def _of_files(found: Partitions) -> Iterator[Told]:
    """Files of which no row can be used."""
    for at, file in enumerate(found.plan.files):
        if file.problem:
            before = [one.all_before + one.marker.rows for one in found.placed if one.partition.file < at]
            since = found.plan.files[found.placed[len(before) - 1].partition.file if before else 0 : at]
            yield max(before, default=0) + sum(bool(one.problem) for one in since) + 1, None, file.problem


def _read(folder: Folder, one: Placed) -> Sequence[Rejection]:
    content = folder.read(one.marker.rejections)
    if content is None:
        raise StoreError(f"{folder.at(one.marker.rejections)} is missing: {again(one.marker)}")
    found = read_rejections(content, one.marker.rejected)
    if found is None:
        raise StoreError(f"{folder.at(one.marker.rejections)} is damaged: {again(one.marker)}")
    return found


def read_rejections(content: bytes, count: int) -> Sequence[Rejection] | None:
    """The rejected rows of a partition, by their file; None where it is damaged.

    Args:
        content: the file.
        count: how many there have to be.
    """
    try:
        found = [tuple(row) for row in json.loads(content)]
    except (ValueError, TypeError):
        return None
    return found if len(found) == count and all(len(row) == len(get_args(Rejection)) for row in found) else None


def _row(found: Partitions, row: tuple[int, int], seen_from: int) -> str:
    """A row, (partition, number in it), as a message about another one calls it."""
    place, number = row
    one = found.placed[place]
    told = str(one.rows_before + number)
    same = one.partition.file == found.placed[seen_from].partition.file
    return told if same else f"{told} of {found.plan.file_of(one.partition).name}"


def _named(found: Partitions, place: int, row: int, told: str) -> str:
    """A reason, with the file and row where there are several files."""
    if len(found.plan.files) == 1:
        return told
    one = found.placed[place]
    return f"{found.plan.file_of(one.partition).name}, row {one.rows_before + row}: {told}"
