"""Which parts of a record set count: a small file for each partition that is done, written by the driver alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from ragtriage.core.errors import StoreError
from ragtriage.scale.places import Folder
from ragtriage.scale.spending import Amount

DONE, RECORDS = "done", "records"
PARTS = "parts.jsonl"
"""All markers of a record set that is complete, so that they needn't be read one by one."""
AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Marker:
    """A partition that is done."""

    partition: str
    part: str
    """The name of its file of records, in `records/`; beside it lie `.ids`, and `.rejected` if a row is."""
    checksum: str
    """Of that file: 32 hexadecimal digits of BLAKE2b."""
    rows: int
    """Of the input, whether they can be used or not."""
    lines: int
    """Of a part of a JSONL file; else 0."""
    cases: int
    failed: int
    """Cases of which a score failed."""
    rejected: int
    ends: bool
    """Whether nothing behind it could be read, though there is more."""
    probe: str
    """See `ragtriage.scale.probe`; empty where no embedded model judges."""
    seconds: float
    """That a process worked on it."""
    spent: Amount = field(default_factory=Amount)
    """On this attempt."""
    left: int = 0
    """Cases that weren't evaluated, as the judge was stopped."""
    host: str = ""
    counts: Mapping[str, Any] = field(default_factory=dict)
    """See `ragtriage.runs.summary.Tally.counts`."""

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Marker:
        """Undo `asdict`."""
        return cls(**{**told, "spent": Amount(**told["spent"])})

    @property
    def ids(self) -> str:
        """The file of its ids; see `ragtriage.scale.ids`."""
        return f"{RECORDS}/{self.part}.ids"

    @property
    def records(self) -> str:
        """The file of its records."""
        return f"{RECORDS}/{self.part}.parquet"

    @property
    def rejections(self) -> str:
        """The file of its rejected rows; only there if there is one."""
        return f"{RECORDS}/{self.part}.rejected"


def commit(folder: Folder, marker: Marker) -> None:
    """Make a part count, in the place of an earlier one of the same partition.

    Raises:
        StoreError: the folder can't be written.
    """
    folder.write(f"{DONE}/{marker.partition}.json", _written(marker))


def read_markers(folder: Folder) -> dict[str, Marker]:
    """The partitions that are done, by their ids.

    Raises:
        StoreError: one can't be read or is damaged.
    """
    if (whole := folder.read(PARTS)) is not None:
        found = [_read(PARTS, line) for line in whole.splitlines()]
    else:
        names = [name for name in folder.names(DONE) if name.endswith(".json")]
        with ThreadPoolExecutor(AT_ONCE) as threads:
            found = list(threads.map(partial(_read_one, folder), names))
    return {marker.partition: marker for marker in found}


def keep_together(folder: Folder, markers: Iterable[Marker]) -> None:
    """Write all markers of a complete record set as one file too."""
    folder.write(PARTS, b"\n".join(map(_written, markers)))


def orphans(folder: Folder, markers: Iterable[Marker]) -> Sequence[str]:
    """The files of records that no marker names: of attempts that were lost, or repeated."""
    kept = {marker.part for marker in markers}
    return [f"{RECORDS}/{name}" for name in folder.names(RECORDS) if name.partition(".")[0] not in kept]


def _read_one(folder: Folder, name: str) -> Marker:
    return _read(name, folder.read(f"{DONE}/{name}") or b"")


def _read(name: str, content: bytes) -> Marker:
    try:
        return Marker.from_json(json.loads(content))
    except (ValueError, LookupError, TypeError) as error:
        raise StoreError(
            f"{name} of the record set is damaged ({error}): delete it, and give the command again"
        ) from error


def _written(marker: Marker) -> bytes:
    return json.dumps(asdict(marker), separators=(",", ":")).encode()
