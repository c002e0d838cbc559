"""A record set by columns, and what was computed from it as a whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from ragtriage.core.filesystems import Folder
from ragtriage.core.record import Record
from ragtriage.runs.case_row import CaseRow, CaseText, texts_of
from ragtriage.runs.codec import DELETED
from ragtriage.runs.identity import digest
from ragtriage.scale.part_file import columns_of

NOTES = "notes"


class Readable(Protocol):
    """What is needed of a record set."""

    @property
    def light(self) -> Callable[[list[str]], Iterator[dict[str, Any]]]:
        """Some columns of every case, in the order of the input."""
        ...

    @property
    def records(self) -> Callable[[], Iterator[Record]]:
        """All records."""
        ...


class SetColumns:
    """The columns of a record set; see `ragtriage.store.RunColumns`. A case's place is its number among all."""

    def __init__(self, records: Readable) -> None:
        self._set = records

    def cases(self) -> Iterator[tuple[int, str, Mapping[str, Any], float, Sequence[str] | None]]:
        """See `RunColumns`."""
        for place, row in enumerate(self._set.light(["id", "tags", "weight", "relevant_ids"])):
            yield place, row["id"], row["tags"], row["weight"], row["relevant_ids"]

    def scores(self, metric: str) -> list[tuple[int, float | None, bool]]:
        """See `RunColumns`."""
        value, reason, failed, *_ = columns_of(metric)
        found = enumerate(self._set.light([value, reason, failed]))
        return [
            (place, row[value], bool(row[failed]))
            for place, row in found
            if row[value] is not None or row[reason] is not None
        ]

    def texts(self, last: int, read: Sequence[str] = ()) -> Iterator[CaseRow]:
        """See `RunColumns`; texts are read in the input where the record set doesn't hold them."""
        for place, record in enumerate(self._set.records()):
            if place > last:
                return
            by_role: dict[str, list[CaseText]] = {}
            for role, _, label, text in texts_of(record.case):
                gone = text == DELETED
                told = CaseText(label, None if gone else digest(text), text if role in read and not gone else None)
                by_role.setdefault(role, []).append(told)
            yield CaseRow(place, by_role)

    def shared_with(self, other: int, enough: float) -> int:  # noqa: ARG002  # see `RunColumns`
        """Never known: a store can't look into a record set, so a base has to be named."""
        return 0


class SetNotes:
    """The notes of a record set, files in it; see `ragtriage.store.run_notes.RunNotes`."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder

    def read(self, kind: str, digest: str) -> str | None:
        """See `RunNotes`."""
        try:
            known = json.loads(self._folder.read(f"{NOTES}/{kind}.json") or b"{}")
            return str(known["value"]) if known.get("digest") == digest else None
        except (ValueError, LookupError, AttributeError):
            return None  # damaged: it is computed and written anew

    def write(self, kind: str, digest: str, value: str) -> None:
        """See `RunNotes`."""
        self._folder.write(f"{NOTES}/{kind}.json", json.dumps({"digest": digest, "value": value}).encode())
