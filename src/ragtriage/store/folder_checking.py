"""Whether a run in a folder holds together."""

from __future__ import annotations

from ragtriage.core.display import plural
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.core.filesystems import Folder, folder_at, open_input
from ragtriage.runs.manifest import Part
from ragtriage.store.duplicates import laid_out
from ragtriage.store.folder import PLAN, again, committed, file_of, orphans, read_manifest, read_summary
from ragtriage.store.lease import FolderLease
from ragtriage.store.part_file import checksum


def _damage(folder: Folder, part: Part) -> str:
    """What is wrong with the file of a part; empty if nothing is."""
    try:
        with open_input(folder.at(file_of(part))) as file:
            return "" if checksum(file) == part.checksum else "is not what was committed"
    except FileNotFoundError:
        return "is missing"
    except OSError as error:
        return f"can't be read ({error.strerror or error})"


def check_folder(address: str) -> tuple[list[str], bool]:
    """Compare every part with what was committed, and delete parts that nobody committed.

    Returns:
        What was found, a line each, and whether the run is sound.

    Raises:
        StoreError: it can't be read or written, or is being written.
    """
    folder = folder_at(address)
    manifest = read_manifest(folder)
    if manifest is None:
        raise NotStoredError(f"there is no run in {address}: it has no {PLAN}")
    told: list[str] = []
    with FolderLease(folder):  # the parts of a command that works on it may be committed next
        parts = committed(folder, told.append)
        unreadable = len(told)
        placed = laid_out(manifest, parts)
        told += [
            f"{file_of(one.part)} {said}: {again(one.part)}" for one in placed if (said := _damage(folder, one.part))
        ]
        try:
            summary = read_summary(folder)
            if summary and summary["parts"] != [one.part for one in placed]:
                told.append("summary.json is not what the files in done/ say: delete it and evaluate again")
        except StoreError as error:
            told.append(str(error))
        sound = not told
        if unreadable:
            told.append("parts that nobody committed stay, as a damaged file in done/ may name them")
        elif left := orphans(folder, [one.part for one in placed]):
            for name in left:
                folder.delete(name)
            told.append(f"{plural(len(left), 'file')} that nobody committed: deleted")
    if sound:
        told.append(f"{plural(len(placed), 'part')} looked through: nothing is missing")
    return told, sound
