"""A record set, read as a run of a store is."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, BinaryIO

import numpy as np

from ragtriage.core.case import Case
from ragtriage.core.display import listed
from ragtriage.core.errors import InputError, NotStoredError, RagtriageError, StoreError
from ragtriage.core.record import Record
from ragtriage.core.validation import near_names
from ragtriage.runs.evaluation_config import ARITHMETIC
from ragtriage.scale.ids import place_of
from ragtriage.scale.layout import Double, Placed, find_doubles, ids_of, laid_out, read_doubles, starts
from ragtriage.scale.markers import ANEW, Marker, again, read_markers
from ragtriage.scale.part_file import LIGHT, case_of, columns_of, outcomes_of, read_numbers, read_part, values_of
from ragtriage.scale.places import FILESYSTEMS, REMOTE, Folder, folder_at, open_input, stamp_of
from ragtriage.scale.plan import RunPlan, read_plan
from ragtriage.scale.record_set_columns import SetColumns, SetNotes
from ragtriage.scale.rejections import rejected_rows
from ragtriage.scale.sign_of_life import worked_on
from ragtriage.scale.spending import Amount, spent_on
from ragtriage.store import RejectedRow, RunColumns, RunInfo, StoredRow
from ragtriage.store.identity import content_hash, digest
from ragtriage.store.record_values import case_from, record_from
from ragtriage.store.run_notes import RunNotes
from ragtriage.store.run_reader import MOST_COMPARED
from ragtriage.store.schema import FINISHED, INTERRUPTED, RUNNING, State
from ragtriage.text.sanitize import one_line

SUMMARY = "summary.json"
_NO_TEXTS = (("query", None, None), ("response", None, None))
"""What is read of a case whose texts aren't there any more."""


@dataclass(frozen=True)
class RecordSet:
    """One run in the files of a record set; see `ragtriage.store.StoredRun`.

    Args:
        folder: where it lies.
        plan: what it is to hold.
        markers: what it holds.
        info: what is known of it as a whole.
    """

    folder: Folder
    plan: RunPlan
    markers: Mapping[str, Marker]
    info: RunInfo
    _files: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def number(self) -> int:
        """See `StoredRun`."""
        return self.info.number

    @cached_property
    def placed(self) -> tuple[Placed, ...]:
        """The partitions that are done, in the order of the input."""
        return laid_out(self.plan, self.markers)

    @cached_property
    def doubles(self) -> list[Double]:
        """The cases that don't count, as their id came before."""
        known = read_doubles(self.folder, self.placed) if self.info.state == FINISHED else None
        return find_doubles(self.folder, self.placed) if known is None else known

    @cached_property
    def left_out(self) -> Mapping[int, frozenset[int]]:
        """The place of a partition → the positions of its doubles."""
        found: dict[int, set[int]] = defaultdict(set)
        for one in self.doubles:
            found[one.partition].add(one.position)
        return {place: frozenset(positions) for place, positions in found.items()}

    @cached_property
    def starts(self) -> list[int]:
        """How many cases stand before each partition; one number more than partitions: all of them."""
        return starts(self.placed, self.doubles)

    def records(self) -> Iterator[Record]:
        """See `StoredRun`; the texts are read in the input where the record set doesn't hold them."""
        for place in range(len(self.placed)):
            yield from self.records_of(place)

    def records_of(self, place: int, position: int | None = None) -> Iterator[Record]:
        """The records of the partition at a place, or only the one at a position."""
        one = self.placed[place]
        cases = self._cases(one) if not self.plan.texts else iter(())
        at, case = next(cases, (0, None))
        for values in self._rows(place, None, 64):
            if position is not None and values["position"] != position:
                continue
            while case is not None and at < values["row"]:
                at, case = next(cases, (0, None))
            with self._damage_told(one):
                if self.plan.texts and values["texts"] is not None:
                    own = case_of(values)
                elif case is not None and at == values["row"] and content_hash(case) == values["content"]:
                    own = case
                else:
                    own = case_from(values, _NO_TEXTS)
                found = record_from(own, values, outcomes_of(values, self.plan.metrics))
            yield found

    def record(self, case_id: str) -> Record:
        """See `StoredRun`."""
        wanted = digest(case_id)
        for place, one in enumerate(self.placed):
            position = place_of(ids_of(self.folder, one.marker), wanted)
            if position is not None and position not in self.left_out.get(place, ()):
                found = next(self.records_of(place, position), None)
                if found is None:
                    raise StoreError(f"{self.folder.at(one.marker.records)} lacks a case: {again(one.marker)}")
                return found
        ids = (row["id"] for _, row in zip(range(MOST_COMPARED), self.light(("id",)), strict=False))
        near = near_names(case_id, list(ids), 3)
        hint = f"did you mean {listed(near, 'or')}?" if near else f"`ragtriage show {self.info.typed}` lists its cases"
        raise NotStoredError(f"{self.info.called} holds no case {case_id!r}: {hint}")

    def texts_deleted(self) -> int:
        """See `StoredRun`: the cases that were forgotten, or whose file is gone, or was changed since."""
        gone = (not self.plan.texts and not self._unchanged(one) for one in self.placed)
        return sum(self._cases_at(place) if all_of else self._forgotten(place) for place, all_of in enumerate(gone))

    def forgotten(self) -> int:
        """Cases whose texts were deleted; see `ragtriage.scale.forgetting`."""
        return sum(map(self._forgotten, range(len(self.placed))))

    def _forgotten(self, place: int) -> int:
        known = self.placed[place].marker.forgotten
        if not known or place not in self.left_out:
            return known
        return sum(row["content"] is None for row in self.light_of(place, ("content",)))

    def _cases_at(self, place: int) -> int:
        return self.placed[place].marker.cases - len(self.left_out.get(place, ()))

    def rows(self) -> Iterator[StoredRow]:
        """See `StoredRun`."""
        columns = [*LIGHT, *(column for name in self.plan.metrics for column in columns_of(name))]
        for place, one in enumerate(self.placed):
            for row in self._rows(place, columns, 1_000):
                with self._damage_told(one):
                    outcomes = outcomes_of(row, self.plan.metrics)
                yield StoredRow(row["id"], row["tags"], row["weight"], row["language"], outcomes)

    def light(self, columns: tuple[str, ...] | list[str]) -> Iterator[dict[str, Any]]:
        """Some columns of every case, in the order of the input."""
        for place in range(len(self.placed)):
            yield from self.light_of(place, columns)

    def light_of(self, place: int, columns: tuple[str, ...] | list[str]) -> Iterator[dict[str, Any]]:
        """The same of the partition at a place."""
        yield from self._rows(place, ["position", *columns], 1_000)

    def columns(self) -> RunColumns:
        """See `StoredRun`."""
        return SetColumns(self)

    def notes(self) -> RunNotes:
        """See `StoredRun`."""
        return SetNotes(self.folder)

    def rejected(self) -> list[RejectedRow]:
        """See `StoredRun`; where there are several files, rows are numbered through all of them."""
        found = rejected_rows(self)
        return [RejectedRow(*row) for row in sorted(found, key=lambda row: (row[0], row[1] or ""))]

    def table_of(self, place: int, columns: list[str]) -> dict[str, Any]:
        """Numbers of the cases of a partition, by column, without its doubles; nan where there is none."""
        left_out = self.left_out.get(place, frozenset())
        with self._part(self.placed[place]) as file:
            found = read_numbers(file, ["position", *columns])
        kept = ~np.isin(found["position"], [*left_out])
        return {name: found[name][kept] for name in columns}

    def light_case(self, place: int, position: int) -> Case:
        """The case of a partition at a position, without its texts."""
        columns = ["position", "id", "weight", "tags", "time", "trace_id", "relevant_ids"]
        one = self.placed[place]
        with self._part(one) as file:
            found = (row for row in read_part(file, columns, 1_000) if row["position"] == position)
            if row := next(found, None):
                return case_from(values_of(row), _NO_TEXTS)
        raise StoreError(f"{self.folder.at(one.marker.records)} lacks a case: {again(one.marker)}")

    def _rows(self, place: int, columns: list[str] | None, portion: int) -> Iterator[dict[str, Any]]:
        """The rows of a part but for its doubles, as `values_of` gives them."""
        left_out = self.left_out.get(place, frozenset())
        with self._part(self.placed[place]) as file:
            yield from (values_of(row) for row in read_part(file, columns, portion) if row["position"] not in left_out)

    @contextmanager
    def _part(self, one: Placed) -> Iterator[BinaryIO]:
        with self._damage_told(one), open_input(self.folder.at(one.marker.records)) as file:
            yield file

    @contextmanager
    def _damage_told(self, one: Placed) -> Iterator[None]:
        """Tell what goes wrong while a part is read as a StoreError that says what to do."""
        try:
            yield
        except (OSError, ValueError, LookupError, TypeError, NotImplementedError, MemoryError) as error:
            why = (isinstance(error, OSError) and error.strerror) or f"{type(error).__name__}: {error}"
            name = self.folder.at(one.marker.records)
            raise StoreError(f"{name} can't be read ({one_line(why, 200)}): {again(one.marker)}") from error

    def _cases(self, one: Placed) -> Iterator[tuple[int, Case | None]]:
        """The cases of a partition with their rows, as the input has them; none where the file isn't what it was."""
        if not self._unchanged(one):
            return
        file = self.plan.file_of(one.partition)
        try:
            opened = self._files.get(file.address)
            if opened is None:
                self._files.clear()
                opened = self._files[file.address] = self.plan.reading.open(file.address, file.name)
            for raw, row in opened.rows_in(one.partition.part):
                if isinstance(row, Case):
                    yield raw.row, row
        except (RagtriageError, OSError):
            return

    def _unchanged(self, one: Placed) -> bool:
        file = self.plan.file_of(one.partition)
        known = self._files.get(f"stamp of {file.address}")
        if known is None:
            try:
                known = stamp_of(file.address) == file.stamp
            except (OSError, InputError):
                known = False
            self._files[f"stamp of {file.address}"] = known
        return bool(known)


def is_record_set(address: str) -> bool:
    """Whether an address names a folder in which a record set was begun; a database's URL names none.

    Raises:
        StoreError: it can't be looked at.
    """
    scheme, sign, _ = address.partition(REMOTE)
    if sign and scheme not in FILESYSTEMS:
        return False
    return folder_at(address).read("plan.json") is not None


def open_record_set(address: str, listed_as: RunInfo | None = None) -> RecordSet:
    """Open a record set to read it, also one that isn't complete.

    Args:
        address: its folder, a path or URL.
        listed_as: the run of a store whose records it holds.

    Raises:
        NotStoredError: there is none.
        StoreError: it can't be read.
    """
    folder = folder_at(address)
    plan = read_plan(folder)
    if plan is None:
        raise NotStoredError(f"{address} is no record set: there is no plan.json in it")
    wanted = [one.id for one in plan.partitions]
    markers = read_markers(folder, wanted)
    whole = all(one in markers for one in wanted)
    summary = read_summary(folder) if whole else None
    return record_set(folder, plan, markers, address, summary=summary, listed_as=listed_as)


def read_summary(folder: Folder) -> Mapping[str, Any] | None:
    """What a complete record set amounts to; None where it isn't complete.

    Raises:
        StoreError: it can't be read, or is damaged.
    """
    try:
        found: Mapping[str, Any] | None = json.loads(folder.read(SUMMARY) or b"null")
        if found is None or found["state"] == FINISHED:
            return found
    except (ValueError, LookupError, TypeError):
        pass
    raise StoreError(f"{folder.at(SUMMARY)} is damaged: {ANEW}")


def record_set(
    folder: Folder,
    plan: RunPlan,
    markers: Mapping[str, Marker],
    address: str,
    *,
    summary: Mapping[str, Any] | None = None,
    listed_as: RunInfo | None = None,
) -> RecordSet:
    """A record set whose plan and markers are known; see `open_record_set`."""
    wanted = {one.id for one in plan.partitions}
    mine = {name: marker for name, marker in markers.items() if name in wanted}
    shown = (
        {"number": listed_as.number, "project": listed_as.project, "author": listed_as.author}
        if listed_as
        else {"number": -1 - int(plan.identity[:12], 16), "address": address}
    )
    state: State = FINISHED if summary else RUNNING if worked_on(folder) else INTERRUPTED
    found = RecordSet(folder, plan, mine, _info(plan, mine, state, summary, shown, spent_on(folder)))
    if summary is None and found.doubles:
        own = found.info
        done, rejected = own.done - len(found.doubles), own.rejected + len(found.doubles)
        return replace(found, info=replace(own, done=done, rejected=rejected))
    return found


def _info(
    plan: RunPlan,
    markers: Mapping[str, Marker],
    state: State,
    summary: Mapping[str, Any] | None,
    shown: Mapping[str, Any],
    spent: Amount | None,
) -> RunInfo:
    spent = spent or Amount()
    cases = sum(marker.cases for marker in markers.values())
    failed = sum(marker.failed for marker in markers.values())
    probes = {marker.probe for marker in markers.values() if marker.probe}
    counted: dict[str, Any] = {
        "state": state,
        "finished": None,
        "rows": max(cases, plan.rows),
        "done": cases - failed,
        "failed": failed,
        "rejected": sum(marker.rejected for marker in markers.values())
        + sum(bool(file.problem) for file in plan.files),
        "seconds": sum(marker.seconds for marker in markers.values()),
        **asdict(spent),
    }
    return RunInfo(
        identity=plan.identity,
        created=plan.created,
        input=", ".join(plan.inputs),
        rows_hash=plan.rows_hash,
        metrics=plan.metrics,
        judge=plan.judge,
        fingerprints=plan.fingerprints,
        configuration={**plan.configuration, **({ARITHMETIC: len(probes)} if len(probes) > 1 else {})},
        versions=plan.versions,
        **counted | {name: value for name, value in (summary or {}).items() if name in counted} | dict(shown),
    )
