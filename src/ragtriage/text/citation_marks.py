"""Citation marks in a text: where they stand and which names they hold.

`[1]`, `[1, 3]`, `[1 and 3]`, `[1][2]`, `[2-4]`, `[1]-[3]`, `[^1]`, `[Source 1]`, `[1, p. 3]`, `[[1]](https://…)`,
`【1】`, `【1†source】`, ids in brackets, names of files (`[rules.pdf, p. 3]`), `(Source: handbook)`, or a pattern of
the user's own. Code, links and checkboxes hold none.

The list of references at the end of a response, and footnotes, explain marks and are no part of the answer.
"""

import re
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise

from ragtriage.core.errors import ConfigError
from ragtriage.core.verdicts import Span
from ragtriage.text.blocks import blocks
from ragtriage.text.claims import split_claims
from ragtriage.text.lexicon import CITATIONS
from ragtriage.text.markup import INLINE_CODE, is_index, numbers_in
from ragtriage.text.pronouns import AUXILIARY_WORD
from ragtriage.text.source_ids import SourceIds, bare, named_marks

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
class CitationMark:
    """One citation mark, `[start, end)` in characters."""

    start: int
    end: int
    names: tuple[str, ...]
    """What it holds, ranges written out: `[2-4]` names 2, 3 and 4. None where it names a document, and no source has an
    id that could be its name: then nobody can tell what it cites."""
    label: bool = False
    """Whether it may be explained by a footnote or a list of references: it holds one name alone."""


@lru_cache(64)
def pattern_of(own: str) -> re.Pattern[str]:
    """A user's own pattern, compiled."""
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


def find_marks(text: str, ids: Sequence[str | None] = (), own: str | None = None) -> tuple[CitationMark, ...]:
    """The marks of a text, in its order; `ids` has one a source, and `own` is the user's own pattern.

    Code, links, checkboxes, indexes (`x = a[1]`), years (`[1990-1995]`), intervals that hold a 0 and numbers in
    mid-sentence far beyond the number of sources are none. A text in brackets that is no number is a mark only if it is
    an id of a source, or looks like one: `[doc-9]` beside `doc-1`, `[pets.md]` beside `fares.md`, `[Doc-1]`.
    """
    known = SourceIds(ids)
    if own:
        found = [_with_link(text, mark) for mark in _own(text, pattern_of(own), known)]
    else:
        found = [*_squares(text, known), *_lenticulars(text, known)]
        found += [CitationMark(start, end, names) for start, end, names in named_marks(text, known)]
    if not found:
        return ()
    hidden = hidden_spans(text, own=bool(own))
    shown = sorted((m for m in found if not overlaps_any(m.start, m.end, hidden)), key=lambda m: (m.start, -m.end))
    apart = [m for at, m in enumerate(shown) if not at or shown[at - 1].end <= m.start]
    return tuple(_ranges(text, apart))


def unrecognized(text: str, marks: Sequence[CitationMark]) -> tuple[str, ...]:
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


def _squares(text: str, ids: SourceIds) -> Iterator[CitationMark]:
    for m in _SQUARE.finditer(text):
        names = ids.named(m[2].strip())
        if names and not (m[1] == "" and (is_index(text, *m.span()) or _far(text, m, names, ids))):
            yield _doubled(text, CitationMark(m.start(), m.end(), names, label=len(names) == 1))
        elif m[1] and re.fullmatch(r"[\w.-]{1,40}", m[2]):  # a footnote of any name, which its definition may explain
            yield CitationMark(m.start(), m.end(), (m[2],), label=True)


def _far(text: str, found: re.Match[str], names: Sequence[str], ids: SourceIds) -> bool:
    """Whether numbers in mid-sentence can hardly mean sources: "between [10, 20] years" beside five of them."""
    numbers = [int(name) for name in names if name.isdigit()]
    if not ids.count or len(numbers) < len(names) or ids.holds_any(names):
        return False
    if min(numbers) <= ids.count or max(numbers) < FAR * ids.count:
        return False
    before = CITATIONS["said_before"].search(text[max(0, found.start() - 20) : found.start()])
    return before is not None or (len(numbers) > 1 and _SAID_BEHIND.match(text, found.end()) is not None)


def _doubled(text: str, mark: CitationMark) -> CitationMark:
    """The mark with brackets around it, and the link that these are: `[[1]]`, `[[1]](https://…)`."""
    if not mark.start or text[mark.start - 1] != "[" or text[mark.end : mark.end + 1] != "]":
        return mark
    link = LINK.match(text, mark.start - 1)
    return replace(mark, start=mark.start - 1, end=link.end() if link else mark.end + 1)


def _lenticulars(text: str, ids: SourceIds) -> Iterator[CitationMark]:
    """`【1】` and `【1†source】`. `【4:0†file】` counts its own way: only a file that is an id tells what it names."""
    for m in _LENTICULAR.finditer(text):
        number, _, named = (part.strip() for part in m[1].partition("†"))
        names = (named,) if named and ids.holds_any([named]) else ids.named(number)
        if names:
            yield CitationMark(m.start(), m.end(), names)


def _own(text: str, pattern: re.Pattern[str], ids: SourceIds) -> Iterator[CitationMark]:
    group: str | int = "name" if "name" in pattern.groupindex else 1
    for m in pattern.finditer(text):
        said = (m[group] or "").strip()
        if said and m.end() > m.start():
            yield CitationMark(
                m.start(), m.end(), ids.named(said) or ids.named(_digits(said)) or ids.parts(_digits(said))
            )


def _digits(said: str) -> str:
    """A name with its digits as they are usually written: ² and ② are 2."""
    return "".join(str(unicodedata.digit(c, c)) for c in said)


def _with_link(text: str, mark: CitationMark) -> CitationMark:
    if _ADDRESS.match(text, mark.end):
        for start in (mark.start, mark.start - 1):
            link = LINK.match(text, start) if start >= 0 else None
            if link and link.end() > mark.end:
                return replace(mark, start=start, end=link.end())
    return mark


def _ranges(text: str, marks: Sequence[CitationMark]) -> Iterator[CitationMark]:
    """The marks, with `[1]-[3]` as the range that it is."""
    held: CitationMark | None = None
    for mark in marks:
        if held and mark.label and held.label and _TO.fullmatch(text, held.end, mark.start):
            between = numbers_in(f"{held.names[0]}-{mark.names[0]}")
            if between:
                held = CitationMark(held.start, mark.end, between)
                continue
        if held:
            yield held
        held = mark
    if held:
        yield held


CLOSING = 6
"""How many lines at the end are looked at for a greeting behind the list of references."""

_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^?([^\[\]\n]{1,60})\]:[ \t]*(.*(?:\n(?:[ \t]{2,}|\t)\S.*)*)$", re.MULTILINE)
_STOPS = re.compile(r"[.!?。][ \t*_]*\r?$|[.!?][ \t]+(?=[A-Z])")
_LONG = 120
"""Characters that the name of a source rarely has."""
_ENTRY = re.compile(r"[ \t>]*(?:[-*+•][ \t]+)?(?:(\d{1,3})[.)][ \t]+)?")
_TITLE_LINE = re.compile(r"[ \t]{0,3}#{1,6}[ \t]")
_LINE = re.compile(r"[^\n]+")


@dataclass(slots=True)
class References:
    """What was found."""

    spans: list[Span] = field(default_factory=list)
    """Where they stand: disjoint, in no order."""
    meanings: dict[str, str] = field(default_factory=dict)
    """Label → what stands there beside it."""


def find_references(text: str, marks: Sequence[CitationMark]) -> References:
    """Footnotes (`[^1]: …`), and the list at the end under a title like "Sources:", or in a paragraph of its own.

    A title and its list may stand in one line: "Sources: [1] fares.pdf, [2] leaflet.pdf". Behind the list nothing may
    stand but remarks ("let me know if you need more"), or behind a title and marked lines what cites nothing. Footnotes
    that are all that a response says are none. A line that ends with a mark says something and cites it, unless it is
    no sentence and stands under a title.
    """
    found = References()
    for m in _DEFINITION.finditer(text):
        found.spans.append(m.span())
        found.meanings.setdefault(m[1].strip(), m[2].strip())
    lines = [m.span() for m in _LINE.finditer(text) if m[0].strip() and not _within(m.span(), found.spans)]
    if not any(any(c.isalnum() for c in text[a:b]) and not _TITLE_LINE.match(text, a, b) for a, b in lines):
        return References()  # what looks like footnotes is all that the response says
    for last, sure in _lasts(text, lines, marks):
        first = _listed(text, lines[:last], marks) if not sure else _titled(text, lines[:last], marks)
        if first is not None:
            start, end = lines[first][0], lines[last - 1][1]
            found.spans = [span for span in found.spans if not start <= span[0] < end] + [(start, end)]
            for line in lines[first:last]:
                _explain(text, *line, marks, found)
            break
    return found


def _lasts(text: str, lines: Sequence[Span], marks: Sequence[CitationMark]) -> Iterator[tuple[int, bool]]:
    """Where a list of references may end: with the last line, or before closing lines that claim or cite nothing.

    With each whether something that may be a claim stands behind it.
    """
    sure = False
    for last in range(len(lines), max(0, len(lines) - CLOSING), -1):
        yield last, sure
        line = lines[last - 1]
        if _of(line, marks):
            return
        sure = sure or any(not c.remark for c in split_claims(text[slice(*line)]))


def _titled(text: str, lines: Sequence[Span], marks: Sequence[CitationMark]) -> int | None:
    """The title of a list that can be nothing else: every line begins with a mark, or all stands in one line."""
    at = len(lines)
    while at and _first(text, lines[at - 1], marks) is not None and _is_entry(text, lines[at - 1], marks):
        at -= 1
    if 0 < at < len(lines) and CITATIONS["title"].match(text[slice(*lines[at - 1])]):
        return at - 1
    return len(lines) - 1 if len(lines) > 1 and _is_line(text, lines[-1], marks) else None


def _listed(text: str, lines: Sequence[Span], marks: Sequence[CitationMark]) -> int | None:
    """The first line of the list at the end, its title included; None if there is none."""
    for is_one in (_is_entry, _is_name):
        at = len(lines)
        while at and is_one(text, lines[at - 1], marks):
            at -= 1
        if at and at < len(lines) and CITATIONS["title"].match(text[slice(*lines[at - 1])]):
            return at - 1
    if lines and _is_line(text, lines[-1], marks, alone=len(lines) == 1):
        return len(lines) - 1
    alone = len(lines)
    while alone and _explains(text, lines[alone - 1], marks):
        alone -= 1
    begins = alone and alone < len(lines) and text[lines[alone - 1][1] : lines[alone][0]].count("\n") > 1
    cited = {name for mark in marks if mark.end <= lines[alone][0] for name in mark.names} if begins else set()
    return alone if begins and all(_first(text, line, marks) in cited for line in lines[alone:]) else None


def _is_entry(text: str, line: Span, marks: Sequence[CitationMark]) -> bool:
    """Whether a line could stand in a list of references: an item or a marked line, without a mark behind its text."""
    said = text[slice(*line)]
    lead = _ENTRY.match(said)
    begins = bool(lead and lead.end() and lead[0].strip()) or _first(text, line, marks) is not None
    return (begins or "://" in said) and len(_of(line, marks)) <= (_first(text, line, marks) is not None)


def _explains(text: str, line: Span, marks: Sequence[CitationMark]) -> bool:
    """Whether a line is a mark and what it stands for, and no sentence: "[1] Handbook, section 3"."""
    own = _of(line, marks)
    said = text[slice(*line)].rstrip()
    return len(own) == 1 and _first(text, line, marks) is not None and said[-1:] not in ".!?…:;]】"


def _is_name(text: str, line: Span, marks: Sequence[CitationMark]) -> bool:
    """Whether a line is an item with the name of a source and its mark behind it: "- Fare table [1]"."""
    own = _of(line, marks)
    lead = _ENTRY.match(text, *line)
    if len(own) != 1 or lead is None or not lead[0].strip():
        return False
    said, behind = text[lead.end() : own[0].start], text[own[0].end : line[1]]
    return _is_short(said) and any(c.isalnum() for c in said) and not behind.strip(" \t\r*_")


def _is_line(text: str, line: Span, marks: Sequence[CitationMark], *, alone: bool = False) -> bool:
    """Whether a line is a title with marks and names behind it: "Sources: [1], [2]", "Source: fares.pdf [1]".

    Where it is all that there is (`alone`) it may be an answer, unless nothing but marks stand behind the title.
    """
    title = CITATIONS["title_in_line"].match(text, *line)
    own = _of(line, marks)
    if title is None or not own or own[0].start < title.end():
        return False
    ends = [title.end(), *(mark.end for mark in own)]
    names = [text[a:b] for a, b in zip(ends, [*(mark.start for mark in own), line[1]], strict=True)]
    stop = names[-1].rstrip(" \t\r*_")[-1:] in {".", "!", "?", "。"}
    led = not any(c.isalnum() for c in names[0])
    if (stop and not led) or (alone and any(any(map(str.isalnum, name)) for name in names)):
        return False
    return all(_is_short(name.rstrip(" \t\r*_.")) for name in names)


def _is_short(said: str) -> bool:
    return len(said) <= _LONG and AUXILIARY_WORD.search(said) is None and _STOPS.search(said) is None


def _first(text: str, line: Span, marks: Sequence[CitationMark]) -> str | None:
    lead = _ENTRY.match(text, *line)
    at = lead.end() if lead else line[0]
    return next((mark.names[0] for mark in marks if mark.start == at and mark.label), None)


def _of(line: Span, marks: Sequence[CitationMark]) -> list[CitationMark]:
    return [mark for mark in marks if line[0] <= mark.start < line[1]]


def _explain(text: str, start: int, end: int, marks: Sequence[CitationMark], found: References) -> None:
    own = _of((start, end), marks)
    title = CITATIONS["title_in_line"].match(text, start, end)
    if title and own:
        led = own[0].start == title.end()
        borders = [title.end(), *(mark.start if led else mark.end for mark in own[led:]), end]
        pieces = [text[a:b] for a, b in pairwise(borders)]
        for mark, piece in zip(own, pieces, strict=False):
            if mark.label:
                said = piece.replace(text[mark.start : mark.end], "")
                found.meanings.setdefault(mark.names[0], said.strip(" \t\r:,;.-–*_"))
        return
    lead = _ENTRY.match(text, start, end)
    label = _first(text, (start, end), marks) or (lead[1] if lead else None)
    if label:
        behind = own[0].end if own else lead.end() if lead else start
        found.meanings.setdefault(label, text[behind:end].strip(" \t:.-–"))
    elif len(own) == 1 and own[0].label:
        found.meanings.setdefault(own[0].names[0], text[lead.end() if lead else start : own[0].start].strip())


def _within(line: Span, spans: Sequence[Span]) -> bool:
    return any(start <= line[0] and line[1] <= end for start, end in spans)


def sources_named(
    marks: Sequence[CitationMark], ids: Sequence[str | None], meanings: Mapping[str, str]
) -> dict[str, tuple[int, ...]]:
    """Every name of the marks → the sources that it names, by position from 0; () where it names none.

    Names are ids, if every name of the response is one; else numbers are positions, counted from 1. A response in which
    no number is a position, but some are ids, is read by ids all the same: one wrong id must not make all others wrong.
    An id in other letters, or without its ending, names the one source whose id differs in nothing else. A label whose
    footnote names one source by its id stands for that one.
    """
    by_id: dict[str, tuple[int, ...]] = {}
    for at, name in enumerate(ids):
        if name:
            by_id[name] = (*by_id.get(name, ()), at)
    names = list(dict.fromkeys(name for mark in marks for name in mark.names))
    alike = {name: [known for known in by_id if bare(known) == bare(name)] for name in names}
    by_id |= {name: by_id[known[0]] for name, known in alike.items() if name not in by_id and len(known) == 1}
    explained = {name: named for name in names if (named := _explained(meanings.get(name, ""), by_id))}
    left = [name for name in names if name not in explained]
    positions = {name: _position(name, len(ids)) for name in left}
    known = [name for name in left if name in by_id]
    if len(known) == len(left) or (known and not any(positions.values())):
        return explained | {name: by_id.get(name, ()) for name in left}
    return explained | {name: positions[name] if name.isdigit() else by_id.get(name, ()) for name in left}


def _position(name: str, count: int) -> tuple[int, ...]:
    return (int(name) - 1,) if re.fullmatch(r"[0-9]{1,6}", name) and 1 <= int(name) <= count else ()


def _explained(meaning: str, by_id: Mapping[str, tuple[int, ...]]) -> tuple[int, ...]:
    """The one source that a footnote names by its id; a number alone says too little."""
    if not meaning:
        return ()
    named = [
        at
        for name, at in by_id.items()
        if len(name) > 1 and not name.isdigit() and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", meaning)
    ]
    return named[0] if len(named) == 1 else ()
