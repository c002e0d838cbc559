"""What a claim says otherwise than a text that says nearly the same: £53 and £35, March and April, before and after.

Only for showing: no verdict hangs on it. Where it isn't plain which of several values is the counterpart, or whether a
text is about the same, nothing is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations

from ragtriage.text import words as vocabulary
from ragtriage.text.dates import DATE_NAMES, names_in_ranges
from ragtriage.text.details import Date, Detail, Span, bare_numbers, details, is_same
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.numbers import Figure, placed_figures

NEARLY = 0.65
"""The share of a claim's words that a text has at least if it says nearly the same."""
_FEWEST = 2
"""Words that both have at least."""
_ALIKE = 5
"""Letters at the beginning by which two words count as forms of one."""
_LONGEST_NAME = 4
_PIECE = re.compile(r"[;:()]|,\s|\s(?:and|or|but|while|whereas)\s|\s[–—-]\s")
_PART = re.compile(r";\s|\.\s(?=[A-Z])|,\s(?:but|while|whereas)\s")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’-][^\W\d_]+)*")
_ASKED = re.compile(r"\?\W*$")
_BEGINS = re.compile(r"(?:^|[.!?:;]\s|\n)\W*$")
_NEGATION = re.compile(r"not|never|no|cannot|\w+n['’]t", re.IGNORECASE)
_AUXILIARY = re.compile(rf"{WORDS.regex('auxiliary')}|be|been|being", re.IGNORECASE)
_NO_NAMES = DETAILS.words("no_names") | DATE_NAMES
_SMALL = vocabulary.STOP | DETAILS.words("small")
_UNPLAIN = WORDS.words("unplain")
_OPPOSITES: dict[str, frozenset[str]] = {}
for _sides in (
    [frozenset(side.split()) for side in line.split("|")]
    for line in (*WORDS.lines("opposites"), *DETAILS.lines("further_opposites"))
):
    for _side in _sides:
        for _word in _side:
            _OPPOSITES[_word] = _OPPOSITES.get(_word, frozenset()).union(*_sides) - _side


@dataclass(frozen=True, slots=True)
class Difference:
    """One detail that a claim and a text tell otherwise."""

    claimed: str
    """As the claim has it."""
    told: str
    """As the text has it."""
    place: Span
    """Where in the text."""

    def __str__(self) -> str:
        return f"{self.claimed} ≠ {self.told}"


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    key: str
    span: Span

    @property
    def counts(self) -> bool:
        """Whether it says something by itself."""
        return vocabulary.fold(self.text) not in _SMALL and not _NEGATION.fullmatch(self.text)


def differences(claim: str, text: str, *, contradicts: bool = False) -> tuple[Difference, ...]:
    """What a claim and a text that says nearly the same tell otherwise, in the order of the text.

    Args:
        claim: what was said.
        text: one sentence or a few.
        contradicts: whether it is known that the text contradicts the claim.

    Returns:
        Empty where the text is about something else, or says the same.
    """
    if _ASKED.search(text) or not (contradicts or _nearly_the_same(claim, text)):
        return ()
    found = [*_values(claim, text), *_names(claim, text), *_opposites(claim, text)]
    if not found and contradicts:
        found = [*_denials(claim, text)]
    return tuple(sorted(found, key=lambda one: one.place))


@lru_cache(2048)
def _words(text: str) -> tuple[_Word, ...]:
    return tuple(_Word(m[0], vocabulary.stem(vocabulary.fold(m[0])), m.span()) for m in _TOKEN.finditer(text))


def _content(text: str, but: Iterable[Span] = ()) -> list[_Word]:
    """The words that say something, without those in some places."""
    spans = tuple(but)
    return [w for w in _words(text) if w.counts and not any(a <= w.span[0] < b for a, b in spans)]


def _shared(own: Sequence[_Word], others: Sequence[_Word]) -> int:
    there = {word.key for word in others}
    begins = {key[:_ALIKE] for key in there if key.isalpha()}
    return sum(w.key in there or (len(w.key) >= _ALIKE and w.key[:_ALIKE] in begins) for w in own)


def _nearly_the_same(claim: str, text: str) -> bool:
    own = _content(claim, (one.span for one in details(claim)))
    same = sum(any(is_same(one, other) for other in details(text)) for one in details(claim))
    shared = same + _shared(own, _content(text))
    return shared >= _FEWEST and shared >= NEARLY * (same + len(own))


def _values(claim: str, text: str) -> Iterator[Difference]:
    """Values of the claim that the text has not, each with the only one of the same kind that may stand for it."""
    own, there = _told(claim), _told(text)
    numbers, ranges = bare_numbers(text), names_in_ranges(text)
    taken: set[Span] = set()
    for one in own:
        if isinstance(one.value, Figure):
            known = (
                one.value.value in numbers
                or WORDS["relative_number"].search(claim) is not None
                or _worked_out(one, details(text))
            )
        else:
            known = one.text.lower() in ranges or (one.kind == "weekday" and DETAILS["days"].search(text) is not None)
        if known or any(is_same(one, other) for other in there):
            continue
        others = [
            other
            for other in there
            if is_same(one, other) is False and other.span not in taken and not any(is_same(o, other) for o in own)
        ]
        counterpart = _counterpart(one, others, claim, text)
        if counterpart and not _allowed(one, counterpart, claim, text):
            taken.add(counterpart.span)
            yield Difference(one.text, counterpart.text, counterpart.span)


def _worked_out(one: Detail, there: Sequence[Detail]) -> bool:
    """Whether an amount is the sum or the difference of two."""
    amounts = [other.value.value for other in there if other.kind == one.kind and isinstance(other.value, Figure)]
    wanted = one.value.value if isinstance(one.value, Figure) else None
    return any(wanted in (a + b, abs(a - b)) for a, b in combinations(amounts, 2))


def _told(text: str) -> list[Detail]:
    """The details of a text but for those that only say how far apart two values are: "15 minutes longer"."""
    return [one for one in details(text) if not DETAILS["compares"].match(text, one.span[1])]


def _counterpart(one: Detail, others: Sequence[Detail], claim: str, text: str) -> Detail | None:
    """Which of several values stands where the claim has its own; None if that isn't plain."""
    own, there = details(claim), details(text)
    fitting = [other for other in others if not _of_another(other, own, there, text)]
    if isinstance(one.value, Date) and fitting:
        alike = [_alike(one.value, other.value) for other in fitting if isinstance(other.value, Date)]
        fitting = [
            other
            for other, parts in zip(fitting, alike, strict=True)
            if parts == max(alike) and (parts or _shape(one.value) == _shape(other.value))
        ]
    if not fitting:
        return None
    words = _content(claim, [one.span])
    rivals = _bare(text) if isinstance(one.value, Figure) else []
    shared = [_shared(words, _content(_within(_PIECE, text, place))) for place in (*(o.span for o in fitting), *rivals)]
    best = shared.index(max(shared))
    if shared.count(shared[best]) > 1 or best >= len(fitting):
        return None
    found = fitting[best]
    parts = [_shared(words, _content(part)) for part in _PART.split(text)]
    return found if _shared(words, _content(_within(_PART, text, found.span))) == max(parts) else None


def _shape(value: object) -> tuple[bool, ...]:
    """Which parts of a date are written."""
    return (bool(value.day), bool(value.month), bool(value.year)) if isinstance(value, Date) else ()


def _alike(one: Date, other: Date) -> int:
    pairs = ((one.day, other.day), (one.month, other.month), (one.year, other.year))
    return sum(a == b for a, b in pairs if a is not None)


def _of_another(value: Detail, own: Sequence[Detail], there: Sequence[Detail], text: str) -> bool:
    """Whether beside a value stands another than the claim has, while the claim's stands elsewhere."""
    start, end = _span_within(_PIECE, text, value.span)
    beside = [one for one in there if start <= one.span[0] < end and one is not value]
    return any(
        is_same(mine, one) is False
        and any(is_same(mine, other) for other in there)
        and not any(is_same(mine, near) for near in beside)
        for one in beside
        for mine in own
    )


def _bare(text: str) -> list[Span]:
    """Where the numbers without a unit stand."""
    known = [one.span for one in details(text)]
    return [span for _, span in placed_figures(text) if not any(a <= span[0] < b for a, b in known)]


def _span_within(cuts: re.Pattern[str], text: str, place: Span) -> Span:
    """Where the part of a text stands that holds a place, if it is cut at a pattern."""
    found = [match.span() for match in cuts.finditer(text)]
    start = max((end for _, end in found if end <= place[0]), default=0)
    return start, min((begin for begin, _ in found if begin >= place[1]), default=len(text))


def _within(cuts: re.Pattern[str], text: str, place: Span) -> str:
    return text[slice(*_span_within(cuts, text, place))]


def _allowed(one: Detail, other: Detail, claim: str, text: str) -> bool:
    """Whether an amount may be right beside another: one within a bound, a rough one, one that was worked out."""
    if not (isinstance(one.value, Figure) and isinstance(other.value, Figure)):
        return False
    mine, theirs = one.value.value, other.value.value
    before, there = claim[: one.span[0]], text[: other.span[0]]
    if DETAILS["each"].match(text, other.span[1]) and not DETAILS["each"].match(claim, one.span[1]):
        return True  # a price or a speed, by which the claim's amount may have been worked out
    if DETAILS["about"].search(before) and abs(mine - theirs) * 10 <= max(abs(mine), abs(theirs)):
        return True
    bounded = DETAILS["at_least"].search(before) or DETAILS["at_most"].search(before)
    if bounded:
        return False
    return bool(
        (mine > theirs and DETAILS["at_least"].search(there)) or (mine < theirs and DETAILS["at_most"].search(there))
    )


def _names(claim: str, text: str) -> Iterator[Difference]:
    """Names of which the words around are the same in both."""
    own = _content(claim, (one.span for one in details(claim)))
    there = _content(text, (one.span for one in details(text)))
    steps = SequenceMatcher(None, [w.key for w in own], [w.key for w in there], autojunk=False).get_opcodes()
    for at, (what, i, j, k, m) in enumerate(steps):
        if what != "replace" or not (_is_name(own[i:j], claim) and _is_name(there[k:m], text)):
            continue
        before = steps[at - 1][2] - steps[at - 1][1] if at else 0
        after = steps[at + 1][2] - steps[at + 1][1] if at + 1 < len(steps) and steps[at + 1][0] == "equal" else 0
        if max(before, after) < _FEWEST and not (before and after):
            continue
        if _shared(own[i:j], there) or _shared(there[k:m], own):
            continue
        (start, end), place = (own[i].span[0], own[j - 1].span[1]), (there[k].span[0], there[m - 1].span[1])
        yield Difference(claim[start:end], text[slice(*place)], place)


def _is_name(words: Sequence[_Word], text: str) -> bool:
    """Whether words are a name: all with a capital, not only because a sentence begins with it."""
    if len(words) > _LONGEST_NAME or not all(w.text[0].isupper() or (n and w.text[0].isdigit()) for n, w in enumerate(words)):
        return False
    begins = _BEGINS.search(text[: words[0].span[0]]) is not None
    return not (begins and len(words) == 1) and not any(vocabulary.fold(w.text) in _NO_NAMES for w in words)


def _opposites(claim: str, text: str) -> Iterator[Difference]:
    """Words of the claim for which the text has the opposite, beside the same word."""
    own, there = _words(claim), _words(text)
    folded, others = {w.text.lower() for w in own}, {w.text.lower() for w in there}
    if any(_NEGATION.fullmatch(w) for w in folded) != any(_NEGATION.fullmatch(w) for w in others):
        return
    for one in own:
        word = one.text.lower()
        opposite = _OPPOSITES.get(word, frozenset()) - folded
        found = [w for w in there if w.text.lower() in opposite]
        if word not in others and len(found) == 1 and _beside_the_same(one, own, found[0], there):
            yield Difference(one.text, found[0].text, found[0].span)


def _beside_the_same(one: _Word, own: Sequence[_Word], other: _Word, there: Sequence[_Word]) -> bool:
    """Whether the next word before or behind is the same."""

    def neighbours(word: _Word, words: Sequence[_Word]) -> tuple[str, str]:
        content = [w for w in words if w.counts or w is word]
        at = content.index(word)
        return content[at - 1].key if at else "", content[at + 1].key if at + 1 < len(content) else ""

    pairs = zip(neighbours(one, own), neighbours(other, there), strict=True)
    return any(a == b != "" for a, b in pairs)


def _denials(claim: str, text: str) -> Iterator[Difference]:
    """The word that one of the two denies."""
    own, there = _words(claim), _words(text)
    denied = [w for w in (_denied(own), _denied(there)) if w]
    if len(denied) != 1:
        return
    phrases = [[_phrase(words, w) for w in words if w.key == denied[0].key] for words in (own, there)]
    if all(len(some) == 1 for some in phrases):
        (start, end), place = phrases[0][0], phrases[1][0]
        yield Difference(claim[start:end], text[slice(*place)], place)


def _denied(words: Sequence[_Word]) -> _Word | None:
    """The word behind the only negation."""
    negations = [at for at, word in enumerate(words) if _NEGATION.fullmatch(word.text)]
    if len(negations) != 1:
        return None
    behind = words[negations[0] + 1 :]
    if behind and behind[0].text.lower() in _UNPLAIN:
        return None
    return next((word for word in behind if word.counts), None)


def _phrase(words: Sequence[_Word], word: _Word) -> Span:
    """A word with the auxiliary and the negation before it."""
    at = words.index(word)
    start = at
    while start and (_NEGATION.fullmatch(words[start - 1].text) or _AUXILIARY.fullmatch(words[start - 1].text)):
        start -= 1
    return words[start].span[0], word.span[1]
