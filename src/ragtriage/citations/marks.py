"""Citation marks in a text: where they stand and which names they hold.

`[1]`, `[1, 3]`, `[1][2]`, `[2-4]`, `[^1]`, `【1】`, `【1†source】`, ids in brackets, or a pattern of the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.errors import ConfigError
from ragtriage.judges.embedded.decompose.blocks import blocks

MOST = 50
"""Names that a range may stand for; a longer one is no mark."""

Span = tuple[int, int]

_INLINE_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[^\n]{1,500}?(?<!`)\1(?!`)")
_LINK = re.compile(
    r"!?\[(?:[^\[\]\n]|\\?\[[^\[\]\n]{0,200}\]){0,300}\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*(?:\s+\"[^\"\n]*\")?\)"
)
_TASK = re.compile(r"^[ \t>]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(\[[ xX]\])(?=[ \t])", re.MULTILINE)
_SQUARE = re.compile(r"\\?\[(\^?)([^\[\]\n]{1,200}?)\\?\]")
_LENTICULAR = re.compile(r"【([^【】\n]{1,200})】")
_NUMBERS = re.compile(r"\d{1,3}(?:\s?[-–—]\s?\d{1,3})?(?:\s?[,;&]\s?\^?\d{1,3}(?:\s?[-–—]\s?\d{1,3})?){0,20}", re.ASCII)
_RANGE = re.compile(r"(\d+)\s?[-–—]\s?(\d+)")
_SEPARATOR = re.compile(r"\s*[,;&]\s*\^?")
_WORD_BEFORE = re.compile(r"(?<!\w)\w{1,40}$")
_INDEXED = frozenset("arr array argv args idx nums vec".split())
_CODE_BEHIND = re.compile(r"\s?(?:=(?!\s*\[)|\+=|-=|\+\+)|\.(?=[a-z_]\w*\()|\((?!\()|\[(?!\^?\d)")
_DIGITS = re.compile(r"\d+")


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


def find_marks(text: str, ids: Collection[str] = (), own: str | None = None) -> tuple[Mark, ...]:
    """The marks of a text, in its order.

    Code, links, checkboxes, indexes (`a[1]`), years (`[1990-1995]`) and intervals that hold a 0 are none. A text in
    brackets that is no number is a mark only if it is an id of a source, or looks like one: `[doc-9]` beside `doc-1`.

    Args:
        text: a response.
        ids: of the sources.
        own: the user's own pattern, which stands instead of the usual ones.

    Raises:
        ConfigError: `own` is no regular expression.
    """
    hidden = _hidden(text)
    found = _own(text, pattern_of(own), ids) if own else (*_squares(text, ids), *_lenticulars(text, ids))
    return tuple(sorted((m for m in found if not _covered(m, hidden)), key=lambda m: m.start))


def _hidden(text: str) -> list[Span]:
    """Where no mark can stand: code, links and checkboxes."""
    found = [(b.start, b.end) for b in blocks(text) if b.shape == "code"] if "```" in text or "~~~" in text else []
    found += [m.span() for m in _INLINE_CODE.finditer(text)]
    found += [m.span() for m in _LINK.finditer(text)]
    return found + [m.span(1) for m in _TASK.finditer(text)]


def _covered(mark: Mark, hidden: Collection[Span]) -> bool:
    return any(start < mark.end and mark.start < end for start, end in hidden)


def _squares(text: str, ids: Collection[str]) -> Iterator[Mark]:
    shapes = _shapes(ids)
    for m in _SQUARE.finditer(text):
        names = _named(m[2].strip(), ids, shapes)
        if names and not (m[1] == "" and _is_index(text, m)):
            yield Mark(m.start(), m.end(), names, label=len(names) == 1)
        elif m[1] and re.fullmatch(r"[\w.-]{1,40}", m[2]):  # a footnote of any name, which its definition may explain
            yield Mark(m.start(), m.end(), (m[2],), label=True)


def _lenticulars(text: str, ids: Collection[str]) -> Iterator[Mark]:
    """`【1】` and `【1†source】`. `【4:0†file】` counts its own way: only a file that is an id tells what it names."""
    shapes = _shapes(ids)
    for m in _LENTICULAR.finditer(text):
        number, _, named = (part.strip() for part in m[1].partition("†"))
        names = (named,) if named and named in ids else _named(number, ids, shapes)
        if names:
            yield Mark(m.start(), m.end(), names)


def _own(text: str, pattern: re.Pattern[str], ids: Collection[str]) -> Iterator[Mark]:
    shapes = _shapes(ids)
    group: str | int = "name" if "name" in pattern.groupindex else min(1, pattern.groups)
    for m in pattern.finditer(text):
        said = (m[group] or "").strip()
        if said and m.end() > m.start():
            names = _named(said, ids, shapes) or tuple(filter(None, _SEPARATOR.split(said)))
            yield Mark(m.start(), m.end(), names or (said,))


def _named(said: str, ids: Collection[str], shapes: Collection[str]) -> tuple[str, ...]:
    """The names that a bracket holds; none if it is no mark."""
    if said in ids:
        return (said,)
    if _NUMBERS.fullmatch(said):
        return _numbers(said)
    parts = tuple(part for part in _SEPARATOR.split(said) if part)
    if parts and all(part in ids or _shape(part) in shapes for part in parts):
        return tuple(dict.fromkeys(parts))
    return ()


def _numbers(said: str) -> tuple[str, ...]:
    """The numbers of a mark, ranges written out; none where it is an interval or a range that runs backwards."""
    found: list[int] = []
    for part in _SEPARATOR.split(said):
        between = _RANGE.fullmatch(part)
        if between is None:
            found.append(int(part))
            continue
        low, high = int(between[1]), int(between[2])
        if not low < high <= low + MOST:
            return ()
        found += range(low, high + 1)
    if 0 in found and len(found) > 1:
        return ()
    return tuple(dict.fromkeys(map(str, found)))


def _shapes(ids: Collection[str]) -> frozenset[str]:
    """What ids with numbers in them look like, so that one that no source has is seen as such."""
    return frozenset(_shape(name) for name in ids if _DIGITS.search(name) and not name.isdigit())


def _shape(name: str) -> str:
    return _DIGITS.sub("#", name)


def _is_index(text: str, found: re.Match[str]) -> bool:
    """Whether a bracket is an index into something: `a[1]`, `my_list[2]`, `rows[1].id()`; `as shown[1].` is none."""
    before = _WORD_BEFORE.search(text, max(0, found.start() - 41), found.start())
    if before is None:
        return False
    word = before[0]
    if (len(word) == 1 and word.isalpha()) or "_" in word or word.lower() in _INDEXED:
        return True
    return _CODE_BEHIND.match(text, found.end()) is not None
