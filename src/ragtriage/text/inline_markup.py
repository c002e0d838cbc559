"""Markup inside a line and numbers in brackets: what they look like, and a sentence's text without them."""

from __future__ import annotations

import re
from collections.abc import Iterator

MOST = 50
"""Names that a range may stand for; a longer one is no mark."""
INLINE_CODE = re.compile(r"(?<!`)(`{1,2})(?!`)[^\n]{1,500}?(?<!`)\1(?!`)")

_BRACKET = re.compile(r"\\?\[(\^?)([^\[\]\n]{1,200}?)\\?\](?!\()")
_NAMED = re.compile(
    r"(?:sources?|references?|refs?\.?|documents?|docs?|citations?|passages?)[ \t]*[:#]?[ \t]*(?:no\.[ \t]*)?(?=[\d(])",
    re.IGNORECASE,
)
_PAGE = re.compile(r"\s*,\s*(?:pp?\.|pages?)\s*\d{1,4}(?:\s?[-–—]\s?\d{1,4})?$", re.IGNORECASE)
_AND = re.compile(r"\s*,?\s+and\s+", re.IGNORECASE)
_TO = re.compile(r"\s+to\s+", re.IGNORECASE)
_NUMBERS = re.compile(r"\d{1,3}(?:\s?[-–—]\s?\d{1,3})?(?:\s?[,;&]\s?\^?\d{1,3}(?:\s?[-–—]\s?\d{1,3})?){0,20}", re.ASCII)
_RANGE = re.compile(r"(\d+)\s?[-–—]\s?(\d+)")
_SEPARATOR = re.compile(r"\s*[,;&]\s*\^?")
_WORD_BEFORE = re.compile(r"(?<!\w)\w{1,40}\Z")
_INDEXED = frozenset("arr array argv args idx nums vec".split())
_CODE_BEFORE = re.compile(r"(?:[=+*/<>%][ \t]?|\w\(|\[)\Z")
_CODE_BEHIND = re.compile(r"[ \t]?(?:=(?!\s*\[)|\+=|-=|\+\+)|\.(?=[a-z_]\w*\()|\((?!\()|\[(?!\^?\d)")
_SIGN_BEHIND = re.compile(r"[ \t]?[+*/<>%]")
_SENTENCE_BEHIND = re.compile(r"[.,](?![a-z_]\w*\()|[ \t]*(?:\r?\n|$)|\s+[A-Z]")


def numbers_in(said: str) -> tuple[str, ...]:
    """The numbers that a bracket's text names, ranges written out; none where it is something else.

    `1`, `1, 3`, `1 and 3`, `2-4`, `2 to 4`, `Source 1`, `1, p. 3`. An interval that holds a 0 is none, and so is a
    range that runs backwards; years have too many digits.
    """
    said = _PAGE.sub("", _NAMED.sub("", said.strip(), count=1) if _NAMED.match(said.strip()) else said.strip())
    said = _TO.sub("-", _AND.sub(", ", said))
    if _NUMBERS.fullmatch(said) is None:
        return ()
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


def is_index(text: str, start: int, end: int) -> bool:
    """Whether the bracket at `[start, end)` is an index into something: `my_list[2]`, `rows[1].id()`, `x = a[1]`.

    A letter alone is a grade, a unit or a name as well ("vitamin C[1]"), so it takes a sign of code beside it.
    Nothing on another line makes a bracket an index.
    """
    before = _WORD_BEFORE.search(text, max(0, start - 41), start)
    if before is None:
        return False
    word = before[0]
    if "_" in word or word.lower() in _INDEXED or _CODE_BEHIND.match(text, end):
        return True
    if len(word) > 1 or not word.isalpha() or _SENTENCE_BEHIND.match(text, end):
        return False
    return bool(_SIGN_BEHIND.match(text, end) or _CODE_BEFORE.search(text[max(0, before.start() - 3) : before.start()]))


def citation_mark_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where numbers in brackets stand that are marks by all that the text tells; footnotes of any name too."""
    code = [m.span() for m in INLINE_CODE.finditer(text)] if "`" in text else []
    for m in _BRACKET.finditer(text):
        named = bool(m[1]) and re.fullmatch(r"[\w-]{1,40}", m[2]) is not None
        inside = any(a < m.end() and m.start() < b for a, b in code)
        if not inside and (named or numbers_in(m[2])) and (m[1] or not is_index(text, *m.span())):
            yield m.span()


_SUPERSCRIPTS = r"(?:[⁰¹²³⁴-⁹]{1,6}|<sup>[^<\n]{1,20}</sup>)"
_MARK = r"\[\^?\d{1,4}(?:\s?[,;–-]\s?\^?\d{1,4}){0,20}\](?!\()|\[\^[\w-]{1,40}\]|【[^】\n]{1,60}】"

TAIL = re.compile(
    rf"(?:[\"'”’»›)\]}}*_`」』]|[ \t]{{0,2}}(?:{_MARK}|{_SUPERSCRIPTS})|\[[^\]\[\n]{{1,40}}\](?!\())*[.!?…]*"
)
"""What may stand between a stop and the end of its sentence: closing quotes and brackets, marks, stops behind marks."""

# behind a letter, a unit or a digit it is an exponent: 50 m², 10⁹
_RAISED = re.compile(rf"(?<=[.,;:!?…”\"»]){_SUPERSCRIPTS}|[ \t]{{0,2}}【\d[^】\n]{{0,60}}】")
_LINK = re.compile(r"!?\[([^\]\[\n]{1,300})\]\([^()\s]{1,500}\)")
_BOLD = re.compile(r"\*\*|(?<![\w_])__(?=[^\W_])|(?<=[^\W_])__(?![\w_])|~~")
_STAR = re.compile(r"(?<![\w*\\])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])")
_CODE = re.compile(r"`{1,3}")
_QUOTE = re.compile(r"\n[ \t]*>[ \t]?")
_SPACE = re.compile(r"\s+")


def plain_text(text: str, *, marked: bool = True) -> str:
    """The words of a text without citation marks, emphasis, link addresses and line breaks.

    Only what can be nothing but a mark goes: no exponent, no years or interval in brackets, no index.

    Args:
        text: a sentence or a part of one.
        marked: whether marks may stand in it; False where they were cut already, and what stands in brackets is text.
    """
    if marked and ("[" in text or "【" in text or "<" in text or not text.isascii()):
        text = _RAISED.sub("", _unnumbered(text))
    if "[" in text:
        text = _LINK.sub(r"\1", text)
    if "*" in text or "_" in text or "~" in text:
        text = _STAR.sub(r"\1", _BOLD.sub("", text))
    if "`" in text:
        text = _CODE.sub("", text)
    if "\n" in text:
        text = _QUOTE.sub(" ", text)
    return _SPACE.sub(" ", text).strip()


def _unnumbered(text: str) -> str:
    """The text without numbers in brackets that are marks, and without the blanks before them."""
    if "[" not in text:
        return text
    kept, at = [], 0
    for start, end in citation_mark_spans(text):
        kept.append(text[at:start].rstrip(" \t"))
        at = end
    return "".join([*kept, text[at:]])
