"""What a claim says otherwise than a text that says nearly the same: £53 and £35, March and April, before and after.

Only for showing: no verdict hangs on it. Where it isn't plain which of several values is the counterpart, or whether a
text is about the same, nothing is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import combinations

from ragtriage.core.verdicts import Span
from ragtriage.text import words as vocabulary
from ragtriage.text.dates import DATE_NAMES, WEEKDAYS, Clock, WrittenDate, names_in_ranges, placed_clocks, placed_dates
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.numbers import Figure, placed_figures
from ragtriage.text.words import NEGATION, PlacedWord, content_words, placed_words, shared_words

_WEEKDAY = re.compile(rf"\b({'|'.join(sorted(WEEKDAYS))})s?\b", re.IGNORECASE)
_CURRENCIES = {form: names[0] for names in map(str.split, DETAILS.lines("currencies")) for form in names}
_UNITS = {form: (kind, Decimal(by)) for kind, by, *forms in map(str.split, DETAILS.lines("units")) for form in forms}
_NO_UNITS = DETAILS.words("no_units") | vocabulary.STOP
_BEFORE = re.compile(rf"(?<![^\W\d_])(?:{'|'.join(map(re.escape, _CURRENCIES))})\s?$", re.IGNORECASE)
_BETWEEN = "|".join(sorted(WORDS.words("between_number_and_unit")))
_OF_UNIT = "|".join(sorted(DETAILS.words("of_units")))
_UNIT = re.compile(rf"[\s-]?(?:(?:{_BETWEEN})\s)*(?P<of>(?:{_OF_UNIT})\s)?(?P<unit>[^\W\d_]+|[€$£%])", re.IGNORECASE)
_PER_CENT = re.compile(r"\s?(?:%|per ?cent\b)", re.IGNORECASE)
_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_RANGE = re.compile(r"\s?(?:-|–|to|and|or)\s?", re.IGNORECASE)
_CODE = re.compile(r"0\d")


@dataclass(frozen=True, slots=True)
class Detail:
    """One value in a text."""

    kind: str
    """What it is a value of: `date`, `weekday`, `time`, `%`, a currency, a unit or what kind of unit it is."""
    value: Figure | WrittenDate | Clock | int
    text: str
    """As it is written, with its unit."""
    span: Span


@lru_cache(512)
def details(text: str) -> tuple[Detail, ...]:
    """The details of a text, in its order; a number without a unit isn't one."""
    found = [Detail("date", one, text[slice(*span)], span) for one, span in placed_dates(text)]
    rest = _without(text, found)
    found += [Detail("time", one, text[slice(*span)], span) for one, span in placed_clocks(rest)]
    rest = _without(rest, found)
    found += [Detail("weekday", WEEKDAYS.index(m[1].lower()), m[0], m.span()) for m in _WEEKDAY.finditer(rest)]
    found += _amounts(rest)
    return tuple(sorted(found, key=lambda one: one.span))


def _without(text: str, found: Iterable[Detail]) -> str:
    for start, end in (one.span for one in found):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def bare_numbers(text: str) -> frozenset[Decimal]:
    """All numbers of a text, whatever they are of."""
    return frozenset(figure.value for figure, _ in placed_figures(text))


def is_same(one: Detail, other: Detail) -> bool | None:
    """Whether two details say the same, one perhaps less exactly; None where they can't be compared."""
    if one.kind != other.kind:
        return None
    match one.value, other.value:
        case WrittenDate() as a, WrittenDate() as b:
            return _same_date(a, b)
        case Clock() as a, Clock() as b:
            return a.may_be(b) or b.may_be(a)
        case Figure() as a, Figure() as b:
            return abs(a.value - b.value) <= max(a.step, b.step) / 2 if a.value != b.value else True
        case a, b:
            return a == b


def _same_date(a: WrittenDate, b: WrittenDate) -> bool | None:
    both = [
        (x, y) for x, y in ((a.day, b.day), (a.month, b.month), (a.year, b.year)) if x is not None and y is not None
    ]
    return all(x == y for x, y in both) if both else None


def _amounts(text: str) -> Iterator[Detail]:
    """The numbers with a unit; the first of a range has the unit of the second."""
    placed = sorted(placed_figures(text), key=lambda one: one[1])
    read = [_amount(text, figure, span) for figure, span in placed]
    for at, found in enumerate(read):
        if found is None and at + 1 < len(read) and (following := read[at + 1]):
            (start, end), (_, behind) = placed[at][1], following.span
            if _RANGE.fullmatch(text[end : placed[at + 1][1][0]]):
                unit = text[placed[at + 1][1][1] : behind]
                yield replace(
                    following, value=_scaled(placed[at][0], unit), text=text[start:end] + unit, span=(start, end)
                )
        elif found:
            yield found


def _amount(text: str, figure: Figure, span: Span) -> Detail | None:
    start, end = span
    if _ORDINAL.match(text, end) or _CODE.match(text, start):
        return None
    if before := _BEFORE.search(text[max(0, start - 9) : start]):
        first = start - len(before[0])
        return Detail(_CURRENCIES[before[0].strip().lower()], figure, text[first:end], (first, end))
    if match := _PER_CENT.match(text, end):
        return Detail("%", figure, text[start : match.end()], (start, match.end()))
    match = _UNIT.match(text, end)
    word = vocabulary.fold(match["unit"]) if match else ""
    if not match or word in _NO_UNITS:
        return None
    kind = _CURRENCIES.get(word) or _UNITS.get(word, ("",))[0] or vocabulary.stem(word)
    kind = f"{(match['of'] or '').lower()}{kind}"
    whole = text[start : match.end()]
    return Detail(kind, _scaled(figure, word), whole, (start, match.end()))


def _scaled(figure: Figure, unit: str) -> Figure:
    words = unit.lower().split()
    _, by = _UNITS.get(vocabulary.fold(words[-1]) if words else "", ("", Decimal(1)))
    return Figure(figure.value * by, figure.step * by)


Pair = tuple[Span, Span]
"""A place in the claim and its counterpart in the text."""
Words = Sequence[PlacedWord]

_FEWEST_BESIDE_NAMES = 2
"""Words beside two names that are the same in both."""
_LONGEST_NAME = 4
_BEGINS = re.compile(r"(?:^|[.!?:;]\s|\n)\W*$")
_AUXILIARY = re.compile(rf"{WORDS.regex('auxiliary')}|be|been|being|to|needs?", re.IGNORECASE)
_NO_NAMES = DETAILS.words("no_names") | DATE_NAMES
_QUALIFIERS = WORDS.words("qualifiers")
OPPOSITES: dict[str, frozenset[str]] = {}
for _sides in (
    [frozenset(side.split()) for side in line.split("|")]
    for line in (*WORDS.lines("opposites"), *DETAILS.lines("further_opposites"))
):
    for _side in _sides:
        for _word in _side:
            OPPOSITES[_word] = OPPOSITES.get(_word, frozenset()).union(*_sides) - _side
"""Word → words that say the opposite, in small letters."""


def differing_names(claim: str, text: str) -> Iterator[Pair]:
    """Names of which the words around are the same in both."""
    own = content_words(claim, (one.span for one in details(claim)))
    there = content_words(text, (one.span for one in details(text)))
    steps = SequenceMatcher(None, [w.key for w in own], [w.key for w in there], autojunk=False).get_opcodes()
    for at, (what, i, j, k, m) in enumerate(steps):
        if what != "replace" or not (_is_name(own[i:j], claim) and _is_name(there[k:m], text)):
            continue
        before = steps[at - 1][2] - steps[at - 1][1] if at else 0
        after = steps[at + 1][2] - steps[at + 1][1] if at + 1 < len(steps) and steps[at + 1][0] == "equal" else 0
        if max(before, after) < _FEWEST_BESIDE_NAMES and not (before and after):
            continue
        if shared_words(own[i:j], there) or shared_words(there[k:m], own):
            continue
        yield (own[i].span[0], own[j - 1].span[1]), (there[k].span[0], there[m - 1].span[1])


def _is_name(words: Words, text: str) -> bool:
    """Whether words are a name: all with a capital, not only because a sentence begins with it."""
    if len(words) > _LONGEST_NAME or not all(
        w.text[0].isupper() or (n and w.text[0].isdigit()) for n, w in enumerate(words)
    ):
        return False
    begins = _BEGINS.search(text[: words[0].span[0]]) is not None
    return not (begins and len(words) == 1) and not any(vocabulary.fold(w.text) in _NO_NAMES for w in words)


def opposite_words(claim: str, text: str) -> Iterator[Pair]:
    """Words of the claim for which the text has the opposite, beside the same word."""
    own, there = placed_words(claim), placed_words(text)
    folded, others = {w.text.lower() for w in own}, {w.text.lower() for w in there}
    if any(NEGATION.fullmatch(w) for w in folded) != any(NEGATION.fullmatch(w) for w in others):
        return
    for one in own:
        word = one.text.lower()
        opposite = OPPOSITES.get(word, frozenset()) - folded
        found = [w for w in there if w.text.lower() in opposite]
        if word not in others and len(found) == 1 and _beside_the_same(one, own, found[0], there):
            yield _with_at(one.span, claim), _with_at(found[0].span, text)


def _with_at(place: Span, text: str) -> Span:
    """The place of a word, with the "at" of "at least"."""
    start, end = place
    return (start - 3 if text[:start].lower().endswith("at ") else start), end


def _beside_the_same(one: PlacedWord, own: Words, other: PlacedWord, there: Words) -> bool:
    def neighbours(word: PlacedWord, words: Words) -> tuple[str, str]:
        content = [w for w in words if w.counts or w is word]
        at = content.index(word)
        return content[at - 1].key if at else "", content[at + 1].key if at + 1 < len(content) else ""

    pairs = zip(neighbours(one, own), neighbours(other, there), strict=True)
    return any(a == b != "" for a, b in pairs)


def denied_words(claim: str, text: str) -> Iterator[Pair]:
    """The word that one of the two denies."""
    own, there = placed_words(claim), placed_words(text)
    denied = [w for w in (_denied(own), _denied(there)) if w]
    if len(denied) != 1:
        return
    phrases = [[_phrase(words, w) for w in words if w.key == denied[0].key] for words in (own, there)]
    if all(len(some) == 1 for some in phrases):
        yield phrases[0][0], phrases[1][0]


def _denied(words: Words) -> PlacedWord | None:
    negations = [at for at, word in enumerate(words) if NEGATION.fullmatch(word.text)]
    if len(negations) != 1:
        return None
    behind = words[negations[0] + 1 :]
    if behind and behind[0].text.lower() in _QUALIFIERS:
        return None
    return next((word for word in behind if word.counts), None)


def _phrase(words: Words, word: PlacedWord) -> Span:
    """A word with the auxiliary and the negation before it."""
    at = words.index(word)
    start = at
    while start and (NEGATION.fullmatch(words[start - 1].text) or _AUXILIARY.fullmatch(words[start - 1].text)):
        start -= 1
    return words[start].span[0], word.span[1]


NEARLY = 0.65
"""The share of a claim's words that a text has at least if it says nearly the same."""
_FEWEST = 2
"""Words that both have at least."""
_PIECE = re.compile(r"[;:()]|,\s|\s(?:and|or|but|while|whereas)\s|\s[–—-]\s")
_PART = re.compile(r";\s|\.\s(?=[A-Z])|,\s(?:but|while|whereas)\s")
_ASKED = re.compile(r"\?\W*$")


@dataclass(frozen=True, slots=True)
class Difference:
    """One detail that a claim and a text tell otherwise."""

    claimed: str
    told: str
    place: Span
    """Where in the text."""

    def __str__(self) -> str:
        return f"{self.claimed} ≠ {self.told}"


def differences(claim: str, text: str, *, contradicts: bool = False) -> tuple[Difference, ...]:
    """What a claim and a text, a sentence or a few, tell otherwise, in the order of the text.

    Empty where the text is about something else, or says the same; `contradicts` says that it is known to contradict.
    """
    if _ASKED.search(text) or not (contradicts or _nearly_the_same(claim, text)):
        return ()
    found = [*_values(claim, text), *differing_names(claim, text), *opposite_words(claim, text)]
    if not found and contradicts:
        found = [*denied_words(claim, text)]
    pairs = sorted(found, key=lambda pair: pair[1])
    return tuple(Difference(claim[slice(*own)], text[slice(*there)], there) for own, there in pairs)


def likely_place(claim: str, text: str) -> Span | None:
    """Where a text has a value of the same kind as one of the claim's that it lacks; None if there is none."""
    own, there = details(claim), details(text)
    lacking = [one for one in own if not any(is_same(one, other) for other in there)]
    words = content_words(claim)
    places = [other.span for other in there if any(is_same(one, other) is False for one in lacking)]
    return max(places, key=lambda place: shared_words(words, content_words(_within(_PIECE, text, place))), default=None)


def _nearly_the_same(claim: str, text: str) -> bool:
    own = content_words(claim, (one.span for one in details(claim)))
    same = sum(any(is_same(one, other) for other in details(text)) for one in details(claim))
    shared = same + shared_words(own, content_words(text))
    return shared >= _FEWEST and shared >= NEARLY * (same + len(own))


def _values(claim: str, text: str) -> Iterator[Pair]:
    """Values of the claim that the text has not, each with the only one of the same kind that may stand for it."""
    own, there = _told(claim), _told(text)
    numbers, ranges = bare_numbers(text), names_in_ranges(text)
    taken: set[Span] = set()
    for one in own:
        if isinstance(one.value, Figure):
            known = (
                one.value.value in numbers or _turned(claim) - _turned(text) != set() or _worked_out(one, details(text))
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
            yield one.span, counterpart.span


def _turned(text: str) -> set[str]:
    return {found.lower() for found in WORDS["relative_number"].findall(text)}


def _worked_out(one: Detail, there: Sequence[Detail]) -> bool:
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
    if isinstance(one.value, WrittenDate) and fitting:
        alike = [_alike(one.value, other.value) for other in fitting if isinstance(other.value, WrittenDate)]
        fitting = [
            other
            for other, parts in zip(fitting, alike, strict=True)
            if parts == max(alike) and (parts or _shape(one.value) == _shape(other.value))
        ]
    if not fitting:
        return None
    words = content_words(claim, [one.span])
    rivals = _bare(text) if isinstance(one.value, Figure) else []
    shared = [shared_words(words, _beside(text, place)) for place in (*(o.span for o in fitting), *rivals)]
    best = shared.index(max(shared))
    if shared.count(shared[best]) > 1 or best >= len(fitting):
        return None
    found = fitting[best]
    parts = [shared_words(words, content_words(part)) for part in _PART.split(text)]
    return found if shared_words(words, content_words(_within(_PART, text, found.span))) == max(parts) else None


def _shape(value: object) -> tuple[bool, ...]:
    return (bool(value.day), bool(value.month), bool(value.year)) if isinstance(value, WrittenDate) else ()


def _alike(one: WrittenDate, other: WrittenDate) -> int:
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
    figures = [span for _, span in placed_figures(text) if text[span[0]].isdigit()]
    return [span for span in figures if not any(a <= span[0] < b for a, b in known)]


def _beside(text: str, place: Span) -> list[PlacedWord]:
    """The words beside a value, up to the next comma and the like; of "12 or 15 euros" both have those before them."""
    start, end = _span_within(_PIECE, text, place)
    words = content_words(text[start:end])
    values = {w.key for one in details(text) if start <= one.span[0] < end for w in placed_words(one.text)}
    return words if any(word.key not in values for word in words) else content_words(_within(_PART, text, place))


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
