"""Deleting what a run in a folder holds of its cases' texts, while scores and verdicts stay.

Parts are never changed: each is written anew under a name of its own and committed in the place of the old one, which
is deleted in the end. A call that is killed leaves a sound run, and the same call ends what it began.
"""

import secrets
from collections.abc import Collection, Mapping
from contextlib import closing
from dataclasses import replace
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from ragtriage.core.errors import StoreError
from ragtriage.core.files import open_input
from ragtriage.metrics import metric_named
from ragtriage.runs.case_row import FACTS, WHOLE, digest
from ragtriage.runs.codec import DELETED, without_texts
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.manifest import CommittedPart
from ragtriage.runs.run import FINISHED, Run
from ragtriage.runs.tally import SlicedTally, tally_of
from ragtriage.store.folder import FolderPlace, commit, file_of, open_folder, orphans, write_summary
from ragtriage.store.lease import FolderLease
from ragtriage.store.part_file import IN_MEMORY, checksum, columns_of


def cases_with_texts(place: FolderPlace, case_ids: Collection[str] | None = None) -> int:
    """Of how many cases a folder still holds what was said of them; of these only, if they are named."""
    if case_ids is None:
        return place.starts[-1] - place.texts_deleted()[1]
    wanted = set(case_ids)
    return sum(row.content is not None and row.id in wanted for row in place.read(FACTS))


def forget_in_folder(address: str, case_ids: Collection[str] | None = None) -> int:
    """Delete the texts, components, explanations and causes of failures that a folder holds of its cases.

    What isn't in it isn't touched: the input, reports, exports. Afterwards texts of these cases aren't read in the
    input either. With all cases also go why rows couldn't be used; in any case the parts that nobody committed.

    Gives how many cases were forgotten.
    """
    folder = _opened(address).folder
    with FolderLease(folder):
        place = _opened(address)
        before = place.texts_deleted()[1]
        wanted = None if case_ids is None else frozenset(map(digest, case_ids))
        parts = dict(place.parts)
        for at, one in enumerate(place.placed):
            if wanted is None or any(row.id_digest in wanted for row in place.read_part(at, FACTS)):
                parts[one.plan.id] = _rewritten(place, at, wanted)
                commit(folder, parts[one.plan.id])
        again = replace(place, parts=parts)
        if place.info.state == FINISHED:
            write_summary(again, tally_of(Run(again), config_of(again.info)).summary().as_json())
        for name in orphans(folder, parts.values()):
            folder.delete(name)
        return again.texts_deleted()[1] - before


def _opened(address: str) -> FolderPlace:
    return cast("FolderPlace", open_folder(address).place)


def _rewritten(place: FolderPlace, at: int, wanted: frozenset[bytes] | None) -> CommittedPart:
    """Write a part without the texts of these cases, under another name; what is to be committed."""
    old, folder = place.placed[at].part, place.folder
    new = replace(old, name=f"{old.plan}-{secrets.token_hex(4)}")
    with closing(cast("BinaryIO", SpooledTemporaryFile(max_size=IN_MEMORY))) as file:
        forgotten = _copy(place, old, wanted, file)
        new = replace(new, checksum=checksum(file), forgotten=forgotten)
        folder.write_from(file_of(new), file)
    return replace(new, counts=_counts(place, at, new))


def _copy(place: FolderPlace, old: CommittedPart, wanted: frozenset[bytes] | None, file: BinaryIO) -> int:
    """Copy a part without the texts of these cases; of how many it holds none then."""
    import pyarrow as pa  # noqa: PLC0415  # an extra
    import pyarrow.parquet as pq  # noqa: PLC0415  # an extra

    forgotten = 0
    try:
        with (
            open_input(place.folder.at(file_of(old))) as source,
            pq.ParquetFile(source) as part,
            pq.ParquetWriter(file, part.schema_arrow, compression="zstd") as writer,
        ):
            for group in range(part.num_row_groups):
                rows = part.read_row_group(group, use_threads=False).to_pylist()
                for row in rows:
                    if row["position"] is None:
                        row["reason"] = DELETED if wanted is None else row["reason"]
                        continue
                    if wanted is None or row["id_digest"] in wanted:
                        _forget(row, place.manifest.metrics)
                    forgotten += row["content"] is None
                writer.write_table(pa.Table.from_pylist(rows, part.schema_arrow))
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{place.folder.at(file_of(old))} can't be read: {error}") from error
    return forgotten


def _forget(row: dict[str, Any], metrics: Collection[str]) -> None:
    row["steps"] = without_texts(row["steps"])
    row["content"] = None  # so that nobody takes the case of the input for it
    if "texts" in row:
        row["texts"] = None
    for name in metrics:
        _, reason, failed, *_ = columns_of(name)
        # what a judge or a metric of the user's own says may quote the case
        if row[reason] is not None and (row[failed] or not metric_named(name)):
            row[reason] = DELETED


def _counts(place: FolderPlace, at: int, new: CommittedPart) -> Mapping[str, Any]:
    """What was counted with a part, counted again."""
    again = replace(place, parts={**place.parts, new.plan: new})
    tally = SlicedTally(config_of(place.info))
    for row in again.read_part(at, WHOLE):
        tally.add(row.record())
    return tally.whole.counts()
