"""Which parts of a record set count: a small file for each partition that is done, written by the driver alone."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

from ragtriage.core.errors import StoreError
from ragtriage.judges.budget import Amount
from ragtriage.scale.places import Folder

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
    ids_checksum: str = ""
    """Of the file of ids; empty in markers that were written before there was one. So is the next."""
    rejections_checksum: str = ""
    forgotten: int = 0
    """Cases whose texts were deleted; see `ragtriage.scale.forgetting`."""

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


def read_markers(folder: Folder, wanted: Collection[str] = ()) -> dict[str, Marker]:
    """The partitions that are done, by their ids; of a complete record set one file is read.

    Args:
        folder: the record set.
        wanted: the partitions that a complete record set has.

    Raises:
        StoreError: one can't be read or is damaged.
    """
    known = kept_together(folder)
    return committed(folder) if known is None or not known.keys() >= set(wanted) else known


def committed(folder: Folder, damaged: Callable[[str], None] | None = None) -> dict[str, Marker]:
    """The partitions that are done by the markers that are there now, for whoever goes on with a record set.

    Args:
        folder: the record set.
        damaged: called with a sentence for each marker that can't be used, which is left out; None: it is raised.
            Given, every marker is read by itself.

    Raises:
        StoreError: a marker can't be read or is damaged.
    """
    names = [name for name in folder.names(DONE) if name.endswith(".json")]
    try:
        known = {} if damaged else kept_together(folder) or {}
    except StoreError:
        known = {}  # it only repeats the others
    found = {name: known[name.removesuffix(".json")] for name in names if name.removesuffix(".json") in known}
    with ThreadPoolExecutor(AT_ONCE) as threads:
        rest = [name for name in names if name not in found]
        read = threads.map(partial(_read_one, folder, tell=damaged is not None), rest)
        for name, marker in zip(rest, read, strict=True):
            if isinstance(marker, Marker):
                found[name] = marker
            elif damaged:
                damaged(marker)
    return {found[name].partition: found[name] for name in names if name in found}


def checksum_of(content: bytes) -> str:
    """The checksum that a marker keeps of a file."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


ANEW = "evaluate again, which writes it anew"
"""What to do about a damaged file that repeats what others hold."""


def again(marker: Marker) -> str:
    """What to do about a partition whose files are damaged."""
    return f"delete {DONE}/{marker.partition}.json and evaluate again"


def keep_together(folder: Folder, markers: Iterable[Marker]) -> None:
    """Write all markers of a complete record set as one file too."""
    folder.write(PARTS, b"\n".join(map(_written, markers)))


def orphans(folder: Folder, markers: Iterable[Marker]) -> Sequence[str]:
    """The files of records that no marker names: of attempts that were lost, or repeated."""
    kept = {marker.part for marker in markers}
    return [f"{RECORDS}/{name}" for name in folder.names(RECORDS) if name.partition(".")[0] not in kept]


def kept_together(folder: Folder) -> dict[str, Marker] | None:
    """What the file of all markers holds; None where there is none.

    Raises:
        StoreError: it can't be read or is damaged.
    """
    whole = folder.read(PARTS)
    if whole is None:
        return None
    return {marker.partition: marker for marker in (_read(PARTS, line) for line in whole.splitlines())}


def _read_one(folder: Folder, name: str, *, tell: bool) -> Marker | str:
    try:
        return _read(f"{DONE}/{name}", folder.read(f"{DONE}/{name}") or b"")
    except StoreError as error:
        if tell:
            return str(error)
        raise


def _read(name: str, content: bytes) -> Marker:
    try:
        return Marker.from_json(json.loads(content))
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StoreError(
            f"{name} of the record set is damaged ({error}): delete it, and give the command again"
        ) from error


def _written(marker: Marker) -> bytes:
    return json.dumps(asdict(marker), separators=(",", ":")).encode()
