"""Citation marks in a text: where they stand and which names they hold.

`[1]`, `[1, 3]`, `[1 and 3]`, `[1][2]`, `[2-4]`, `[1]-[3]`, `[^1]`, `[Source 1]`, `[1, p. 3]`, `[[1]](https://…)`,
`【1】`, `【1†source】`, ids in brackets, or a pattern of the user's own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ragtriage.core.errors import ConfigError
from ragtriage.text.brackets import is_index, numbers_in
from ragtriage.text.citations.hidden import LINK, code_spans, covered, hidden_spans
from ragtriage.text.citations.ids import Ids

FAR = 2
"""How many times as large as the number of sources a number is that hardly means one of them."""

_SQUARE = re.compile(r"\\?\[(\^?)([^\[\]\n]{1,200}?)\\?\]")
_LENTICULAR = re.compile(r"【([^【】\n]{1,200})】")
_TO = re.compile(r"\s?[-–—]\s?")
_SAID_BEFORE = re.compile(
    r"\b(?:between|from|in|of|range|ranges|interval|within|to|is|are|was|were|at|by|for|vector|list|array|values?)\s*\(?$",
    re.IGNORECASE,
)
_SAID_BEHIND = re.compile(r"\s+[a-z]")
_ADDRESS = re.compile(r"\]?\(")
_UNREAD = re.compile(
    r"\[[^\[\]\n]*\d[^\[\]\n]*\]|【[^【】\n]*\d[^【】\n]*】|［[^［］\n]*\d[^［］\n]*］|〔[^〔〕\n]*\d[^〔〕\n]*〕|"
    r"(?:(?<=[^\W\d_]{3})|(?<=[.,;:!?”\"»)]))(?:[⁰¹²³⁴-⁹]+|<sup>[^<\n]*\d[^<\n]*</sup>)"
)
"""Raised numbers behind a unit or a digit are exponents."""
_ROUND = re.compile(
    r"(?<=\S)[ \t]?\((?:(?:sources?|references?|refs?\.?|documents?|docs?|quellen?)[ \t]*[:#]?[ \t]*\d[\d ,;&–-]*|"
    r"\d{1,2}(?:[ ]?[,;–-][ ]?\d{1,2})*)\)(?=[.,;:!?。]|[ \t]*(?:\r?\n|\Z|\())",
    re.IGNORECASE,
)
"""Numbers in round brackets, which rarely cite: behind what is said, and where no other mark stands."""


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
        ConfigError: it is no regular expression, or it matches nothing at all.
    """
    try:
        found = re.compile(own)
    except re.error as error:
        raise ConfigError(f"the citation mark {own!r} is no regular expression: {error}") from error
    if found.search(""):
        raise ConfigError(f"the citation mark {own!r} matches the empty text: say what a mark looks like")
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
    known = Ids(ids)
    if own:
        hidden = hidden_spans(text, own=True)
        found = [_with_link(text, mark) for mark in _own(text, pattern_of(own), known)]
    else:
        hidden = hidden_spans(text)
        found = [*_squares(text, known), *_lenticulars(text, known)]
    shown = sorted((m for m in found if not covered(m.start, m.end, hidden)), key=lambda m: m.start)
    apart = [m for at, m in enumerate(shown) if not at or shown[at - 1].end <= m.start]
    return tuple(_ranges(text, apart))


def unread(text: str, marks: Sequence[Mark]) -> tuple[str, ...]:
    """What looks as if it might cite and isn't among the marks: numbers in brackets or raised, as they are written.

    Numbers in round brackets are among them only where the text has no marks.
    """
    at, left = 0, []
    for start, end in sorted([*((mark.start, mark.end) for mark in marks), *code_spans(text)]):
        left.append(text[at : max(at, start)])
        at = max(at, end)
    rest = "\n".join([*left, text[at:]])
    found = [*_UNREAD.finditer(rest), *([] if marks else _ROUND.finditer(rest))]
    return tuple(m[0].strip() for m in sorted(found, key=lambda m: m.start()))


def _squares(text: str, ids: Ids) -> Iterator[Mark]:
    for m in _SQUARE.finditer(text):
        names = ids.named(m[2].strip())
        if names and not (m[1] == "" and (is_index(text, *m.span()) or _far(text, m, names, ids))):
            yield _doubled(text, Mark(m.start(), m.end(), names, label=len(names) == 1))
        elif m[1] and re.fullmatch(r"[\w.-]{1,40}", m[2]):  # a footnote of any name, which its definition may explain
            yield Mark(m.start(), m.end(), (m[2],), label=True)


def _far(text: str, found: re.Match[str], names: Sequence[str], ids: Ids) -> bool:
    """Whether numbers in mid-sentence can hardly mean sources: "between [10, 20] years" beside five of them."""
    numbers = [int(name) for name in names if name.isdigit()]
    if not ids.count or len(numbers) < len(names) or ids.holds_any(names):
        return False
    if min(numbers) <= ids.count or max(numbers) < FAR * ids.count:
        return False
    before = _SAID_BEFORE.search(text[max(0, found.start() - 20) : found.start()])
    return before is not None or (len(numbers) > 1 and _SAID_BEHIND.match(text, found.end()) is not None)


def _doubled(text: str, mark: Mark) -> Mark:
    """The mark with brackets around it, and the link that these are: `[[1]]`, `[[1]](https://…)`."""
    if not mark.start or text[mark.start - 1] != "[" or text[mark.end : mark.end + 1] != "]":
        return mark
    link = LINK.match(text, mark.start - 1)
    return replace(mark, start=mark.start - 1, end=link.end() if link else mark.end + 1)


def _lenticulars(text: str, ids: Ids) -> Iterator[Mark]:
    """`【1】` and `【1†source】`. `【4:0†file】` counts its own way: only a file that is an id tells what it names."""
    for m in _LENTICULAR.finditer(text):
        number, _, named = (part.strip() for part in m[1].partition("†"))
        names = (named,) if named and ids.holds_any([named]) else ids.named(number)
        if names:
            yield Mark(m.start(), m.end(), names)


def _own(text: str, pattern: re.Pattern[str], ids: Ids) -> Iterator[Mark]:
    group: str | int = "name" if "name" in pattern.groupindex else min(1, pattern.groups)
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
