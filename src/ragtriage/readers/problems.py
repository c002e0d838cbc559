"""A row as it stands in a file, how much it may hold, and what can be wrong with it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RowLimits:
    """How much one row may hold; a row above a limit is rejected, the rest of the file is read."""

    max_text: int = 1_000_000
    """Characters in one text: a query, a response, one source."""
    max_sources: int = 1_000
    max_row: int = 256_000_000
    """Bytes of one row in the file: what has to fit into memory at once."""
    max_document: int = 500_000_000
    """Bytes of a JSON document, which is read as a whole."""


@dataclass(frozen=True, slots=True)
class RawRow:
    """One row as it stands in the file, whatever its format: its columns, or what is wrong with it."""

    row: int
    """Its number, from 1; blank lines and a header aren't rows."""
    line: int | None = None
    """The line on which it starts, from 1, where the format has lines."""
    values: Mapping[str, Any] | None = None
    """Column to value; None if the row can't be read."""
    problem: str | None = None
    size: int = 0
    """About how many bytes it took, where that is known."""
    within: str | None = None
    """Which part of the document the rows are, in words, where they aren't the whole."""
    ends: bool = False
    """Nothing after this row could be read."""
    file: str = ""
    """The file that it stands in, where several are read as one."""

    def rejected(self, field: str | None, reason: str, file: str, twin_of: int | None = None) -> "Rejected":
        """This row as one that can't be used."""
        return Rejected(self.row, field, reason, self.line, file, self.ends, twin_of)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that can't be evaluated. `str()` gives the whole sentence."""

    row: int
    """Its number in the file, from 1; blank lines and a header aren't rows."""
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
    twin_of: int | None = None
    """The row whose id, or content, it has; None if that isn't why."""

    def __str__(self) -> str:
        place = [self.file] if self.file else []
        place.append(f"row {self.row}" if self.line in (None, self.row) else f"row {self.row} (line {self.line})")
        if self.field is not None:
            place.append(f"field {self.field!r}")
        return f"{', '.join(place)}: {self.reason}"


class RowProblem(Exception):
    """A row has to be rejected: the field at fault, under our name, or None, and what is wrong: see `Rejected`."""

    def __init__(self, field: str | None, reason: str, twin_of: int | None = None) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason
        self.twin_of = twin_of


@dataclass(frozen=True, slots=True)
class RowContext:
    """How one row is read."""

    limits: RowLimits = RowLimits()
    split: str | None = None
    """What stands between the sources in one text; None takes it as one source."""
    remarks: list[str] = field(default_factory=list)
    """Sentences about what was done to the row that the user should know, each with `{rows}` for how many rows."""
