"""Whether a store, or a run in a folder, holds together: nothing is missing, and nothing is another than was kept."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sqlalchemy import ColumnElement, Connection, Table, func, select

from ragtriage.core.display import plural
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.core.files import Folder, folder_at, open_input
from ragtriage.runs.case_row import WHOLE, CaseRow, content_hash
from ragtriage.runs.codec import steps_readable
from ragtriage.runs.manifest import CommittedPart
from ragtriage.runs.run import FINISHED
from ragtriage.store.database import Database
from ragtriage.store.folder import PLAN, again, committed, file_of, orphans, read_manifest, read_summary
from ragtriage.store.layout import laid_out
from ragtriage.store.lease import FolderLease
from ragtriage.store.part_file import checksum
from ragtriage.store.schema import RECORDS_AT, case_texts, cases, listed_for, readings, runs, scores, texts
from ragtriage.store.tables import TablePlace, read_runs


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What was found in a store."""

    runs: int
    """How many were looked through."""
    missing: Mapping[int, int] = field(default_factory=dict)
    """Run → how many of its cases point to a text that isn't there and wasn't forgotten."""
    unscored: Mapping[int, int] = field(default_factory=dict)
    """Run → how many of its cases have no score."""
    caseless: Mapping[int, int] = field(default_factory=dict)
    """Run → at how many places stand scores without a case."""
    short: Mapping[int, int] = field(default_factory=dict)
    """Finished run → how many of its rows have no case."""
    unread: Mapping[int, int] = field(default_factory=dict)
    """Finished run with readings → how many of its cases have none."""
    altered: Mapping[int, int] = field(default_factory=dict)
    """Run → how many of its cases don't say what was evaluated: rows of their texts are missing, or changed."""
    spoilt: Mapping[int, int] = field(default_factory=dict)
    """Run → how many of its cases have steps that can't be read."""
    half_copied: Sequence[int] = ()
    """Runs whose copy was cut off; they aren't listed."""
    unheld: int = 0
    """Texts that no case holds, as a killed `forget` leaves them."""

    @property
    def sound(self) -> bool:
        """Whether nothing is missing; texts that nobody holds, and half a copy, are only in the way."""
        lacking = self.missing, self.unscored, self.caseless, self.short, self.unread, self.altered, self.spoilt
        return not any(lacking)


def check_store(database: Database) -> StoreCheck:
    """Look through a store: in statements that read whole tables, then case by case."""
    found = database.read(_check)
    altered, spoilt = Counter[int](), Counter[int]()
    for info in database.read(read_runs):
        for row in TablePlace(database, info).read(WHOLE):
            altered[info.number] += not _whole(row)
            spoilt[info.number] += not steps_readable(row.steps)
    return replace(found, altered=dict(+altered), spoilt=dict(+spoilt))


def _whole(row: CaseRow) -> bool:
    """Whether a case says what was evaluated; one whose texts were deleted isn't asked."""
    return any(text.text is None for text in row.texts) or content_hash(row.case()) == row.content


def _check(connection: Connection) -> StoreCheck:
    def counted(table: Table, *conditions: ColumnElement[bool]) -> dict[int, int]:
        query = select(table.c.run, func.count(table.c.position.distinct())).where(*conditions).group_by(table.c.run)
        return {run: count for run, count in connection.execute(query)}  # noqa: C416  # rows, no pairs

    same_reading = (readings.c.run == cases.c.run) & (readings.c.position == cases.c.position)
    finished = cases.c.run.in_(select(runs.c.number).where(runs.c.state == FINISHED))
    same_case = (scores.c.run == cases.c.run) & (scores.c.position == cases.c.position)
    there = select(texts.c.hash).where(texts.c.hash == case_texts.c.hash).exists()
    half = select(runs.c.number).where(~listed_for(None))
    held = texts.c.hash.in_(select(case_texts.c.hash).where(case_texts.c.hash.is_not(None)))
    return StoreCheck(
        connection.execute(select(func.count(cases.c.run.distinct())).where(cases.c.run.not_in(half))).scalar_one(),
        counted(case_texts, case_texts.c.hash.is_not(None), ~there),
        counted(cases, ~select(scores.c.run).where(same_case).exists()),
        counted(scores, ~select(cases.c.run).where(same_case).exists()),
        short=_short(connection),
        half_copied=connection.execute(half).scalars().all(),
        unread=counted(
            cases,
            finished,
            cases.c.run.in_(select(readings.c.run)),  # runs from before there were readings have none
            ~select(readings.c.run).where(same_reading).exists(),
        ),
        unheld=connection.execute(select(func.count()).select_from(texts).where(~held)).scalar_one(),
    )


def _short(connection: Connection) -> dict[int, int]:
    there = select(func.count()).select_from(cases).where(cases.c.run == runs.c.number).correlate(runs)
    query = select(runs.c.number, runs.c.rows, there.scalar_subquery().label("there"), runs.c.configuration)
    found = connection.execute(query.where(runs.c.state == FINISHED)).all()
    return {r.number: r.rows - r.there for r in found if r.there < r.rows and RECORDS_AT not in r.configuration}


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
