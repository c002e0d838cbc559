"""One run, read the same way wherever it is kept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Protocol

from ragtriage.core.case import counted_weight
from ragtriage.core.display import listed
from ragtriage.core.errors import NotStoredError
from ragtriage.core.record import Record
from ragtriage.core.suggestions import near_names
from ragtriage.core.verdicts import Outcome
from ragtriage.runs.case_row import FACTS, SCORED, WHOLE, CaseRow, Columns
from ragtriage.runs.identity import digest
from ragtriage.runs.place import Place, RejectedRow, RunInfo

MOST_COMPARED = 10_000
"""Ids of cases that a misspelt one is held against."""


@dataclass(frozen=True, slots=True)
class ScoredCase:
    """A case's scores without its texts: what tables, slices and comparisons need."""

    id: str
    tags: Mapping[str, Any] = field(default_factory=dict)
    weight: float = 1.0
    language: str = "en"
    outcomes: Mapping[str, Outcome] = field(default_factory=dict)
    """By metric; scores without their parts."""


@dataclass(frozen=True)
class Run:
    """One run as it is kept.

    Everything is read when it is asked for; every method raises a `StoreError` where it can't be read.
    """

    place: Place

    @property
    def info(self) -> RunInfo:
        """What is known of it as a whole."""
        return self.place.info

    @property
    def number(self) -> int:
        """The run's number."""
        return self.info.number

    def records(self, positions: range | None = None) -> Iterator[Record]:
        """All records in the order of the input, or those at some positions; a deleted text reads as `DELETED`."""
        return (row.record() for row in self.place.read(WHOLE, positions))

    def record(self, case_id: str) -> Record:
        """One case's record.

        Raises:
            NotStoredError: the run holds no such case; says which are near.
        """
        at = self.place.position(digest(case_id))
        if at is None:
            ids = (row.id for row in islice(self.place.read(FACTS), MOST_COMPARED))
            near = near_names(case_id, ids, 3)
            hint = (
                f"did you mean {listed(near, 'or')}?" if near else f"`ragtriage show {self.info.typed}` lists its cases"
            )
            raise NotStoredError(f"{self.info.called} holds no case {case_id!r}: {hint}")
        return next(self.records(range(at, at + 1)))

    def rows(self) -> Iterator[ScoredCase]:
        """All cases with their scores, without texts and verdicts, in the order of the input."""
        for row in self.place.read(SCORED):
            yield ScoredCase(row.id, row.tags, counted_weight(row.weight), row.language, row.outcomes)

    def facts(self) -> Iterator[CaseRow]:
        """Ids, tags, weights and relevant ids of all cases, and nothing else."""
        for row in self.place.read(FACTS):
            weight = counted_weight(row.weight)
            yield row if weight == row.weight else replace(row, weight=weight)

    def scores(self, metric: str) -> Iterator[tuple[int, float | None, bool]]:
        """(position, value, whether the judge failed) of one metric; the value is None if it is undefined."""
        return self.place.scores(metric)

    def texts(self, roles: Sequence[str] = ()) -> Iterator[CaseRow]:
        """The texts of all cases: those of these roles, and the digests of all others."""
        return self.place.read(Columns(texts=roles))

    def texts_deleted(self) -> int:
        """How many of its cases have no texts any more."""
        return self.place.texts_deleted()[0]

    def rejected(self) -> Sequence[RejectedRow]:
        """The rows of the input that couldn't be used, in their order."""
        return self.place.rejected()


class RunList(Protocol):
    """The runs that can be chosen from; see `ragtriage.store.Store`."""

    def runs(self, *, everywhere: bool = False) -> Sequence[RunInfo]:
        """Those of the project, or all, the newest first."""
        ...

    def run(self, number: int | str = "last") -> Run:
        """One run to read, by its number, or `last`."""
        ...

    def shared_cases(self, run: int, other: int, enough: float) -> int:
        """How many cases two runs have in common: by ids or, where fewer than enough are, by queries."""
        ...
