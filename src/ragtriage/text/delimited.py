"""Rows with commas, semicolons or tabs between their fields, as a table whose rows are read with their header."""

from __future__ import annotations

import csv

_DELIMITERS = "\t;,"
_FEWEST = 3
"""Lines, and fields a line: less may be prose."""


def tabled(text: str) -> str:
    """CSV as a Markdown table; any other text as it is."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) < _FEWEST:
        return text
    for delimiter in _DELIMITERS:
        if lines[0].count(delimiter) < _FEWEST - 1:
            continue
        try:
            rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
        except csv.Error:
            continue
        if len(rows) == len(lines) and len({len(row) for row in rows}) == 1:
            return "\n".join(_marked(rows))
    return text


def _marked(rows: list[list[str]]) -> list[str]:
    marked = [f"| {' | '.join(field.strip().replace('|', '/') for field in row)} |" for row in rows]
    if not any(field.strip()[:1].isdigit() for field in rows[0]):
        marked.insert(1, "|" + "---|" * len(rows[0]))
    return marked
