"""Marks that name a document: `[rules.pdf]`, `[faq.md, p. 3]`, `(see rules.docx, section 4)`, `(Source: handbook)`.

Also "Source: handbook" behind the last sentence. What they cite is known only where the sources' ids are such names.
"""

import re
from collections.abc import Iterator

from ragtriage.text.lexicon import CITATIONS
from ragtriage.text.pronouns import AUXILIARY_WORD
from ragtriage.text.source_ids import FILE, SourceIds

_BRACKET = re.compile(r"\[([^\[\]\n]{3,200})\](?![(\[:])|\(([^()\[\]【】\n]{3,200})\)|【([^【】\n]{3,200})】")
_PLACE = re.compile(CITATIONS.regex("place_in_document"), re.IGNORECASE)
_FILE = re.compile(rf"[^\s\"“”:|<>]+(?: [^\s\"“”:|<>]+){{0,5}}\.{FILE}(?:#[\w=.,-]+)?", re.IGNORECASE)
_DATA = re.compile(r"[^\s\"“”:|<>]+\.(?:csv|json|xml|ya?ml)(?:#[\w=.,-]+)?", re.IGNORECASE)
_APART = re.compile(r"\s*[;,&|]\s*(?:and\s+)?|\s+and\s+")
_OVER = re.compile(r"[ \t]*(?:[.!?;:,\[(【]|\r?\n|\Z)")
_LINE = re.compile(CITATIONS.regex("source_at_the_end"), re.IGNORECASE)
_FIELD = re.compile(r"\W*\w[\w ]{0,30}:[*_]*\s+\S[^\n]*\Z")
_LONGEST = 8
"""Words that the name of a document rarely exceeds."""

FoundMark = tuple[int, int, tuple[str, ...]]
"""Where a mark stands, and the names in it that a source's id may be; none where no id could be one."""


def named_marks(text: str, ids: SourceIds) -> list[FoundMark]:
    """The marks of a text that name a document, in no order."""
    if not any(sign in text for sign in "[(【:"):
        return []
    found = [*_bracketed(text), *_at_the_end(text)]
    known = any(ids.resembles(name) for *_, names in found for name in names)
    return [(start, end, names if known else ()) for start, end, names in found]


def _bracketed(text: str) -> Iterator[FoundMark]:
    for m in _BRACKET.finditer(text):
        said = next(filter(None, m.groups())).strip()
        lead = CITATIONS["names_source"].match(said)
        names = _names(said[lead.end() :] if lead else CITATIONS["points_to"].sub("", said, count=1))
        if not names or (CITATIONS["object"].search(text[max(0, m.start() - 40) : m.start()]) and not lead):
            continue
        over = _OVER.match(text, m.end()) is not None
        if lead or all(_FILE.fullmatch(name) or (over and _DATA.fullmatch(name)) for name in names):
            yield m.start(), m.end(), names


def _names(said: str) -> tuple[str, ...]:
    """The names of documents, pages and sections apart; none if it says something else."""
    parts = [_PLACE.sub("", part).strip(" \t*_\"“”'`") for part in _APART.split(said)]
    names = tuple(dict.fromkeys(part for part in parts if part))
    wordy = any(len(name.split()) > _LONGEST or AUXILIARY_WORD.search(name) for name in names)
    return () if wordy or all(map(str.isdigit, names)) else names


def _at_the_end(text: str) -> Iterator[FoundMark]:
    """The words "Source: …" behind all that is said; a field of several, as in a list of properties, isn't meant."""
    m = _LINE.search(text)
    before = text[: m.start()].rstrip() if m else ""
    if m is None or not any(map(str.isalnum, before)) or _FIELD.match(before[before.rfind("\n") + 1 :]):
        return
    if names := _names(m["names"]):
        yield m.start("mark"), m.end(), names
