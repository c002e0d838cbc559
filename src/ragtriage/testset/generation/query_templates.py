"""Query templates, and the phrasings of one in words: both have placeholders such as `[album.title]`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Aggregate = Literal["count", "sum", "average", "minimum", "maximum"]


@dataclass(frozen=True, slots=True)
class Joined:
    """One more occurrence of a table in a query, joined along a foreign key to an earlier one."""

    table: str
    to: int
    """Which occurrence it is joined to: 0 is the table that is selected from, 1 the first joined one."""
    columns: tuple[tuple[str, str], ...]
    """Pairs that must be equal: a column of the earlier occurrence, a column of this one."""
    outward: bool
    """Whether the earlier occurrence holds the foreign key (a track's album), or this one does (an album's tracks)."""


@dataclass(frozen=True, slots=True)
class Filter:
    """A column whose value the question names; its placeholder is `[table.column]`."""

    occurrence: int
    """Of the table: 0 is the one that is selected from, 1 the first joined one."""
    column: str


@dataclass(frozen=True, slots=True)
class Shape:
    """How a query is put together: select, project and join."""

    table: str
    """What is selected from; occurrence 0."""
    select: str
    """The column of it that is the answer; with the aggregate `count`, rows are counted and it is the primary key's."""
    filters: tuple[Filter, ...]
    joined: tuple[Joined, ...] = ()
    aggregate: Aggregate | None = None

    def table_of(self, occurrence: int) -> str:
        """The table's name at one place of the query."""
        return self.table if occurrence == 0 else self.joined[occurrence - 1].table


@dataclass(frozen=True, slots=True)
class QueryTemplate:
    """SQL with placeholders `[table.column]`, where values will stand."""

    id: str
    """A digest of the SQL in its canonical form."""
    sql: str
    shape: Shape | None = None
    """None for SQL that somebody wrote and that doesn't have this shape."""
    tables: tuple[str, ...] = ()
    """Each once, in the order of the query."""
    placeholders: tuple[str, ...] = ()
    """Each once, in the order of the query, without brackets: `album.title`."""
    made_by: str = "enumerated"
    """`enumerated`, `written` (by hand), or the name of the model that wrote it."""


@dataclass(frozen=True, slots=True)
class TextTemplate:
    """One phrasing of a query template, with the same placeholders."""

    template: str
    """The query template's id."""
    criterion: str
    """The linguistic criterion that it fulfils: `short`, `long`, `casual`, …"""
    text: str
    made_by: str = "rules"
    """`rules`, `written` (by hand), or the name of the model that wrote it."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """What was measured of it, such as `words` and `edits`."""
