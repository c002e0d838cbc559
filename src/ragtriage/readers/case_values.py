"""Rows that are given as values instead of a file become cases, by the names that a file's columns may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ragtriage.core.case import Case
from ragtriage.readers.case_rows import RowReader
from ragtriage.readers.columns import find_layout
from ragtriage.readers.problems import RawRow, Rejected, RowContext


def cases_from(
    rows: Sequence[Mapping[str, Any]],
    name: str,
    *,
    mapping: Mapping[str, str] | None = None,
    citation_mark: str | None = None,
) -> list[Case | Rejected]:
    """Each row as a case, or rejected with the reason.

    Args:
        rows: column → value, at least one row.
        name: what messages call them.
        mapping: our field → its column: see `ragtriage.readers.open_cases`.
        citation_mark: see `Case.citation_mark`.

    Raises:
        InputError: no column holds the query or the sources.
        ConfigError: `mapping` is wrong.
    """
    layout = find_layout(list(rows), dict(mapping or {}), name)
    reader = RowReader(layout, RowContext(), name, empty_is_missing=False, citation_mark=citation_mark)
    return [reader.read(RawRow(number, values=row)) for number, row in enumerate(rows, 1)]
