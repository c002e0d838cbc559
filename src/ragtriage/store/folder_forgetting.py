"""Deleting what a record set holds of its cases' texts, while scores and verdicts stay.

Parts are never changed: each is written anew under a name of its own and committed in the place of the old one, which
is deleted in the end. A call that is killed leaves a sound record set, and the same call ends what it began.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from ragtriage.core.errors import StoreError
from ragtriage.core.filesystems import open_input
from ragtriage.metrics import metric_named
from ragtriage.runs.codec import DELETED, without_texts
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.identity import digest
from ragtriage.runs.part import Part
from ragtriage.runs.summary import Tally
from ragtriage.scale.ids import place_of
from ragtriage.scale.layout import ids_of
from ragtriage.runs.tally import tally_of
from ragtriage.store.duplicates import Placed
from ragtriage.store.folder import FolderPlace, open_folder, PARTS, SUMMARY, checksum_of, commit, keep_together, orphans
from ragtriage.store.folder_lease import FolderLease
from ragtriage.store.part_file import IN_MEMORY, columns_of, file_checksum


def cases_with_texts(found: FolderPlace, case_ids: Collection[str] | None = None) -> int:
    """Of how many cases a record set still holds what was said of them; of these only, if they are named."""
    if case_ids is None:
        return found.info.done + found.info.failed - found.forgotten()
    wanted = set(case_ids)
    return sum(row["content"] is not None and row["id"] in wanted for row in _light(found, wanted))


def forget_in_record_set(address: str, case_ids: Collection[str] | None = None) -> int:
    """Delete the texts, components, explanations and causes of failures that a record set holds of its cases.

    What isn't in it isn't touched: the input, reports, exports. Afterwards texts of these cases aren't read in the
    input either. With all cases also go why rows couldn't be used; in any case the parts that nobody committed.

    Args:
        address: the record set.
        case_ids: which cases; all if None.

    Returns:
        How many cases were forgotten.

    Raises:
        NotStoredError: there is no record set.
        StoreError: it can't be read or written, or is being written.
    """
    folder = open_folder(address).folder
    with FolderLease(folder):
        found = open_folder(address)
        before = found.forgotten()
        wanted = None if case_ids is None else frozenset(map(digest, case_ids))
        markers = dict(found.markers)
        for place, one in enumerate(found.placed):
            if _concerned(found, one, wanted):
                markers[one.partition.id] = _rewritten(found, place, wanted)
                commit(folder, markers[one.partition.id])
        again = replace(found, markers=markers)
        if folder.read(PARTS) is not None:
            keep_together(folder, [markers[one.partition.id] for one in found.placed])
        if (summary := folder.read(SUMMARY)) is not None:
            told = tally_of(again, config_of(again.info)).summary().as_json()
            folder.write(SUMMARY, json.dumps(json.loads(summary) | {"numbers": told}).encode())
        for name in orphans(folder, markers.values()):
            folder.delete(name)
        return again.forgotten() - before


def _light(found: FolderPlace, case_ids: Collection[str]) -> Iterator[Mapping[str, Any]]:
    """Id and content of the cases of those partitions that have one of these."""
    wanted = frozenset(map(digest, case_ids))
    for place, one in enumerate(found.placed):
        if _has_one(found, one, wanted):
            yield from found.light_of(place, ("id", "content"))


def _concerned(found: FolderPlace, one: Placed, wanted: frozenset[bytes] | None) -> bool:
    if wanted is not None:
        return _has_one(found, one, wanted)
    if one.marker.forgotten < one.marker.cases:
        return True
    return bool(one.marker.rejected) and any(row[3] != DELETED for row in _rejected(found, one.marker))


def _has_one(found: FolderPlace, one: Placed, wanted: frozenset[bytes]) -> bool:
    entries = ids_of(found.folder, one.marker)
    return any(place_of(entries, own) is not None for own in wanted)


def _rewritten(found: FolderPlace, place: int, wanted: frozenset[bytes] | None) -> Part:
    """Write a part without the texts of these cases, under another name; what is to be committed."""
    old, folder = found.placed[place].marker, found.folder
    marker = replace(old, part=f"{old.partition}-{secrets.token_hex(4)}")
    with closing(cast("BinaryIO", SpooledTemporaryFile(max_size=IN_MEMORY))) as file:
        forgotten = _copy(found, old, wanted, file)
        marker = replace(marker, checksum=file_checksum(file), forgotten=forgotten)
        folder.write_from(marker.records, file)
    folder.write(marker.ids, folder.read(old.ids) or b"")
    if old.rejected:
        rows = _rejected(found, old)
        told = [[*row[:3], DELETED if wanted is None else row[3], *row[4:]] for row in rows]
        content = json.dumps(told).encode()
        folder.write(marker.rejections, content)
        marker = replace(marker, rejections_checksum=checksum_of(content))
    return replace(marker, counts=_counts(found, place, marker) if wanted else _without_reasons(old.counts))


def _copy(found: FolderPlace, old: Part, wanted: frozenset[bytes] | None, file: BinaryIO) -> int:
    """Copy a part without the texts of these cases; of how many it holds none then."""
    import pyarrow as pa  # noqa: PLC0415  # an extra
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    quoting = [columns_of(name)[1:3] for name in found.plan.metrics if not metric_named(name)]
    failing = [columns_of(name)[1:3] for name in found.plan.metrics if metric_named(name)]
    forgotten = 0
    try:
        with (
            open_input(found.folder.at(old.records)) as source,
            pq.ParquetFile(source) as part,
            pq.ParquetWriter(file, part.schema_arrow, compression="zstd") as writer,
        ):
            for group in range(part.num_row_groups):
                rows = part.read_row_group(group, use_threads=False).to_pylist()
                for row in rows:
                    if wanted is None or row["id_digest"] in wanted:
                        _forget(row, quoting, failing)
                    forgotten += row["content"] is None
                writer.write_table(pa.Table.from_pylist(rows, part.schema_arrow))
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{found.folder.at(old.records)} can't be read: {error}") from error
    return forgotten


def _forget(row: dict[str, Any], quoting: list[list[str]], failing: list[list[str]]) -> None:
    row["steps"] = without_texts(row["steps"])
    row["content"] = None  # so that nobody takes the case of the input for it
    if "texts" in row:
        row["texts"] = None
    # what a judge or a metric of the user's own says may quote the case
    for reason, failed in (*quoting, *failing):
        if row[reason] is not None and (row[failed] or [reason, failed] in quoting):
            row[reason] = DELETED


def _counts(found: FolderPlace, place: int, marker: Part) -> Mapping[str, Any]:
    """What was counted with a part, counted again."""
    again = replace(found, markers={**found.markers, marker.partition: marker})
    config = config_of(found.info)
    tally = Tally(config.metrics, config.thresholds, config.rules, config.costs)
    for record in again.records_of(place):
        tally.add(record)
    return tally.counts()


def _without_reasons(counts: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same counts of a part all of whose cases are forgotten."""
    metrics = {}
    for name, told in counts.get("metrics", {}).items():
        failed, undefined = told["failed"], told["undefined"]
        metrics[name] = told | {
            "failed": {DELETED: sum(failed.values())} if failed else failed,
            "undefined": {DELETED: sum(undefined.values())} if undefined and not metric_named(name) else undefined,
        }
    return {**counts, **({"metrics": metrics} if metrics else {})}


def _rejected(found: FolderPlace, marker: Part) -> list[list[Any]]:
    return json.loads(found.folder.read(marker.rejections) or b"[]")  # type: ignore[no-any-return]  # as it was written
