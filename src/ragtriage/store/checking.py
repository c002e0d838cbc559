"""Whether a store holds together: every text that a case points to is there, and every case has all its rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlalchemy import ColumnElement, Connection, Table, func, select

from ragtriage.store.database import Database
from ragtriage.store.schema import case_texts, cases, scores, texts


@dataclass(frozen=True, slots=True)
class StoreCheck:
    """What was found in a store."""

    runs: int
    """How many were looked through."""
    missing: Mapping[int, int] = field(default_factory=dict)
    """Run → how many of its cases point to a text that isn't there and wasn't forgotten."""
    unscored: Mapping[int, int] = field(default_factory=dict)
    """Run → how many of its cases have no score."""
    caseless: Mapping[int, int] = field(default_factory=dict)
    """Run → at how many places stand scores without a case."""
    unheld: int = 0
    """Texts that no case holds, as a killed `forget` leaves them."""

    @property
    def sound(self) -> bool:
        """Whether nothing is missing; texts that nobody holds are only in the way."""
        return not (self.missing or self.unscored or self.caseless)


def check_store(database: Database) -> StoreCheck:
    """Look through a store, in statements that read whole tables.

    Raises:
        StoreError: the store can't be read.
    """
    return database.read(_check)


def _check(connection: Connection) -> StoreCheck:
    def counted(table: Table, *conditions: ColumnElement[bool]) -> dict[int, int]:
        query = select(table.c.run, func.count(table.c.position.distinct())).where(*conditions).group_by(table.c.run)
        return {run: count for run, count in connection.execute(query)}  # noqa: C416  # rows, no pairs

    same_case = (scores.c.run == cases.c.run) & (scores.c.position == cases.c.position)
    there = select(texts.c.hash).where(texts.c.hash == case_texts.c.hash).exists()
    held = texts.c.hash.in_(select(case_texts.c.hash).where(case_texts.c.hash.is_not(None)))
    return StoreCheck(
        connection.execute(select(func.count(cases.c.run.distinct()))).scalar_one(),
        counted(case_texts, case_texts.c.hash.is_not(None), ~there),
        counted(cases, ~select(scores.c.run).where(same_case).exists()),
        counted(scores, ~select(cases.c.run).where(same_case).exists()),
        connection.execute(select(func.count()).select_from(texts).where(~held)).scalar_one(),
    )
