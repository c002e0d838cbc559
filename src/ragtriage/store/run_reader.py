"""Reading a run back: records in the order of the input, scores, tags, in bounded memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlalchemy import Connection, Engine, Row, select

from ragtriage.core.case import Case, Source, Turn
from ragtriage.core.errors import NotStoredError
from ragtriage.core.record import Record
from ragtriage.core.verdicts import Known, Outcome, Score, Undefined
from ragtriage.metrics import metric_named
from ragtriage.store.codec import DELETED, decode_steps
from ragtriage.store.connection import reading
from ragtriage.store.custom_parts import with_own_parts
from ragtriage.store.identity import digest
from ragtriage.store.run_info import RejectedRow, RunInfo, read_run
from ragtriage.store.schema import case_texts, cases, rejected, scores, texts

CHUNK = 64
"""Records that are read together."""

LIGHT_CHUNK = 1000
"""Rows without their texts that are read together."""


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A case's scores without its texts: what tables, slices and comparisons need."""

    id: str
    tags: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    language: str = "en"
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """By metric; scores without their parts."""


class StoredRun:
    """One run as it is stored; everything is read when it is asked for.

    Args:
        engine: the database.
        where: its address for messages.
        info: the run.
    """

    def __init__(self, engine: Engine, where: str, info: RunInfo) -> None:
        self._engine = engine
        self._where = where
        self.info = info

    @property
    def number(self) -> int:
        """The run's number."""
        return self.info.number

    @property
    def count(self) -> int:
        """How many records it holds."""
        return self.info.done + self.info.failed

    def records(self) -> Iterator[Record]:
        """All records in the order of the input; a text that was deleted reads as `DELETED`.

        Raises:
            StoreError: the store can't be read.
        """
        after = -1
        while True:
            with reading(self._engine, self._where) as connection:
                rows = self._rows(connection, after, CHUNK)
                if not rows:
                    return
                found = _records(connection, self.info, rows)
            yield from found
            after = rows[-1].position

    def record(self, case_id: str) -> Record:
        """One case's record.

        Raises:
            NotStoredError: the run holds no such case.
            StoreError: the store can't be read.
        """
        with reading(self._engine, self._where) as connection:
            here = (cases.c.run == self.number) & (cases.c.id_digest == digest(case_id))
            rows = connection.execute(select(cases).where(here)).all()
            if not rows:
                raise NotStoredError(f"run {self.number} holds no case {case_id!r}")
            return _records(connection, self.info, rows)[0]

    def rows(self) -> Iterator[StoredRow]:
        """All cases with their scores, without texts and verdicts, in the order of the input.

        Raises:
            StoreError: the store can't be read.
        """
        light = (cases.c.position, cases.c.id, cases.c.tags, cases.c.weight, cases.c.language)
        after = -1
        while True:
            with reading(self._engine, self._where) as connection:
                rows = self._rows(connection, after, LIGHT_CHUNK, *light)
                if not rows:
                    return
                found = _outcomes(connection, self.info, rows[0].position, rows[-1].position)
            for row in rows:
                yield StoredRow(row.id, json.loads(row.tags), row.weight, row.language, found.get(row.position, {}))
            after = rows[-1].position

    def scores(self, metric: str) -> Iterator[tuple[str, Outcome]]:
        """One metric's outcome on every case as (case id, outcome without parts), in the order of the input.

        Raises:
            NotStoredError: the run doesn't have the metric.
            StoreError: the store can't be read.
        """
        if metric not in self.info.metrics:
            raise NotStoredError(f"run {self.number} has no metric {metric!r}; it has {', '.join(self.info.metrics)}")
        return ((row.id, row.outcomes[metric]) for row in self.rows() if metric in row.outcomes)

    def rejected(self) -> list[RejectedRow]:
        """The rows of the input that couldn't be used, in their order.

        Raises:
            StoreError: the store can't be read.
        """
        query = select(rejected).where(rejected.c.run == self.number).order_by(rejected.c.row, rejected.c.field)
        with reading(self._engine, self._where) as connection:
            return [RejectedRow(row.row, row.field or None, row.reason) for row in connection.execute(query)]

    def _rows(self, connection: Connection, after: int, limit: int, *columns: Any) -> list[Row[Any]]:
        query = select(*columns) if columns else select(cases)
        here = (cases.c.run == self.number) & (cases.c.position > after)
        return list(connection.execute(query.where(here).order_by(cases.c.position).limit(limit)).all())


def read_run_at(engine: Engine, where: str, which: int | str) -> StoredRun:
    """The run with this number, or the `last`.

    Raises:
        NotStoredError: there is no such run.
        StoreError: the store can't be read.
    """
    with reading(engine, where) as connection:
        return StoredRun(engine, where, read_run(connection, which))


def _records(connection: Connection, info: RunInfo, rows: Sequence[Row[Any]]) -> list[Record]:
    first, last = rows[0].position, rows[-1].position
    found = _outcomes(connection, info, first, last)
    written = _texts(connection, info.number, first, last)
    return [_record(row, written.get(row.position, []), found.get(row.position, {})) for row in rows]


def _record(row: Row[Any], written: list[Any], outcomes: dict[str, Outcome]) -> Record:
    by_role: dict[str, list[tuple[str | None, str]]] = {}
    for text in written:
        by_role.setdefault(text.role, []).append((text.label, DELETED if text.text is None else text.text))

    def only(role: str) -> str | None:
        return by_role[role][0][1] if role in by_role else None

    case = Case(
        id=row.id,
        query=only("query") or "",
        sources=tuple(Source(text, label) for label, text in by_role.get("source", ())),
        response=only("response"),
        reference=only("reference"),
        history=tuple(Turn(label or "", text) for label, text in by_role.get("history", ())),
        samples=tuple(text for _, text in by_role.get("sample", ())),
        relevant_ids=None if row.relevant_ids is None else tuple(json.loads(row.relevant_ids)),
        tags=json.loads(row.tags),
        weight=row.weight,
        time=row.time,
        trace_id=row.trace_id,
        citation_mark=only("citation mark"),
    )
    steps = decode_steps(case, row.steps)
    outcomes = with_own_parts(outcomes, steps)
    whole = {name: _with_parts(name, outcome, steps) for name, outcome in outcomes.items()}
    return Record(case, steps, whole, row.language, row.seconds)


def _texts(connection: Connection, run: int, first: int, last: int) -> dict[int, list[Any]]:
    query = (
        select(case_texts.c.position, case_texts.c.role, case_texts.c.label, texts.c.text)
        .outerjoin(texts, texts.c.hash == case_texts.c.hash)
        .where(case_texts.c.run == run, case_texts.c.position.between(first, last))
        .order_by(case_texts.c.position, case_texts.c.role, case_texts.c.ordinal)
    )
    found: dict[int, list[Any]] = {}
    for row in connection.execute(query):
        found.setdefault(row.position, []).append(row)
    return found


def _outcomes(connection: Connection, info: RunInfo, first: int, last: int) -> dict[int, dict[str, Outcome]]:
    here = (scores.c.run == info.number) & scores.c.metric.in_(info.metrics) & scores.c.position.between(first, last)
    unordered: dict[int, dict[str, Outcome]] = {}
    for row in connection.execute(select(scores).where(here)):
        undefined = row.value is None
        outcome = Undefined(row.reason, row.failed) if undefined else Score(row.value, row.judged, row.unknown)
        unordered.setdefault(row.position, {})[row.metric] = outcome
    return {at: {name: by[name] for name in info.metrics if name in by} for at, by in unordered.items()}


def _with_parts(name: str, outcome: Outcome, steps: Mapping[str, Known]) -> Outcome:
    """The stored score with the parts that today's metric finds for it; without them if it would differ today."""
    metric = metric_named(name)
    if metric is None or isinstance(outcome, Undefined):
        return outcome
    try:
        again = metric(steps)
    except (KeyError, ValueError):
        return outcome  # the metric needs other steps today than when the run was made
    if isinstance(again, Score) and (again.value, again.judged) == (outcome.value, outcome.judged):
        return replace(outcome, parts=again.parts)
    return outcome
