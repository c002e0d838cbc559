"""Writing a run: a sink that keeps records as they come and survives being killed."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, delete, func, select

from ragtriage.core.case import Case
from ragtriage.core.errors import StoreError
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Outcome, Score, Undefined
from ragtriage.store.codec import encode_steps
from ragtriage.store.connection import reading, replacing, unless_there, writing
from ragtriage.store.custom_parts import own_parts
from ragtriage.store.identity import content_hash, digest
from ragtriage.store.lease import Heart, Lease
from ragtriage.store.run_info import FINISHED, INTERRUPTED, RUNNING, Rejection, RunInfo, now, read_run
from ragtriage.store.schema import case_texts, cases, rejected, scores, texts

BATCH = 50
"""Records in a transaction."""

SECONDS = 2.0
"""The longest that a record waits for its transaction while others follow."""

CHARACTERS = 4_000_000
"""How much text waits at most, so that very long rows don't fill the memory."""

LOOKED_UP = 64
"""Cases of a continued run that are looked up together."""


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
    rejected: list[dict[str, Any]] = field(default_factory=list)

    def due(self) -> bool:
        late = time.monotonic() - self.since >= SECONDS
        return self.records >= BATCH or self.characters >= CHARACTERS or (late and bool(self.records or self.rejected))


class Run:
    """One run, being written by this process.

    Use it as a context manager: leaving it without `finish` marks the run as interrupted, so that it can be continued.
    """

    def __init__(self, engine: Engine, where: str, lease: Lease) -> None:
        self._engine = engine
        self._where = where
        self._lease = lease
        self.number = lease.run
        self._open = True
        with writing(engine, where) as connection:
            lease.take(connection)
            info = read_run(connection, lease.run)
            last = connection.execute(select(func.max(cases.c.position)).where(cases.c.run == lease.run)).scalar()
            lease.renew(connection, state=RUNNING, finished=None)
        self._continued = last is not None
        self._next = 0 if last is None else last + 1
        self._places: dict[str, int] = {}
        self._waiting = _Waiting()
        self._seconds = info.seconds
        self._started = time.monotonic()
        self.cost = info.cost
        """What was spent so far, in US dollars; the judge's owner counts it up, and it is stored with every flush. So
        are the requests that were paid for, and the tokens of both directions."""
        self.requests, self.tokens_in, self.tokens_out = info.requests, info.tokens_in, info.tokens_out
        self._heart = Heart(self._beat)

    @property
    def info(self) -> RunInfo:
        """The run as it stands in the store, without what waits for the next transaction."""
        with reading(self._engine, self._where) as connection:
            return read_run(connection, self.number)

    def todo(self, rows: Iterable[Case]) -> Iterator[Case]:
        """Those of the run's cases that aren't evaluated yet, or failed; they are read lazily.

        It gives every case its place in the input's order. In a continued run `LOOKED_UP` cases at a time are looked up
        by the digest of their id, so memory doesn't grow with the input.

        Args:
            rows: all cases of the run, in the order of the input.
        """
        if not self._continued:
            for position, case in enumerate(rows):
                self._next = position + 1
                self._places[case.id] = position
                yield case
            return
        numbered = enumerate(rows)
        while batch := list(islice(numbered, LOOKED_UP)):
            done = self._done([case for _, case in batch])
            for position, case in batch:
                if case.id not in done:
                    self._places[case.id] = position
                    yield case

    def keep(self, record: Record) -> None:
        """Store one record; keeping the same case again replaces it. See `ragtriage.core.record.Sink`.

        Records are written in transactions of `BATCH`, or every `SECONDS`.

        Raises:
            StoreError: it can't be stored, or another process took the run over.
        """
        self._heart.check()
        position = self._places.pop(record.case.id, None)
        self._add(record, self._place(record.case) if position is None else position)
        if self._waiting.due():
            self.flush()

    def reject(self, *rows: Rejection) -> None:
        """Store rows that can't be used; telling the same again is harmless."""
        for row in rows:
            self._waiting.rejected.append(
                {"run": self.number, "row": row.row, "field": row.field or "", "reason": row.reason}
            )
        if self._waiting.due():
            self.flush()

    def flush(self) -> None:
        """Commit everything that waits.

        Raises:
            StoreError: it can't be stored; what waits goes on waiting.
        """
        with writing(self._engine, self._where) as connection:
            self._lease.renew(connection, **self._spent())
            self._write(connection)
        self._waiting = _Waiting()

    def keep_spending(self, connection: Connection) -> None:
        """Write what was spent so far, in somebody else's transaction."""
        self._lease.renew(connection, **self._spent())

    def finish(self) -> None:
        """Commit everything and mark the run as finished.

        Raises:
            StoreError: it can't be stored.
        """
        self._close(FINISHED)

    def interrupt(self) -> None:
        """Commit everything and mark the run as interrupted: it can be continued.

        Raises:
            StoreError: it can't be stored.
        """
        self._close(INTERRUPTED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if not self._open:
            return
        try:
            self.interrupt()
        except StoreError:
            if error is None:
                raise

    def _close(self, state: str) -> None:
        if not self._open:
            return
        self._open = False
        self._heart.stop()
        with writing(self._engine, self._where) as connection:
            self._lease.renew(connection)
            self._write(connection)
            self._lease.release(connection, state=state, finished=now(), **self._spent())
        self._waiting = _Waiting()

    def _spent(self) -> dict[str, float]:
        return {
            "seconds": self._seconds + time.monotonic() - self._started,
            "cost": self.cost,
            "requests": self.requests,
            "tokens_in": self.tokens_in,
            "tokens_out": self.tokens_out,
        }

    def _beat(self) -> None:
        with writing(self._engine, self._where) as connection:
            self._lease.renew(connection)

    def _done(self, batch: list[Case]) -> set[str]:
        by_digest = {digest(case.id): case.id for case in batch}
        mine = (cases.c.run == self.number) & cases.c.id_digest.in_(list(by_digest)) & ~cases.c.failed
        with reading(self._engine, self._where) as connection:
            return {by_digest[found] for found in connection.execute(select(cases.c.id_digest).where(mine)).scalars()}

    def _place(self, case: Case) -> int:
        """The place of a case that `todo` didn't hand out: where it stands already, else behind all others."""
        own = digest(case.id)
        for row in self._waiting.cases:
            if row["id_digest"] == own:
                return int(row["position"])
        mine = (cases.c.run == self.number) & (cases.c.id_digest == own)
        with reading(self._engine, self._where) as connection:
            found = connection.execute(select(cases.c.position).where(mine)).scalar()
        if found is not None:
            self._waiting.again.append(found)
            return int(found)
        self._next += 1
        return self._next - 1

    def _add(self, record: Record, position: int) -> None:
        case, waiting = record.case, self._waiting
        key = {"run": self.number, "position": position}
        outcomes = [_outcome(key, name, outcome) for name, outcome in record.outcomes.items()]
        waiting.cases.append(
            key
            | {
                "id": case.id,
                "id_digest": digest(case.id),
                "content": content_hash(case),
                "failed": any(outcome["failed"] for outcome in outcomes),
                "language": record.language,
                "seconds": record.seconds,
                "weight": case.weight,
                "time": case.time,
                "trace_id": case.trace_id,
                "relevant_ids": None if case.relevant_ids is None else json.dumps(case.relevant_ids),
                "tags": json.dumps(dict(case.tags), default=str),
                "steps": encode_steps(case, {**record.steps, **own_parts(record.outcomes)}),
            }
        )
        waiting.scores += outcomes
        for role, ordinal, label, text in _texts(case):
            own = digest(text)
            waiting.texts[own] = text
            waiting.characters += len(text)
            waiting.case_texts.append(key | {"role": role, "ordinal": ordinal, "label": label, "hash": own})
        waiting.records += 1
        if self._continued:
            waiting.again.append(position)

    def _write(self, connection: Connection) -> None:
        waiting, engine = self._waiting, self._engine
        if waiting.again:
            for table in (case_texts, scores):
                here = (table.c.run == self.number) & table.c.position.in_(waiting.again)
                connection.execute(delete(table).where(here))
        for insert, rows in (
            (unless_there(engine, texts), [{"hash": own, "text": text} for own, text in waiting.texts.items()]),
            (replacing(engine, cases), waiting.cases),
            (replacing(engine, case_texts), waiting.case_texts),
            (replacing(engine, scores), waiting.scores),
            (replacing(engine, rejected), waiting.rejected),
        ):
            if rows:
                connection.execute(insert, rows)


def _outcome(key: dict[str, int], name: str, outcome: Outcome) -> dict[str, Any]:
    match outcome:
        case Score(value, judged, unknown):
            known: dict[str, Any] = {
                "value": value,
                "reason": None,
                "failed": False,
                "judged": judged,
                "unknown": unknown,
            }
        case Undefined(reason, failed):
            known = {"value": None, "reason": reason, "failed": failed, "judged": None, "unknown": None}
    return key | {"metric": name} | known


def _texts(case: Case) -> Iterator[tuple[str, int, str | None, str]]:
    """Every text of a case: role, place, label, text."""
    yield "query", 0, None, case.query
    if case.response is not None:
        yield "response", 0, None, case.response
    if case.reference is not None:
        yield "reference", 0, None, case.reference
    for i, source in enumerate(case.sources):
        yield "source", i, source.id, source.text
    for i, turn in enumerate(case.history):
        yield "history", i, turn.role, turn.text
    for i, sample in enumerate(case.samples):
        yield "sample", i, None, sample
    if case.citation_mark is not None:
        yield "citation mark", 0, None, case.citation_mark
