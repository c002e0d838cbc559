"""Which columns of a table fit a terminal: some give way, so that the others are whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ragtriage.report.document import Bar, Cell, Column, Span, Table

LEAST_BAR = 4
MOST_NAMES = 8
"""Columns that were left out and are named; more are counted."""


def fit(table: Table, width: int) -> tuple[Table, tuple[Column, ...]]:
    """A table in which columns gave way until the others fit, and the columns that were left out.

    A column with `Column.least` gets the room that is left; where even that many characters don't fit, it is wrapped.
    """
    kept = list(range(len(table.columns)))
    needed = [_needed(table, place) for place in kept]

    def spare() -> int:
        return width - sum(needed[place] for place in kept) - table.gap * (len(kept) - 1)

    giving_way = [place for place in kept if table.columns[place].gives_way]
    for weakest in sorted(giving_way, key=lambda place: -table.columns[place].gives_way):
        if spare() >= 0:
            break
        kept.remove(weakest)
    columns = [_with_room(table, place, needed[place] + spare()) for place in kept]
    rows = tuple(tuple(row[place] for place in kept if place < len(row)) for row in table.rows)
    left_out = tuple(column for place, column in enumerate(table.columns) if place not in kept)
    return replace(table, columns=tuple(columns), rows=rows), left_out


def explanations(table: Table) -> Iterator[str]:
    """What the heads of the columns stand for, in a line; nothing where they say so themselves."""
    short = (column for column in table.columns if column.name and column.name != column.head)
    if table.explained and (words := "; ".join(f"{column.head}: {column.name}" for column in short)):
        yield words


def not_shown(left_out: Sequence[Column]) -> Iterator[str]:
    """Which columns gave way, in a line; a column without a name or head isn't missed."""
    names = [name for column in left_out if (name := column.name or column.head)]
    if names:
        more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        yield f"not shown at this width: {', '.join(names[:MOST_NAMES])}{more}"


def _needed(table: Table, place: int) -> int:
    """The characters that a column needs to be read."""
    column = table.columns[place]
    if column.least is not None:
        return max(len(column.head), column.least)
    head = max(map(len, column.head.split()), default=0) if column.wrap else len(column.head)
    widest = max(_widest_cell(table, place), head if table.heads else 0)
    return column.width or min(widest, column.most or widest)


def _with_room(table: Table, place: int, room: int) -> Column:
    column, needed = table.columns[place], _needed(table, place)
    if column.least is None:
        return column
    return (
        replace(column, wrap=True)
        if room < needed
        else replace(column, width=min(room, max(needed, _widest_cell(table, place))))
    )


def _widest_cell(table: Table, place: int) -> int:
    return max((_length(row[place]) for row in table.rows if place < len(row)), default=0)


def _length(cell: Cell) -> int:
    match cell:
        case Span(text):
            return len(text)
        case str():
            return len(cell)
        case Bar(width=width, beside=beside):
            return (width or LEAST_BAR) + sum(len(span.text) for span in beside)
        case _:
            return sum(len(span.text) for span in cell)
