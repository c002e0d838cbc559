"""What every file format is turned into first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Record:
    """One row as it stands in the file: its columns, or what is wrong with it."""

    row: int
    """The how-manieth row, from 1."""
    line: int | None = None
    """The line on which it starts, where the format has lines."""
    values: Mapping[str, Any] | None = None
    """Column to value; None if the row can't be read."""
    problem: str | None = None
    """Why it can't be read."""
    undecodable: bool = False
    """The problem is bytes that aren't UTF-8."""
    size: int = 0
    """About how many bytes it took, where that is known."""
    within: str | None = None
    """Which part of the document the rows are, in words, where they aren't the whole."""
    ends: bool = False
    """Nothing after this row could be read."""
