"""What a claim says otherwise than a text that says nearly the same: £53 and £35, March and April, before and after.

Where it isn't plain which of several values is the counterpart, or whether a text is about the same, nothing is told.
Of what is told here, verdicts hang on values alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from ragtriage.core.verdicts import Span
from ragtriage.text.dates import WrittenDate, names_in_ranges
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.value_relations import relation
from ragtriage.text.values import Value, bare_numbers, values
from ragtriage.text.words import NEGATION, PlacedWord, content_words, placed_figures, placed_words, shared_words

SpanPair = tuple[Span, Span]
"""A place in the claim and its counterpart in the text."""
Words = Sequence[PlacedWord]


def opposites_in(lines: Iterable[str]) -> Mapping[str, frozenset[str]]:
    """Word → words that say the opposite, in small letters, of lines with a bar between the sides."""
    found: dict[str, frozenset[str]] = {}
    for line in lines:
        sides = [frozenset(side.split()) for side in line.split("|")]
        for side in sides:
            for word in side:
                found[word] = found.get(word, frozenset()).union(*sides) - side
    return found


OPPOSITES = opposites_in((*WORDS.lines("opposites"), *DETAILS.lines("further_opposites")))


def opposite_words(claim: str, text: str) -> Iterator[SpanPair]:
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
    pairs = [_shown(*pair) for pair in differing_values(claim, text)]
    turned = [pair for pair in opposite_words(claim, text) if not any(_overlap(pair[1], other) for _, other in pairs)]
    told = sorted([*pairs, *turned], key=lambda pair: pair[1])
    return tuple(Difference(claim[slice(*own)], text[slice(*there)], there) for own, there in told)


def _shown(own: Value, there: Value) -> SpanPair:
    """Two values, with their bounds where these differ."""
    return (own.span, there.span) if own.bound == there.bound else (own.whole, there.whole)


def _overlap(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def likely_place(claim: str, text: str) -> Span | None:
    """Where a text has a value of the same kind as one of the claim's that it lacks; None if there is none."""
    own, there = values(claim), values(text)
    lacking = [one for one in own if not any(agree(one, other) for other in there)]
    words = content_words(claim)
    places = [other.span for other in there if any(differ(one, other) for one in lacking)]
    return max(places, key=lambda place: shared_words(words, content_words(_within(_PIECE, text, place))), default=None)


def _nearly_the_same(claim: str, text: str) -> bool:
    own = content_words(claim, (one.span for one in values(claim)))
    same = sum(any(agree(one, other) for other in values(text)) for one in values(claim))
    shared = same + shared_words(own, content_words(text))
    return shared >= _FEWEST and shared >= NEARLY * (same + len(own))


def differing_values(claim: str, text: str) -> Iterator[tuple[Value, Value]]:
    """Values of the claim that the text has not, each with the only one of the same kind that may stand for it."""
    own, there = _told(claim), _told(text)
    ranges = names_in_ranges(text)
    taken: set[Span] = set()
    for one in own:
        if one.figures:
            turned = _turned(claim) - _turned(text) != set()
            known = turned or _stands_apart(one, text) or _worked_out(one, claim, text)
        else:
            known = one.text.lower() in ranges or (one.kind == "weekday" and DETAILS["days"].search(text) is not None)
            known = known or (one.kind == "date" and DETAILS["from_now"].search(text) is not None)
        if met := [other for other in there if agree(one, other)]:
            if len(met) == 1 and (turned_round := _turned_round(one, met[0], there, claim, text)):
                yield one, turned_round
            continue
        if known:
            continue
        others = [
            other
            for other in there
            if differ(one, other) and other.span not in taken and not any(agree(o, other) for o in own)
        ]
        counterpart = _counterpart(one, others, claim, text)
        if counterpart and not _by_rate(one, counterpart, claim, text):
            taken.add(counterpart.span)
            yield one, counterpart


def _turned_round(one: Value, met: Value, there: Sequence[Value], claim: str, text: str) -> Value | None:
    """The value that a text tells of what the claim speaks of, where the claim's is that of its opposite there.

    "It starts on the 3rd and ends on the 17th" beside "It starts on the 17th".
    """
    own = {word.text.lower() for word in placed_words(_within(_PIECE, claim, one.span))}
    beside = {word.text.lower() for word in placed_words(_within(_PIECE, text, met.span))}
    words = {word for word in own - beside if OPPOSITES.get(word, frozenset()) & beside - own}
    others = [
        other
        for other in there
        if differ(one, other)
        and words & {word.text.lower() for word in placed_words(_within(_PIECE, text, other.span))}
    ]
    return others[0] if len(others) == 1 else None


def agree(one: Value, other: Value) -> bool:
    """Whether a claimed value may be true beside one that is told."""
    return relation(one, other) in ("same", "within")


def differ(one: Value, other: Value) -> bool:
    """Whether a claimed value isn't what is told, or isn't told so."""
    return relation(one, other) in ("other", "unsure")


def _stands_apart(one: Value, text: str) -> bool:
    """Whether the number of a value stands in a text without a unit, or with that of something else."""
    own = bare_numbers(one.text)
    alike = [other.span for other in values(text) if relation(one, other)]
    return any(
        figure.value in own and not any(_overlap(span, other) for other in alike)
        for figure, span in placed_figures(text)
    )


def _turned(text: str) -> set[str]:
    return {found.lower() for found in WORDS["relative_number"].findall(text)}


def _worked_out(one: Value, claim: str, text: str) -> bool:
    """Whether it is the sum or difference of two numbers, the rest of 100 %, or so many times a value as is said."""
    there = values(text)
    amounts = [figure.value for other in there if other.kind == one.kind for figure in other.figures]
    wanted = {figure.value for figure in one.figures}
    own, bare = bare_numbers(one.text), bare_numbers(text)
    times = {Decimal("0.5"), Decimal(2)} if DETAILS["times"].search(text) else set()
    come = {a * n for a in amounts for n in times | (bare_numbers(claim) - own)}
    come |= {100 - a for a in amounts} if one.kind == "%" else set()
    return not come.isdisjoint(wanted) or any({a + b, abs(a - b)} & own for a, b in combinations(sorted(bare), 2))


def _told(text: str) -> list[Value]:
    """The details of a text but for those that only say how far apart two values are: "15 minutes longer"."""
    return [one for one in values(text) if not DETAILS["compares"].match(text, one.span[1])]


def _counterpart(one: Value, others: Sequence[Value], claim: str, text: str) -> Value | None:
    """Which of several values stands where the claim has its own; None if that isn't plain."""
    own, there = values(claim), values(text)
    fitting = [other for other in others if not _of_another(other, own, there, text)]
    if one.kind == "date" and fitting:
        alike = [_alike(one, other) for other in fitting]
        fitting = [
            other
            for other, parts in zip(fitting, alike, strict=True)
            if parts == max(alike) and (parts or _shape(one) == _shape(other))
        ]
    if not fitting:
        return None
    words = content_words(claim, [one.span])
    rivals = _bare(text) if one.figures else []
    shared = [shared_words(words, _beside(text, place)) for place in (*(o.span for o in fitting), *rivals)]
    best = shared.index(max(shared))
    if shared.count(shared[best]) > 1 or best >= len(fitting):
        return None
    found = fitting[best]
    parts = [shared_words(words, content_words(part)) for part in _PART.split(text)]
    return found if shared_words(words, content_words(_within(_PART, text, found.span))) == max(parts) else None


def _dates(one: Value) -> list[WrittenDate]:
    return [reading for reading in one.readings if isinstance(reading, WrittenDate)]


def _shape(one: Value) -> tuple[bool, ...]:
    date = _dates(one)[0]
    return bool(date.day), bool(date.month), bool(date.year)


def _alike(one: Value, other: Value) -> int:
    """How many of day, month and year two dates share at most."""
    return max(
        sum(a is not None and a == b for a, b in ((x.day, y.day), (x.month, y.month), (x.year, y.year)))
        for x in _dates(one)
        for y in _dates(other)
    )


def _of_another(value: Value, own: Sequence[Value], there: Sequence[Value], text: str) -> bool:
    """Whether beside a value stands another than the claim has, while the claim's stands elsewhere."""
    start, end = _span_within(_PIECE, text, value.span)
    beside = [one for one in there if start <= one.span[0] < end and one is not value]
    return any(
        differ(mine, one)
        and any(agree(mine, other) for other in there)
        and not any(agree(mine, near) for near in beside)
        for one in beside
        for mine in own
    )


def _bare(text: str) -> list[Span]:
    """Where the numbers without a unit stand."""
    known = [one.span for one in values(text)]
    figures = [span for _, span in placed_figures(text) if text[span[0]].isdigit()]
    return [span for span in figures if not any(a <= span[0] < b for a, b in known)]


def _beside(text: str, place: Span) -> list[PlacedWord]:
    """The words beside a value, up to the next comma and the like; of "12 or 15 euros" both have those before them."""
    start, end = _span_within(_PIECE, text, place)
    words = content_words(text[start:end])
    told = {w.key for one in values(text) if start <= one.span[0] < end for w in placed_words(one.text)}
    return words if any(word.key not in told for word in words) else content_words(_within(_PART, text, place))


def _span_within(cuts: re.Pattern[str], text: str, place: Span) -> Span:
    """Where the part of a text stands that holds a place, if it is cut at a pattern."""
    found = [match.span() for match in cuts.finditer(text)]
    start = max((end for _, end in found if end <= place[0]), default=0)
    return start, min((begin for begin, _ in found if begin >= place[1]), default=len(text))


def _within(cuts: re.Pattern[str], text: str, place: Span) -> str:
    return text[slice(*_span_within(cuts, text, place))]


def _by_rate(one: Value, other: Value, claim: str, text: str) -> bool:
    """Whether the other is a price or a speed, by which the claim's amount may have been worked out."""
    each = DETAILS["each"]
    return bool(one.figures and each.match(text, other.span[1]) and not each.match(claim, one.span[1]))
