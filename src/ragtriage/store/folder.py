"""A run in the files of a folder, of this machine or of an object store; what many processes write.

`plan.json` is the manifest. Every part is one Parquet file in `records/`, and counts once `done/PART.json` says so,
which only the driver writes. `summary.json` is there while the run is complete: what it amounts to, and its parts.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any, BinaryIO, TypeVar

import numpy as np

from ragtriage.core.amount import Amount
from ragtriage.core.case import Case
from ragtriage.core.display import one_line
from ragtriage.core.errors import InputError, NotStoredError, RagtriageError, StoreError
from ragtriage.core.files import FILESYSTEMS, REMOTE, Folder, folder_at, open_input, stamp_of
from ragtriage.judges.budget import spent_on
from ragtriage.runs.case_row import FACTS, CaseRow, CaseText, Columns, content_hash, texts_of
from ragtriage.runs.evaluation_config import ARITHMETIC
from ragtriage.runs.manifest import CommittedPart, Manifest
from ragtriage.runs.run import FINISHED, INTERRUPTED, RUNNING, CountedPart, RejectedRow, Run, RunInfo, State
from ragtriage.store.lease import worked_on
from ragtriage.store.part_file import (
    Duplicate,
    PlacedPart,
    columns_of,
    find_duplicates,
    laid_out,
    read_cases,
    read_ids,
    read_numbers,
    read_rejected,
    read_scores,
    rejected_rows,
    starts,
)

PLAN, SUMMARY, DONE, RECORDS, NOTES = "plan.json", "summary.json", "done", "records", "notes"
FORMAT = 5
AT_ONCE = 32
"""Small files that are read together."""
T = TypeVar("T")
_NO_TEXTS = (CaseText("query", 0, None, None), CaseText("response", 0, None, None))
"""What is read of a case whose texts aren't there any more."""


@dataclass(frozen=True)
class FolderPlace:
    """One run in a folder; see `ragtriage.runs.run.Place`."""

    folder: Folder
    manifest: Manifest
    parts: Mapping[str, CommittedPart]
    info: RunInfo
    known_duplicates: Sequence[Duplicate] | None = None
    _files: dict[str, Any] = field(default_factory=dict, repr=False)

    @cached_property
    def placed(self) -> tuple[PlacedPart, ...]:
        """The parts that are done, in the order of the input."""
        return laid_out(self.manifest, self.parts)

    @cached_property
    def duplicates(self) -> Sequence[Duplicate]:
        """The cases that don't count, as their id came before."""
        if self.known_duplicates is not None:
            return self.known_duplicates
        return find_duplicates(self.placed, lambda one: self._read(one, read_ids))

    @cached_property
    def left_out(self) -> Mapping[int, frozenset[int]]:
        """The place of a part → the positions of its duplicates."""
        found: dict[int, set[int]] = defaultdict(set)
        for one in self.duplicates:
            found[one.part].add(one.position)
        return {place: frozenset(positions) for place, positions in found.items()}

    @cached_property
    def starts(self) -> list[int]:
        """How many cases stand before each part; one number more than parts: all of them."""
        return starts(self.placed, self.duplicates)

    @property
    def parts_digest(self) -> str:
        """Of the names of its parts, of which one that is written again gets a new one; 32 hexadecimal digits."""
        return hashlib.blake2b("\n".join(one.part.name for one in self.placed).encode(), digest_size=16).hexdigest()

    def version(self) -> str:
        """See `Place`."""
        summary = read_summary(self.folder)
        parts = summary["parts"] if summary else committed(self.folder).values()
        return replace(self, parts={one.plan: one for one in parts}).parts_digest

    def read(self, what: Columns, positions: range | None = None) -> Iterator[CaseRow]:
        """See `Place`; the texts are read in the input where the folder doesn't hold them."""
        for place in range(len(self.placed)):
            first, stop = self.starts[place], self.starts[place + 1]
            if positions is None or (first < positions.stop and positions.start < stop):
                for at, row in enumerate(self.read_part(place, what), first):
                    if positions is None or at in positions:
                        yield replace(row, position=at)

    def read_part(self, place: int, what: Columns) -> Iterator[CaseRow]:
        """The cases of the part at a place, without duplicates, each with its position in the part."""
        one, left_out = self.placed[place], self.left_out.get(place, ())
        found = self._rows(one, what)
        if what.texts is not None:
            found = map(_without_forgotten, found) if self.manifest.texts else self._with_texts(one, found)
        return (row for row in found if row.position not in left_out)

    def scores(self, metric: str) -> Iterator[tuple[int, float | None, bool]]:
        """See `Place`."""
        for place, one in enumerate(self.placed):
            left_out, first = sorted(self.left_out.get(place, ())), self.starts[place]
            for position, value, failed in self._read(one, lambda file: list(read_scores(file, metric))):
                if position not in left_out:
                    yield first + position - sum(lost < position for lost in left_out), value, failed

    def counted(self) -> Iterator[CountedPart]:
        """See `Place`."""
        for place, one in enumerate(self.placed):
            positions = range(self.starts[place], self.starts[place + 1])
            counts = None if place in self.left_out else one.part.counts
            yield CountedPart(positions, counts, partial(self._numbers, place))

    def _numbers(self, place: int, metrics: Sequence[str]) -> dict[str, tuple[Any, Any]]:
        """The scores of metrics on the cases of a part, and the cases' weights."""
        columns = {name: columns_of(name)[0] for name in metrics}
        found = self._read(self.placed[place], lambda file: read_numbers(file, ["weight", *columns.values()]))
        kept = ~np.isin(found["position"], [*self.left_out.get(place, ())])
        there = {name: kept & ~np.isnan(found[column]) for name, column in columns.items()}
        return {name: (found[columns[name]][own], found["weight"][own]) for name, own in there.items()}

    def position(self, id_digest: bytes) -> int | None:
        """See `Place`."""
        high, low = (int.from_bytes(half, "big") for half in (id_digest[:8], id_digest[8:]))
        for place, one in enumerate(self.placed):
            ids = self._read(one, read_ids)
            left_out = self.left_out.get(place, frozenset())
            for at in map(int, ids["position"][(ids["high"] == high) & (ids["low"] == low)]):
                if at not in left_out:
                    return self.starts[place] + at - sum(lost < at for lost in left_out)
        return None

    def texts_deleted(self) -> tuple[int, int]:
        """See `Place`: also those whose file is gone, or was changed since."""
        forgotten = [self._forgotten(place) for place in range(len(self.placed))]
        if self.manifest.texts:
            return sum(forgotten), sum(forgotten)
        cases = [stop - first for first, stop in zip(self.starts, self.starts[1:], strict=False)]
        there = [self._unchanged(one) for one in self.placed]
        lost = (own if known else of for own, known, of in zip(forgotten, there, cases, strict=True))
        return sum(lost), sum(forgotten)

    def rejected(self) -> list[RejectedRow]:
        """See `Place`; where there are several files, rows are numbered through all of them."""

        def case_of(place: int, position: int) -> Case:
            return next(row for row in self._rows(self.placed[place], FACTS) if row.position == position).case()

        read = lambda one: self._read(one, read_rejected)  # noqa: E731  # short
        found = rejected_rows(self.manifest, self.placed, self.duplicates, read, case_of)
        return sorted(found, key=lambda row: (row.row, row.field or ""))

    def note(self, kind: str, digest: str, value: str | None = None) -> str | None:
        """See `Place`; notes are files."""
        name = f"{NOTES}/{kind}.json"
        if value is not None:
            self.folder.write(name, json.dumps({"digest": digest, "value": value}).encode())
            return value
        try:
            known = json.loads(self.folder.read(name) or b"{}")
            return str(known["value"]) if known.get("digest") == digest else None
        except (ValueError, LookupError, AttributeError):
            return None  # damaged: it is computed and written anew

    def _forgotten(self, place: int) -> int:
        known = self.placed[place].part.forgotten
        if not known or place not in self.left_out:
            return known
        return sum(row.content is None for row in self.read_part(place, FACTS))

    def _rows(self, one: PlacedPart, what: Columns) -> Iterator[CaseRow]:
        with self._damage_told(one), open_input(self.folder.at(file_of(one.part))) as file:
            found = 0
            for row in read_cases(file, what, self.manifest.metrics):
                yield row
                found += 1
            if found != one.part.cases:
                raise ValueError(f"it has {found} of {one.part.cases} cases")

    def _read(self, one: PlacedPart, read: Callable[[BinaryIO], T]) -> T:
        with self._damage_told(one), open_input(self.folder.at(file_of(one.part))) as file:
            return read(file)

    @contextmanager
    def _damage_told(self, one: PlacedPart) -> Iterator[None]:
        """Tell what goes wrong while a part is read as a StoreError that says what to do."""
        try:
            yield
        except (OSError, ValueError, LookupError, TypeError, NotImplementedError, MemoryError) as error:
            why = (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"
            name = self.folder.at(file_of(one.part))
            raise StoreError(f"{name} can't be read ({one_line(why, 200)}): {again(one.part)}") from error

    def _with_texts(self, one: PlacedPart, rows: Iterable[CaseRow]) -> Iterator[CaseRow]:
        """The rows with the texts of the input; without those that it doesn't have any more, or that were forgotten."""
        cases = self._cases(one)
        at, case = next(cases, (0, None))
        for row in rows:
            while case is not None and at < (row.row or 0):
                at, case = next(cases, (0, None))
            same = case is not None and at == row.row and content_hash(case) == row.content
            yield replace(row, texts=tuple(texts_of(case)) if case is not None and same else _NO_TEXTS)

    def _cases(self, one: PlacedPart) -> Iterator[tuple[int, Case | None]]:
        """The cases of a part with their rows, as the input has them; none where the file isn't what it was."""
        if not self._unchanged(one):
            return
        file = self.manifest.file_of(one.plan)
        try:
            opened = self._files.get(file.address)
            if opened is None:
                self._files.clear()
                opened = self._files[file.address] = self.manifest.read_options.open(file.address, file.name)
            for raw, row in opened.rows_in(one.plan.part):
                if isinstance(row, Case):
                    yield raw.row, row
        except (RagtriageError, OSError):
            return

    def _unchanged(self, one: PlacedPart) -> bool:
        file = self.manifest.file_of(one.plan)
        known = self._files.get(f"stamp of {file.address}")
        if known is None:
            try:
                known = stamp_of(file.address) == file.stamp
            except (OSError, InputError):
                known = False
            self._files[f"stamp of {file.address}"] = known
        return bool(known)


def folder_of(run: Run) -> FolderPlace | None:
    """The folder that a run lies in; None if it lies in tables."""
    return run.place if isinstance(run.place, FolderPlace) else None


def _without_forgotten(row: CaseRow) -> CaseRow:
    return row if row.content is not None else replace(row, texts=_NO_TEXTS)


def file_of(part: CommittedPart) -> str:
    """The file of a part's records."""
    return f"{RECORDS}/{part.name}.parquet"


def again(part: CommittedPart) -> str:
    """What to do about a part whose file is damaged."""
    return f"delete {DONE}/{part.plan}.json and evaluate again"


def write_manifest(folder: Folder, manifest: Manifest) -> None:
    """Write a manifest."""
    folder.write(PLAN, json.dumps({"format": FORMAT, **manifest.as_json()}, separators=(",", ":")).encode())


def read_manifest(folder: Folder) -> Manifest | None:
    """The manifest of the run in a folder; None where there is none."""
    content = folder.read(PLAN)
    if content is None:
        return None
    try:
        told = json.loads(content)
        if told.pop("format") != FORMAT:
            raise StoreError(
                f"{folder.address} was written by another version of ragtriage: evaluate again with another --out "
                "(answers that were paid for are remembered), or copy it into a store with the version that wrote it"
            )
        return Manifest.from_json(told)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreError(f"{folder.at(PLAN)} is damaged ({error}): give another --out") from error


def commit(folder: Folder, part: CommittedPart) -> None:
    """Make a part count, in the place of an earlier one of the same plan."""
    folder.write(f"{DONE}/{part.plan}.json", json.dumps(asdict(part), separators=(",", ":")).encode())


def committed(folder: Folder, damaged: Callable[[str], None] | None = None) -> dict[str, CommittedPart]:
    """The parts that are done, by the ids of their plans.

    `damaged` is called with a sentence for each that can't be read, which is left out; without it an error is raised.
    """
    names = [name for name in folder.names(DONE) if name.endswith(".json")]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        read = list(threads.map(partial(_part_in, folder, tell=damaged is not None), names))
    for one in read:
        if isinstance(one, str) and damaged:
            damaged(one)
    return {one.plan: one for one in read if isinstance(one, CommittedPart)}


def _part_in(folder: Folder, name: str, *, tell: bool) -> CommittedPart | str:
    try:
        return CommittedPart.from_json(json.loads(folder.read(f"{DONE}/{name}") or b""))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        told = f"{folder.at(f'{DONE}/{name}')} is damaged ({error}): delete it, and give the command again"
        if tell:
            return told
        raise StoreError(told) from error


def orphans(folder: Folder, parts: Iterable[CommittedPart]) -> Sequence[str]:
    """The files of records that no part names: of attempts that were lost, or repeated."""
    kept = {part.name for part in parts}
    return [f"{RECORDS}/{name}" for name in folder.names(RECORDS) if name.partition(".")[0] not in kept]


def read_summary(folder: Folder) -> Mapping[str, Any] | None:
    """What a complete run amounts to, with its parts; None where it isn't complete."""
    try:
        found: dict[str, Any] | None = json.loads(folder.read(SUMMARY) or b"null")
        if found is None:
            return None
        parts = [CommittedPart.from_json(one) for one in found["parts"]]
        sound = found["state"] == FINISHED
        for one in (Duplicate(*told) for told in found["duplicates"]):
            sound &= 0 <= one.position < parts[one.part].cases and one.part >= 0
        if sound:
            return found | {"parts": parts}
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise StoreError(f"{folder.at(SUMMARY)} is damaged: evaluate again, which writes it anew")


def is_run_folder(address: str) -> bool:
    """Whether an address names a folder in which a run was begun; a database's URL names none."""
    scheme, sign, _ = address.partition(REMOTE)
    if sign and scheme not in FILESYSTEMS:
        return False
    return folder_at(address).read(PLAN) is not None


def open_folder(address: str, listed_as: RunInfo | None = None) -> Run:
    """Open the run in a folder to read it, also one that isn't complete."""
    folder = folder_at(address)
    manifest = read_manifest(folder)
    if manifest is None:
        raise NotStoredError(f"there is no run in {address}: it has no {PLAN}")
    summary = read_summary(folder)
    if summary and {one.plan for one in summary["parts"]} >= {one.id for one in manifest.plan}:
        return Run(folder_place(folder, manifest, summary["parts"], address, summary=summary, listed_as=listed_as))
    return Run(folder_place(folder, manifest, committed(folder).values(), address, listed_as=listed_as))


def folder_place(
    folder: Folder,
    manifest: Manifest,
    parts: Iterable[CommittedPart],
    address: str,
    *,
    summary: Mapping[str, Any] | None = None,
    listed_as: RunInfo | None = None,
) -> FolderPlace:
    """The place of a run whose manifest and parts are known; see `open_folder`."""
    wanted = {one.id for one in manifest.plan}
    mine = {part.plan: part for part in parts if part.plan in wanted}
    shown = (
        {"number": listed_as.number, "project": listed_as.project, "author": listed_as.author}
        if listed_as
        else {"number": -1 - int(manifest.identity[:12], 16), "address": address}
    )
    state: State = FINISHED if summary else RUNNING if worked_on(folder) else INTERRUPTED
    info = _info(folder, manifest, mine.values(), state, summary, shown)
    found = FolderPlace(
        folder, manifest, mine, info, [Duplicate(*one) for one in summary["duplicates"]] if summary else None
    )
    if summary is None and found.duplicates:
        own, lost = found.info, len(found.duplicates)
        return replace(found, info=replace(own, done=own.done - lost, rejected=own.rejected + lost))
    return found


def counts_of(manifest: Manifest, parts: Collection[CommittedPart], duplicates: int = 0) -> dict[str, int]:
    """How many cases are done and failed, and how many rows couldn't be used."""
    cases, failed = sum(part.cases for part in parts), sum(part.failed for part in parts)
    rejected = sum(part.rejected for part in parts) + sum(bool(file.problem) for file in manifest.files)
    return {"done": cases - duplicates - failed, "failed": failed, "rejected": rejected + duplicates}


def _info(
    folder: Folder,
    manifest: Manifest,
    parts: Collection[CommittedPart],
    state: State,
    summary: Mapping[str, Any] | None,
    shown: Mapping[str, Any],
) -> RunInfo:
    probes = {part.probe for part in parts if part.probe}
    counted: dict[str, Any] = {
        "state": state,
        "finished": None,
        "rows": max(sum(part.cases for part in parts), manifest.rows),
        **counts_of(manifest, parts),
        "seconds": sum(part.seconds for part in parts),
        **asdict(spent_on(folder) or Amount()),
    }
    return RunInfo(
        identity=manifest.identity,
        created=manifest.created,
        input=", ".join(manifest.inputs),
        rows_hash=manifest.input_digest,
        metrics=manifest.metrics,
        judge=manifest.judge,
        fingerprints=manifest.fingerprints,
        configuration={**manifest.configuration, **({ARITHMETIC: len(probes)} if len(probes) > 1 else {})},
        versions=manifest.versions,
        **counted | {name: value for name, value in (summary or {}).items() if name in counted} | dict(shown),
    )


def write_summary(place: FolderPlace, numbers: Mapping[str, Any]) -> None:
    """Write what a complete run amounts to; see `read_summary`."""
    info = place.info
    told = {name: getattr(info, name) for name in ("state", "finished", "rows", "done", "failed", "rejected")}
    told["duplicates"] = [[getattr(one, name) for name in Duplicate.__slots__] for one in place.duplicates]
    told["probes"] = sorted({one.part.probe for one in place.placed if one.part.probe})
    told |= {"numbers": numbers, "parts": [asdict(one.part) for one in place.placed]}
    place.folder.write(SUMMARY, json.dumps(told).encode())
