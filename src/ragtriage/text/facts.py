"""Splits a source into facts: about one per sentence, row or field."""

from __future__ import annotations

import re

from ragtriage.core.verdicts import Component, Components
from ragtriage.text.blocks import Block, blocks, cells
from ragtriage.text.html import on_visible_text
from ragtriage.text.inline_markup import plain_text
from ragtriage.text.sentences import sentences_of

_LINE = re.compile(r"[^\s{}\[\],](?:[^\n]*[^\s{}\[\],])?")
"""A line without the brackets and commas around it."""
_FIELD = re.compile(r"^[ \t]*[{\[(,]*[ \t]*\"?[\w][\w .()/%#-]{0,40}\"?[ \t]*[:=][ \t]*\S.*$", re.MULTILINE)


def row_text(text: str, block: Block, *, marked: bool = True) -> str:
    """A table's row read with its header: "Model: S2; Run time: 40 min"."""
    values = cells(text[block.start : block.end])
    if not block.header:
        return plain_text("; ".join(value for value in values if value), marked=marked)
    names = (*block.header, *("" for _ in values[len(block.header) :]))
    pairs = ((name, value) for name, value in zip(names, values, strict=False) if value)
    return plain_text("; ".join(f"{name}: {value}" if name else value for name, value in pairs), marked=marked)


def _fields(text: str, block: Block) -> list[tuple[int, int]]:
    """The lines of a block of "key: value" lines; empty if it isn't one."""
    body = text[block.start : block.end]
    if "\n" not in body:
        return []
    lines = [m.span() for m in _LINE.finditer(body)]
    fields = sum(1 for a, b in lines if _FIELD.match(body[a:b]))
    if not lines or fields < 2 or fields * 10 < len(lines) * 8:
        return []
    return [(block.start + a, block.start + b) for a, b in lines]


@on_visible_text
def split_facts(text: str) -> Components:
    """Break a source into facts: sentences, list items, table rows (read with their header), fields.

    Headings are no facts.
    """
    found: list[Component] = []
    for block in blocks(text):
        if block.shape in {"heading", "header"}:
            continue
        if block.shape == "row":
            found.append(Component(row_text(text, block), (block.start, block.end)))
            continue
        if fields := _fields(text, block):
            found.extend(Component(text[a:b].replace('"', ""), (a, b)) for a, b in fields)
            continue
        for a, b in sentences_of(text, block):
            if said := plain_text(text[a:b]):
                found.append(Component(said, (a, b)))
    return tuple(found)
