"""Markup: the text that is visible of HTML, and marks and numbers in brackets inside a line."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from html import unescape
from typing import Concatenate, ParamSpec

from ragtriage.core.verdicts import Component, Components

_P = ParamSpec("_P")

_SIGN = re.compile(
    r"</(?:p|div|table|tr|td|th|ul|ol|li|dl|dd|h[1-6]|section|article|span|strong|em|blockquote|pre|a|b|i)>"
    r"|<(?:br|hr)\s*/?>",
    re.IGNORECASE,
)
_TOKEN = re.compile(
    r"```.*?```|`[^`\n]+`|<!--[^<>]*-->|<(?P<end>/?)(?P<tag>[a-z][a-z0-9]*)(?:[\s/][^<>]*)?>|&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]\w{1,24});",
    re.IGNORECASE | re.DOTALL,
)
"""Code in Markdown stays as it is; a tag or a character's name stands for something else."""
_BLOCKS = frozenset(
    "p div br hr table ul ol li dl dt dd h1 h2 h3 h4 h5 h6 section article header footer blockquote pre figure".split()
)
_UNREAD = frozenset(("script", "style", "template"))
_Placed = list[tuple[str, int]]
"""Characters, each with its place in the HTML."""


def visible_text(text: str) -> str:
    """What a page shows of a text; the text itself if it isn't HTML."""
    return "".join(char for char, _ in _read(text)) if _SIGN.search(text) else text


def on_visible_text(split: Callable[Concatenate[str, _P], Components]) -> Callable[Concatenate[str, _P], Components]:
    """A decomposition that reads HTML as it is shown; its spans are places in the HTML."""

    @wraps(split)
    def splitting(text: str, /, *args: _P.args, **named: _P.kwargs) -> Components:
        if not _SIGN.search(text):
            return split(text, *args, **named)
        placed = _read(text)
        found = split("".join(char for char, _ in placed), *args, **named)
        return tuple(_back(component, placed) for component in found)

    return splitting


def _back(component: Component, placed: _Placed) -> Component:
    if component.span is None or component.span[0] == component.span[1]:
        return component
    start, end = component.span
    return replace(component, span=(placed[start][1], placed[end - 1][1] + 1))


def _read(text: str) -> _Placed:
    """What is shown, a line a block."""
    page, at, hidden = _Page(), 0, ""
    for token in _TOKEN.finditer(text):
        if not hidden:
            page.write(text[at : token.start()], at)
        at = token.end()
        tag = (token["tag"] or "").lower()
        if tag in _UNREAD and (not hidden or hidden == tag):
            hidden = "" if token["end"] else tag
        elif hidden:
            continue
        elif tag:
            page.mark(tag, token.start(), ends=bool(token["end"]))
        elif token[0].startswith("`"):
            page.write(token[0], token.start())
        elif token[0].startswith("&"):
            page.write(unescape(token[0])[:1], token.start())
    if not hidden:
        page.write(text[at:], at)
    page.end_row(len(text) - 1)
    return list(_tidied(page.out))


def _tidied(placed: _Placed) -> Iterator[tuple[str, int]]:
    line: _Placed = []
    for char, place in [*placed, ("\n", len(placed))]:
        if char != "\n":
            line.append((" " if char.isspace() else char, place))
            continue
        while line and line[-1][0] == " ":
            line.pop()
        begin = next((i for i, (one, _) in enumerate(line) if one != " "), len(line))
        if begin < len(line):
            yield from line[begin:]
            yield "\n", line[-1][1]
        line = []


class _Page:
    """Writes down what is shown; within a row of a table its cells."""

    def __init__(self) -> None:
        self.out: _Placed = []
        self._cells: list[_Placed] | None = None
        self._header = False
        self._rows = 0

    def write(self, said: str, at: int) -> None:
        """Text that stands in one piece, from a place on."""
        if self._cells is None:
            self.out += [(char, at + i) for i, char in enumerate(said)]
        elif self._cells:
            self._cells[-1] += [(" " if char.isspace() else char, at + i) for i, char in enumerate(said)]

    def mark(self, tag: str, at: int, *, ends: bool) -> None:
        if tag in {"table", "tr"}:
            self.end_row(at)
            if not ends and tag == "tr":
                self._cells, self._header = [], False
            elif not ends:
                self._rows = 0
        elif tag in {"td", "th"} and self._cells is not None:
            if not ends:
                self._cells.append([])
                self._header = self._header or tag == "th"
        elif tag in _BLOCKS:
            self._sign(" " if self._cells is not None else "\n- " if tag == "li" and not ends else "\n", at)

    def end_row(self, at: int) -> None:
        """Write the row that was begun; the first one of headings is the header of those below."""
        cells, self._cells = self._cells, None
        if not cells:
            return
        self._sign("\n|", at)
        for cell in cells:
            self.out += [(" ", at), *cell, (" ", at), ("|", at)]
        self._sign("\n", at)
        if self._header and not self._rows:
            self._sign("|" + "---|" * len(cells) + "\n", at)
        self._rows += 1

    def _sign(self, said: str, at: int) -> None:
        (self.out if not self._cells else self._cells[-1]).extend((char, at) for char in said)


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

    Only what can be nothing but a mark goes: no exponent, no years or interval in brackets, no index. Where `marked` is
    False the marks were cut already, and what stands in brackets is text.
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
