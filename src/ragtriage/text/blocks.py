"""Blocks of a Markdown text: paragraphs, headings, list items, table rows, code."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

BlockShape = Literal["paragraph", "heading", "item", "header", "row", "code"]

_FENCE = re.compile(r"[ \t]{0,12}(`{3,}|~{3,})")
_HEADING = re.compile(r"[ \t]{0,3}#{1,6}[ \t]+")
_BOLD_LINE = re.compile(r"[ \t]*(?:\*\*[^*\n]{1,120}\*\*|__[^_\n]{1,120}__)[ \t]*:?[ \t\r]*$")
_ITEM = re.compile(
    r"[ \t]*(?:[-*+•‣◦▪●–][ \t]+(?:\[[ xX]\][ \t]+)?|\(?\d{1,3}[.)][ \t]+|\(?[a-zA-Z]\)[ \t]+|\(?[ivx]{1,5}\)[ \t]+)"
)
_RULE = re.compile(r"[ \t]{0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,}|={3,})[ \t\r]*$")
_DELIMITER = re.compile(r"[ \t|:-]*-{2,}[ \t|:-]*\r?$")
_FAR = 30
"""Lines above indented ones among which a list may begin that they go on with."""
_INDENTED = re.compile(r"(?: {4,}|\t)[ \t]*\S")
_CODE_SIGN = re.compile(r"[=<>{}()\[\];$|]|^\s*(?:#|//|--|>>>|import\b|def\b|return\b)|\w\.\w")
_PROSE = re.compile(r"[^\W\d_]{2,} [^\W\d_]{2,} [^\W\d_]{2,}.*[.!?]\s*$")
_LINE = re.compile(r"([^\n]*)\n|([^\n]+)")
_QUOTE = re.compile(r"(?:[ \t]{0,3}>[ \t]?)+")


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of text, `[start, end)`, without its marker and without white space around it."""

    shape: BlockShape
    start: int
    end: int
    header: tuple[str, ...] = ()
    """The column names of a table's row."""


def cells(row: str) -> tuple[str, ...]:
    """The cells of a table's row."""
    return tuple(cell.strip() for cell in row.strip().strip("|").split("|"))


def _trim(text: str, start: int, end: int, also: str = "") -> tuple[int, int]:
    while start < end and (text[start].isspace() or text[start] in also):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in also):
        end -= 1
    return start, end


def _lines(text: str) -> list[tuple[int, int]]:
    return [found.span(found.lastindex or 0) for found in _LINE.finditer(text)]


class _Reader:
    """Walks over the lines once and yields the blocks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = _lines(text)
        self.at = 0
        self.header: tuple[str, ...] = ()

    def line(self, at: int) -> str:
        """The text of one line; empty behind the last."""
        return self.text[slice(*self.lines[at])] if at < len(self.lines) else ""

    def block(self, shape: BlockShape, start: int, end: int, header: tuple[str, ...] = ()) -> Iterator[Block]:
        """The block without white space around it, unless nothing is left."""
        start, end = _trim(self.text, start, end)
        if start < end:
            yield Block(shape, start, end, header)

    def code(self, fence: str) -> Iterator[Block]:
        first = self.at + 1
        self.at = first
        while self.at < len(self.lines) and not self.line(self.at).strip().startswith(fence):
            self.at += 1
        if first < self.at:
            yield from self.block("code", self.lines[first][0], self.lines[self.at - 1][1])
        self.at += 1

    def indented(self) -> bool:
        """Whether code begins here that is set off by four spaces, as Markdown has it, behind a blank line.

        Much text is indented that is none, so each line must have a sign of code and none be a sentence; what goes on
        with a list item isn't code either.
        """
        if not _INDENTED.match(self.line(self.at)) or (self.at and self.line(self.at - 1).strip()):
            return False
        before = self.at - 1
        while before >= max(0, self.at - _FAR) and (not self.line(before).strip() or self.line(before)[0] in " \t"):
            if _ITEM.match(self.line(before)):
                return False
            before -= 1
        if before < self.at - _FAR or (before >= 0 and _ITEM.match(self.line(before))):
            return False
        lines = [self.line(at) for at in range(self.at, self._dedent())]
        return all(_CODE_SIGN.search(x) and not _PROSE.search(x) and not _ITEM.match(x) for x in lines)

    def _dedent(self) -> int:
        at = self.at
        while at < len(self.lines) and _INDENTED.match(self.line(at)):
            at += 1
        return at

    def table(self) -> Iterator[Block]:
        start, end = _trim(self.text, *self.lines[self.at], also="|")
        line = self.line(self.at)
        self.at += 1
        if _DELIMITER.match(line):
            return
        if "|" in (following := self.line(self.at)) and _DELIMITER.match(following):
            self.header = cells(line)
            yield from self.block("header", start, end)
        else:
            yield from self.block("row", start, end, self.header)

    def in_table(self) -> bool:
        line = self.line(self.at)
        if "|" not in line:
            return False
        if line.lstrip().startswith("|") and line.count("|") > 1:
            return True
        following = self.line(self.at + 1)
        return bool(self.header) or ("|" in following and _DELIMITER.match(following) is not None)

    def ends(self, at: int) -> bool:
        """Whether this line can't go on a paragraph or a list item."""
        line = self.line(at)
        quoted = _QUOTE.match(line)
        line = line[quoted.end() :] if quoted else line
        return (
            not line.strip()
            or line.lstrip().startswith("|")
            or any(begins.match(line) for begins in (_ITEM, _HEADING, _FENCE, _BOLD_LINE, _RULE))
        )

    def running(self, shape: BlockShape, start: int) -> Iterator[Block]:
        """A paragraph or an item with the lines that go on with it."""
        first = self.at
        self.at += 1
        while self.at < len(self.lines) and not self.ends(self.at):
            self.at += 1
        end = self.lines[self.at - 1][1]
        underline = self.line(self.at)
        if (
            shape == "paragraph"
            and self.at == first + 1
            and underline.strip()[:3] in {"===", "---"}
            and _RULE.match(underline)
        ):
            shape = "heading"
            self.at += 1
        yield from self.block(shape, start, end)

    def __iter__(self) -> Iterator[Block]:
        while self.at < len(self.lines):
            line = self.line(self.at)
            start, end = self.lines[self.at]
            if not line.strip() or _RULE.match(line):
                self.header = ()
                self.at += 1
            elif fence := _FENCE.match(line):
                yield from self.code(fence[1][:3])
            elif self.indented():
                end_line = self._dedent()
                yield from self.block("code", start, self.lines[end_line - 1][1])
                self.at = end_line
            elif self.in_table():
                yield from self.table()
            elif heading := _HEADING.match(line):
                yield from self.block("heading", start + heading.end(), end)
                self.at += 1
            elif _BOLD_LINE.match(line) and line.strip(" \t\r*_:")[-1:] not in {"", ".", "!", "?"}:
                yield from self.block("heading", start, end)
                self.at += 1
            else:
                quoted = _QUOTE.match(line)
                skip = quoted.end() if quoted else 0
                item = _ITEM.match(line, skip)
                yield from self.running("item" if item else "paragraph", start + (item.end() if item else skip))


def blocks(text: str) -> list[Block]:
    """The blocks of a text in its order; markers, rules and fences are left out.

    A text that holds nothing but headings is read as paragraphs: then they are what it says.
    """
    found = list(_Reader(text))
    if any(block.shape != "heading" for block in found):
        return found
    return [Block("paragraph", block.start, block.end) for block in found]
