"""Whether a record set holds together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from ragtriage.core.display import plural
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.core.filesystems import Folder, folder_at
from ragtriage.runs.manifest import Manifest, read_plan
from ragtriage.runs.part import Part
from ragtriage.scale.ids import ENTRY
from ragtriage.scale.layout import read_doubles
from ragtriage.scale.rejections import read_rejections
from ragtriage.store.duplicates import Placed, laid_out
from ragtriage.store.folder import DONE, PARTS, again, checksum_of, committed, kept_together, orphans, read_summary
from ragtriage.store.folder_lease import FolderLease


def check_record_set(address: str) -> tuple[list[str], bool]:
    """Compare every file of the record set with what was committed, and delete parts that nobody committed.

    Returns:
        What was found, a line each, and whether the record set is sound.

    Raises:
        StoreError: it can't be read or written, or is being written.
    """
    folder = folder_at(address)
    plan = read_plan(folder)
    if plan is None:
        raise NotStoredError(f"{address} is no record set: there is no plan.json in it")
    told: list[str] = []
    with FolderLease(folder):  # the parts of a driver that works on it may be committed next
        markers = committed(folder, told.append)
        unreadable = len(told)
        placed = laid_out(plan, markers)
        for one in placed:
            told += _damage(folder, one.marker)
        told += _damage_of_all(folder, plan, placed)
        sound = not told
        if unreadable:
            told.append("parts that nobody committed stay, as a damaged marker may name them")
        elif left := orphans(folder, [one.marker for one in placed]):
            for name in left:
                folder.delete(name)
            told.append(f"{plural(len(left), 'file')} that nobody committed: deleted")
    if sound:
        told.append(f"{plural(len(placed), 'part')} looked through: nothing is missing")
    return told, sound


def _damage(folder: Folder, marker: Part) -> Iterator[str]:
    """What is wrong with the files of one part, a sentence each."""
    files: list[tuple[str, str, Callable[[bytes], bool]]] = [
        (marker.records, marker.checksum, lambda _: True),
        (marker.ids, marker.ids_checksum, lambda content: len(content) == marker.cases * ENTRY.itemsize),
    ]
    if marker.rejected:
        count = marker.rejected
        files.append(
            (marker.rejections, marker.rejections_checksum, lambda content: read_rejections(content, count) is not None)
        )
    for name, checksum, whole in files:
        content = folder.read(name)
        if content is None:
            yield f"{name} is missing: {again(marker)}"
        elif (checksum and checksum_of(content) != checksum) or not whole(content):
            yield f"{name} is not what was committed: {again(marker)}"


def _damage_of_all(folder: Folder, plan: Manifest, placed: Sequence[Placed]) -> Iterator[str]:
    """What is wrong with the files that a complete record set has once, a sentence each."""
    try:
        together = kept_together(folder)
        same = together is None or [*together.values()] == [one.marker for one in placed]
    except StoreError:
        same = False
    if not same:
        yield f"{PARTS} is not what the files in {DONE}/ say: delete it and evaluate again"
    if len(placed) == len(plan.partitions):
        for read in (lambda: read_summary(folder), lambda: read_doubles(folder, placed)):
            try:
                read()
            except StoreError as error:
                yield str(error)
