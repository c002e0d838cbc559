"""Claims that one sentence of the evidence contradicts in a single detail, or negates in the same words.

The models weigh what two texts share, so one differing detail ("Pets are not allowed") hardly counts for them. A
sentence with (nearly) all words of a claim is therefore checked for what its "not" applies to, or for an opposite;
other values are found by `table_rows`. Only clear cases count: nothing is concluded from a question, a myth, a plan, a
condition, "not only", or where another sentence with many of the claim's words agrees with it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import unescape

from ragtriage.judges.embedded.readings import RULES, Sentence, read_sentence
from ragtriage.text import words as vocabulary
from ragtriage.text.dates import DATE_NAMES
from ragtriage.text.differences import opposites_in
from ragtriage.text.lexicon import WORDS
from ragtriage.text.words import IN_FIGURES

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
_FEWEST_DENIED = 2
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
    for clause in _denied_clauses(said):
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
    parts = _denied_clauses(claim)
    if not parts or not all(clause.unqualified for clause in parts):
        return None
    said, denied = (frozenset[str]().union(*some) for some in zip(*((c.said, c.denied) for c in parts), strict=True))
    whole = _Clause(said, denied - said, unqualified=True)
    alone = not denied or (len(parts) == 1 and bool(parts[0].denied))
    return whole if alone and len(whole.stems) >= _FEWEST_DENIED else None


@lru_cache(512)
def _denied_clauses(text: str) -> tuple[_Clause, ...]:
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


_OTHERS = opposites_in(WORDS.lines("opposites"))
_CLAUSE = re.compile(r"[;:]\s+|,\s+|\s(?=(?:but|while|whereas|although|though)\s)|\s[–—-]\s")
_BREAKS = frozenset(",;:.!?()[]\n–—")
_ALIKE = 5
"""Letters at the beginning by which two words count as forms of one."""
_FEWEST = 3
"""Content words of a claim beside what differs; with fewer it may be about something else."""
_NEARLY = 0.85
"""The share of a claim's words from which on a sentence says nearly the same."""
_AGREES = 0.6
"""The share of a claim's words from which on a sentence that says it as the claim does, settles the matter."""
_DAYS = frozenset(map(vocabulary.stem, DATE_NAMES))


def contradicting_sentence(claim: Sentence, sentences: Sequence[Sentence]) -> str:
    """The sentence that contradicts a claim in one detail; empty if there is none, or another agrees."""
    return denying_sentence(claim, sentences) or _denied(claim, sentences) or _opposed(claim, sentences)


@dataclass(frozen=True, slots=True)
class _ContentWords:
    """A text as its content words, and the one that is denied."""

    stems: tuple[str, ...]
    denials: int
    denied: str
    """The stem behind the only negation; empty if there is none, or it can't be told what it denies."""


@lru_cache(512)
def _content_words(text: str) -> _ContentWords:
    stems: list[str] = []
    denials, denied, waiting = 0, "", False
    for part in PART.findall(NO_DENIAL.sub(" ", unescape(text))):
        word = part.lower()
        if not word[0].isalnum():
            waiting = waiting and word[0] not in _BREAKS
        elif is_negation(word):
            denials, waiting = denials + 1, True
        elif waiting and word in QUALIFIERS:
            waiting = False
        elif word not in vocabulary.STOP and word != "need":
            stem = vocabulary.token_stem(word)
            denied = stem if waiting else denied
            waiting = False
            stems.append(stem)
    return _ContentWords(tuple(stems), denials, denied if denials == 1 else "")


@lru_cache(512)
def _clauses(text: str) -> tuple[Sentence, ...]:
    """The clauses of a sentence; none of a question."""
    if _ASKED.search(text):
        return ()
    return tuple(read_sentence(part) for part in _CLAUSE.split(RULES["inserted"].sub(" ", text)) if part.strip())


@lru_cache(512)
def _folded(text: str) -> frozenset[str]:
    """The words of a text, small ones too."""
    return frozenset(map(vocabulary.fold, vocabulary.tokens(text)))


def _shared(own: Collection[str], stems: Collection[str]) -> float:
    """The share of a claim's content words that a sentence has, in whatever form."""
    there = {stem[:_ALIKE] for stem in stems if stem.isalpha()}
    return sum(stem in stems or (len(stem) >= _ALIKE and stem[:_ALIKE] in there) for stem in own) / max(1, len(own))


def _nearly_all(claim: Sentence, shared: float, stems: Collection[str]) -> bool:
    """Whether a sentence has nearly all of a claim's words; a number, name or day may be what matters."""
    exact = claim.numbers | claim.names | (_DAYS & claim.stemset)
    return shared >= _NEARLY and all(one in stems for one in exact)


def _turns(text: str, pattern: re.Pattern[str], but: Collection[str] = ()) -> set[str]:
    """What a text holds by which the same words may say something else."""
    return {found for found in map(str.lower, pattern.findall(text)) if found not in but}


def _comparable(claim: str, clause: str, sentence: str, but: Collection[str] = ()) -> bool:
    """Whether nothing but a negation, or one of some words, sets a clause apart from a claim."""
    alike = all(_turns(claim, one, but) == _turns(clause, one, but) for one in (RULES["turns"], HIDDEN))
    return alike and _turns(sentence, RULES["limits"]) <= _turns(claim, RULES["limits"])


def _denied(claim: Sentence, sentences: Sequence[Sentence]) -> str:
    """A sentence, a clause of which has nearly all words of the claim and a "not" more or less.

    Of longer claims only: with few words, each that differs may be the one that matters (`denying_sentence` wants all).
    """
    own = _content_words(claim.text)
    words = frozenset(own.stems)
    if len(words) <= _FEWEST or own.denials > 1 or (own.denials and not own.denied):
        return ""
    found = ""
    for sentence, clause in ((one, part) for one in sentences for part in _clauses(one.text)):
        said = _content_words(clause.text)
        shared = _shared(words, frozenset(said.stems))
        if shared >= _AGREES and bool(said.denials) == bool(own.denials):
            return ""
        word = own.denied or said.denied
        if (
            _nearly_all(claim, shared, said.stems)
            and word
            and said.stems.count(word) == own.stems.count(word) > 0
            and _comparable(claim.text, clause.text, sentence.text)
        ):
            found = found or sentence.text
    return found


def _opposed(claim: Sentence, sentences: Sequence[Sentence]) -> str:
    """A sentence, a clause of which has nearly all words of the claim, and for one of them the opposite."""
    words = _folded(claim.text)
    for word in sorted(words & _OTHERS.keys()) if len(claim.stems) > _FEWEST else ():
        others = _OTHERS[word]
        if others.isdisjoint(words) and (found := _with_opposite(claim, word, others, sentences)):
            return found
    return ""


def _with_opposite(claim: Sentence, word: str, others: frozenset[str], sentences: Sequence[Sentence]) -> str:
    rest = claim.stemset - {vocabulary.stem(word)}
    both = {word, *others}
    found = ""
    told = [one for one in sentences if not _ASKED.search(one.text)]
    for sentence, clause in ((one, part) for one in told for part in (one, *_clauses(one.text))):
        there = _folded(clause.text)
        shared = _shared(rest, clause.stemset)
        if shared >= _AGREES and (word in there or vocabulary.stem(word) in clause.stemset):
            return ""
        if (
            there & others
            and word not in there
            and _in_order(claim.stems, clause.stems)
            and clause.negated == claim.negated
            and _nearly_all(claim, shared, clause.stemset | {vocabulary.stem(word)})
            and _comparable(claim.text, clause.text, sentence.text, both)
        ):
            found = found or sentence.text
    return found


def _in_order(own: Sequence[str], stems: Sequence[str]) -> bool:
    """Whether the words that two texts share stand in the same order, so that neither is turned round."""
    shared = [stem for stem in own if stem in stems]
    return shared == [stem for stem in stems if stem in shared]
