"""HTML as a page shows it: blocks as lines, list items as items, tables as rows with their header.

Not by a parser of whole pages: sources are pieces of pages, the time must grow with the text whatever it holds, and the
place of every character has to be known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from html import unescape
from typing import Concatenate, ParamSpec

from ragtriage.core.verdicts import Component, Components

_P = ParamSpec("_P")

_SIGN = re.compile(
    r"</(?:p|div|table|tr|td|th|ul|ol|li|dl|dd|h[1-6]|section|article|span|strong|em|blockquote|pre|a|b|i)>"
    r"|<(?:br|hr)\s*/?>",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"```.*?```|`[^`\n]+`|<!--[^<>]*-->|<(?P<end>/?)(?P<tag>[a-z][a-z0-9]*)(?:[\s/][^<>]*)?>|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]\w{1,24});",
    re.IGNORECASE | re.DOTALL,
)
"""Code in Markdown stays as it is; a tag or a character's name stands for something else."""
_BLOCKS = frozenset(
    "p div br hr table ul ol li dl dt dd h1 h2 h3 h4 h5 h6 section article header footer blockquote pre figure".split()
)
_UNREAD = frozenset(("script", "style", "template"))
_Placed = list[tuple[str, int]]
"""Characters, each with its place in the HTML."""


def visible_text(text: str) -> str:
    """What a page shows of a text; the text itself if it isn't HTML."""
    return "".join(char for char, _ in _read(text)) if _SIGN.search(text) else text


def on_visible_text(split: Callable[Concatenate[str, _P], Components]) -> Callable[Concatenate[str, _P], Components]:
    """A decomposition that reads HTML as it is shown; its spans are places in the HTML."""

    @wraps(split)
    def splitting(text: str, /, *args: _P.args, **named: _P.kwargs) -> Components:
        if not _SIGN.search(text):
            return split(text, *args, **named)
        placed = _read(text)
        found = split("".join(char for char, _ in placed), *args, **named)
        return tuple(_back(component, placed) for component in found)

    return splitting


def _back(component: Component, placed: _Placed) -> Component:
    if component.span is None or component.span[0] == component.span[1]:
        return component
    start, end = component.span
    return replace(component, span=(placed[start][1], placed[end - 1][1] + 1))


def _read(text: str) -> _Placed:
    """What is shown, a line a block."""
    page, at, hidden = _Page(), 0, ""
    for token in _TOKEN.finditer(text):
        if not hidden:
            page.write(text[at : token.start()], at)
        at = token.end()
        tag = (token["tag"] or "").lower()
        if tag in _UNREAD and (not hidden or hidden == tag):
            hidden = "" if token["end"] else tag
        elif hidden:
            continue
        elif tag:
            page.mark(tag, token.start(), ends=bool(token["end"]))
        elif token[0].startswith("`"):
            page.write(token[0], token.start())
        elif token[0].startswith("&"):
            page.write(unescape(token[0])[:1], token.start())
    if not hidden:
        page.write(text[at:], at)
    page.end_row(len(text) - 1)
    return list(_tidied(page.out))


def _tidied(placed: _Placed) -> Iterator[tuple[str, int]]:
    """Without blank lines, and without spaces at the beginning and end of lines."""
    line: _Placed = []
    for char, place in [*placed, ("\n", len(placed))]:
        if char != "\n":
            line.append((" " if char.isspace() else char, place))
            continue
        while line and line[-1][0] == " ":
            line.pop()
        begin = next((i for i, (one, _) in enumerate(line) if one != " "), len(line))
        if begin < len(line):
            yield from line[begin:]
            yield "\n", line[-1][1]
        line = []


class _Page:
    """Writes down what is shown; within a row of a table its cells."""

    def __init__(self) -> None:
        self.out: _Placed = []
        self._cells: list[_Placed] | None = None
        self._header = False
        self._rows = 0

    def write(self, said: str, at: int) -> None:
        """Text that stands in one piece, from a place on."""
        if self._cells is None:
            self.out += [(char, at + i) for i, char in enumerate(said)]
        elif self._cells:
            self._cells[-1] += [(" " if char.isspace() else char, at + i) for i, char in enumerate(said)]

    def mark(self, tag: str, at: int, *, ends: bool) -> None:
        """A new line, item, row or cell, or the end of one."""
        if tag in {"table", "tr"}:
            self.end_row(at)
            if not ends and tag == "tr":
                self._cells, self._header = [], False
            elif not ends:
                self._rows = 0
        elif tag in {"td", "th"} and self._cells is not None:
            if not ends:
                self._cells.append([])
                self._header = self._header or tag == "th"
        elif tag in _BLOCKS:
            self._sign(" " if self._cells is not None else "\n- " if tag == "li" and not ends else "\n", at)

    def end_row(self, at: int) -> None:
        """Write the row that was begun; the first one of headings is the header of those below."""
        cells, self._cells = self._cells, None
        if not cells:
            return
        self._sign("\n|", at)
        for cell in cells:
            self.out += [(" ", at), *cell, (" ", at), ("|", at)]
        self._sign("\n", at)
        if self._header and not self._rows:
            self._sign("|" + "---|" * len(cells) + "\n", at)
        self._rows += 1

    def _sign(self, said: str, at: int) -> None:
        """What stands for a tag, at its place."""
        (self.out if not self._cells else self._cells[-1]).extend((char, at) for char in said)
