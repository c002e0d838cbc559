"""Deleting texts while scores stay, in a store and in a folder.

Parts of a folder are never changed: each is written anew under a name of its own and committed in the place of the old
one, which is deleted in the end. A call that is killed leaves a sound run, and the same call ends what it began.
"""

import secrets
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from functools import partial
from itertools import islice
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from sqlalchemy import Connection, Insert, delete, or_, select, update

from ragtriage.core.case import Record
from ragtriage.core.errors import NotStoredError, StoreError
from ragtriage.core.files import open_input
from ragtriage.core.questions import Question
from ragtriage.core.steps import Step
from ragtriage.diagnosis.rules import needs_of
from ragtriage.judges.wrappers.cached import AnswerKeys
from ragtriage.metrics import METRICS, metric_named
from ragtriage.planning.levels import StepQuestions, plan, questions_for
from ragtriage.runs.case_row import FACTS, WHOLE, digest
from ragtriage.runs.codec import DELETED, without_texts
from ragtriage.runs.evaluation_config import config_of
from ragtriage.runs.manifest import CommittedPart
from ragtriage.runs.run import FINISHED, Run
from ragtriage.runs.tally import SlicedTally, tally_of
from ragtriage.store.answers import open_answers
from ragtriage.store.database import Database, in_chunks
from ragtriage.store.folder import FolderPlace, commit, file_of, folder_of, open_folder, orphans, write_summary
from ragtriage.store.lease import FolderLease, Lease
from ragtriage.store.part_file import IN_MEMORY, checksum, columns_of
from ragtriage.store.schema import (
    answers,
    case_texts,
    cases,
    judged,
    meta,
    readings,
    rejected,
    runs,
    scores,
    texts,
    windows,
)
from ragtriage.store.store_file import store_errors


def folder_cases_with_texts(place: FolderPlace, case_ids: Collection[str] | None = None) -> int:
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
                        _forget_row(row, place.manifest.metrics)
                    forgotten += row["content"] is None
                writer.write_table(pa.Table.from_pylist(rows, part.schema_arrow))
    except (OSError, pa.ArrowException) as error:
        raise StoreError(f"{place.folder.at(file_of(old))} can't be read: {error}") from error
    return forgotten


def _forget_row(row: dict[str, Any], metrics: Collection[str]) -> None:
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


PORTION = 50
"""Cases that are forgotten in one transaction."""

UNCLEAN_KEY = "unclean"
"""Where `meta` holds that texts were deleted, until nothing of them is left in the file."""

IN_EVERY_CASE = frozenset({"source", "citation mark", "unrecorded"})
"""Roles of texts that cases have in common though they are different cases."""


def cases_with_texts(database: Database, run: int) -> list[str]:
    """The ids of a run's cases whose texts weren't deleted, in the order of the input."""
    queries = (case_texts.c.run == cases.c.run) & (case_texts.c.position == cases.c.position)
    queries &= (case_texts.c.role == "query") & case_texts.c.hash.is_not(None)
    wanted = select(cases.c.id).join(case_texts, queries).where(cases.c.run == run).order_by(cases.c.position)
    return [row.id for row in database.all(wanted)]


def held_elsewhere(database: Database, chosen: Mapping[int, Iterable[str]]) -> dict[int, int]:
    """Cases beside the chosen ones that say some of the same, sources apart: run → how many."""
    places = {
        (run, row.position)
        for run, ids in chosen.items()
        for row in database.lookup(
            select(cases.c.position).where(cases.c.run == run), cases.c.id_digest, map(digest, ids)
        )
    }
    said = case_texts.c.hash.is_not(None) & case_texts.c.role.not_in(IN_EVERY_CASE)
    wanted = select(case_texts.c.run, case_texts.c.position, case_texts.c.hash).where(said)
    mine = database.all(wanted.where(case_texts.c.run.in_(list(chosen))))
    hashes = {row.hash for row in mine if (row.run, row.position) in places}
    found = database.read(
        lambda connection: {(row.run, row.position) for row in connection.execute(wanted) if row.hash in hashes}
    )
    return dict(sorted(Counter(run for run, _ in found - places).items()))


def forget(
    database: Database | None,
    stored: Sequence[Run],
    case_ids: Collection[str] | None = None,
    *,
    ending: bool = False,
) -> int:
    """Delete what cases say, wherever their runs lie; ids, tags, verdicts and scores stay.

    A text that another case of a store holds too (a document that was retrieved for both, the same case in another run)
    is kept for that one. Components, explanations and the remembered answers to the cases' questions are deleted. In
    the end the store's file is written anew, so that no byte of a deleted text is left in it. `case_ids` are cases of
    the runs; None means all, and what was quoted of rows that couldn't be used. `database` has the runs and the
    remembered answers; it is None where there is none beside a folder. With `ending`, nothing of these cases is left
    but traces, maybe: a call that was interrupted is brought to its end. Tells how many cases were forgotten.

    Raises:
        NotStoredError: no run has one of the cases; nothing is deleted then.
        StoreError: something can't be read or written, or is being written.
    """
    require_cases(stored, case_ids or ())
    if database:
        open_answers(database).close()  # what this store couldn't take before is to be deleted too
    count = 0
    for run in stored:
        if place := folder_of(run):
            if database and not ending and _remembered(database):
                _forget(database, run, case_ids)  # while the questions can be found by the texts
            count += forget_in_folder(place.folder.address, case_ids)
        elif database and not ending:
            chosen = _chosen(database, run, case_ids)
            with _held(database, run.number) as lease:
                if case_ids is None:
                    _forget_rejected(database, run.number)
                _forget(database, run, chosen, partial(_forget_rows, lease, database, run))
            count += len(chosen)
    if database:
        _clean(database)
    return count


def require_cases(stored: Sequence[Run], case_ids: Iterable[str]) -> None:
    """Refuse cases that no run has."""
    for case_id in case_ids:
        if all(run.place.position(digest(case_id)) is None for run in stored):
            which = " and ".join(run.info.called for run in stored)
            raise NotStoredError(f"{which} holds no case {case_id!r}")


def _forget(
    database: Database,
    run: Run,
    case_ids: Collection[str] | None,
    rows: Callable[[Connection, Sequence[str]], None] = lambda *_: None,
) -> None:
    """Delete the remembered answers to the questions about a run's cases, a portion in a transaction.

    `rows` deletes in it what else the database holds of the cases with these ids.
    """
    config, remembered = config_of(run.info), _remembered(database)
    # those that may have been taken on its cases, for the metrics and for the diagnosis
    steps = plan((*METRICS, *config.metrics), needs_of(config.rules)).steps
    records = iter(run.records() if case_ids is None else map(run.record, case_ids))
    while some := list(islice(records, PORTION)):
        ids = [record.case.id for record in some]
        keys = list(_keys([question for record in some for question in _questions(record, steps)], remembered))

        def forget(connection: Connection, ids: Sequence[str] = ids, keys: Sequence[bytes] = keys) -> None:
            rows(connection, ids)
            connection.execute(_marked_unclean(database))
            _delete_unheld(connection, database, keys, texts_too=False)

        database.write(forget)


def _forget_rows(lease: Lease, database: Database, run: Run, connection: Connection, case_ids: Sequence[str]) -> None:
    lease.renew(connection, database)
    builtin = [name for name in run.info.metrics if metric_named(name)]
    for case_id in case_ids:
        _forget_case(connection, run.number, case_id, builtin)


def _remembered(database: Database) -> list[Any]:
    """(Kind, fingerprint, trial) of all answers that are remembered."""
    columns = (answers.c.kind, answers.c.fingerprint, answers.c.trial)
    return [tuple(row) for row in database.all(select(*columns).distinct())]


def delete_runs(database: Database, numbers: Sequence[int]) -> None:
    """Delete runs whose texts were forgotten, with all their rows and notes.

    Of a window it stays known which cases it held, so that its watch judges none of them again.
    """
    with ExitStack() as stack:
        for number in numbers:
            stack.enter_context(_held(database, number))

        def remove(connection: Connection) -> None:
            for window in connection.execute(select(windows).where(windows.c.run.in_(numbers))).mappings().all():
                held = select(cases.c.id_digest).where(cases.c.run == window["run"])
                ids = b"".join(connection.execute(held).scalars())
                kept = {name: window[name] for name in ("run", "project", "watch", "starts", "ends")} | {"ids": ids}
                database.insert(connection, judged, [kept], replace=True)
            connection.execute(delete(runs).where(runs.c.number.in_(numbers)))
            for number in numbers:
                connection.execute(delete(meta).where(meta.c.key.like(f"% of run {number}: %")))

        database.write(remove)


def _chosen(database: Database, run: Run, case_ids: Collection[str] | None) -> list[str]:
    """Those of these cases that a run has; all of them, if None."""
    mine = select(cases.c.id).where(cases.c.run == run.number)
    if case_ids is None:
        return [row.id for row in database.all(mine.order_by(cases.c.position))]
    return [row.id for row in database.lookup(mine, cases.c.id_digest, map(digest, dict.fromkeys(case_ids)))]


@contextmanager
def _held(database: Database, run: int) -> Iterator[Lease]:
    """Nobody else may write the run meanwhile."""
    lease = Lease(run)
    database.write(lambda connection: lease.take(connection, database))
    try:
        yield lease
    finally:
        database.write(lease.give_up)


def _marked_unclean(database: Database) -> Insert:
    return database.upsert(meta, replace=False).values(key=UNCLEAN_KEY, value="yes")


def _forget_rejected(database: Database, run: int) -> None:
    """Delete why rows couldn't be used, which quotes them."""
    quoting = (rejected.c.run == run) & (rejected.c.reason != DELETED)

    def forget(connection: Connection) -> None:
        if connection.execute(update(rejected).where(quoting).values(reason=DELETED)).rowcount:
            connection.execute(_marked_unclean(database))

    database.write(forget)


def _forget_case(connection: Connection, run: int, case_id: str, builtin: Sequence[str]) -> None:
    here = (cases.c.run == run) & (cases.c.id_digest == digest(case_id))
    position, blob = connection.execute(select(cases.c.position, cases.c.steps).where(here)).one()
    connection.execute(update(cases).where(here).values(steps=without_texts(blob)))
    mine = (case_texts.c.run == run) & (case_texts.c.position == position)
    connection.execute(update(case_texts).where(mine).values(hash=None))
    mine = (readings.c.run == run) & (readings.c.position == position)
    connection.execute(update(readings).where(mine).values(head=None))
    # what a judge or a metric of the user's own says may quote the case
    quoting = scores.c.reason.is_not(None) & or_(scores.c.failed, scores.c.metric.not_in(builtin))
    mine = (scores.c.run == run) & (scores.c.position == position) & quoting
    connection.execute(update(scores).where(mine).values(reason=DELETED))


def _questions(record: Record, steps: Iterable[Step]) -> Iterator[Question]:
    """The questions that were asked about a case, found again from its steps."""
    for step in steps:
        if str(step) in record.steps:
            try:
                found = questions_for(step, record.case, record.steps)
            except KeyError:
                continue  # it rests on a step that wasn't taken
            if isinstance(found, StepQuestions):
                yield from found.questions


def _keys(questions: Sequence[Question], remembered: Iterable[Any]) -> Iterator[bytes]:
    """The keys of all answers to these questions that may be remembered."""
    for kind, fingerprint, trial in remembered:
        keys = AnswerKeys(lambda _, own=fingerprint: own, trial)  # type: ignore[misc]  # bound now, not when it is called
        yield from (keys.key(question) for question in questions if question.kind == kind)


def _delete_unheld(connection: Connection, database: Database, keys: Sequence[bytes], *, texts_too: bool) -> None:
    """Delete answers by their keys, and also the texts that no case holds any more.

    On a server its function `forget_texts` does it: a writer may delete nothing in another way.
    """
    if not database.is_sqlite:
        function = f"SELECT {database.named('forget_texts')}(%(keys)s::bytea[], %(unheld)s)"
        connection.exec_driver_sql(function, {"keys": list(keys), "unheld": texts_too})
        return
    for some in in_chunks(keys):
        connection.execute(delete(answers).where(answers.c.key.in_(some)))
    if texts_too:
        held = select(case_texts.c.hash).where(case_texts.c.hash.is_not(None))
        connection.execute(delete(texts).where(texts.c.hash.not_in(held)))


def _clean(database: Database) -> None:
    """Take out what no case holds any more, and every byte of it; also what an earlier call that was killed left."""
    unclean = meta.c.key == UNCLEAN_KEY
    if database.scalar(select(meta.c.key).where(unclean)) is None:
        return
    delete_unheld_texts(database)
    if database.is_sqlite:
        with store_errors(database.where), database.engine.connect() as connection:
            raw: Any = connection.connection.driver_connection
            _write_anew(raw, database.where)
    database.execute(delete(meta).where(unclean))


def delete_unheld_texts(database: Database) -> None:
    """Delete the texts that no case holds, while nobody writes any."""

    def clean(connection: Connection) -> None:
        database.lock(connection, "texts")  # a writer may have met a text that is there, and not used it yet
        _delete_unheld(connection, database, (), texts_too=True)

    database.write(clean)


def _write_anew(connection: sqlite3.Connection, where: str) -> None:
    """Write a SQLite file anew from what it holds.

    `secure_delete` isn't enough: where SQLite moved a row to another page, a copy may lie in the free part of the old
    one. The log goes on holding texts until it is emptied.
    """
    connection.execute("VACUUM")
    (busy, *_) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if busy:
        raise StoreError(
            f"the texts are deleted, but the log beside the store {where} still holds them while another program reads "
            "it: end that program, then give the same command again"
        )
