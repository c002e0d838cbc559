"""A run by columns, without its verdicts: what a comparison of large runs reads in bounded memory.

Rows come as plain tuples in the order of the input. Every method raises a `StoreError` where the store can't be read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sqlalchemy import Connection, func, select

from ragtriage.core.case import counted_weight
from ragtriage.store.database import Database
from ragtriage.store.schema import case_texts, cases, scores, texts

CHUNK = 2_000
"""Cases whose texts are read together."""


@dataclass(frozen=True, slots=True)
class StoredText:
    """One text of a case."""

    label: str | None
    """A source's id, a turn's role."""
    hash: bytes | None
    """16 bytes; None if the text was deleted."""
    text: str | None = None
    """None where it wasn't asked for, or was deleted."""


@dataclass(frozen=True, slots=True)
class CaseTexts:
    """The texts of one case, by role: query, response, reference, source, history, sample, citation mark."""

    position: int
    by_role: Mapping[str, Sequence[StoredText]]


class RunColumns(Protocol):
    """One run's columns, wherever they stand."""

    def cases(self) -> Iterator[tuple[int, str, Mapping[str, Any], float, Sequence[str] | None]]:
        """(position, id, tags, weight, relevant ids) of every case."""
        ...

    def scores(self, metric: str) -> list[tuple[int, float | None, bool]]:
        """(position, value, whether the judge failed) of one metric on every case; the value is None if undefined."""
        ...

    def texts(self, last: int, read: Sequence[str] = ()) -> Iterator[CaseTexts]:
        """The texts of every case.

        Args:
            last: the last position.
            read: the roles whose texts are read; of the others only the digests are.
        """
        ...

    def shared_with(self, other: int, enough: float) -> int:
        """How many of its cases a run of the store has too: by ids or, where fewer than enough are, by queries."""
        ...


class TableColumns:
    """The columns of a run in the tables of a store.

    Args:
        database: the store.
        run: its number.
    """

    def __init__(self, database: Database, run: int) -> None:
        self._database = database
        self._run = run

    def cases(self) -> Iterator[tuple[int, str, Mapping[str, Any], float, Sequence[str] | None]]:
        """See `RunColumns`."""
        chosen = cases.c.position, cases.c.id, cases.c.tags, cases.c.weight, cases.c.relevant_ids
        query = select(*chosen).where(cases.c.run == self._run).order_by(cases.c.position).limit(CHUNK)
        after = -1
        while True:
            with self._database.reading() as connection:
                rows = connection.execute(query.where(cases.c.position > after)).all()
            if not rows:
                return
            for position, own, tags, weight, relevant in rows:
                yield position, own, tags, counted_weight(weight), relevant
            after = rows[-1].position

    def scores(self, metric: str) -> list[tuple[int, float | None, bool]]:
        """See `RunColumns`."""
        here = (scores.c.run == self._run) & (scores.c.metric == metric)
        query = select(scores.c.position, scores.c.value, scores.c.failed).where(here).order_by(scores.c.position)
        with self._database.reading() as connection:
            return list(map(tuple, connection.execute(query)))

    def texts(self, last: int, read: Sequence[str] = ()) -> Iterator[CaseTexts]:
        """See `RunColumns`."""
        for first in range(0, last + 1, CHUNK):
            with self._database.reading() as connection:
                yield from _texts_between(connection, self._run, first, min(last, first + CHUNK - 1), read)

    def shared_with(self, other: int, enough: float) -> int:
        """See `RunColumns`."""
        with self._database.reading() as connection:
            found = self._by_id(connection, other)
            return found if found >= enough else max(found, self._by_query(connection, other))

    def _by_id(self, connection: Connection, other: int) -> int:
        own, same = cases.alias(), cases.alias()
        query = select(func.count()).select_from(own).join(same, own.c.id_digest == same.c.id_digest)
        return connection.execute(query.where(own.c.run == self._run, same.c.run == other)).scalar_one()

    def _by_query(self, connection: Connection, other: int) -> int:
        queries = (case_texts.c.role == "query") & case_texts.c.hash.is_not(None)
        theirs = select(case_texts.c.hash).where(case_texts.c.run == other, queries)
        query = select(func.count()).where(case_texts.c.run == self._run, queries, case_texts.c.hash.in_(theirs))
        return connection.execute(query).scalar_one()


def _texts_between(connection: Connection, run: int, first: int, last: int, read: Sequence[str]) -> Iterator[CaseTexts]:
    columns = (case_texts.c.position, case_texts.c.role, case_texts.c.ordinal, case_texts.c.label, case_texts.c.hash)
    here = (case_texts.c.run == run) & case_texts.c.position.between(first, last)
    order = case_texts.c.position, case_texts.c.role, case_texts.c.ordinal
    found: dict[int, dict[str, list[StoredText]]] = {}
    written: dict[tuple[int, str, int], str] = {}
    if read:
        joined = select(*columns[:3], texts.c.text).join(texts, texts.c.hash == case_texts.c.hash)
        for position, role, ordinal, text in connection.execute(joined.where(here, case_texts.c.role.in_(read))):
            written[position, role, ordinal] = text
    for position, role, ordinal, label, own in connection.execute(select(*columns).where(here).order_by(*order)):
        by_role = found.setdefault(position, {})
        by_role.setdefault(role, []).append(StoredText(label, own, written.get((position, role, ordinal))))
    yield from (CaseTexts(position, by_role) for position, by_role in found.items())
