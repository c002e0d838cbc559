"""What a claim says otherwise than a text that says nearly the same: £53 and £35, March and April, before and after.

Only for showing: no verdict hangs on it. Where it isn't plain which of several values is the counterpart, or whether a
text is about the same, nothing is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from ragtriage.text.dates import WrittenDate, names_in_ranges
from ragtriage.text.details import Detail, Span, bare_numbers, details, is_same
from ragtriage.text.differing_words import Pair, denied_words, differing_names, opposite_words
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.numbers import Figure, placed_figures
from ragtriage.text.placed_words import PlacedWord, content_words, placed_words, shared_words

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
    """As the claim has it."""
    told: str
    """As the text has it."""
    place: Span
    """Where in the text."""

    def __str__(self) -> str:
        return f"{self.claimed} ≠ {self.told}"


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
    """The words by which a number is counted from another."""
    return {found.lower() for found in WORDS["relative_number"].findall(text)}


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
    """Which parts of a date are written."""
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
