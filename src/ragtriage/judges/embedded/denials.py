"""Claims that a sentence of the evidence negates in the same words, or the other way round.

"Pets are allowed" and "Pets are not allowed" share all words but one, and the models go by shared words. So a
sentence with all of a claim's words is checked for what its "not" applies to. Only clear cases count: nothing is
concluded from a question, a myth, a plan, a condition, "not only", or evidence that says both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.judges.embedded.readings import Sentence
from ragtriage.judges.embedded.rules import RULES
from ragtriage.text import words as vocabulary
from ragtriage.text.lexicon import WORDS
from ragtriage.text.numbers import IN_FIGURES

PART = re.compile(rf"[,;:.!?()\[\]\n]|\s[–—-]\s|{IN_FIGURES}|{vocabulary.WORD}")
_DENIES = re.compile(r"(?:not|never|no|cannot|\w+n['’]t)$", re.IGNORECASE)
NO_DENIAL = RULES["no_denial"]
_ENDS = RULES.words("ends_clause")
QUALIFIERS = WORDS.words("qualifiers")
_CONDITIONS = RULES.words("claim_conditions")
HIDDEN = RULES["hidden"]
_OPENING = re.compile(r"\W*(yes|no)\s*[,.:;!—–]\s*", re.IGNORECASE)
_ASKED = re.compile(r"\?\W*$")
_REACH = 4
"""Words that a negation reaches."""
_FEWEST = 2
_MORE = 1
"""Words that the sentence may have beyond the claim's."""


@dataclass(frozen=True, slots=True)
class _Clause:
    said: frozenset[str]
    """The stems that are said outright."""
    denied: frozenset[str]
    """The stems that are only said behind a negation."""
    unqualified: bool
    """Whether the negation, if there is one, denies the whole."""

    @property
    def stems(self) -> frozenset[str]:
        """All."""
        return self.said | self.denied


def denying_sentence(claim: Sentence, sentences: Sequence[Sentence]) -> str:
    """The sentence that denies a claim, or states what it denies; empty if there is none, or if another one agrees."""
    text = _unopened(claim.text)
    words = claim.stemset - {"yes"}
    near = [s for s in sentences if words <= s.stemset and not _ASKED.search(s.text)]
    if not near or not (own := _as_one(text)):
        return ""
    found = ""
    for sentence in near:
        match _reads(own, text, sentence.text):
            case "agrees" | "unclear":
                return ""
            case "denies":
                found = found or sentence.text
    return found


def is_negation(word: str) -> bool:
    """Whether it is "not" or the like."""
    return _DENIES.match(word) is not None


def _reads(own: _Clause, claim: str, sentence: str) -> str:
    """What a sentence says about a claim: `agrees`, `denies`, `unclear`, or nothing."""
    said = _unopened(sentence)
    reading = ""
    for clause in _clauses(said):
        if not own.stems <= clause.stems:
            continue
        if not clause.unqualified:
            return "unclear"
        if bool(own.denied) == bool(clause.denied & own.stems):
            return "agrees"
        more = clause.stems - own.stems
        if not (own.denied or clause.denied) <= own.stems or len(more) > _MORE or any(one[0].isdigit() for one in more):
            continue
        beside = {word.lower() for word in RULES["not_stated"].findall(said)} - {
            word.lower() for word in RULES["not_stated"].findall(claim)
        }
        if beside or (said == sentence and HIDDEN.search(said)):
            return "unclear"
        reading = "denies"
    return reading


def _unopened(text: str) -> str:
    """The text without a "Yes," or "No," at its beginning."""
    return _OPENING.sub("", text, count=1) if _OPENING.match(text) else text


def _as_one(claim: str) -> _Clause | None:
    """A claim as one clause; None if it can't be read so surely."""
    if HIDDEN.search(claim) or _CONDITIONS & {word.lower() for word in vocabulary.tokens(claim)}:
        return None
    parts = _clauses(claim)
    if not parts or not all(clause.unqualified for clause in parts):
        return None
    said, denied = (frozenset[str]().union(*some) for some in zip(*((c.said, c.denied) for c in parts), strict=True))
    whole = _Clause(said, denied - said, unqualified=True)
    alone = not denied or (len(parts) == 1 and bool(parts[0].denied))
    return whole if alone and len(whole.stems) >= _FEWEST else None


@lru_cache(512)
def _clauses(text: str) -> tuple[_Clause, ...]:
    """The clauses of a text."""
    return tuple(_read(NO_DENIAL.sub(" ", text)))


def _read(text: str) -> Iterator[_Clause]:
    said: set[str] = set()
    denied: set[str] = set()
    reach, unqualified = 0, True
    for part in [*PART.findall(text), "."]:
        word = part.lower()
        if not word[0].isalnum() or word in _ENDS:
            if said or denied:
                yield _Clause(frozenset(said), frozenset(denied - said), unqualified)
            said, denied, reach, unqualified = set(), set(), 0, True
        elif is_negation(word):
            reach = _REACH
        else:
            unqualified = unqualified and word != "only" and not (reach and word in QUALIFIERS)
            if word not in vocabulary.STOP and word != "need":
                stem = vocabulary.token_stem(word)
                (denied if reach else said).add(stem)
            reach = max(0, reach - 1)
