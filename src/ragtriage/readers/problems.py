"""What can be wrong with a row, how much a row may hold, and how what was done to rows is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """How much one row may hold; a row above a limit is rejected, the rest of the file is read."""

    max_text: int = 1_000_000
    """Characters in one text: a query, a response, one source."""
    max_sources: int = 1_000
    """Sources of one row."""
    max_row: int = 256_000_000
    """Bytes of one row in the file: what has to fit into memory at once."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that can't be evaluated. `str()` gives the whole sentence."""

    row: int
    """The how-manieth row of the file, from 1; blank lines and a header aren't rows."""
    field: str | None
    """The field that is wrong, under our name; None if it is the row as a whole."""
    reason: str
    """What is wrong, with the value, and what to do."""
    line: int | None = None
    """The line of the file, from 1, where it has lines."""
    file: str = ""
    """The file, as the user named it."""
    ends: bool = False
    """Nothing after this row could be read."""

    def __str__(self) -> str:
        place = [self.file] if self.file else []
        place.append(f"row {self.row}" if self.line in (None, self.row) else f"row {self.row} (line {self.line})")
        if self.field is not None:
            place.append(f"field {self.field!r}")
        return f"{', '.join(place)}: {self.reason}"


class RowProblem(Exception):
    """A row has to be rejected.

    Args:
        field: the field at fault, under our name, or None.
        reason: what is wrong and what to do.
    """

    def __init__(self, field: str | None, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


class Tally:
    """Counts the rows in which something was done that the user should know of."""

    def __init__(self) -> None:
        self.rows = 0
        self._counts: Counter[str] = Counter()

    def add(self, remarks: Iterable[str]) -> None:
        """Count one usable row with its remarks, each a sentence with `{rows}` in it."""
        self.rows += 1
        self._counts.update(set(remarks))

    def notes(self) -> list[str]:
        """The remarks with their numbers, in the order in which they first came up."""
        return [
            sentence.replace("{rows}", f"{count:,} row{'s' if count != 1 else ''}")
            for sentence, count in self._counts.items()
        ]
