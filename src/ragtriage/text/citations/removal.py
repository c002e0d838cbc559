"""What leaves a text with its citation marks, so that a judge is asked about what is said and nothing else.

The commas between marks, a "see" or "cf." before them and the parentheses around them go too. A mark that stands for
words stays as words: "According to [1], the ferry leaves" becomes "According to source 1, the ferry leaves".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ragtriage.text.citations.marks import Mark

_BETWEEN = re.compile(r"(?:[ \t]*[,;&/+][ \t]*(?:and[ \t]+|&[ \t]*)?|[ \t]+(?:and|&)[ \t]+|[ \t]*[-–][ \t]*|[ \t]*)")
_SOURCE = (
    r"(?:(?:the[ \t]+)?(?:sources?|references?|citations?|documents?|docs?|refs?\.?|passages?|quellen?|dokumente?n?))"
)
_SEE = (
    r"(?:(?:see(?:[ \t]+also)?|cf\.?|compare|from|in|e\.g\.,?|siehe(?:[ \t]+auch)?|vgl\.?|"
    rf"{_SOURCE})[ \t]*:?[ \t]*)"
)
_OPENED = re.compile(rf"[ \t]*[(\[][ \t]*{_SEE}{{0,3}}\Z", re.IGNORECASE)
_POINTED = re.compile(
    rf"[ \t]*,?[ \t]*\b(?:(?:see(?:[ \t]+also)?|cf\.?|siehe(?:[ \t]+auch)?|vgl\.?)[ \t]*:?(?:[ \t]*{_SOURCE})?|"
    rf"{_SOURCE}[ \t]*:)[ \t]*\Z",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"[ \t]*[)\]]")
_OVER = re.compile(r"[ \t]*(?:[.!?;:,)*_]|\r?\n|$)")
_ENDED = re.compile(r"(?:^|[.!?…\n])[ \t]*\Z")
_STOP = re.compile(r"[ \t]*\.(?=\s|$)")
_SAYS = re.compile(
    r"[ \t]+(?:(?:also|only|clearly|explicitly|both|all|further|even|auch|zudem) )?(?:says?|said|states?|stated|notes?|"
    r"noted|shows?|showed|reports?|reported|explains?|explained|gives?|gave|lists?|listed|names?|named|mentions?|"
    r"mentioned|confirms?|confirmed|adds?|added|suggests?|suggested|indicates?|indicated|describes?|described|does|do|"
    r"did|doesn['’]t|don['’]t|didn['’]t|is|are|was|were|has|have|had|agrees?|disagrees?|contradicts?|covers?|covered|puts?|"
    r"claims?|claimed|tells?|told|makes?|made|points?|recommends?|recommended|warns?|warned|defines?|defined|argues?|"
    r"argued|finds?|found|observes?|observed|concludes?|concluded|proposes?|proposed|introduces?|introduced|presents?|"
    r"presented|provides?|provided|offers?|offered|discusses|discussed|focuses|focused|contains?|includes?|requires?|"
    r"estimates?|estimated|uses?|used|refers?|writes?|wrote|can|cannot|may|will|would|sets?|specifies|supports?|"
    r"(?:be)?sagt|besagen|sagen|nennt|nennen|zeigt|zeigen|erwähnt|erwähnen|berichtet|berichten|schreibt|schreiben|"
    r"erklärt|erklären|beschreibt|beschreiben|enthält|enthalten|bestätigt|bestätigen|widerspricht|gibt|geben|ist|sind|"
    r"hat|haben|weist|listet|empfiehlt|meint)\b"
)
"""Behind a mark that does something, and so stands for its source."""
_JOINS = re.compile(
    r"\b(?:as|than|both|while|whereas|and|or|but|that|if|because|since|although|though|where|only|dass|während|wie|"
    r"aber|und|oder)[ \t]+\Z",
    re.IGNORECASE,
)
_OF = re.compile(
    r"\b(?:according to|based on|as per|per|unlike|in line with|consistent with|contrary to|compared (?:to|with)|"
    r"referr?(?:ing|s)? to|(?:stated|described|shown|found|listed|given|stands?|reported|confirmed|"
    r"mentioned|explained|noted|said|taken|comes|written|set out|defined|quoted|cited|table|section|page|chapter|"
    r"(?:table|section|page|chapter) \d{1,3}) (?:in|from|by|of)|laut|gemäß|selon|d['’]après|según|secondo|volgens)"
    r"[ \t]+\Z",
    re.IGNORECASE,
)
_BEGIN = r"(?:\A|[.!?…][\"”’)]?[ \t]+|\n)[ \t>]*(?:(?:[-*+•]|\d{1,3}[.)])[ \t]+)?"
_IN = re.compile(
    rf"{_BEGIN}(?:As |Also )?(?:in|from|by|like|on|with|under|following|nach|aus|bei|von|dans|en|selon)[ \t]+\Z",
    re.IGNORECASE,
)
"""A sentence that begins so has what follows for its object."""
_FROM = re.compile(r"\b(?:from|nach|aus)[ \t]+\Z", re.IGNORECASE)
_POINTS = re.compile(r"\b(?:see(?: also)?|cf\.?|compare)[ \t]+\Z", re.IGNORECASE)
_MORE = r"(?:(?:more|further|additional|full|complete) )*(?:details?|information|info|context|reading)\b[^.!?\n]{0,60}"
_POINTER = re.compile(
    rf"{_BEGIN}(?:for {_MORE}[ ,](?:see(?: also)?|refer to|consult|check|read)|{_MORE} (?:in|at|under)|"
    rf"(?:please )?(?:consult|check|read))[ \t]+(?:{_SOURCE}[ \t]+)?\Z",
    re.IGNORECASE,
)
"""A sentence that is nothing but words before a mark; `remark_rules` has it for no claim."""
_WORD = re.compile(r"[ \t]+(?!(?:and|or|und|oder)\b)\w")
_COMMA = re.compile(r"[ \t]*,")
_BEGINS = re.compile(rf"{_BEGIN}\Z")
_NOUN = re.compile(
    rf"(?:(?:{_BEGIN}|\b(?:to|in|from|by|per|on|of|see|with|unlike|than|and|or|laut|nach|gemäß|aus|bei|von) )"
    r"(?:the |der )?(?:source|document|doc|reference|passage|quelle|dokument)(?:s|n|en)?)[ \t]+\Z",
    re.IGNORECASE,
)
_NAMED = re.compile(r"\b(?:[Ss]ource|[Dd]ocument|[Dd]oc|[Rr]eference|[Pp]assage|Quelle|Dokument)(?:s|n|en)?[ \t]+\Z")
_TITLED = re.compile(r"\b(?:Source|Document|Doc|Reference|Passage)s?[ \t]+\Z")
_GERMAN = re.compile(r"\b(?:laut|gemäß|nach|aus|bei|von|dass|während|wie|aber|und|oder)[ \t]+\Z", re.IGNORECASE)
_SAGT = re.compile(
    r"[ \t]+(?:(?:auch|zudem) )?(?:(?:be)?sag|nenn|zeig|erwähn|bericht|schreib|erklär|beschreib|enth[äa]lt|bestätig|"
    r"widersprich|g[ie]b|ist\b|sind\b|hat\b|haben\b|weist|listet|empfiehlt|meint)"
)
_COLON = re.compile(r"[ \t]*:(?=[ \t])")


BEFORE = 120
"""Characters before a mark in which it is looked for what it stands for."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A stretch, `[start, end)`, and what stands in its place."""

    start: int
    end: int
    instead: str = ""


def cuts_of(text: str, marks: Sequence[Mark]) -> list[Removal]:
    """What is to be cut for these marks, in order and apart.

    Args:
        text: a response.
        marks: in its order.
    """
    found: list[Removal] = []
    for run in _runs(text, marks):
        least = found[-1].end if found else 0
        words = _as_words(text, run, least)
        found += words or [_grown(text, run[0].start, run[-1].end, least)]
    return found


def _runs(text: str, marks: Sequence[Mark]) -> list[list[Mark]]:
    """Marks with nothing but commas and the like between them go together."""
    runs: list[list[Mark]] = []
    for mark in marks:
        if runs and _BETWEEN.fullmatch(text, runs[-1][-1].end, mark.start):
            runs[-1].append(mark)
        else:
            runs.append([mark])
    return runs


def _as_words(text: str, run: Sequence[Mark], least: int) -> list[Removal]:
    """The cuts of marks that stand for words in their sentence; empty if they only cite."""
    first, last = run[0], run[-1]
    if first.start and not (text[first.start - 1].isspace() or text[first.start - 1] == "("):
        return []
    before, behind = text[max(least, first.start - BEFORE) : first.start], text[last.end : last.end + 40]
    says = _SAYS.match(behind) is not None
    if _is_numbered(before, behind, says=says):
        return [Removal(mark.start, mark.end, " and ".join(mark.names)) for mark in run]
    subject = says and _BEGINS.search(before) is not None
    if not subject and not _is_object(before, behind, says=says):
        return []
    german = _GERMAN.search(before) or _SAGT.match(behind)
    noun = "Quelle" if german else "source"
    return [
        Removal(mark.start, mark.end, f"{noun.title() if subject and not at else noun} {' and '.join(mark.names)}")
        for at, mark in enumerate(run)
    ]


def _is_numbered(before: str, behind: str, *, says: bool) -> bool:
    """Whether marks are the numbers of sources that the sentence speaks of: "Document [1] states", "in source [2]"."""
    if _POINTED.search(before) and _OVER.match(behind) and not _POINTER.search(before):
        return False
    if (_NOUN.search(before) or _TITLED.search(before)) and not _OPENED.search(before):
        return True
    return says and _NAMED.search(before) is not None


def _is_object(before: str, behind: str, *, says: bool) -> bool:
    """Whether words before marks would have no object without them."""
    if _OF.search(before) or _IN.search(before) or _POINTER.search(before):
        return True
    if says and _JOINS.search(before):
        return True
    follows = _WORD.match(behind) is not None
    return bool((_FROM.search(before) and (follows or _COMMA.match(behind))) or (_POINTS.search(before) and follows))


def _grown(text: str, start: int, end: int, least: int) -> Removal:
    """The stretch with what makes no sense without it."""
    opened = _OPENED.search(text, max(least, start - 40), start)
    closed = _CLOSED.match(text, end)
    if opened and closed:
        start, end = opened.start(), closed.end()
    else:
        pointed = _POINTED.search(text, max(least, start - 40), start)
        if pointed and _OVER.match(text, end):
            start = pointed.start()
            if _ENDED.search(text, max(0, start - 3), start):
                stop = _STOP.match(text, end)
                end = stop.end() if stop else end
        colon = _COLON.match(text, end)
        if colon and not any(c.isalnum() for c in text[text.rfind("\n", 0, start) + 1 : start]):
            end = colon.end()
    return Removal(start, end)
