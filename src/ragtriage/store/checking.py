"""Whether a store, or a run in a folder, holds together: nothing is missing, and nothing is another than was kept."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from ragtriage.core.display import plural
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.core.files import Folder, folder_at, open_input
from ragtriage.runs.case_row import WHOLE, content_hash
from ragtriage.runs.codec import steps_readable
from ragtriage.runs.manifest import CommittedPart
from ragtriage.runs.run import FINISHED
from ragtriage.store.database import Database
from ragtriage.store.folder import PLAN, again, committed, file_of, orphans, read_manifest, read_summary
from ragtriage.store.lease import FolderLease
from ragtriage.store.part_file import checksum, laid_out
from ragtriage.store.schema import RECORDS_AT, case_texts, listed_for, runs, texts
from ragtriage.store.tables import TablePlace, read_runs

_AGAIN = "evaluate the file again"
_LACKING: Mapping[str, str] = {
    "missing": "run {run}: {cases} with a text that is missing and was not forgotten; shown as deleted",
    "short": f"run {{run}} is finished, but lacks {{cases}}: {_AGAIN}",
    "altered": "run {run}: {cases} with texts that are missing or aren't those that were evaluated",
    "spoilt": f"run {{run}}: {{cases}} with verdicts that can't be read: {_AGAIN}",
}
"""What some cases of a run may lack → what is said of that."""


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What was found in a store."""

    runs: int
    """How many were looked through."""
    lacking: Mapping[str, Mapping[int, int]]
    """Kind (see `_LACKING`) → run → how many cases."""
    half_copied: Sequence[int]
    """Runs whose copy was cut off; they aren't listed."""
    unheld: int
    """Texts that no case holds, as a killed `forget` leaves them."""

    @property
    def sound(self) -> bool:
        """Whether nothing is missing; texts that nobody holds, and half a copy, are only in the way."""
        return not any(self.lacking.values())

    def lines(self) -> Iterator[str]:
        """The findings, or that there are none, a sentence each."""
        for kind, told in _LACKING.items():
            for run, count in self.lacking[kind].items():
                yield told.format(run=run, cases=plural(count, "case"))
        for run in self.half_copied:
            yield f"run {run} is half a copy: give its `ragtriage store copy` again, or `ragtriage store delete {run}`"
        if self.unheld:
            yield f"{plural(self.unheld, 'text')} that no case holds: the next `ragtriage forget` deletes them"
        if self.sound:
            yield f"{plural(self.runs, 'run')} looked through: nothing is missing"


def check_store(database: Database) -> StoreCheck:
    """Look through a store, case by case."""
    looked = [info for info in database.read(read_runs) if RECORDS_AT not in info.configuration]
    lacking = {kind: Counter[int]() for kind in _LACKING}
    for info in looked:
        run, there = info.number, 0
        for there, row in enumerate(TablePlace(database, info).read(WHOLE), 1):  # noqa: B007  # how many there are
            without = [text for text in row.texts if text.text is None]
            lacking["missing"][run] += any(text.hash for text in without)  # one that was forgotten has no hash
            lacking["altered"][run] += not without and content_hash(row.case()) != row.content
            lacking["spoilt"][run] += not steps_readable(row.steps)
        if info.state == FINISHED:
            lacking["short"][run] = info.rows - there
    held = texts.c.hash.in_(select(case_texts.c.hash).where(case_texts.c.hash.is_not(None)))
    return StoreCheck(
        len(looked),
        {kind: dict(+found) for kind, found in lacking.items()},
        [row.number for row in database.all(select(runs.c.number).where(~listed_for(None)))],
        database.scalar(select(func.count()).select_from(texts).where(~held)) or 0,
    )


def _damage(folder: Folder, part: CommittedPart) -> str:
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

    Gives what was found, a line each, and whether the run is sound.
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
