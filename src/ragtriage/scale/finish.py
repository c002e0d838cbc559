"""The end of a record set: doubles, summary, and the run's row in the store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ragtriage.core.errors import StoreError
from ragtriage.runs.evaluation_config import config_of
from ragtriage.scale.layout import DOUBLES, find_doubles, keep_doubles, laid_out, starts
from ragtriage.scale.markers import PARTS, Marker, keep_together
from ragtriage.scale.places import Folder
from ragtriage.scale.plan import RunPlan
from ragtriage.scale.record_set import SUMMARY, RecordSet, record_set
from ragtriage.scale.set_tally import tally_of_set
from ragtriage.store import RunIdentity, Store
from ragtriage.store.run_writer import now
from ragtriage.store.schema import COUNTS, FINISHED, RECORDS_AT

MOST_INTO_STORE = 2_000_000
"""Cases of a record set that a store takes."""


def reopen(folder: Folder) -> None:
    """Take back what says that a record set is complete, before a partition of it is worked on again."""
    for name in (SUMMARY, PARTS, DOUBLES):
        folder.delete(name)


def finish(folder: Folder, plan: RunPlan, markers: Mapping[str, Marker], address: str) -> RecordSet:
    """Find the doubles of a record set whose partitions are all done, and write what it amounts to.

    Raises:
        StoreError: it can't be read or written.
    """
    placed = laid_out(plan, markers)
    doubles = find_doubles(folder, placed)
    keep_doubles(folder, doubles)
    keep_together(folder, [one.marker for one in placed])
    cases = starts(placed, doubles)[-1]
    failed = sum(one.marker.failed for one in placed)
    summary: dict[str, Any] = {
        "state": FINISHED,
        "finished": now(),
        "rows": cases,
        "done": cases - failed,
        "failed": failed,
        "rejected": sum(one.marker.rejected for one in placed)
        + sum(bool(file.problem) for file in plan.files)
        + len(doubles),
    }
    found = record_set(folder, plan, markers, address, summary=summary)
    told = tally_of_set(found, config_of(found.info)).summary()
    probes = sorted({one.marker.probe for one in placed if one.marker.probe})
    folder.write(SUMMARY, json.dumps(summary | {"numbers": told.as_json(), "probes": probes}).encode())
    return found


def register(store: Store, found: RecordSet, *, records: bool = False) -> int:
    """Give a complete record set a row in a store, once; its number.

    Args:
        store: the store.
        found: the record set.
        records: whether the store is to hold the records too.

    Raises:
        StoreError: the store can't be written, or the record set has too many cases for `records`.
    """
    info = found.info
    if records and info.rows > MOST_INTO_STORE:
        raise StoreError(
            f"{info.called} has {info.rows:,} cases, and a store takes {MOST_INTO_STORE:,}: read it as it is, "
            f"ragtriage show {info.typed}"
        )
    identity = RunIdentity(info.rows_hash, info.metrics, info.fingerprints)
    known = registered(store, found, records=records)
    if known is not None:
        return known
    means = {m.name: m.mean for m in tally_of_set(found, config_of(info)).summary().metrics if m.mean is not None}
    counts = {name: getattr(info, name) for name in COUNTS}
    where = {} if records else {RECORDS_AT: {"address": found.folder.address, "means": means, **counts}}
    unfinished = store.unfinished(identity)
    configuration = {**info.configuration, **where}
    run = (
        store.begin(identity, input=info.input, rows=info.rows, judge=info.judge, configuration=configuration)
        if unfinished is None
        else store.resume(unfinished, configuration=configuration)
    )
    with run:
        if records:
            config = config_of(info)
            for record in found.records():
                run.keep(record, config.reading(record, config.assess(record)))
            run.reject(*found.rejected())
        run.cost, run.requests = info.cost, info.requests
        run.tokens_in, run.tokens_out = info.tokens_in, info.tokens_out
        run.finish()
    return run.number


def registered(store: Store, found: RecordSet, *, records: bool) -> int | None:
    """The newest run of a store that is this record set, with its records or without; None if there is none."""
    info = found.info
    identity = RunIdentity(info.rows_hash, info.metrics, info.fingerprints).hexdigest()
    for one in store.runs(everywhere=True):
        kept = one.configuration.get(RECORDS_AT)
        there = kept is None if records else kept is not None and kept["address"] == found.folder.address
        if one.identity == identity and one.state == FINISHED and there:
            return one.number
    return None
