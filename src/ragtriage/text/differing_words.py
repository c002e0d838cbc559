"""Words by which a claim and a text that says nearly the same differ: names, opposites, what one of them denies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from ragtriage.text import words as vocabulary
from ragtriage.text.dates import DATE_NAMES
from ragtriage.text.details import Span, details
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.placed_words import NEGATION, PlacedWord, content_words, placed_words, shared_words

Pair = tuple[Span, Span]
"""A place in the claim and its counterpart in the text."""
Words = Sequence[PlacedWord]

_FEWEST = 2
"""Words beside two names that are the same in both."""
_LONGEST_NAME = 4
_BEGINS = re.compile(r"(?:^|[.!?:;]\s|\n)\W*$")
_AUXILIARY = re.compile(rf"{WORDS.regex('auxiliary')}|be|been|being|to|needs?", re.IGNORECASE)
_NO_NAMES = DETAILS.words("no_names") | DATE_NAMES
_QUALIFIERS = WORDS.words("qualifiers")
_OPPOSITES: dict[str, frozenset[str]] = {}
for _sides in (
    [frozenset(side.split()) for side in line.split("|")]
    for line in (*WORDS.lines("opposites"), *DETAILS.lines("further_opposites"))
):
    for _side in _sides:
        for _word in _side:
            _OPPOSITES[_word] = _OPPOSITES.get(_word, frozenset()).union(*_sides) - _side


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
        if max(before, after) < _FEWEST and not (before and after):
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
        opposite = _OPPOSITES.get(word, frozenset()) - folded
        found = [w for w in there if w.text.lower() in opposite]
        if word not in others and len(found) == 1 and _beside_the_same(one, own, found[0], there):
            yield _with_at(one.span, claim), _with_at(found[0].span, text)


def _with_at(place: Span, text: str) -> Span:
    """The place of a word, with the "at" of "at least"."""
    start, end = place
    return (start - 3 if text[:start].lower().endswith("at ") else start), end


def _beside_the_same(one: PlacedWord, own: Words, other: PlacedWord, there: Words) -> bool:
    """Whether the next word before or behind is the same."""

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
    """The word behind the only negation."""
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
