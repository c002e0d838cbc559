"""Sources that contradict each other about what is asked: two values of one thing, or one denies what the other says.

Read off the texts of sources that answer a sub-question, each alone, whichever judge says so. Only clear cases count:
sentences that say the same but for one value, or one "not" or opposite, and don't speak of different names, years,
days, groups or conditions.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

from ragtriage.core.case import Record
from ragtriage.core.display import quoted
from ragtriage.core.verdicts import Cell, Component, Components, Part, Span, Verdict, chance_of
from ragtriage.metrics.thelma import ANSWERED_BY_ONE
from ragtriage.text import words as vocabulary
from ragtriage.text.dates import DATE_NAMES, YEAR
from ragtriage.text.differences import OPPOSITES, agree, differ
from ragtriage.text.lexicon import DETAILS
from ragtriage.text.questions import question_type
from ragtriage.text.sentences import split_sentences
from ragtriage.text.value_relations import relation
from ragtriage.text.values import Value, values
from ragtriage.text.words import NEGATION

DISAGREES = "disagrees"
"""The kind of a sentence of a source that another source contradicts."""
CHANCE = 0.4
"""Of each of the two sentences that it is right after all, set by hand: no labels tell."""
_MAY_ANSWER = 0.3
"""A source with a smaller chance to answer a sub-question is passed over."""
_FEWEST = 2
"""Words that both statements have."""
_ABOUT = 0.4
"""The share of a question's words that a sentence and its source's names have, at least."""
_LONGEST = 20_000
"""Characters of a source that are looked at."""
_MOST_STATEMENTS = 8
"""Sentences of a source that are equally close."""
_HEADING = re.compile(r"^(?P<heading>[^:]{1,80}):\s+(?P<said>(?:\S+\s+){2,}.*)$", re.DOTALL)
_WAS = re.compile(r"\b(?:was|were|had|used to)\b", re.IGNORECASE)
_ENDS = re.compile(r"[.!…][\"'”’)\]]*\s*$")
_YEAR = re.compile(YEAR)
_NEUTRAL = frozenset(map(vocabulary.stem, DETAILS.words("neutral")))
_DOCUMENTS = frozenset(map(vocabulary.stem, DETAILS.words("documents")))
_BOUNDS = [re.compile(rf"\b(?:{line})\b", re.IGNORECASE) for line in DETAILS.lines("bounds")]


@dataclass(frozen=True, slots=True)
class _Statement:
    """What one sentence of a source, or a question, says."""

    text: str
    span: Span | None
    words: frozenset[str]
    """The content words that say what it is about."""
    scope: frozenset[str]
    """Names, numbers without a unit, and words of conditions and circumstances: of which it holds."""
    heading: frozenset[str]
    """Words of a heading before it, without those that name a kind of document."""
    values: tuple[Value, ...]
    """Amounts and times of day."""
    moments: tuple[Value, ...]
    """Dates, years aside, and days of the week."""
    years: frozenset[str]
    folded: frozenset[str]
    """All words in small letters."""
    denied: bool
    bounds: frozenset[int]
    """At least, up to and the like; alike ones have one number."""


def disagreements(record: Record) -> tuple[Part, ...]:
    """Two bad parts for each sub-question on which sources contradict each other: a sentence of each."""
    verdicts = record.verdicts(ANSWERED_BY_ONE)
    if verdicts is None:
        return ()
    sources = record.case.sources or ()
    found: list[Part] = []
    for question, cells in zip(verdicts.components, verdicts.cells, strict=True):
        places = [at for at, cell in enumerate(cells) if _may_answer(cell) and at < len(sources)]
        texts = tuple(sources[at].text for at in places)
        if len(set(texts)) > 1 and (both := _disagreeing(question.text, texts)):
            (i, one), (j, other) = both
            found += [_part(one, places[i], places[j], other), _part(other, places[j], places[i], one)]
    return tuple(found)


def _may_answer(cell: Cell) -> bool:
    chance = chance_of(cell)
    return chance is not None and chance >= _MAY_ANSWER


def _part(said: _Statement, source: int, other: int, against: _Statement) -> Part:
    why = f"source {other + 1} says otherwise: {quoted(against.text)}"
    verdict = Verdict("no", None, 1.0 - CHANCE, why, sure=False, contradicted=True, chance=CHANCE)
    return Part(Component(said.text, said.span, source), verdict, good=False, kind=DISAGREES)


@lru_cache(256)
def _disagreeing(question: str, texts: tuple[str, ...]) -> tuple[tuple[int, _Statement], tuple[int, _Statement]] | None:
    """The first two statements on a question, each with the place of its text, that contradict each other."""
    asked = _statement(question, None)
    about = [(place, _statements_on(asked, text)) for place, text in enumerate(texts)]
    for (i, some), (j, others) in combinations(about, 2):
        for one, other in product(some, others):
            if _contradict(asked, one, other) and not any(_same(one, o) for o in others):
                return (i, one), (j, other)
    return None


def _statements_on(asked: _Statement, text: str) -> list[_Statement]:
    """The statements of a text that are about what is asked, the closest ones; none if it lacks a name of it."""
    wanted = {word: {word} | _opposite_stems(word, asked) for word in asked.words | asked.scope}
    names = _names(asked.text)
    if not names <= {vocabulary.token_stem(word) for word in vocabulary.tokens(text)}:
        return []
    best, closest = _ABOUT, list[Component]()
    for sentence in _sentences(text):
        there = names.union(map(vocabulary.token_stem, vocabulary.tokens(sentence.text)))
        covered = sum(not forms.isdisjoint(there) for forms in wanted.values()) / max(1, len(wanted))
        if covered > best:
            best, closest = covered, []
        if covered == best and not sentence.text.rstrip().endswith("?"):
            closest.append(sentence)
    return [_statement(one.text, one.span) for one in closest[:_MOST_STATEMENTS]]


@lru_cache(512)
def _sentences(text: str) -> Components:
    return split_sentences(text[:_LONGEST])


def _contradict(asked: _Statement, one: _Statement, other: _Statement) -> bool:
    """Whether two statements about what is asked can't both be right."""
    when = question_type(asked.text) == "when"
    if not (_about_the_same(asked, one, other) and _of_the_same(asked, one, other, when=when)):
        return False
    other_values = _other_values(one, other, when=when)
    if other_values is not None:
        return other_values and one.denied == other.denied
    denied = one.denied != other.denied
    if denied and not all(map(_ENDS.search, (one.text, other.text))):
        return False  # a heading denies nothing, and isn't denied
    return bool(_opposed(asked, one, other)) != denied


def _about_the_same(asked: _Statement, one: _Statement, other: _Statement) -> bool:
    """Whether the words of two statements are the same but for opposites, neutral ones, and words of the question."""
    known = asked.words | asked.scope
    a, b = (some.words | (some.scope & known) for some in (one, other))
    mine = {word for word in a - b if not _opposite_stem(word, other)} - _NEUTRAL
    theirs = {word for word in b - a if not _opposite_stem(word, one)} - _NEUTRAL
    each_of_a_part = mine & known and theirs & known  # of "for adults and for children"
    return not each_of_a_part and not (mine | theirs) - known and len(a & b) >= _FEWEST


def _of_the_same(asked: _Statement, one: _Statement, other: _Statement, *, when: bool) -> bool:
    """Whether nothing tells that two statements hold of different things, times or conditions."""
    if not asked.years and not when and _of_then_and_now(one, other):
        return False
    known = asked.words | asked.scope | _NEUTRAL
    if (one.scope ^ other.scope) - known or one.bounds - asked.bounds != other.bounds - asked.bounds:
        return False
    mine, theirs = one.years - asked.years, other.years - asked.years
    if not when and (mine and theirs if not asked.years else mine or theirs) and mine != theirs:
        return False
    if not (when and not one.values and not other.values):
        days = [{one_.text.lower() for one_ in some.moments if not _told(one_, asked.moments)} for some in (one, other)]
        if days[0] != days[1]:
            return False
    return all(not (a.heading - known - b.heading - b.words - a.words) for a, b in ((one, other), (other, one)))


def _of_then_and_now(one: _Statement, other: _Statement) -> bool:
    """Whether one tells what was in a year, and the other what is: "In 2020 the fee was 5 euros"."""
    was = [bool(some.years) and _WAS.search(some.text) is not None for some in (one, other)]
    return was[0] != was[1]


def _told(detail: Value, others: Sequence[Value]) -> bool:
    return any(agree(detail, other) for other in others)


def _other_values(one: _Statement, other: _Statement, *, when: bool) -> bool | None:
    """Whether each has one value of a kind and they aren't the same; None where neither has a value."""
    if when and not one.values and not other.values and not one.moments and not other.moments:
        return (len(one.years), len(other.years)) == (1, 1) and one.years != other.years if one.years else None
    mine, theirs = ((*some.values, *(some.moments if when else ())) for some in (one, other))
    if not mine and not theirs:
        return None
    kinds = {value.kind for value in mine} & {value.kind for value in theirs}
    pairs = [([v for v in mine if v.kind == kind], [v for v in theirs if v.kind == kind]) for kind in kinds]
    if any(len(a) != 1 or len(b) != 1 for a, b in pairs):
        return False
    return any(relation(a[0], b[0]) == "other" for a, b in pairs)


def _opposite_stems(stem: str, said: _Statement) -> set[str]:
    """The stems of the opposites of a statement's words with this stem."""
    words = (word for word in said.folded if vocabulary.stem(word) == stem)
    return {vocabulary.stem(other) for word in words for other in OPPOSITES.get(word, ())}


def _opposite_stem(stem: str, said: _Statement) -> bool:
    """Whether a statement has the opposite of a word with this stem."""
    return any(vocabulary.stem(word) == stem for own in said.folded for word in OPPOSITES.get(own, ()))


def _opposed(asked: _Statement, one: _Statement, other: _Statement) -> frozenset[str]:
    """Words of one statement for which the other has the opposite, where the question asks about one of them."""
    found = {word for word in one.folded - other.folded if OPPOSITES.get(word, frozenset()) & other.folded}
    return frozenset(word for word in found if ({word} | OPPOSITES[word]) & asked.folded)


def _same(one: _Statement, other: _Statement) -> bool:
    """Whether another statement says the very same."""
    if one.values:
        pairs = [(value, like) for value in one.values for like in other.values]
        return any(agree(*pair) for pair in pairs) and not any(differ(*pair) for pair in pairs)
    return one.folded <= other.folded and one.denied == other.denied and one.years <= other.years


def _names(text: str) -> frozenset[str]:
    words = vocabulary.placed_words(text)
    found = (w for at, w in enumerate(words) if at and w.text[0].isupper() and w.counts and len(w.text) > 1)
    return frozenset(w.key for w in found if vocabulary.fold(w.text) not in DATE_NAMES)


@lru_cache(4096)
def _statement(text: str, span: Span | None) -> _Statement:
    parts = _HEADING.match(text)
    heading, said = (parts["heading"], parts["said"]) if parts else ("", text)
    said = DETAILS["aside"].sub(lambda found: " " * len(found[0]), said)
    told = values(said)
    amounts = tuple(one for one in told if one.kind not in {"date", "weekday"})
    moments = tuple(one for one in told if one.kind in {"date", "weekday"} and not _YEAR.fullmatch(one.text))
    content = [w for w in vocabulary.content_words(said, (one.span for one in told)) if not _YEAR.fullmatch(w.text)]
    names = {w.key for w in content if w.text[0].isdigit() or (w.text[0].isupper() and w.span[0])}
    scope = names | set(_circumstances(said, content))
    return _Statement(
        text,
        span,
        frozenset(w.key for w in content if w.key not in scope),
        frozenset(scope),
        frozenset(w.key for w in vocabulary.content_words(heading) if not _YEAR.fullmatch(w.text)) - _DOCUMENTS,
        amounts,
        moments,
        frozenset(_YEAR.findall(text)),
        frozenset(map(vocabulary.fold, vocabulary.tokens(said))),
        any(NEGATION.fullmatch(w.text) for w in vocabulary.placed_words(said)),
        _bounds(said),
    )


def _bounds(text: str) -> frozenset[int]:
    """Which bounds a text has; "most" in "at most" is none of its own."""
    found: set[int] = set()
    for place, bound in enumerate(_BOUNDS):
        text, times = bound.subn(" ", text)
        found |= {place} if times else set()
    return frozenset(found)


def _circumstances(text: str, content: Sequence[vocabulary.PlacedWord]) -> Iterator[str]:
    """The content words of "for children", "in winter", "if it rains" and the like."""
    for phrase in DETAILS["circumstances"].finditer(text):
        start, end = phrase.span("of")
        yield from (w.key for w in content if start <= w.span[0] < end)
        if phrase["other"]:
            yield phrase["other"].lower()
