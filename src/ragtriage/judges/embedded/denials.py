"""Claims that say yes where a sentence of the evidence says no in the same words, or the other way round.

"Pets are allowed" shares all but one word with "Pets are not allowed", and the models go by what is shared. So a
sentence that has all of a claim's words is read for what stands behind its "not". Only what is plain counts: one word
that differs may be the one that matters, and a question, a myth, a plan, a condition, "not only", or evidence that says
both tell nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ragtriage.judges.embedded.readings import Sentence
from ragtriage.text import words as lexicon

PART = re.compile(r"[,;:.!?()\[\]\n]|\s[–—-]\s|\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_DENIES = re.compile(r"(?:not|never|no|cannot|\w+n['’]t)$", re.IGNORECASE)
NO_DENIAL = re.compile(
    r"\b[Nn]o\.?(?=\s*\d)|(?<=[^\W\d] )No\b|(?<=[,.] )No\b|\b\w{1,30}-(?:no|not|never)\b|\b(?:[Nn]o|[Nn]ot|[Nn]ever)-"
)
"""A "no" that denies nothing: a number's, a name's, a compound's."""
_ENDS = frozenset(
    "but although though while whereas unless except because since and so if when which who that however rather".split()
)
"""Words at which a clause ends."""
UNPLAIN = frozenset(
    "just necessarily always all every everyone everything both yet merely simply least more less later earlier sure "
    "certain likely too very fully entirely completely solely exactly quite enough matter doubt longer other different "
    "much many additional further extra".split()
)
"""Behind a "not" or "no" they deny less than the whole, or nothing."""
_CONDITIONS = frozenset(
    "if unless except only until when whether although though while either than or may might could some".split()
)
HIDDEN = re.compile(
    r"\b(?:without|avoid|fail|lack|miss|absen|refus|prevent|unable|den[iy]|rare|hard|scarce|seldom|unlike|instead|stop|"
    r"forbid|prohibit|ban|exclu|neither|nor|nobody|none|nothing|barely|few|little|non|un(?!i|d))\w*",
    re.IGNORECASE,
)
"""What denies without a "not"."""
_NOT_STATED = re.compile(
    r"\b(?:myth|false|untrue|incorrect|wrong\w*|misconception|belie\w+|suppos\w+|alleg\w+|rumou?r\w*|claim\w*|"
    r"said|says?|think\w*|thought|impossible|illegal|invalid|against|outside|zero|risk|free of|may|might|could|would|"
    r"will|hop(?:es?|ed)|plan(?:s|ned)? to|expect\w*|(?:was|were|has|have|needs?) to|must be|used to|almost|nearly|"
    r"previously|formerly|originally|initially|until|past|at launch|some|most|half|percent|under|over|before|after|"
    r"only|keep\w* from)\b|%|:\s*no\b",
    re.IGNORECASE,
)
"""Words by which a sentence doesn't state what it says, or not of now, or not of all."""
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
        if not clause.plain:
            return "unclear"
        if bool(own.denied) == bool(clause.denied & own.stems):
            return "agrees"
        more = clause.stems - own.stems
        if not (own.denied or clause.denied) <= own.stems or len(more) > _MORE or any(one[0].isdigit() for one in more):
            continue
        beside = {word.lower() for word in _NOT_STATED.findall(said)} - {
            word.lower() for word in _NOT_STATED.findall(claim)
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
    if HIDDEN.search(claim) or _CONDITIONS & {word.lower() for word in lexicon.tokens(claim)}:
        return None
    parts = _clauses(claim)
    if not parts or not all(clause.plain for clause in parts):
        return None
    said, denied = (frozenset[str]().union(*some) for some in zip(*((c.said, c.denied) for c in parts), strict=True))
    whole = _Clause(said, denied - said, plain=True)
    alone = not denied or (len(parts) == 1 and bool(parts[0].denied))
    return whole if alone and len(whole.stems) >= _FEWEST else None


@lru_cache(2048)
def _clauses(text: str) -> tuple[_Clause, ...]:
    """The clauses of a text."""
    return tuple(_read(NO_DENIAL.sub(" ", text)))


def _read(text: str) -> Iterator[_Clause]:
    said: set[str] = set()
    denied: set[str] = set()
    reach, plain = 0, True
    for part in [*PART.findall(text), "."]:
        word = part.lower()
        if not word[0].isalnum() or word in _ENDS:
            if said or denied:
                yield _Clause(frozenset(said), frozenset(denied - said), plain)
            said, denied, reach, plain = set(), set(), 0, True
        elif is_negation(word):
            reach = _REACH
        else:
            plain = plain and word != "only" and not (reach and word in UNPLAIN)
            if word not in lexicon.STOP and word != "need":
                stem = lexicon.number(word) if word[0].isdigit() else lexicon.stem(lexicon.fold(word))
                (denied if reach else said).add(stem)
            reach = max(0, reach - 1)
