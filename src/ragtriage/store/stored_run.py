"""What can be read of a run, wherever it is stored."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ragtriage.core.record import Record
from ragtriage.store.run_columns import RunColumns
from ragtriage.store.run_notes import RunNotes
from ragtriage.store.run_reader import RejectedRow, RunInfo, StoredRow


class StoredRun(Protocol):
    """One run as it is stored, in the tables of a store or in the files of a record set.

    Everything is read when it is asked for; every method raises a `StoreError` where the store can't be read.
    """

    @property
    def info(self) -> RunInfo:
        """What is known of it as a whole."""
        ...

    @property
    def number(self) -> int:
        """The run's number."""
        ...

    def records(self) -> Iterator[Record]:
        """All records in the order of the input; a text that was deleted reads as `DELETED`."""
        ...

    def record(self, case_id: str) -> Record:
        """One case's record.

        Raises:
            NotStoredError: the run holds no such case.
        """
        ...

    def texts_deleted(self) -> int:
        """How many of its cases have lost their texts."""
        ...

    def rows(self) -> Iterator[StoredRow]:
        """All cases with their scores, without texts and verdicts, in the order of the input."""
        ...

    def columns(self) -> RunColumns:
        """The run by columns, for what goes through all its cases at once."""
        ...

    def notes(self) -> RunNotes:
        """What was computed from the whole run and is kept."""
        ...

    def rejected(self) -> list[RejectedRow]:
        """The rows of the input that couldn't be used, in their order."""
        ...
