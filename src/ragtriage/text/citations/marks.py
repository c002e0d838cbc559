"""Citation marks in a text: where they stand and which names they hold.

`[1]`, `[1, 3]`, `[1 and 3]`, `[1][2]`, `[2-4]`, `[1]-[3]`, `[^1]`, `[Source 1]`, `[1, p. 3]`, `[[1]](https://…)`,
`【1】`, `【1†source】`, ids in brackets, or a pattern of the user's own. Code, links and checkboxes hold none.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ragtriage.core.errors import ConfigError
from ragtriage.core.verdicts import Span
from ragtriage.text.blocks import blocks
from ragtriage.text.lexicon import CITATIONS
from ragtriage.text.markup import INLINE_CODE, is_index, numbers_in

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


LINK = re.compile(
    r"!?\[(?:[^\[\]\n]|\\?\[[^\[\]\n]{0,200}\]){0,300}\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)"
)
_NUMBER_LINK = re.compile(r"\[\[[^\[\]\n]*\]\]\(")
_TASK = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(\[[ xX]\])(?=[ \t])", re.MULTILINE)


def code_blocks(text: str) -> Iterator[Span]:
    """Code in fences, or indented by four spaces."""
    if "```" in text or "~~~" in text or "\n    " in text or "\n\t" in text:
        yield from ((b.start, b.end) for b in blocks(text) if b.shape == "code")


def code_spans(text: str) -> list[Span]:
    """All code, in blocks and in lines."""
    return [*code_blocks(text), *(m.span() for m in INLINE_CODE.finditer(text))]


def hidden_spans(text: str, *, own: bool = False) -> list[Span]:
    """Where no mark stands. A pattern of the user's own (`own`) says what a mark is, and may mean links or inline code.

    A link that is nothing but a number in brackets, `[[2]](https://…)`, is a mark and not hidden.
    """
    found = [*code_blocks(text), *(m.span(1) for m in _TASK.finditer(text))]
    if not own:
        found += [m.span() for m in INLINE_CODE.finditer(text)]
        found += [m.span() for m in LINK.finditer(text) if _NUMBER_LINK.match(m[0]) is None]
    return found


def overlaps_any(start: int, end: int, spans: Collection[Span]) -> bool:
    """Whether `[start, end)` lies in one of these, or across its border."""
    return any(a < end and start < b for a, b in spans)


FAR = 2
"""How many times as large as the number of sources a number is that hardly means one of them."""

_SQUARE = re.compile(r"\\?\[(\^?)([^\[\]\n]{1,200}?)\\?\]")
_LENTICULAR = re.compile(r"【([^【】\n]{1,200})】")
_TO = re.compile(r"\s?[-–—]\s?")
_SAID_BEHIND = re.compile(r"\s+[a-z]")
_ADDRESS = re.compile(r"\]?\(")
_UNREAD = re.compile(
    r"\[[^\[\]\n]*\d[^\[\]\n]*\]|【[^【】\n]*\d[^【】\n]*】|［[^［］\n]*\d[^［］\n]*］|〔[^〔〕\n]*\d[^〔〕\n]*〕|"
    r"(?:(?<=[^\W\d_]{3})|(?<=[.,;:!?”\"»)]))(?:[⁰¹²³⁴-⁹]+|<sup>[^<\n]*\d[^<\n]*</sup>)"
)
"""Raised numbers behind a unit or a digit are exponents."""


@dataclass(frozen=True, slots=True)
class Mark:
    """One citation mark, `[start, end)` in characters."""

    start: int
    end: int
    names: tuple[str, ...]
    """What it holds, ranges written out: `[2-4]` names 2, 3 and 4."""
    label: bool = False
    """Whether it may be explained by a footnote or a list of references: it holds one name alone."""


@lru_cache(64)
def pattern_of(own: str) -> re.Pattern[str]:
    """A user's own pattern, compiled.

    Raises:
        ConfigError: it is no regular expression, it matches the empty text, or it has no group.
    """
    try:
        found = re.compile(own)
    except re.error as error:
        raise ConfigError(f"the citation mark {own!r} is no regular expression: {error}") from error
    if found.search(""):
        raise ConfigError(f"the citation mark {own!r} matches the empty text: say what a mark looks like")
    if not found.groups:
        raise ConfigError(
            f"the citation mark {own!r} has no group: put parentheses around what names the source, for example "
            r"'\(source (\d+)\)' for (source 2)"
        )
    return found


def find_marks(text: str, ids: Sequence[str | None] = (), own: str | None = None) -> tuple[Mark, ...]:
    """The marks of a text, in its order.

    Code, links, checkboxes, indexes (`x = a[1]`), years (`[1990-1995]`), intervals that hold a 0 and numbers in mid-
    sentence far beyond the number of sources are none. A text in brackets that is no number is a mark only if it is an
    id of a source, or looks like one: `[doc-9]` beside `doc-1`, `[pets.md]` beside `fares.md`, `[Doc-1]`.

    Args:
        text: a response.
        ids: one a source, None where it has none.
        own: the user's own pattern, which stands instead of the usual ones.

    Raises:
        ConfigError: `own` is no regular expression.
    """
    known = SourceIds(ids)
    if own:
        found = [_with_link(text, mark) for mark in _own(text, pattern_of(own), known)]
    else:
        found = [*_squares(text, known), *_lenticulars(text, known)]
    if not found:
        return ()
    hidden = hidden_spans(text, own=bool(own))
    shown = sorted((m for m in found if not overlaps_any(m.start, m.end, hidden)), key=lambda m: m.start)
    apart = [m for at, m in enumerate(shown) if not at or shown[at - 1].end <= m.start]
    return tuple(_ranges(text, apart))


def unrecognized(text: str, marks: Sequence[Mark]) -> tuple[str, ...]:
    """What looks as if it might cite and isn't among the marks: numbers in brackets or raised, as they are written.

    Numbers in round brackets are among them only where the text has no marks.
    """
    at, left = 0, []
    for start, end in sorted([*((mark.start, mark.end) for mark in marks), *code_spans(text)]):
        left.append(text[at : max(at, start)])
        at = max(at, end)
    rest = "\n".join([*left, text[at:]])
    found = [*_UNREAD.finditer(rest), *([] if marks else CITATIONS["round_numbers"].finditer(rest))]
    return tuple(m[0].strip() for m in sorted(found, key=lambda m: m.start()))


def _squares(text: str, ids: SourceIds) -> Iterator[Mark]:
    for m in _SQUARE.finditer(text):
        names = ids.named(m[2].strip())
        if names and not (m[1] == "" and (is_index(text, *m.span()) or _far(text, m, names, ids))):
            yield _doubled(text, Mark(m.start(), m.end(), names, label=len(names) == 1))
        elif m[1] and re.fullmatch(r"[\w.-]{1,40}", m[2]):  # a footnote of any name, which its definition may explain
            yield Mark(m.start(), m.end(), (m[2],), label=True)


def _far(text: str, found: re.Match[str], names: Sequence[str], ids: SourceIds) -> bool:
    """Whether numbers in mid-sentence can hardly mean sources: "between [10, 20] years" beside five of them."""
    numbers = [int(name) for name in names if name.isdigit()]
    if not ids.count or len(numbers) < len(names) or ids.holds_any(names):
        return False
    if min(numbers) <= ids.count or max(numbers) < FAR * ids.count:
        return False
    before = CITATIONS["said_before"].search(text[max(0, found.start() - 20) : found.start()])
    return before is not None or (len(numbers) > 1 and _SAID_BEHIND.match(text, found.end()) is not None)


def _doubled(text: str, mark: Mark) -> Mark:
    """The mark with brackets around it, and the link that these are: `[[1]]`, `[[1]](https://…)`."""
    if not mark.start or text[mark.start - 1] != "[" or text[mark.end : mark.end + 1] != "]":
        return mark
    link = LINK.match(text, mark.start - 1)
    return replace(mark, start=mark.start - 1, end=link.end() if link else mark.end + 1)


def _lenticulars(text: str, ids: SourceIds) -> Iterator[Mark]:
    """`【1】` and `【1†source】`. `【4:0†file】` counts its own way: only a file that is an id tells what it names."""
    for m in _LENTICULAR.finditer(text):
        number, _, named = (part.strip() for part in m[1].partition("†"))
        names = (named,) if named and ids.holds_any([named]) else ids.named(number)
        if names:
            yield Mark(m.start(), m.end(), names)


def _own(text: str, pattern: re.Pattern[str], ids: SourceIds) -> Iterator[Mark]:
    group: str | int = "name" if "name" in pattern.groupindex else 1
    for m in pattern.finditer(text):
        said = (m[group] or "").strip()
        if said and m.end() > m.start():
            yield Mark(m.start(), m.end(), ids.named(said) or ids.named(_digits(said)) or ids.parts(_digits(said)))


def _digits(said: str) -> str:
    """A name with its digits as they are usually written: ² and ② are 2."""
    return "".join(str(unicodedata.digit(c, c)) for c in said)


def _with_link(text: str, mark: Mark) -> Mark:
    """A mark that is the whole of a link's text, with the link's address."""
    if _ADDRESS.match(text, mark.end):
        for start in (mark.start, mark.start - 1):
            link = LINK.match(text, start) if start >= 0 else None
            if link and link.end() > mark.end:
                return replace(mark, start=start, end=link.end())
    return mark


def _ranges(text: str, marks: Sequence[Mark]) -> Iterator[Mark]:
    """The marks, with `[1]-[3]` as the range that it is."""
    held: Mark | None = None
    for mark in marks:
        if held and mark.label and held.label and _TO.fullmatch(text, held.end, mark.start):
            between = numbers_in(f"{held.names[0]}-{mark.names[0]}")
            if between:
                held = Mark(held.start, mark.end, between)
                continue
        if held:
            yield held
        held = mark
    if held:
        yield held
