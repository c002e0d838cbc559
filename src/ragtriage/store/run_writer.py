"""Writing a run: a sink that keeps records as they come and survives being killed."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import asdict, dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Any

from sqlalchemy import Connection, Table, delete, func, select, update

from ragtriage.core.amount import NOTHING, Amount
from ragtriage.core.case import Case, Record
from ragtriage.core.errors import StoreError
from ragtriage.readers import Rejected
from ragtriage.runs.case_row import CaseHeading, CaseRow, content_hash, digest, head_of, outcome_columns
from ragtriage.runs.manifest import now
from ragtriage.runs.run import FINISHED, INTERRUPTED, RUNNING, RejectedRow, RunInfo
from ragtriage.store.database import Database
from ragtriage.store.lease import Heartbeat, Lease
from ragtriage.store.schema import case_texts, cases, readings, rejected, runs, scores, texts
from ragtriage.store.tables import read_run

BATCH, COPIES = 50, 200
"""Records in a transaction: of a run that is evaluated, and of one that is copied."""

SECONDS = 2.0
"""The longest that a record waits for its transaction while others follow."""

CHARACTERS = 4_000_000
"""How much text waits at most, so that very long rows don't fill the memory."""

SPENT = ("seconds", *asdict(NOTHING))
"""Columns of a run that hold what was spent on it."""

LOOKED_UP = 64
"""Cases of a continued run that are looked up, or headed anew, together."""

_KEPT = ("id", "id_digest", "content", "failed", "language", "seconds", "weight", "time", "trace_id", "relevant_ids",
         "tags", "steps")  # fmt: skip
_OUTCOME = ("value", "reason", "failed", "judged", "unknown")


@dataclass(slots=True)
class _Waiting:
    """What the next transaction will write."""

    records: int = 0
    characters: int = 0
    again: list[int] = field(default_factory=list)  # places that may hold a record already
    since: float = field(default_factory=time.monotonic)
    cases: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[bytes, str] = field(default_factory=dict)
    case_texts: list[dict[str, Any]] = field(default_factory=list)
    scores: list[dict[str, Any]] = field(default_factory=list)
    readings: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def due(self, batch: int) -> bool:
        late = time.monotonic() - self.since >= SECONDS
        return self.records >= batch or self.characters >= CHARACTERS or (late and bool(self.records or self.rejected))


class RunWriter(AbstractContextManager["RunWriter"]):
    """One run, being written by this process.

    Use it as a context manager: leaving it without `finish` marks the run as interrupted, so that it can be continued.
    Every method that writes raises a `StoreError` where the store can't be written, or another process took the run
    over; what waits goes on waiting then.

    Where it writes `copies`, rows are taken as they are (`add`), and what is said of the run stays so until it is
    finished.
    """

    def __init__(self, database: Database, lease: Lease, *, copies: bool = False) -> None:
        self._database = database
        self._lease = lease
        self._copies, self._batch = copies, COPIES if copies else BATCH
        self.number = lease.run
        self._open = True
        info, last = database.write(self._take)
        self._continued = last is not None
        self._next = 0 if last is None else last + 1
        self._places: dict[str, int] = {}
        self._waiting = _Waiting()
        self._seconds = info.seconds
        self._started = time.monotonic()
        self.spent = self._spent_before = info.spent
        """On models, by all that wrote the run; it is stored with every flush."""
        self.beside: Callable[[Connection], None] = _nothing
        """Writes what records have moved in their transaction, so that a kill leaves both or neither. It may be called
        again with the same, where a server broke a transaction off."""
        self._heartbeat = Heartbeat(self._beat)

    def _take(self, connection: Connection) -> tuple[RunInfo, int | None]:
        """Take the lease: what is known of the run, and its last place, None if nothing is stored yet."""
        self._lease.take(connection, self._database)
        info = read_run(connection, self.number)
        last = connection.execute(select(func.max(cases.c.position)).where(cases.c.run == self.number)).scalar()
        self._lease.renew(connection, self._database, **({} if self._copies else {"state": RUNNING, "finished": None}))
        return info, last

    def todo(self, rows: Iterable[Case]) -> Iterator[Case]:
        """Those of the run's cases that aren't evaluated yet, or failed; they are read lazily.

        It gives every case its place in the input's order. In a continued run `LOOKED_UP` cases at a time are looked up
        by the digest of their id, so memory doesn't grow with the input.
        """
        numbered = enumerate(rows)
        while batch := list(islice(numbered, LOOKED_UP if self._continued else 1)):
            done = self._done([case for _, case in batch]) if self._continued else set()
            for position, case in batch:
                self._next = max(self._next, position + 1)
                if case.id not in done:
                    self._places[case.id] = position
                    yield case

    def keep(self, record: Record, heading: CaseHeading | None = None) -> None:
        """Store one record within `SECONDS`; the same case again replaces it. See `ragtriage.core.case.Sink`."""
        self._heartbeat.check()
        position = self._places.pop(record.case.id, None)
        self.add(CaseRow.of(record, self._place(record.case) if position is None else position, heading=heading))

    def head_anew(self, found: Iterable[tuple[Case, CaseHeading]]) -> None:
        """Replace the headings of cases that are stored already, as when a continued run has other criteria now."""
        left = iter(found)
        while some := list(islice(left, LOOKED_UP)):
            own = {digest(case.id): (head_of(case.query), heading) for case, heading in some}
            places = select(cases.c.id_digest, cases.c.position).where(
                cases.c.run == self.number, cases.c.id_digest.in_(list(own))
            )
            rows = [self._heading_row(position, *own[one]) for one, position in self._database.all(places)]
            self._database.write(
                lambda connection, rows=rows: self._database.insert(connection, readings, rows, replace=True)  # type: ignore[misc]  # bound now
            )

    def reject(self, *rows: Rejected | RejectedRow) -> None:
        """Store rows that can't be used; telling the same again is harmless."""
        for row in rows:
            self._waiting.rejected.append(
                {"run": self.number, "row": row.row, "field": row.field or "", "reason": row.reason}
            )
        if self._waiting.due(self._batch):
            self.flush()

    def flush(self) -> None:
        """Commit everything that waits. A server that is away is waited for, and what waits goes on waiting."""

        def write(connection: Connection) -> None:
            self.keep_spending(connection)
            self._write(connection)

        self._database.write(write)
        self._waiting = _Waiting()

    def begin_spending(self, spent: Amount) -> None:
        """From now on this command spends on the run; it has spent so much already, on others."""
        self._spent_before = self.spent - spent

    def count_spending(self, spent: Amount) -> None:
        """The command has spent so much by now."""
        self.spent = self._spent_before + spent

    def keep_spending(self, connection: Connection) -> None:
        """Write what was spent so far, in somebody else's transaction."""
        self._lease.renew(connection, self._database, **({} if self._copies else self.spending))

    def finish(self, **values: Any) -> None:
        """Commit everything and mark the run as finished. `values` are said of it instead, by column."""
        self._close(**{"state": FINISHED, "finished": now(), **self.spending, **values})

    def interrupt(self) -> None:
        """Commit everything and mark the run as interrupted: it can be continued."""
        self._close(state=INTERRUPTED, finished=now(), **self.spending)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if error and self._copies:  # the next copy begins anew, and what waits may be what the error is about
            self._open = False
            self._heartbeat.stop()
            with suppress(StoreError):
                self._database.write(self._lease.give_up, patient=False)
        if not self._open:
            return
        try:
            self.interrupt()
        except StoreError:
            if error is None:
                raise

    def _close(self, **values: Any) -> None:
        if not self._open:
            return
        self._open = False
        self._heartbeat.stop()
        tries = 0

        def write(connection: Connection) -> None:
            nonlocal tries
            tries += 1
            if tries > 1 and self._lease.released(connection, values["state"]):
                return  # the last try was committed, though nobody heard of it
            self._lease.renew(connection, self._database)
            self._write(connection)
            self._lease.release(connection, self._database, **values)

        self._database.write(write)
        self._waiting = _Waiting()

    @property
    def spending(self) -> dict[str, float]:
        """What was spent so far, by column."""
        return {"seconds": self._seconds + time.monotonic() - self._started, **asdict(self.spent)}

    def _beat(self) -> None:
        self._database.write(lambda connection: self._lease.renew(connection, self._database), patient=False)

    def _done(self, batch: list[Case]) -> set[str]:
        by_digest = {digest(case.id): case.id for case in batch}
        mine = (cases.c.run == self.number) & cases.c.id_digest.in_(list(by_digest)) & ~cases.c.failed
        known = select(cases.c.id_digest).where(mine)
        return {by_digest[one] for (one,) in self._database.all(known)}

    def _place(self, case: Case) -> int:
        """The place of a case that `todo` didn't hand out: where it stands already, else behind all others."""
        own = digest(case.id)
        for row in self._waiting.cases:
            if row["id_digest"] == own:
                return int(row["position"])
        mine = (cases.c.run == self.number) & (cases.c.id_digest == own)
        found = self._database.scalar(select(cases.c.position).where(mine))
        if found is not None:
            self._waiting.again.append(found)
            return int(found)
        self._next += 1
        return self._next - 1

    def _heading_row(self, position: int, head: str | None, heading: CaseHeading) -> dict[str, Any]:
        said = {name: getattr(heading, name) for name in ("kind", "component", "rules", "sure")}
        return {"run": self.number, "position": position, "head": head} | said

    def add(self, row: CaseRow) -> None:
        """Store a row as it is within `SECONDS`; one at the same position is replaced."""
        self._heartbeat.check()
        if row.content is None:  # of a folder, where the texts were deleted
            row = replace(row, content=content_hash(row.case()))
        waiting, key = self._waiting, {"run": self.number, "position": row.position}
        waiting.cases.append(key | {name: getattr(row, name) for name in _KEPT})
        for name, outcome in row.outcomes.items():
            values = dict(zip(_OUTCOME, outcome_columns(outcome), strict=True))
            waiting.scores.append(key | {"metric": name} | values)
        for one in row.texts:
            if one.hash and one.text is not None:
                waiting.texts[one.hash] = one.text
                waiting.characters += len(one.text)
            waiting.case_texts.append(
                key | {"role": one.role, "ordinal": one.ordinal, "label": one.label, "hash": one.hash}
            )
        if row.heading:
            waiting.readings.append(self._heading_row(row.position, row.head, row.heading))
        waiting.records += 1
        if self._continued:
            waiting.again.append(row.position)
        if waiting.due(self._batch):
            self.flush()

    def _write(self, connection: Connection) -> None:
        waiting, database = self._waiting, self._database
        database.lock(connection, "texts", shared=True)  # nobody deletes a text between its insert and its first use
        for table, rows in ((case_texts, waiting.case_texts), (scores, waiting.scores)):
            self._delete_others(connection, table, rows)
        for table, rows in (
            (cases, waiting.cases),
            (case_texts, waiting.case_texts),
            (scores, sorted(waiting.scores, key=_in_the_index)),
            (readings, waiting.readings),
            (rejected, waiting.rejected),
        ):
            database.insert(connection, table, rows, replace=True)
        # these come last, as whoever stores one of them too waits for the end of the transaction
        held = [{"hash": own, "text": text} for own, text in waiting.texts.items()]
        database.insert(connection, texts, held, replace=False)
        self.beside(connection)

    def _delete_others(self, connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
        """Delete what stands at the places that are written again, and isn't written over."""
        if not self._waiting.again:
            return
        keys = table.primary_key.columns
        here = (table.c.run == self.number) & table.c.position.in_(self._waiting.again)
        written = {tuple(row[key.name] for key in keys) for row in rows}
        for found in connection.execute(select(*keys).where(here)).all():
            if tuple(found) not in written:
                mine = (key == value for key, value in zip(keys, found, strict=True))
                connection.execute(delete(table).where(*mine))


def _nothing(_: Connection) -> None:
    """Nothing stands beside the records."""


def raise_spending(connection: Connection, spent: Mapping[int, Mapping[str, float]]) -> None:
    """Set what was spent on runs, by number and column, where more was spent than is stored."""
    for number, values in spent.items():
        here = runs.c.number == number
        stored = connection.execute(select(*(runs.c[name] for name in SPENT)).where(here)).mappings().one_or_none()
        if stored:
            most = {name: max(values.get(name, 0), stored[name]) for name in SPENT}
            connection.execute(update(runs).where(here).values(**most))


def _in_the_index(score: Mapping[str, Any]) -> tuple[str, float]:
    """Where a score stands in the index of scores: rows that are inserted in its order find its pages at hand."""
    return score["metric"], -1.0 if score["value"] is None else score["value"]
