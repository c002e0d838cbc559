"""Splits a text into sentences with exact spans, and a source into facts: about one per sentence, row or field.

A stop in an abbreviation, number, name or quote ends no sentence.
"""

import re

from ragtriage.core.verdicts import Component, Components
from ragtriage.text.blocks import Block, blocks, cells
from ragtriage.text.lexicon import WORDS
from ragtriage.text.markup import TAIL, on_visible_text, plain_text

_GOES_ON = WORDS.words("goes_on")
_BEFORE_NAME = WORDS.words("before_name")
_BEFORE_NUMBER = WORDS.words("before_number")
_MAY_END = WORDS.words("may_end")
_AFTER_TIME = WORDS.words("after_time")
_STARTERS = WORDS.words("starters")
_GREETINGS = WORDS.words("greetings")
_STOP = re.compile(r"[.!?…]+|[。！？｡؟।]+")
_WIDE = frozenset("。！？｡")
TOGETHER = re.compile(
    r"\([^()\n]{1,300}\)|(?<!\w)\"(?=\S)[^\"\n]{1,300}(?<=\S)\"(?!\w)|“[^“”\n]{1,300}”|«[^«»\n]{1,300}»|"
    r"「[^「」\n]{1,300}」|`[^`\n]{1,300}`"
)
_NEXT = re.compile(r"\s+[\"'“‘«(\[*_`]*([^\W_][\w'’-]{0,30}|.)?")
_ITEM = re.compile(r"(?:(?P<colon>(?<!\d):)\s{1,3}|\s|^)(?P<number>\d{1,2})\.$")
_SECOND = re.compile(r"\s2\.\s")
_CUT_MONTHS = dict.fromkeys(name[:3].title() for name in WORDS.ordered("months") + WORDS.ordered("german_months"))
_MONTH = re.compile(rf"\s+(?:{'|'.join(_CUT_MONTHS)})\w*\.?\s+(?:\d{{4}}|bis|und|to|and)\b")
_FIGURE = re.compile(r"[A-Z]|[IVXLC]{2,5}")
_NEAR = 1000
"""Characters in which a list's second item begins."""
_LONGEST = 40


def _before(text: str, start: int, at: int) -> str:
    """The word that ends at `at`, at most forty characters of it."""
    low = max(start, at - _LONGEST)
    begin = at
    while begin > low and not text[begin - 1].isspace() and text[begin - 1] not in "([{\"“‘'*_—–/":
        begin -= 1
    return text[begin:at]


def _full_stop_ends(word: str, following: str, *, first: bool) -> bool:
    """Whether a full stop between these two words ends a sentence."""
    low = word.lower()
    starts = following.lower() in _STARTERS and following[:1].isupper()
    if len(word) == 1 and word.isupper():
        return starts or not following[:1].isalpha()
    small = following[:1].islower()
    if low in _GOES_ON or (low in _BEFORE_NAME and word[:1].isupper() and not starts):
        return False
    numbered = low in _BEFORE_NUMBER and (
        small or following[:1].isdigit() or _is_letter(word, following, starts=starts)
    )
    if numbered or (first and len(word) <= 3 and word.isdigit()):
        return False
    low = low.rpartition("-")[2]  # non-U.S.
    if low in {"a.m", "p.m"}:
        return not small and following.lower() not in _AFTER_TIME and not (following.isupper() and len(following) > 1)
    if low in _MAY_END or (len(low) > 2 and low[1::2].strip(".") == "" and low.replace(".", "").isalpha()):
        return starts or (word.isalpha() and word.islower() and low != "al" and not small)
    return len(word) > 2 or not small


def _is_letter(word: str, following: str, *, starts: bool) -> bool:
    """Whether a word is the letter or the Roman number of a figure: "fig. B", "Vol. II", "App. A"."""
    return _FIGURE.fullmatch(following) is not None and (word[:1].isupper() or not starts)


def _ends(text: str, start: int, stop: re.Match[str], tail: int, end: int) -> bool:
    """Whether a sentence that began at `start` ends with this stop, whose closing characters reach to `tail`."""
    if tail >= end or stop[0][0] in _WIDE:
        return True
    after = _NEXT.match(text, tail, end)
    if after is None or stop.start() == start:
        return False
    following = after[1] or ""
    small = following[:1].islower()
    word = _before(text, start, stop.start())
    if stop[0][0] in "!?":
        attached = not text[stop.start() - 1].isspace()
        if small:
            return attached and tail == stop.end() and ("?" in stop[0] or word.lower() in _GREETINGS)
        return attached or stop[0][0] == "?"
    if len(stop[0]) > 1 or stop[0] == "…":
        return not small and bool(word or following)
    return _full_stop_ends(word, following, first=stop.start() - start <= 3)


def _item(text: str, start: int, stop: int, end: int, last: int, *, running: bool) -> tuple[int, int] | None:
    """The number and the place of an item that begins here, of a list that runs on in a line: "such as: 1. … 2. …".

    The sentence began at `start`; `running` says whether it is itself the `last` item, which is 0 where there was none.
    """
    begin = max(start, stop - 8)
    found = _ITEM.search(text[begin:stop])
    if found is None or _MONTH.match(text, stop, end):
        return None
    number, place = int(found["number"]), begin + found.start("number")
    if number == 1:
        goes_on = bool(found["colon"]) and _SECOND.search(text, stop, min(end, stop + _NEAR)) is not None
    else:
        goes_on = number == last + 1 > 1 and (running or place == start)
    return (number, place) if goes_on else None


def sentence_spans(text: str, start: int, end: int, *, lists: bool = True) -> list[tuple[int, int]]:
    """The sentences of one paragraph, `[start, end)` of the text; `lists` may run on in a line."""
    together = [(m.start(), m.end()) for m in TOGETHER.finditer(text, start, end)]
    found: list[tuple[int, int]] = []
    begin, seen, inside, number, at = start, start, 0, 0, -1
    for stop in _STOP.finditer(text, start, end):
        if stop.start() < seen:
            continue
        match = TAIL.match(text, stop.end(), end)
        tail = match.end() if match else stop.end()
        while inside < len(together) and together[inside][1] <= stop.start():
            inside += 1
        if inside < len(together) and together[inside][0] < stop.start() and tail < together[inside][1]:
            continue
        if lists and (item := _item(text, begin, stop.end(), end, number, running=begin == at)):
            number, at = item
            found.append((begin, begin + len(text[begin:at].rstrip())))
            begin, seen = at, tail
        elif _ends(text, begin, stop, tail, end):
            found.append((begin, tail))
            begin = tail
            while begin < end and text[begin].isspace():
                begin += 1
            seen = tail
    if begin < end:
        found.append((begin, end))
    return [(a, b) for a, b in found if any(c.isalnum() for c in text[a:b])]


def sentences_of(text: str, block: Block) -> list[tuple[int, int]]:
    """The sentences of a block; rows and code are one each."""
    if block.shape in {"row", "code", "header"}:
        return [(block.start, block.end)]
    return sentence_spans(text, block.start, block.end, lists=block.shape == "paragraph")


@on_visible_text
def split_sentences(text: str) -> Components:
    """Split a text at . ! ? into sentences, `text[start:end] == component.text` for each.

    List items and table rows are sentences of their own, code blocks are one; headings and table headers are none.
    Marks of citations behind a stop belong to the sentence before it.
    """
    return tuple(
        Component(text[a:b], (a, b))
        for block in blocks(text)
        if block.shape not in {"heading", "header"}
        for a, b in sentences_of(text, block)
    )


_LINE = re.compile(r"[^\s{}\[\],](?:[^\n]*[^\s{}\[\],])?")
"""A line without the brackets and commas around it."""
_FIELD = re.compile(r"^[ \t]*[{\[(,]*[ \t]*\"?[\w][\w .()/%#-]{0,40}\"?[ \t]*[:=][ \t]*\S.*$", re.MULTILINE)


def row_text(text: str, block: Block, *, marked: bool = True) -> str:
    """A table's row read with its header: "Model: S2; Run time: 40 min"."""
    values = cells(text[block.start : block.end])
    if not block.header:
        return plain_text("; ".join(value for value in values if value), marked=marked)
    names = (*block.header, *("" for _ in values[len(block.header) :]))
    pairs = ((name, value) for name, value in zip(names, values, strict=False) if value)
    return plain_text("; ".join(f"{name}: {value}" if name else value for name, value in pairs), marked=marked)


def _fields(text: str, block: Block) -> list[tuple[int, int]]:
    """The lines of a block of "key: value" lines; empty if it isn't one."""
    body = text[block.start : block.end]
    if "\n" not in body:
        return []
    lines = [m.span() for m in _LINE.finditer(body)]
    fields = sum(1 for a, b in lines if _FIELD.match(body[a:b]))
    if not lines or fields < 2 or fields * 10 < len(lines) * 8:
        return []
    return [(block.start + a, block.start + b) for a, b in lines]


@on_visible_text
def split_facts(text: str) -> Components:
    """Break a source into facts: sentences, list items, table rows (read with their header), fields.

    Headings are no facts.
    """
    found: list[Component] = []
    for block in blocks(text):
        if block.shape in {"heading", "header"}:
            continue
        if block.shape == "row":
            if said := row_text(text, block):
                found.append(Component(said, (block.start, block.end)))
            continue
        if fields := _fields(text, block):
            found.extend(Component(text[a:b].replace('"', ""), (a, b)) for a, b in fields)
            continue
        for a, b in sentences_of(text, block):
            if said := plain_text(text[a:b]):
                found.append(Component(said, (a, b)))
    return tuple(found)
