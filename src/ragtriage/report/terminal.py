"""Documents in the terminal.

Everything is laid out without lines and boxes, so that it reads the same in a log or a pipe. Texts become
`rich.text.Text`, which interprets no markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from ragtriage.report.document import (
    Bar,
    Document,
    DocumentBlock,
    DocumentCell,
    DocumentColumn,
    DocumentTable,
    Heading,
    Line,
    StyledText,
    note,
)
from ragtriage.report.words import EMPTY, FULL, place_within

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod


BAR = 10
"""Characters of a bar."""
MOST_NAMES = 8
"""Columns that were left out and are named; more are counted."""


def fit(table: DocumentTable, width: int) -> tuple[DocumentTable, tuple[DocumentColumn, ...]]:
    """A table in which columns gave way until the others fit, and the columns that were left out.

    A column with `DocumentColumn.least` gets the room that is left; where even that many characters don't fit, it is
    wrapped.
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


def explanations(table: DocumentTable) -> Iterator[str]:
    """What the heads of the columns stand for, in a line; nothing where they say so themselves."""
    short = (column for column in table.columns if column.name and column.name != column.head)
    if table.explained and (words := "; ".join(f"{column.head}: {column.name}" for column in short)):
        yield words


def not_shown(left_out: Sequence[DocumentColumn]) -> Iterator[str]:
    """Which columns gave way, in a line; a column without a name or head isn't missed."""
    names = [name for column in left_out if (name := column.name or column.head)]
    if names:
        more = f", and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
        yield f"not shown at this width: {', '.join(names[:MOST_NAMES])}{more}"


def _needed(table: DocumentTable, place: int) -> int:
    """The characters that a column needs to be read."""
    column = table.columns[place]
    if column.least is not None:
        return max(len(column.head), column.least)
    head = max(map(len, column.head.split()), default=0) if column.wrap else len(column.head)
    widest = max(_widest_cell(table, place), head if table.heads else 0)
    return column.width or min(widest, column.most or widest)


def _with_room(table: DocumentTable, place: int, room: int) -> DocumentColumn:
    column, needed = table.columns[place], _needed(table, place)
    if column.least is None:
        return column
    return (
        replace(column, wrap=True)
        if room < needed
        else replace(column, width=min(room, max(needed, _widest_cell(table, place))))
    )


def _widest_cell(table: DocumentTable, place: int) -> int:
    return max((_length(row[place]) for row in table.rows if place < len(row)), default=0)


def _length(cell: DocumentCell) -> int:
    match cell:
        case StyledText(text):
            return len(text)
        case str():
            return len(cell)
        case Bar(beside=beside):
            return BAR + sum(len(span.text) for span in beside)
        case _:
            return sum(len(span.text) for span in cell)


STYLES: Mapping[str, str] = MappingProxyType(
    {
        "strong": "bold", "quiet": "dim", "warning": "yellow", "error": "bold red", "beyond": "bold yellow",
        "bar": "cyan", "advice": "italic", "nothing": "italic dim", "repeated": "underline",
        # kinds of findings
        "failure": "bold red", "quality": "yellow", "doubt": "magenta", "waste": "cyan", "right": "green",
        "undetermined": "magenta", "low-score": "yellow", "no-fault": "green",
        # looks of marks
        "unsupported": "bold red", "dangling": "bold red", "uncited": "bold red", "misattributed": "bold yellow",
        "unattributed": "bold yellow", "check": "yellow", "unknown": "magenta", "extraneous": "cyan",
        "supported": "green", "essential": "green", "remark": "italic dim", "plain": "",
        # states of verdicts
        "yes": "green", "no": "red", "failed": "bold red", "not-asked": "dim",
    }
)  # fmt: skip
"""Tone → how it looks."""


def print_document(console: Console, document: Document) -> None:
    """Print a document; the console's width and colours decide how it looks."""
    for block in document:
        _print(console, block)


def _print(console: Console, block: DocumentBlock) -> None:
    match block:
        case Line(spans=()):
            console.print()
        case Line(spans, indent, hang):
            _print_line(console, _text(spans), indent, hang)
        case Heading(title):
            console.print()
            console.print(_text((StyledText(title, "strong"),)))
        case DocumentTable():
            if block.title:
                _print(console, Heading(block.title))
            fitted, left_out = fit(block, console.width - block.indent)
            grid = _grid(fitted)
            console.print(Padding(grid, (0, 0, 0, block.indent), expand=False) if block.indent else grid)
            for said in (*explanations(fitted), *not_shown(left_out), *block.notes):
                _print(console, note(said))


def _print_line(console: Console, text: Text, indent: int, hang: int) -> None:
    """Wrapped, without blanks at the ends of lines."""
    first = True
    for paragraph in text.split("\n", allow_blank=True):
        for row in paragraph.wrap(console, max(20, console.width - indent - hang)) or [Text("")]:
            row.rstrip()
            console.print(Text(" " * (indent + (0 if first else hang))) + row, soft_wrap=True)
            first = False


def _text(spans: tuple[StyledText, ...]) -> Text:
    text = Text()
    for said, tone in spans:
        text.append(said, " ".join(filter(None, (STYLES[one] for one in tone.split()))))
    return text


def _grid(table: DocumentTable) -> Grid:
    grid = Grid(box=None, pad_edge=False, padding=(0, table.gap, 0, 0), header_style="dim", expand=False)
    grid.show_header = table.heads
    for column in table.columns:
        justify: JustifyMethod = column.align
        grid.add_column(
            Text(column.head), justify=justify, no_wrap=not column.wrap, width=column.width, max_width=column.most
        )
    for row in table.rows:
        grid.add_row(*map(_cell, row))
    return grid


def _cell(cell: DocumentCell) -> Text:
    match cell:
        case str():
            return Text(cell)
        case StyledText():
            return _text((cell,))
        case Bar():
            return _text(_bar(cell))
        case _:
            return _text(cell)


def _bar(bar: Bar) -> tuple[StyledText, ...]:
    if bar.value is None:
        return ()
    filled = round(place_within(bar.value, bar.range) * BAR)
    return StyledText(FULL * filled, bar.tone), StyledText(EMPTY * (BAR - filled), "quiet"), *bar.beside
