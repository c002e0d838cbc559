"""Claims that say yes where a sentence of the evidence says no in the same words, or the other way round.

"Pets are allowed" shares all but one word with "Pets are not allowed", and the models go by what is shared. So a
sentence that has nearly all of a claim's words is read for what stands behind its "not". Only what is plain counts: a
claim with a condition, "not only", "without", and evidence that says both, tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.judges.embedded import lexicon
from ragtriage.judges.embedded.reading import Sentence

_PART = re.compile(r"[,;:.!?()\[\]\n]|\s[–—-]\s|\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_DENIES = re.compile(r"(?:not|never|no|cannot|\w+n['’]t)$", re.IGNORECASE)
_ENDS = frozenset(
    "but although though while whereas unless except because since and so if when until which who that however "
    "rather".split()
)
"""Words at which a clause ends."""
_UNPLAIN = frozenset(
    "only just necessarily always all every everyone everything both yet merely simply least more less later earlier "
    "sure certain likely too very fully entirely completely solely exactly quite enough matter doubt longer other "
    "different much many".split()
)
"""Behind a "not" or "no" they deny less than the whole, or nothing."""
_CONDITIONS = frozenset("if unless except only until when whether although though while either than or".split())
_HIDDEN = re.compile(
    r"\b(?:without|avoid|fail|lack|miss|absen|refus|prevent|unable|den[iy]|rare|hard|scarce|seldom|unlike|instead|stop|"
    r"forbid|prohibit|ban|exclu|neither|nor|nobody|none|nothing|barely|few|little)\w*",
    re.IGNORECASE,
)
"""What denies without a "not"."""
_OPENING = re.compile(r"\W*(yes|no)\s*[,.:;!—–]", re.IGNORECASE)
_REACH = 4
"""Words that a negation reaches."""
_SHARE = 0.75
"""Of a claim's words that a clause must have."""
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class _Clause:
    said: frozenset[str]
    """The stems that are said outright."""
    denied: frozenset[str]
    """The stems that are only said behind a negation."""
    plain: bool

    @property
    def stems(self) -> frozenset[str]:
        """All."""
        return self.said | self.denied


def denying(claim: Sentence, sentences: Sequence[Sentence]) -> str:
    """The sentence that denies what the claim says, or says what it denies; empty if there is none, or another agrees.

    Args:
        claim: one claim.
        sentences: those of the evidence.
    """
    near = [s for s in sentences if len(claim.stemset & s.stemset) >= _SHARE * len(claim.stemset)]
    return _with_the_other_opening(claim.text, near) or _negated(claim, near)


def _with_the_other_opening(claim: str, near: Sequence[Sentence]) -> str:
    """A sentence that begins with "No," where the claim begins with "Yes,", or the other way round."""
    own = _OPENING.match(claim)
    for sentence in near if own else ():
        other = _OPENING.match(sentence.text)
        if own and other and other[1].lower() != own[1].lower():
            return sentence.text
    return ""


def _negated(claim: Sentence, near: Sequence[Sentence]) -> str:
    """A sentence with a negation where the claim has none, or the other way round, unless another agrees with it."""
    if all(s.negated == claim.negated for s in near) or not (own := _as_one(claim.text)):
        return ""
    found = ""
    for sentence in near:
        for clause in _clauses(sentence.text):
            shared = own.stems & clause.stems
            if not clause.plain or len(shared) < max(_FEWEST, _SHARE * len(own.stems)):
                continue
            if bool(own.denied) == bool(clause.denied & shared) or _HIDDEN.search(sentence.text):
                return ""
            if (own.denied or clause.denied) <= shared:
                found = found or sentence.text
    return found


def _as_one(claim: str) -> _Clause | None:
    """A claim as one clause; None if it can't be read so surely."""
    if _HIDDEN.search(claim) or _CONDITIONS & {word.lower() for word in lexicon.tokens(claim)}:
        return None
    parts = _clauses(claim)
    if not parts or not all(clause.plain for clause in parts):
        return None
    said, denied = (frozenset[str]().union(*some) for some in zip(*((c.said, c.denied) for c in parts), strict=True))
    whole = _Clause(said, denied - said, plain=True)
    main = max(parts, key=lambda clause: len(clause.stems))
    return whole if not denied or (main.denied and len(main.stems) >= _SHARE * len(whole.stems)) else None


@lru_cache(2048)
def _clauses(text: str) -> tuple[_Clause, ...]:
    """The clauses of a text."""
    return tuple(_read(text))


def _read(text: str) -> Iterator[_Clause]:
    said: set[str] = set()
    denied: set[str] = set()
    reach, plain, begins = 0, True, False
    for part in [*_PART.findall(text), "."]:
        word = part.lower()
        if not word[0].isalnum() or word in _ENDS:
            if said or denied:
                yield _Clause(frozenset(said), frozenset(denied - said), plain)
            said, denied, reach, plain = set(), set(), 0, True
        elif _DENIES.match(word):
            reach, begins = _REACH, True
        else:
            plain = plain and not (begins and word in _UNPLAIN)
            begins = False
            if word not in lexicon.STOP and word != "need":
                stem = lexicon.number(word) if word[0].isdigit() else lexicon.stem(lexicon.fold(word))
                (denied if reach else said).add(stem)
            reach = max(0, reach - 1)
