"""Documents as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragtriage.report.document import Bar, Block, Cell, Document, Heading, Line, Span, Table


def markdown(document: Document, title: str = "") -> str:
    """A document as Markdown, under a title of the first level."""
    lines = [f"# {title}", ""] if title else []
    for block in document:
        lines += _lines(block)
    return "\n".join(lines).rstrip() + "\n"


def _lines(block: Block) -> Iterator[str]:
    match block:
        case Heading(title):
            yield from (f"## {title}", "")
        case Line(spans):
            yield from ("".join(span.text for span in spans), "")
        case Table():
            if block.title:
                yield from (f"## {block.title}", "")
            if block.rows:
                heads = [column.head for column in block.columns]
                yield from (_row(heads), _row(["---"] * len(heads)), *map(_row, block.rows), "")
            for note in block.notes:
                yield from (note, "")


def _row(cells: Sequence[Cell]) -> str:
    return "| " + " | ".join(_text(cell).replace("|", "\\|") for cell in cells) + " |"


def _text(cell: Cell) -> str:
    match cell:
        case str():
            return cell
        case Span(text):
            return text
        case Bar():
            return "".join(span.text for span in cell.beside).strip()
        case _:
            return "".join(map(_text, cell))
