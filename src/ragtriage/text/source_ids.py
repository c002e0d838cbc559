"""The ids of a case's sources, what looks like one of them, and marks that name a document: `[faq.md, p. 3]`."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ragtriage.text.lexicon import CITATIONS
from ragtriage.text.markup import numbers_in
from ragtriage.text.pronouns import AUXILIARY_WORD

_SEPARATORS = tuple(re.compile(p) for p in (r"\s*;\s*\^?", r"\s*[,;&]\s*\^?", r"\s*(?:[,;&]|,?\s\band\b)\s*\^?"))
_PAGE = re.compile(r"\s*(?:,\s*(?:pp?\.|pages?|sec(?:tion|\.)|§)|#page=)\s*\d+(?:\s*[-–]\s*\d+)?$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_EXTENSION = re.compile(r"[^\s/][^/\n]{0,100}\.[A-Za-z][A-Za-z0-9]{0,4}")


class SourceIds:
    """The ids of a case's sources, and what else looks like one of them."""

    def __init__(self, ids: Sequence[str | None]) -> None:
        self.count = len(ids)
        """Of the sources, with and without an id."""
        self._known = frozenset(filter(None, ids))
        self._alike = frozenset(name.casefold() for name in self._known)
        self._shapes = frozenset(_shape(n) for n in self._known if _DIGITS.search(n) and not n.isdigit())
        self._files = frozenset(_ending(name) for name in self._known if _EXTENSION.fullmatch(name))
        self._bare = frozenset(map(bare, self._known))
        self._spaced = any(" " in name for name in self._known)

    def holds_any(self, names: Iterable[str]) -> bool:
        """Whether one of these names is an id."""
        return any(name in self._known for name in names)

    def named(self, said: str) -> tuple[str, ...]:
        """The names that a bracket holds: ids, what looks like one, or numbers; none if it is no mark."""
        for text in dict.fromkeys(
            (said, CITATIONS["id_prefix"].sub("", said, count=1) if CITATIONS["id_prefix"].match(said) else said)
        ):
            for name in (text, _PAGE.sub("", text)):
                if name in self._known:
                    return (name,)
            if numbers := numbers_in(text):
                return numbers
            for separator in _SEPARATORS:
                parts = tuple(part for part in separator.split(text) if part)
                if parts and all(map(self._looks_like_one, parts)):
                    return tuple(dict.fromkeys(parts))
        return ()

    def resembles(self, name: str) -> bool:
        """Whether an id is this name in other letters, without its folder or its ending; or is one of a like file."""
        return bare(name) in self._bare or self._looks_like_one(name)

    def parts(self, said: str) -> tuple[str, ...]:
        """The names that a mark of a user's own pattern holds, whatever they look like."""
        return tuple(filter(None, _SEPARATORS[1].split(said))) or (said,)

    def _looks_like_one(self, part: str) -> bool:
        if part in self._known or part.casefold() in self._alike or _shape(part) in self._shapes:
            return True
        file = _EXTENSION.fullmatch(part) is not None and (self._spaced or " " not in part)
        return file and _ending(part) in self._files


def _shape(name: str) -> str:
    """What an id with numbers in it looks like, so that one that no source has is seen as such."""
    return _DIGITS.sub("#", name).casefold()


def _ending(name: str) -> str:
    return name.rpartition(".")[2].casefold()


FILE = r"(?:pdf|docx?|md|markdown|txt|html?|xlsx?|pptx?|rtf|odt|epub|rst|tex)"
"""How the names of documents end."""
_BARE = re.compile(rf"\A.*/|\.(?:{FILE}|csv|json|xml|ya?ml)\Z|#.*\Z", re.IGNORECASE)


def bare(name: str) -> str:
    """A name by which documents are the same: "House rules" and "docs/house-rules.md"."""
    return " ".join(re.split(r"[\s_-]+", _BARE.sub("", _PAGE.sub("", name)).casefold().removeprefix("the "))).strip()


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
