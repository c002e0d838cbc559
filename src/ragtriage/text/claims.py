"""Splits a response into claims, each understandable by itself, and tells remarks from claims."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Literal

from ragtriage.core.verdicts import Component, Components, Span
from ragtriage.text.blocks import Block, blocks
from ragtriage.text.claim_parts import FEWEST, SEVERAL, Marker, Marks, PartKind, capitalized, parts_of
from ragtriage.text.lexicon import REMARKS
from ragtriage.text.markup import on_visible_text, plain_text
from ragtriage.text.pronouns import AUXILIARY_WORD, Subject, resolve, stands_alone, subject
from ragtriage.text.sentences import row_text, sentences_of
from ragtriage.text.short_answers import says_no_answer

Remark = Literal["", "gap", "refusal", "about", "pointer", "courtesy", "restated", "question", "lead-in"]
"""`gap`: the sources don't say; `refusal`: the answer can't or won't; `about`: what the sources deal with; `pointer`:
where else to look; `restated`: the user's own question in other words; `lead-in`: the words before a list. Empty: a
claim."""


ABOUT_SOURCES = frozenset({"gap", "refusal", "about"})
"""Kinds behind which "they" and "it" are the sources."""
_BECAUSE = re.compile(r"(?:as|since)\b", re.IGNORECASE)
_LONGEST = 1000


@cache  # on first use: to compile them takes a fifth of the start of a command that needs none
def _rules() -> tuple[tuple[Remark, re.Pattern[str]], ...]:
    """Tried in order; matched at the beginning of the sentence, straight apostrophes, without marks."""
    return tuple((rule["kind"], re.compile(REMARKS.filled(rule["pattern"]))) for rule in REMARKS.entries["rules"])


@lru_cache(512)  # a response is read by several questions, each for itself
def remark(clause: str, *, behind: Remark = "", opening: bool = True) -> Remark:
    """Which kind of remark a clause is by rules; empty if it makes a claim, or none of them knows it.

    `behind` is the kind of what stands before it; the user's question is restated only at the `opening` of a response.
    """
    said = clause.strip().replace("’", "'")[:_LONGEST]
    if said.endswith("?"):
        return "question"
    again = behind in ABOUT_SOURCES
    for kind, rule in _rules():
        if (kind == "restated" and not opening) or rule.match(said) is None:
            continue
        named = kind != "about" or again or REMARKS["sources_named"].search(said) or said.startswith("I ")
        return kind if named else ""
    return "gap" if again and REMARKS["again"].match(said) else ""


def pieces(sentence: str) -> list[tuple[int, int]]:
    """The stretches of a sentence that may be remarks or claims each for itself."""
    cuts = [m.span() for m in REMARKS["part"].finditer(sentence[:_LONGEST])]
    return list(zip([0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(sentence)], strict=True))


def parts(sentence: str, *, behind: Remark = "", opening: bool = True) -> list[tuple[int, int, Remark]]:
    """A sentence's stretches with the kind of each, by rules; one for the whole, unless some are remarks.

    A claim's stretch begins behind the word that joins it to the remark ("but", "so").
    """
    cut = pieces(sentence)
    rule = remark(sentence, behind=behind, opening=opening)
    if len(cut) == 1 or rule in {"restated", "question"}:
        return [(0, len(sentence), rule)]
    found: list[tuple[int, int, Remark]] = []
    before = behind
    for a, b in cut:
        joined = REMARKS["joined"].match(sentence, a, b)
        kept = joined.end() if joined and a else a
        kind = remark(sentence[a:b], behind=before, opening=opening and not a) or (
            remark(sentence[kept:b], behind=before, opening=False) if kept > a else ""
        )
        if found and not found[-1][2] and (_BECAUSE.match(sentence, a) or not any(c.isalpha() for c in sentence[a:b])):
            found[-1] = (found[-1][0], b, "")
            continue
        before = kind or before
        found.append((a if kind else kept, b, kind))
    if rule == "lead-in" and {kind for *_, kind in found} <= {"", "lead-in"}:
        return [(0, len(sentence), rule)]
    if all(kind for *_, kind in found):
        return [(0, len(sentence), found[0][2])]
    return found if any(kind for *_, kind in found) else [(0, len(sentence), rule)]


_NUMBERED = re.compile(r"\d{1,2}\.\s+")
_LONG_LEAD = 160
_KINDS: Mapping[PartKind, Remark] = {"claim": "", "remark": "about", "declines": "gap"}
_BARE_REFUSAL = re.compile(REMARKS.regex("bare_refusal"), re.IGNORECASE)
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
        return plain_text(text, marked=self.marked)

    def _claim(self, text: str, span: Span) -> Component:
        said = self.plain(text)
        resolved = resolve(said, self.topic)
        if resolved == said:
            found = subject(said)
            self.topic = found if stands_alone(found) else None
        return Component(resolved, span)

    def sentence(self, start: int, end: int) -> Iterator[Said]:
        if listed := _listed(self.text, start, end):
            self.topic = None
            lead = self.plain(self.text[start : listed[0][0]])
            for a, b in listed:  # the words before the list stand with its first item
                span = (start, b) if a == listed[0][0] else (a, b)
                yield Component(f"{lead} {self.plain(self.text[a:b])}".strip(), span), ""
            return
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
        """The components of one sentence as they are marked; rules know questions, courtesies and bare refusals."""
        said = self.text[start:end].strip().replace("’", "'")
        whole = remark(said, opening=False)
        bare = _BARE_REFUSAL.fullmatch(said) is not None
        for part in parts_of(self.text, marks, start, end):
            kind = "refusal" if bare else _KINDS[part.kind] or (whole if whole in _ASIDE else "")
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
        said = self.plain(self.text[start:end])
        whole = said.endswith((".", "!")) and said.count(" ") > 1
        if self.lead and (said[:1].islower() or not (whole or AUXILIARY_WORD.search(said))) and not remark(said):
            yield Component(f"{self.lead} {said}", (start, end)), ""
        else:
            yield from self.sentence(start, end)

    def read(self, block: Block, *, before_list: bool) -> Iterator[Said]:
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


_INLINE = re.compile(r"(?P<lead>[^:;\n]{3,120}[^\s:;\d]):\s+(?P<items>[^:\n]{3,400}?)[.!]?\Z")
_PARTED = re.compile(r"\s*;\s*(?:and\s+|or\s+)?|\s*,\s+(?:and\s+|or\s+)?|\s+(?:and|or)\s+(?=[^,;]*\Z)")
_QUOTED = re.compile(r"\s*[-–•]?\s*[\"“«][^\"“”«»\n]{3,400}[\"”»][^;\"“”«»]{0,120}\Z")
_LONGEST_ITEM = 8
"""Words of an item that stands in a line with others."""


def _listed(text: str, start: int, end: int) -> list[Span]:
    """The items of a list in one sentence: "X offers: a, b and c", or quotations parted by semicolons; else none."""
    sentence = text[start:end]
    quotations = _cut_at(re.compile(r"\s*;\s*"), text, start, end)
    if len(quotations) >= SEVERAL and all(_QUOTED.match(text[a:b]) for a, b in quotations):
        return quotations
    found = _INLINE.match(sentence)
    if found is None or not _says(found["lead"]) or remark(found["lead"] + ":") not in {"", "lead-in"}:
        return []
    a, b = found.span("items")
    items = _cut_at(_PARTED, text, start + a, start + b)
    texts = [text[a:b] for a, b in items]
    short = all(0 < len(said.split()) <= _LONGEST_ITEM and not AUXILIARY_WORD.search(said) for said in texts)
    return items if len(items) >= FEWEST and short else []


def _says(lead: str) -> bool:
    """Whether words before a list could be the beginning of a sentence, and not its title."""
    return len(lead.split()) >= FEWEST or AUXILIARY_WORD.search(lead) is not None


def _cut_at(separator: re.Pattern[str], text: str, start: int, end: int) -> list[Span]:
    cuts = [m.span() for m in separator.finditer(text, start, end)]
    return list(zip([start, *(b for _, b in cuts)], [*(a for a, _ in cuts), end], strict=True))


Said = tuple[Component, Remark]
"""A component, and which kind of remark it is; empty for a claim."""


def read_response(text: str, query: str, marker: Marker | None, *, marked: bool) -> tuple[Said, ...]:
    """The components of a text as it is shown, each with its kind; see `split_claims`."""
    if says_no_answer(text):  # what came so far is what was asked for: see `short_answers`
        marker = None
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
