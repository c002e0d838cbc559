"""Values of a claim beside those that the evidence tells: the same in another notation, or another one.

The models go by words, so that "6:30 pm" is far from "18:30" for them, and "42 grams" near "42 kg". Therefore a value
that the evidence writes otherwise is written as there before a model reads the claim; and where a sentence that says
nearly the same has another value, and no other sentence has the claim's, the claim isn't supported.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.core.verdicts import Span
from ragtriage.judges.embedded.readings import Sentence
from ragtriage.text.differences import agree, differ, differing_values
from ragtriage.text.value_relations import relation
from ragtriage.text.values import MOMENTS, Value, values
from ragtriage.text.words import NEGATION, PlacedWord, content_words, placed_words, shared_words

OTHER = 0.08
"""The chance, at most, that a claim with another value is supported."""
UNSURE = 0.35
"""The same where only a bound, or how far a number is rounded, isn't told so."""
_NEARLY = 0.75
"""The share of a claim's words, values aside, that a sentence about the same thing has."""
_FEWEST = 2
"""Words beside its values that a claim has at least, unless a sentence has the very same."""
_NEARER = 0.3
"""How much less of the claim's words may stand near its own value."""
_NEARER_THAN_ALL = 0.15
"""The same where the sentence with another value has all words of a claim, and these are some."""
_SOME = 4
_PART = re.compile(r"[;:]\s|,\s(?:but|while|whereas|although|though|who|which|including|of which|and|plus)\s")
_NO_MORE = re.compile(r"\bno(?:t)? \w+ than\b", re.IGNORECASE)


def in_told_notation(claim: str, sentences: Sequence[str]) -> str:
    """The claim with each value as the sentence that shares most of its words writes the same one."""
    own = values(claim)
    if not own:
        return claim
    words = _words(claim)
    out, end = claim, len(claim)
    for one in reversed(own):
        told = [(other, text) for text in sentences for other in values(text) if relation(one, other) == "same"]
        if not told or one.whole[1] > end or any(_is_written(one, claim, *found) for found in told):
            continue
        other, text = max(told, key=lambda found: shared_words(words, _words(found[1])))
        start, stop = _place(one)
        out = out[:start] + _notation(one, other, text) + out[stop:]
        end = one.whole[0]
    return out


def _place(one: Value) -> Span:
    """Where a value is written; a date or time keeps the bound that it has."""
    return one.span if one.kind in MOMENTS else one.whole


def _is_written(one: Value, claim: str, other: Value, text: str) -> bool:
    """Whether two values are written in the same words: "8-day", "8 days"."""
    own, there = (
        placed_words(said[slice(*_place(value))].replace("-", " ")) for said, value in ((claim, one), (text, other))
    )
    return [word.key for word in own] == [word.key for word in there]


def _notation(one: Value, other: Value, text: str) -> str:
    """The other value as it is written; what is counted keeps its own form."""
    written = text[slice(*_place(other))]
    if not one.counted or not written.endswith(other.text):
        return written
    return (
        f"{written.rpartition(' ')[0]} {one.text.rpartition(' ')[2]}"
        if " " in written and " " in one.text
        else one.text
    )


@lru_cache(2048)
def _words(text: str) -> tuple[PlacedWord, ...]:
    """The content words of a text but for those of its values."""
    return tuple(content_words(text, (one.whole for one in values(text))))


@dataclass(frozen=True, slots=True)
class OtherValue:
    """What a sentence tells instead of a claim's value."""

    sentence: str
    chance: float
    """That the claim is supported all the same, at most."""


def other_value(claim: str, sentences: Sequence[Sentence]) -> OtherValue | None:
    """The other value that a sentence about the same thing tells; None if there is none, or another has the claim's."""
    own = values(claim)
    words = _words(claim)
    if not own or not words:
        return None
    found: OtherValue | None = None
    best, negated = 0.0, _is_negated(claim, (0, len(claim)))
    for sentence in sentences:
        if not any(differ(one, other) for other in values(sentence.text) for one in own):
            continue
        share = _share(words, sentence.text)
        few = len(words) < _FEWEST and len(_words(sentence.text)) > len(words)
        if few or sentence.text.rstrip().endswith("?") or share < _NEARLY or share <= best:
            continue
        for one, other in differing_values(claim, sentence.text):
            denied = _is_negated(sentence.text, other.span) != negated
            if not denied and not _told_elsewhere(one, words, sentences, sentence, share):
                found = OtherValue(sentence.text, OTHER if relation(one, other) == "other" else UNSURE)
                best = share
                break
    return found


def _is_negated(text: str, place: Span) -> bool:
    """Whether the part of a text that holds a place has a negation that is no part of a bound."""
    start = max((cut.end() for cut in _PART.finditer(text) if cut.end() <= place[0]), default=0)
    end = min((cut.start() for cut in _PART.finditer(text) if cut.start() >= place[1]), default=len(text))
    return any(NEGATION.fullmatch(word.text) for word in placed_words(_NO_MORE.sub(" ", text[start:end])))


def _share(words: Sequence[PlacedWord], text: str) -> float:
    return shared_words(words, _words(text)) / len(words)


def _told_elsewhere(
    one: Value, words: Sequence[PlacedWord], sentences: Sequence[Sentence], but: Sentence, share: float
) -> bool:
    """Whether another sentence with nearly as many of the claim's words has its value; what heads it counts as well."""
    nearer = _NEARER_THAN_ALL if share == 1 and len(words) >= _SOME else _NEARER
    for at, sentence in enumerate(sentences):
        if sentence is not but and any(agree(one, other) for other in values(sentence.text)):
            beside = [s.text for s in (*sentences[max(0, at - 1) : at], *sentences[at + 1 : at + 2])]
            heads = [text for text in beside if not any(relation(one, other) for other in values(text))]
            if _share(words, " ".join((sentence.text, *heads))) > share - nearer:
                return True
    return False
