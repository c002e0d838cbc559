"""The rows that can't be used, told as one process tells them that reads the whole input."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragtriage.core.case import Case
from ragtriage.readers import Rejected
from ragtriage.readers.case_rows import twin_problem
from ragtriage.readers.json_lines import moved_line
from ragtriage.runs.manifest import Manifest
from ragtriage.runs.run import RejectedRow
from ragtriage.store.duplicates import Duplicate, PlacedPart


def rejected_rows(
    manifest: Manifest,
    placed: Sequence[PlacedPart],
    duplicates: Sequence[Duplicate],
    rejected_of: Callable[[PlacedPart], Sequence[Rejected]],
    case_of: Callable[[int, int], Case],
) -> Iterator[RejectedRow]:
    """All rows that can't be used: of files, of parts, and those whose id came before.

    Args:
        manifest: the run's.
        placed: the parts that are done.
        duplicates: the cases that don't count, as their id came before.
        rejected_of: reads the rejected rows of a part.
        case_of: reads the case of a part (its place among those that are done) at a position, without its texts.

    Raises:
        StoreError: they can't be read.
    """

    def named(place: int, row: int, told: str) -> str:
        """A reason, with the file and row where there are several files."""
        if len(manifest.files) == 1:
            return told
        one = placed[place]
        return f"{manifest.file_of(one.plan).name}, row {one.rows_before + row}: {told}"

    def called(place: int, number: int, seen_from: int) -> str:
        """A row as a message about another one calls it."""
        one = placed[place]
        told = str(one.rows_before + number)
        return told if one.plan.file == placed[seen_from].plan.file else f"{told} of {manifest.file_of(one.plan).name}"

    yield from _of_files(manifest, placed)
    first_of = {(one.part, one.row): one for one in duplicates}
    for place, one in enumerate(placed):
        for row in rejected_of(one) if one.part.rejected else ():
            told = row.reason
            if row.twin_of is not None:
                # the row that it repeats may be the repetition of one in another part itself
                earlier = first_of.get((place, row.twin_of))
                first = (earlier.first_part, earlier.first_row) if earlier else (place, row.twin_of)
                told = told.replace(f"row {row.twin_of}", f"row {called(*first, place)}", 1)
            elif row.line is not None:
                told = moved_line(told, row.line, one.lines_before)
            yield RejectedRow(one.all_before + row.row, row.field, named(place, row.row, told))
    for again in duplicates:
        first_row = called(again.first_part, again.first_row, again.part)
        field, told = twin_problem(case_of(again.part, again.position), first_row, has_ids=not again.made_up)
        number = placed[again.part].all_before + again.row
        yield RejectedRow(number, field, named(again.part, again.row, told))


def _of_files(manifest: Manifest, placed: Sequence[PlacedPart]) -> Iterator[RejectedRow]:
    """Files of which no row can be used."""
    for at, file in enumerate(manifest.files):
        if file.problem:
            before = [one.all_before + one.part.rows for one in placed if one.plan.file < at]
            since = manifest.files[placed[len(before) - 1].plan.file if before else 0 : at]
            yield RejectedRow(max(before, default=0) + sum(bool(one.problem) for one in since) + 1, None, file.problem)
