"""Collected cases in memory: in the order of their questions, without a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ragtriage.collect.answers_file import COLLECTED_COLUMNS, CollectionTally
from ragtriage.core.case import Case
from ragtriage.core.errors import InputError
from ragtriage.readers.case_rows import cases_from


class CollectedInMemory:
    """Keeps rows, and gives them as cases; `asked` are all cases in their order."""

    def __init__(self, asked: Iterable[str | Case]) -> None:
        self.asked = [one if isinstance(one, Case) else Case(str(n), one) for n, one in enumerate(asked, 1)]
        self.tally = CollectionTally()
        self._rows: dict[str, Mapping[str, Any]] = {}
        if len({case.id for case in self.asked}) < len(self.asked):
            raise InputError("questions: several have one id: give each its own")

    def has(self, case: Case) -> bool:
        """Whether it was asked."""
        return case.id in self._rows

    def add(self, row: Mapping[str, Any]) -> None:
        """Keep one row."""
        self._rows[row["id"]] = row
        self.tally.add(row)

    def cases(self) -> list[Case]:
        """What was collected, as cases read from a file of the same rows.

        Raises:
            InputError: a row holds what no case can.
        """
        rows = [self._rows[case.id] for case in self.asked]
        found = cases_from(rows, "questions", mapping=COLLECTED_COLUMNS) if rows else []
        for one in found:
            if not isinstance(one, Case):
                raise InputError(str(one))
        return [one for one in found if isinstance(one, Case)]
