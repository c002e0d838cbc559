"""Documents in the terminal.

Everything is laid out without lines and boxes, so that it reads the same in a log or a pipe. Texts become
`rich.text.Text`, which interprets no markup. Documents use Unicode signs; a terminal without Unicode gets others.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from ragtriage.report.document import Bar, Block, Cell, Column, Document, Heading, Line, Span, Table, note
from ragtriage.report.table_width import explanations, fit, not_shown
from ragtriage.report.words import ASCII, EMPTY, FULL, LESS, place_within

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

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
        "yes": "green", "no": "red", "agreeing": "", "failed": "bold red", "not-asked": "dim",
    }
)  # fmt: skip
"""Tone → how it looks."""
WIDE = 100
"""From this width on, bars have their full length."""
WIDEST_NAME, NARROWEST_NAME = 40, 8
"""Characters that a column of names which gives way gets, at most and at least."""


def print_document(console: Console, document: Document) -> None:
    """Print a document; the console's width and colours decide how it looks."""
    for block in document:
        _print(console, block)


def _print(console: Console, block: Block) -> None:
    match block:
        case Line(spans=()):
            console.print()
        case Line(spans, indent, hang):
            _print_line(console, _text(console, spans), indent, hang)
        case Heading(title):
            console.print()
            console.print(_text(console, (Span(title, "strong"),)))
        case Table():
            if block.title:
                _print(console, Heading(block.title))
            fitted, left_out = fit(block, console.width - block.indent)
            grid = _grid(console, fitted)
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


def _text(console: Console, spans: tuple[Span, ...]) -> Text:
    text = Text()
    for said, tone in spans:
        text.append(_shown(console, said), " ".join(filter(None, (STYLES[one] for one in tone.split()))))
    return text


def _shown(console: Console, text: str) -> str:
    return text.translate(ASCII) if console.options.ascii_only else text


def _grid(console: Console, table: Table) -> Grid:
    longest = max((len(_cell(console, row[0], 0)) for row in table.rows if row), default=0)
    bar = 20 if console.width >= WIDE else min(10, max(4, console.width - longest - table.beside_bar))
    rows = [[_cell(console, cell, bar) for cell in row] for row in table.rows]
    grid = Grid(box=None, pad_edge=False, padding=(0, table.gap, 0, 0), header_style="dim", expand=False)
    grid.show_header = table.heads
    for place, column in enumerate(table.columns):
        width = column.width
        if table.names_give_way:
            width = _own_width(console, table, rows, place)
        justify: JustifyMethod = column.align
        grid.add_column(
            _head(console, column), justify=justify, no_wrap=not column.wrap, width=width, max_width=column.most
        )
    for row in rows:
        grid.add_row(*row)
    return grid


def _own_width(console: Console, table: Table, rows: list[list[Text]], place: int) -> int:
    """As wide as its cells, so that where the console is narrow names are cut, never a number."""
    widths = [max(len(column.head), *(len(row[i]) for row in rows)) for i, column in enumerate(table.columns)]
    if place:
        return widths[place]
    room = console.width - sum(width + table.gap for width in widths[1:])
    return min(widths[0], WIDEST_NAME, max(NARROWEST_NAME, room))


def _head(console: Console, column: Column) -> Text:
    head = _shown(console, column.head)
    if column.width and len(head) > column.width:
        head = column.head.removesuffix(f" {LESS}")  # in words it would take the room of other columns
    return Text(head)


def _cell(console: Console, cell: Cell, bar: int) -> Text:
    match cell:
        case str():
            return Text(_shown(console, cell))
        case Span():
            return _text(console, (cell,))
        case Bar():
            return _text(console, _bar(cell, cell.width or bar))
        case _:
            return _text(console, cell)


def _bar(bar: Bar, places: int) -> tuple[Span, ...]:
    if bar.value is None:
        return ()
    filled = round(place_within(bar.value, bar.range) * places)
    return Span(FULL * filled, bar.tone), Span(EMPTY * (places - filled), "quiet"), *bar.beside
