"""Blocks of a Markdown text: paragraphs, headings, list items, table rows, code; and tables however they are printed.

CSV, TSV, pipes, boxes, aligned columns, lists of tuples or objects, JSON rows: all tables become one form, a Markdown
table, so that a row is read with its header wherever it comes from.
"""

import ast
import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

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


class _Reader:
    """Walks over the lines once and yields the blocks."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.lines = [found.span(found.lastindex or 0) for found in _LINE.finditer(text)]
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


TableRows = list[list[str]]
"""Cells, the header first."""

_LONGEST = 200_000
"""Characters of a list that is read."""
_WIDEST = 60
"""Characters of a cell in aligned columns."""
_SEPARATORS = "\t;,"
_FEWEST_FIELDS = 3
"""Lines, and fields a line, of CSV: less may be prose."""
_FRAME, _DRAWN = frozenset("-=─━+|:┼├┤┌┐└┘┬┴ \t"), re.compile("[-=─━]{2}")
_FOOTER = re.compile(r"\s*(?:\(\d+ rows?\)|\d+ rows? in set.*|\[\d+ rows x \d+ columns\])\s*$", re.IGNORECASE)
_BAR = re.compile("[|│]")
_GAP = re.compile(r"\s{2,}")
_NUMBER = re.compile(r"[€$£]?\s?[-+]?\d[\d.,:/-]*\s?[%€$£]?$")
_CALLS = (
    (re.compile(r"\bDecimal\('([^']*)'\)"), r"\1"),
    (re.compile(r"\bdatetime\.date(?:time)?\((\d+), (\d+), (\d+)(?:, 0)*\)"), r"'\1-\2-\3'"),
    (re.compile(r"\bdatetime\.datetime\((\d+), (\d+), (\d+), (\d+), (\d+)(?:, \d+)*\)"), r"'\1-\2-\3 \4:\5'"),
    (re.compile(r"\bdatetime\.time\((\d+), (\d+)(?:, \d+)*\)"), r"'\1:\2'"),
    (re.compile(r"\b(?:UUID|ObjectId)\('([^']*)'\)"), r"'\1'"),
)
"""What results of databases hold that is no literal of Python."""
_TIME = re.compile(r"\d{4}-\d\d?-\d\d?(?: \d\d?:\d\d?)?|\d\d?:\d\d?")
_ENDED = re.compile(r"[.!?…][\"'”’)]*\Z")
"""How a sentence ends, and the field of a table hardly ever."""
_SHORT_PART = re.compile(r"(?<=[-: ])(\d)(?=[-: ]|$)")


def printed_tables(text: str) -> str:
    """The text with each table that is printed in it as a Markdown table; any other text as it is."""
    if found := _literal(text):
        return found
    out: list[str] = []
    run: list[str] = []
    changed = False
    for line in [*text.splitlines(), ""]:
        if line.strip():
            run.append(line)
            continue
        table = _table(run)
        changed = changed or table is not None
        out += run if table is None else table
        out.append(line)
        run = []
    return "\n".join(out[:-1]) if changed else text


@lru_cache(256)
def result_rows(text: str) -> TableRows:
    """The rows of a text that is nothing but the result of a query without names of columns; empty if it isn't."""
    table = _literal(text)
    lines = table.splitlines()
    if not lines or not all(line.startswith("| ") for line in lines):
        return []
    return [_between_bars(line) for line in lines]


def _markdown(rows: TableRows, *, header: bool) -> list[str]:
    lines = [f"| {' | '.join(cell.replace('|', '/').replace(chr(10), ' ') for cell in row)} |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]] if header else lines


def _table(lines: Sequence[str]) -> list[str] | None:
    """The lines of a paragraph as those of a table, what stands before it in front; None if it holds none."""
    for reader in (_barred, _separated, _aligned):
        for first in range(min(2, len(lines))):  # one line may lead in
            found = reader(lines[first:])
            if found is not None:
                return [*lines[:first], "", *found] if first else found
    return None


def _is_head(rows: TableRows) -> bool:
    """Whether the first row is a header: no cell is a number, and it isn't longer than a name."""
    return all(cell and not _NUMBER.match(cell) and len(cell) <= 40 for cell in rows[0]) and len(rows) > 1


def _barred(lines: Sequence[str]) -> list[str] | None:
    """Cells between bars, also in a box or below a ruled header; a Markdown table stays as it is."""
    framed = [at for at, line in enumerate(lines) if _is_frame(line)]
    if any(re.fullmatch(r"\|?(?:\s*:?-+:?\s*\|)+\s*:?-*:?", lines[at].strip()) for at in framed):
        return None
    told = [line for at, line in enumerate(lines) if at not in framed and not _FOOTER.match(line)]
    if len(told) < 2 or not all("|" in line or "│" in line for line in told):
        return None
    rows = [_between_bars(line) for line in told]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) < 2:
        return None
    return _markdown(rows, header=bool(framed) or _is_head(rows))


def _is_frame(line: str) -> bool:
    """Whether a line only rules a table."""
    return _FRAME.issuperset(line) and _DRAWN.search(line) is not None


def _between_bars(line: str) -> list[str]:
    return [cell.strip() for cell in _BAR.split(line.strip().strip("|│"))]


def _separated(lines: Sequence[str]) -> list[str] | None:
    """CSV and the like; lines that end as sentences aren't."""
    if any(_ENDED.search(line.rstrip()) for line in lines):
        return None
    for delimiter in _SEPARATORS:
        least = 2 if delimiter == "\t" else _FEWEST_FIELDS
        if len(lines) < least or lines[0].count(delimiter) < least - 1:
            continue
        try:
            rows = list(csv.reader(lines, delimiter=delimiter, strict=True))
        except csv.Error:
            continue
        if len(rows) == len(lines) and len({len(row) for row in rows}) == 1:
            rows = [[field.strip() for field in row] for row in rows]
            return _markdown(rows, header=not any(field[:1].isdigit() for field in rows[0]))
    return None


def _aligned(lines: Sequence[str]) -> list[str] | None:
    """Columns that stand below each other, at least two blanks apart; an index before them has no name."""
    told = [line for line in lines if not _is_frame(line) and not _FOOTER.match(line)]
    rows = [_GAP.split(line.strip()) for line in told]
    if len(rows) < 2 or len({len(row) for row in rows[1:]}) != 1 or len(rows[1]) < 2:
        return None
    if len(rows[0]) == len(rows[1]) - 1:
        numbered = [row[0] for row in rows[1:]] == [str(n) for n in range(len(rows) - 1)]
        rows = [rows[0], *(row[1:] for row in rows[1:])] if numbered else [["", *rows[0]], *rows[1:]]
    whole = len(rows[0]) == len(rows[1]) >= 2 and all(len(cell) <= _WIDEST for row in rows for cell in row)
    if not whole or len(rows) < 3 or (not _is_head([[c or "-" for c in rows[0]], rows[1]])):
        return None
    return _markdown(rows, header=True)


def _literal(text: str) -> str:
    """A list of tuples, lists or objects in Python or JSON, with what stands around it; objects, one a line, too."""
    start, end = text.find("["), text.rfind("]")
    found = text[start : end + 1] if 0 <= start < end else ""
    around = (text[:start], text[end + 1 :]) if found else ("", "")
    value = _read(found) if re.match(r"\[\s*[\[({]", found) and len(found) <= _LONGEST else None
    if value is None:
        lines = [line.strip().rstrip(",") for line in text.splitlines() if line.strip()]
        if len(lines) < 2 or not all(line[0] in "({" and line[-1] in ")}" for line in lines):
            return ""
        value, around = [_read(line) for line in lines], ("", "")
    rows = _rows_of(value)
    if not rows:
        return ""
    named = isinstance(value[0], dict)
    table = "\n".join(_markdown(rows, header=named or _is_head(rows)))
    return "\n\n".join(part for part in (around[0].strip(), table, around[1].strip()) if part)


def _read(text: str) -> Any:
    for pattern, plain in _CALLS:
        text = pattern.sub(plain, text)
    for reader in (json.loads, ast.literal_eval):
        try:
            return reader(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
    return None


def _rows_of(value: Any) -> TableRows:
    """The rows of a list of objects or of equally long tuples, with a header where they have names."""
    if not isinstance(value, list) or not value:
        return []
    if any(isinstance(cell, dict) for one in value for cell in (one.values() if isinstance(one, dict) else ())):
        return []
    if all(isinstance(one, dict) for one in value):
        names = list(dict.fromkeys(str(name) for one in value for name in one))
        return [names, *([_cell(one.get(name)) for name in names] for one in value)] if names else []
    if all(isinstance(one, (tuple, list)) for one in value) and len({len(one) for one in value}) == 1:
        return [[_cell(cell) for cell in one] for one in value] if value[0] else []
    return []


def _cell(value: Any) -> str:
    text = "" if value is None else ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return _SHORT_PART.sub(r"0\1", text) if _TIME.fullmatch(text) else text
