"""Splits a response into claims, each understandable by itself, and marks remarks as such."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from itertools import zip_longest

from ragtriage.core.verdicts import Component, Components
from ragtriage.text.blocks import Block, blocks
from ragtriage.text.clauses import capitalized, clauses
from ragtriage.text.facts import row_text
from ragtriage.text.html import on_visible_text
from ragtriage.text.inline_markup import plain_text
from ragtriage.text.lexicon import REMARKS
from ragtriage.text.pronouns import AUXILIARY_WORD, Subject, resolve, stands_alone, subject
from ragtriage.text.remarks import Remark, kind_of, parts, remark, worded_as_remark
from ragtriage.text.sentences import sentences_of

_NUMBERED = re.compile(r"\d{1,2}\.\s+")
_LONG_LEAD = 160


class _Reader:
    """Goes through the blocks of one response and remembers what a later sentence may lean on."""

    def __init__(self, text: str, query: str, *, marked: bool) -> None:
        self.text = text
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

    def _claims(self, start: int, end: int, *, cut_off: bool) -> Iterator[Component]:
        """The claims of a sentence, or of what is left of it without a remark at its beginning."""
        found_clauses = clauses(self.text[start:end])
        for clause in found_clauses:
            said = capitalized(self.plain(clause.text)) if cut_off else self.plain(clause.text)
            if len(found_clauses) > 1 and said[-1:] not in ".!?…。":
                said += "."
            resolved = resolve(said, self.topic)
            found = subject(said)
            if resolved == said:
                self.topic = found if stands_alone(found) else None
            if said:
                yield Component(resolved, (start + clause.start, start + clause.end))

    def sentence(self, start: int, end: int) -> Iterator[Component]:
        """The components of one sentence."""
        raw = self.text[start:end]
        pieces = parts(raw, self.query, behind=self.behind, opening=self.opening)
        self.behind = pieces[-1][2]
        self.opening = self.opening and self.behind in {"courtesy", "restated", "question"}
        for a, b, kind in pieces:
            if kind:
                self.topic = None
                yield Component(self.plain(raw[a:b]), (start + a, start + b), remark=True)
            else:
                yield from self._claims(start + a, start + b, cut_off=a > 0)

    def lead_in(self, start: int, end: int) -> Iterator[Component]:
        """A sentence with a colon before a list: a remark, unless it says something by itself."""
        raw = self.plain(self.text[start:end])
        kind = remark(raw)
        said = REMARKS["here_is"].sub("", raw)
        self.lead = said[:1].upper() + said[1:] if kind in {"", "lead-in"} and len(said) <= _LONG_LEAD else ""
        self.behind = kind
        if kind or REMARKS["incomplete"].search(raw) or (raw.count(" ") < 4 and not AUXILIARY_WORD.search(raw)):
            yield Component(raw, (start, end), remark=True)
        else:
            yield from self.sentence(start, end)

    def item(self, block: Block) -> Iterator[Component]:
        """A list item; one that is no sentence is read with the words before the list."""
        self.topic = None
        for number, (start, end) in enumerate(sentences_of(self.text, block)):
            yield from self.sentence(start, end) if number else self.begun(start, end)

    def begun(self, start: int, end: int) -> Iterator[Component]:
        """The first sentence of a list item."""
        said = self.plain(self.text[start:end])
        whole = said.endswith((".", "!")) and said.count(" ") > 1
        if self.lead and (said[:1].islower() or not (whole or AUXILIARY_WORD.search(said))) and not remark(said):
            yield Component(f"{self.lead} {said}", (start, end))
        else:
            yield from self.sentence(start, end)

    def read(self, block: Block, *, before_list: bool) -> Iterator[Component]:
        """The components of one block."""
        if block.shape in {"heading", "header"}:
            self.lead, self.topic = "", None
            yield Component(self.plain(self.text[block.start : block.end]), (block.start, block.end), remark=True)
        elif block.shape == "row":
            yield Component(row_text(self.text, block, marked=self.marked), (block.start, block.end))
        elif block.shape == "code":
            yield Component(self.text[block.start : block.end], (block.start, block.end))
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


@lru_cache(256)  # asked for the claims, for whether it declines and for what it answers
@on_visible_text
def split_claims(text: str, query: str = "", *, marked: bool = True) -> Components:
    """Break a response into stand-alone claims, in its order; remarks are marked as such.

    Clauses are split off with their subject where rules find it surely, pronouns replaced by the subject of the
    sentence before, list items read with the words before the list, citation marks left out; spans cover the text's own
    words. Headings, questions, courtesies and what is said about the sources are remarks. Where `marked` is False the
    marks were cut already, and what stands in brackets is text.
    """
    found = blocks(text)
    reader = _Reader(text, query, marked=marked)
    components: list[Component] = []
    for number, block in enumerate(found):
        following = found[number + 1].shape if number + 1 < len(found) else ""
        components.extend(
            c for c in reader.read(block, before_list=following in {"item", "row", "header", "code"}) if c.text
        )
    if any(c.remark and kind_of(c.text, query) in {"gap", "refusal"} for c in components):
        components = [c if c.remark else replace(c, remark=worded_as_remark(c.text, query)) for c in components]
    if any(not c.remark and not REMARKS["bare_answer"].fullmatch(c.text) for c in components):
        components = [replace(c, remark=True) if REMARKS["bare_answer"].fullmatch(c.text) else c for c in components]
    return tuple(components)
