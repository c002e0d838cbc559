"""A complete run in a folder gets a row in a store, which names it or holds its records too."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import tee
from typing import Any

from ragtriage.core.case import Record
from ragtriage.core.display import plural
from ragtriage.core.errors import StoreError
from ragtriage.core.files import folder_at
from ragtriage.runs.codec import DELETED
from ragtriage.runs.evaluation_config import EvaluationConfig, config_of
from ragtriage.runs.manifest import RunIdentity
from ragtriage.runs.run import FINISHED, Run, RunInfo
from ragtriage.runs.tally import tally_of
from ragtriage.store.folder import FolderPlace, folder_of
from ragtriage.store.run_writer import RunWriter
from ragtriage.store.schema import COUNTS, OF_FOLDER, RECORDS_AT
from ragtriage.store.store import Store

MOST_INTO_STORE = 2_000_000
"""Cases of a run in a folder that a store takes."""


@dataclass(frozen=True, slots=True)
class Registered:
    """The run of a store that lies in a folder."""

    number: int
    holds: bool
    """Whether the store holds the records; else it names the folder."""
    before: bool = False
    """Whether it was there already."""
    renewed: int = 0
    """Cases that the store held otherwise and were replaced, as their failed scores were asked again."""
    without_texts: int = 0
    """Cases that were stored without their texts, as the input is gone or has changed."""

    def notes(self) -> Iterator[str]:
        """What people should know of it, a sentence each."""
        if count := self.renewed:
            yield f"{plural(count, 'case')} that had failed there {_were(count)} replaced"
        if count := self.without_texts:
            yield (
                f"note: {plural(count, 'case')} {_were(count)} stored without texts, as the input is gone or has "
                f"changed; to have them, bring it back, delete run {self.number} (ragtriage store delete), and give "
                "this command again"
            )


def register(store: Store, found: Run, *, records: bool = False) -> Registered:
    """Give a complete run in a folder a row in a store, once; rows that it has already are brought up to date.

    Args:
        store: the store.
        found: the run in the folder.
        records: whether the store is to hold the records too. A row that holds them is enough where they needn't be.

    Raises:
        StoreError: the store can't be written, or the run has too many cases for `records`.
    """
    info, rows = found.info, _rows_of(store, found)
    renewed = {one.number: _brought_up_to_date(store, found, one) for one in rows if one.state == FINISHED}
    for one in rows:
        if one.number in renewed and (_holds(one) or not records):
            return Registered(one.number, _holds(one), before=True, renewed=renewed[one.number])
    cut_off = next((one for one in rows if one.state != FINISHED), None)
    records = records or (cut_off is not None and _holds(cut_off))
    if records and info.rows > MOST_INTO_STORE:
        raise StoreError(
            f"{info.called} has {info.rows:,} cases, and a store takes {MOST_INTO_STORE:,}: read it as it is, "
            f"ragtriage show {info.typed}"
        )
    configuration = _configuration(found, records=records)
    run = (
        store.begin(_identity(found), input=info.input, rows=info.rows, judge=info.judge, configuration=configuration)
        if cut_off is None
        else store.resume(cut_off.number, configuration=configuration)
    )
    without_texts = 0
    with run:
        if records:
            for record in found.records():
                _keep(run, record, config_of(info))
                without_texts += record.case.query == DELETED
            run.reject(*found.rejected())
        _finish(run, info)
    return Registered(run.number, records, without_texts=without_texts)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _rows_of(store: Store, found: Run) -> list[RunInfo]:
    """The runs of a store that are this run in a folder, with its records or without, the newest first."""
    identity = _identity(found).hexdigest()
    return [one for one in store.runs(everywhere=True) if one.identity == identity and _is(one, found)]


def _is(row: RunInfo, found: Run) -> bool:
    """Whether a run of a store, with the same identity, is the one in the folder; others may have equal input."""
    if not _holds(row):
        return folder_at(row.configuration[RECORDS_AT]["address"]) == _folder(found).folder
    known = row.configuration.get(OF_FOLDER)
    return known is None or known["created"] == found.info.created


def _holds(row: RunInfo) -> bool:
    return RECORDS_AT not in row.configuration


def _brought_up_to_date(store: Store, found: Run, row: RunInfo) -> int:
    """Replace what a finished run says of one in a folder, if that has other parts now; how many records were."""
    info, known = found.info, row.configuration.get(OF_FOLDER)
    if known is None:  # the run is from before parts were noted
        current = not row.failed and all(getattr(row, name) == getattr(info, name) for name in COUNTS)
    else:
        current = known == _of_folder(found)
    if current:
        return 0
    holds, count = _holds(row), 0
    with store.resume(row.number, configuration=_configuration(found, records=holds)) as run:
        if holds:
            read, again = tee(found.records())  # `todo` is no more than a portion ahead
            for case in run.todo(record.case for record in read):
                record = next(record for record in again if record.case.id == case.id)
                _keep(run, record, config_of(info))
                count += 1
        _finish(run, info)
    return count


def _configuration(found: Run, *, records: bool) -> dict[str, Any]:
    """What is stored with a run that holds the records of one in a folder, or names it."""
    info = found.info
    whole = {**info.configuration, OF_FOLDER: _of_folder(found)}
    if records:
        return whole
    means = {m.name: m.mean for m in tally_of(found, config_of(info)).summary().metrics if m.mean is not None}
    counts = {name: getattr(info, name) for name in COUNTS}
    return whole | {RECORDS_AT: {"address": _folder(found).folder.address, "means": means, **counts}}


def _of_folder(found: Run) -> dict[str, str]:
    """By what a run in a folder and its present parts are known again."""
    parts = "\n".join(one.part.name for one in _folder(found).placed)
    return {"created": found.info.created, "parts": hashlib.blake2b(parts.encode(), digest_size=16).hexdigest()}


def _folder(found: Run) -> FolderPlace:
    place = folder_of(found)
    if place is None:
        raise StoreError(f"{found.info.called} lies in no folder")
    return place


def _identity(found: Run) -> RunIdentity:
    return RunIdentity(found.info.rows_hash, found.info.metrics, found.info.fingerprints)


def _keep(run: RunWriter, record: Record, config: EvaluationConfig) -> None:
    run.keep(record, config.heading(record, config.assess(record)))


def _finish(run: RunWriter, info: RunInfo) -> None:
    run.cost, run.requests = info.cost, info.requests
    run.tokens_in, run.tokens_out = info.tokens_in, info.tokens_out
    run.finish()
