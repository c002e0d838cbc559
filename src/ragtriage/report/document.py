"""A report as a value: headings, lines and tables that every renderer reads (the terminal, Markdown, HTML pages)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ragtriage.core.display import one_line

Tone = str
"""How a text is meant, not how it looks: words of `STYLES` in `terminal`, among them every kind of finding, every look
of a mark and every state of a verdict. Several are separated by blanks."""
Align = Literal["left", "right", "center"]


class StyledText(NamedTuple):
    """A stretch of text in one tone."""

    text: str
    tone: Tone = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A value as a bar, as long as its place within the range; empty if there is no value."""

    value: float | None
    range: tuple[float, float]
    tone: Tone
    beside: tuple[StyledText, ...] = ()
    """What stands behind it."""


DocumentCell = str | StyledText | tuple[StyledText, ...] | Bar


@dataclass(frozen=True, slots=True)
class Line:
    """One line or paragraph."""

    spans: tuple[StyledText, ...]
    indent: int = 0
    hang: int = 2
    """How much deeper its further lines are indented where it is too long for one."""


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows."""

    title: str


@dataclass(frozen=True, slots=True)
class DocumentColumn:
    """A column of a table."""

    head: str = ""
    align: Align = "left"
    wrap: bool = False
    """Whether cells may take several lines; others are cut."""
    width: int | None = None
    most: int | None = None
    """Characters at most."""
    least: int | None = None
    """Characters that are never cut: what stands behind them gets the room that is left."""
    gives_way: int = 0
    """Where the table is too wide, columns are left out, the largest number first; one with 0 stays."""
    name: str = ""
    """What it holds, in full, where the head is too short to say so; said also where the column is left out."""


@dataclass(frozen=True, slots=True)
class DocumentTable:
    """Columns, and rows of cells; a row may be shorter than the columns."""

    columns: tuple[DocumentColumn, ...]
    rows: tuple[tuple[DocumentCell, ...], ...]
    heads: bool = True
    """Whether the columns' heads are shown."""
    title: str = ""
    notes: tuple[str, ...] = ()
    """What the columns mean."""
    gap: int = 2
    """Blanks between columns."""
    indent: int = 0
    explained: bool = False
    """Whether a line beneath says what the columns' heads stand for."""


DocumentBlock = Line | Heading | DocumentTable
GAP = Line(())
"""An empty line."""


Document = Iterable[DocumentBlock]
"""In the order in which they are read."""


def line(*parts: str | tuple[str, Tone], tone: Tone = "", indent: int = 0, hang: int = 2) -> Line:
    """A line of texts, each in this tone or in its own."""
    return Line(
        tuple(StyledText(part, tone) if isinstance(part, str) else StyledText(*part) for part in parts), indent, hang
    )


def note(text: str) -> Line:
    """A line that explains, set back."""
    return line(text, tone="quiet")


def text_columns(*heads: str, wrap: bool = False, most: int | None = None) -> tuple[DocumentColumn, ...]:
    """Columns of texts."""
    return tuple(DocumentColumn(head, wrap=wrap, most=most) for head in heads)


def number_columns(*heads: str, wrap: bool = False) -> tuple[DocumentColumn, ...]:
    """Columns of numbers."""
    return tuple(DocumentColumn(head, "right", wrap) for head in heads)


def table(
    columns: tuple[DocumentColumn, ...], rows: Iterable[Iterable[DocumentCell]], *, heads: bool = True, gap: int = 2
) -> DocumentTable:
    """A table of these rows."""
    return DocumentTable(columns, tuple(tuple(row) for row in rows), heads, gap=gap)


def title_line(*found: str, most: int = 120) -> Line:
    """The facts that head a report, on one line, the first of them strong; empty ones are left out."""
    first, *others = (one_line(fact, most) for fact in found if fact)
    return line((first, "strong"), "".join(f" · {fact}" for fact in others))


def markdown(document: Document, title: str = "") -> str:
    """A document as Markdown, under a title of the first level."""
    lines = [f"# {title}", ""] if title else []
    for block in document:
        lines += markdown_lines(block)
    return "\n".join(lines).rstrip() + "\n"


def markdown_lines(
    block: DocumentBlock, shown: Callable[[str], str] = lambda text: text, heading: str = "##"
) -> Iterator[str]:
    """A block as lines of Markdown, every text as `shown` gives it."""
    match block:
        case Heading(title):
            yield from (f"{heading} {shown(title)}", "")
        case Line(spans):
            yield from (shown("".join(span.text for span in spans)), "")
        case DocumentTable():
            if block.title:
                yield from (f"{heading} {shown(block.title)}", "")
            if block.rows:
                heads = [shown(column.head) for column in block.columns]
                yield from (_row(heads), _row(["---"] * len(heads)))
                yield from (_row([shown(_text(cell)) for cell in row]) for row in block.rows)
                yield ""
            for note in block.notes:
                yield from (shown(note), "")


def _row(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _text(cell: DocumentCell) -> str:
    match cell:
        case str():
            return cell
        case StyledText(text):
            return text
        case Bar():
            return "".join(span.text for span in cell.beside).strip()
        case _:
            return "".join(map(_text, cell))
