"""Splits a response into claims, each understandable by itself, and marks remarks as such."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest

from ragtriage.core.verdicts import Component, Components
from ragtriage.text.atomic import Marker, Marks, PartKind, Span, capitalized, parts_of
from ragtriage.text.blocks import Block, blocks
from ragtriage.text.facts import row_text
from ragtriage.text.html import on_visible_text
from ragtriage.text.inline_markup import plain_text
from ragtriage.text.lexicon import REMARKS
from ragtriage.text.pronouns import AUXILIARY_WORD, Subject, resolve, stands_alone, subject
from ragtriage.text.remarks import Remark, parts, remark
from ragtriage.text.sentences import sentences_of

_NUMBERED = re.compile(r"\d{1,2}\.\s+")
_LONG_LEAD = 160
_KINDS: Mapping[PartKind, Remark] = {"claim": "", "remark": "about", "declines": "gap"}
_ASIDE = frozenset[Remark]({"question", "courtesy"})


class _Reader:
    """Goes through the blocks of one response and remembers what a later sentence may lean on."""

    def __init__(self, text: str, query: str, marks: Marks | None, *, marked: bool) -> None:
        self.text = text
        self.marks = marks
        self.query = query
        self.marked = marked
        self.topic: Subject | None = None
        self.lead = ""
        self.opening = True
        self.behind: Remark = ""
        """The kind of the sentence before: behind a remark about the sources, "they" are the sources."""

    def plain(self, text: str) -> str:
        """The words of a part of the text."""
        return plain_text(text, marked=self.marked)

    def _claim(self, text: str, span: Span) -> Component:
        """A claim with its pronouns resolved."""
        said = self.plain(text)
        resolved = resolve(said, self.topic)
        if resolved == said:
            found = subject(said)
            self.topic = found if stands_alone(found) else None
        return Component(resolved, span)

    def sentence(self, start: int, end: int) -> Iterator[Said]:
        """The components of one sentence."""
        if self.marks is not None:
            yield from self._marked(self.marks, start, end)
            return
        raw = self.text[start:end]
        pieces = parts(raw, behind=self.behind, opening=self.opening)
        self.behind = pieces[-1][2]
        self.opening = self.opening and self.behind in {"courtesy", "restated", "question"}
        for a, b, kind in pieces:
            said = raw[a:b] if not a else capitalized(raw[a:b])
            if kind:
                self.topic = None
                yield Component(self.plain(said), (start + a, start + b), remark=True), kind
            elif said.strip():
                yield self._claim(said, (start + a, start + b)), ""

    def _marked(self, marks: Marks, start: int, end: int) -> Iterator[Said]:
        """The components of one sentence as they are marked; what is surely a question or a courtesy is a remark."""
        whole = remark(self.text[start:end], opening=False)
        for part in parts_of(self.text, marks, start, end):
            kind = _KINDS[part.kind] or (whole if whole in _ASIDE else "")
            if kind:
                self.topic = None
                yield Component(self.plain(part.text), part.span, remark=True), kind
            else:
                yield self._claim(part.text, part.span), ""

    def lead_in(self, start: int, end: int) -> Iterator[Said]:
        """A sentence with a colon before a list: a remark, unless it says something by itself."""
        raw = self.plain(self.text[start:end])
        kind = remark(raw)
        said = REMARKS["here_is"].sub("", raw)
        self.lead = said[:1].upper() + said[1:] if kind in {"", "lead-in"} and len(said) <= _LONG_LEAD else ""
        self.behind = kind
        if kind or REMARKS["incomplete"].search(raw) or (raw.count(" ") < 4 and not AUXILIARY_WORD.search(raw)):
            yield Component(raw, (start, end), remark=True), kind or "lead-in"
        else:
            yield from self.sentence(start, end)

    def item(self, block: Block) -> Iterator[Said]:
        """A list item; one that is no sentence is read with the words before the list."""
        self.topic = None
        for number, (start, end) in enumerate(sentences_of(self.text, block)):
            yield from self.sentence(start, end) if number else self.begun(start, end)

    def begun(self, start: int, end: int) -> Iterator[Said]:
        """The first sentence of a list item."""
        said = self.plain(self.text[start:end])
        whole = said.endswith((".", "!")) and said.count(" ") > 1
        if self.lead and (said[:1].islower() or not (whole or AUXILIARY_WORD.search(said))) and not remark(said):
            yield Component(f"{self.lead} {said}", (start, end)), ""
        else:
            yield from self.sentence(start, end)

    def read(self, block: Block, *, before_list: bool) -> Iterator[Said]:
        """The components of one block."""
        if block.shape in {"heading", "header"}:
            self.lead, self.topic = "", None
            yield (
                Component(self.plain(self.text[block.start : block.end]), (block.start, block.end), remark=True),
                "lead-in",
            )
        elif block.shape == "row":
            yield Component(row_text(self.text, block, marked=self.marked), (block.start, block.end)), ""
        elif block.shape == "code":
            yield Component(self.text[block.start : block.end], (block.start, block.end)), ""
        elif block.shape == "item":
            yield from self.item(block)
        else:
            self.lead, self.topic = "", None
            spans = sentences_of(self.text, block)
            for (start, end), following in zip_longest(spans, spans[1:]):
                listed = before_list if following is None else _NUMBERED.match(self.text, *following)
                if listed and self.text[start:end].rstrip(" *_").endswith(":"):
                    yield from self.lead_in(start, end)
                elif self.lead and (number := _NUMBERED.match(self.text, start, end)):
                    self.topic = None
                    yield from self.begun(number.end(), end)
                else:
                    self.lead = ""
                    yield from self.sentence(start, end)


Said = tuple[Component, Remark]
"""A component, and which kind of remark it is; empty for a claim."""


def read_response(text: str, query: str, marker: Marker | None, *, marked: bool) -> tuple[Said, ...]:
    """The components of a text as it is shown, each with its kind; see `split_claims`."""
    return _read(text, query, marker(query, text) if marker else None, marked=marked)


@lru_cache(256)  # asked for the claims, for whether it declines and for what it answers
def _read(text: str, query: str, marks: Marks | None, *, marked: bool) -> tuple[Said, ...]:
    found = blocks(text)
    reader = _Reader(text, query, marks, marked=marked)
    components: list[Said] = []
    for number, block in enumerate(found):
        following = found[number + 1].shape if number + 1 < len(found) else ""
        components.extend(
            (c, kind)
            for c, kind in reader.read(block, before_list=following in {"item", "row", "header", "code"})
            if c.text
        )
    bare = REMARKS["bare_answer"]
    if any(not c.remark and not bare.fullmatch(c.text) for c, _ in components):
        components = [
            (replace(c, remark=True), "lead-in") if bare.fullmatch(c.text) else (c, kind) for c, kind in components
        ]
    return tuple(components)


@on_visible_text
def split_claims(text: str, query: str = "", *, marked: bool = True, marker: Marker | None = None) -> Components:
    """Break a response into stand-alone claims, in its order; remarks are marked as such.

    With a `marker` sentences are broken into atomic claims, each with its subject, where it says so, and it says what
    is a remark. Without one a sentence is a claim, and rules know the common remarks. Pronouns are replaced by the
    subject of the sentence before, list items read with the words before the list, citation marks left out; spans cover
    the text's own words. Headings, questions, courtesies and what is said about the sources are remarks. Where `marked`
    is False the marks were cut already, and what stands in brackets is text.
    """
    return tuple(component for component, _ in read_response(text, query, marker, marked=marked))
