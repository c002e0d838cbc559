"""The parts of a sentence that can be right or wrong by themselves, each written as a statement.

A reader marks where they begin. A part whose subject can't be put back cleanly stays with the one before it, in the
sentence's own words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

from ragtriage.core.verdicts import Span
from ragtriage.text.lexicon import PRONOUNS, QUESTIONS, WORDS
from ragtriage.text.pronouns import AUXILIARY_WORD

PartKind = Literal["claim", "remark", "declines"]
"""What a part of a response is; one that declines is a remark that says that the sources lack what was asked."""
Cut = Literal["clause", "predicate", "relative", "complement", "item", "rest", "remark"]
"""What begins at a place: a clause with its own subject; a predicate that shares the subject; a relative clause or
apposition; a part of the predicate that can be wrong by itself; an item of an enumeration; the rest of a clause that
was interrupted; a remark."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Where the claims of a text begin and which words they share; places are those of characters."""

    cuts: tuple[tuple[int, Cut], ...] = ()
    subjects: tuple[Span, ...] = ()
    nouns: tuple[Span, ...] = ()
    """What relative clauses and appositions are about."""
    kinds: tuple[tuple[int, int, PartKind], ...] = ()
    """Of each part of the text, in its order."""

    def kind(self, start: int, end: int) -> PartKind:
        """What most of a stretch is."""
        lengths: dict[PartKind, int] = {}
        for a, b, kind in self.kinds:
            lengths[kind] = lengths.get(kind, 0) + max(0, min(b, end) - max(a, start))
        return max(lengths, key=lambda kind: lengths[kind], default="claim")


Marker = Callable[[str, str], Marks]
"""Marks a response: the query, and the text as it is shown."""


@dataclass(frozen=True, slots=True)
class ClaimPart:
    """One part of a sentence, as a statement by itself."""

    text: str
    span: Span
    kind: PartKind = "claim"


@dataclass(slots=True)
class _Clause:
    """A subject with its predicate, and what is said in parts of it."""

    text: str
    span: Span
    subject: str
    items: list[tuple[str, Span]] = field(default_factory=list)
    complements: list[tuple[str, str, Span]] = field(default_factory=list)

    def go_on(self, said: str, end: int) -> None:
        if self.complements:
            before, last, span = self.complements[-1]
            self.complements[-1] = (before, _going_on(last, said, span[1], end), (span[0], end))
        elif self.items:
            last, span = self.items[-1]
            self.items[-1] = (_going_on(last, said, span[1], end), (span[0], end))
        else:
            self.text, self.span = _going_on(self.text, said, self.span[1], end), (self.span[0], end)

    def parts(self) -> Iterator[ClaimPart]:
        """The whole if it has no parts; else each of them with the words before the first."""
        alone = [*self.items, *((said, span) for _, said, span in self.complements)]
        if len(alone) < SEVERAL:  # nothing that could be wrong by itself
            said = self.text + "".join(one for one, _ in alone)
            yield ClaimPart(_statement(said), (self.span[0], max([self.span[1], *(span[1] for _, span in alone)])))
            return
        base = self.text.rstrip(" ,")
        for said, span in self.items:
            # a single one is among the words before a complement, if it stands there
            if len(self.items) >= SEVERAL or not any(said in before for before, *_ in self.complements):
                yield ClaimPart(_statement(f"{base} {_JOINED.sub('', said)}"), span)
        for before, said, span in self.complements:
            yield ClaimPart(_statement(f"{before.rstrip(' ,')} {_JOINED.sub('', said)}"), span)


def _going_on(text: str, said: str, at: int, end: int) -> str:
    """Words behind a text that ends `at` a place; what stood between them was taken out if they aren't neighbours."""
    return text + said if at == end - len(said) else f"{text.rstrip(' ,')} {said.lstrip(' ,)–—')}"


_JOINED = re.compile(
    r"^[\s,;:–—-]*(?:(?:and|but|or|so|while|whereas|yet|plus|as well as)\b(?:\s+(?:then|also|later)\b)?)?[\s,]*",
    re.IGNORECASE,
)
"""What joins a part to the one before it."""
_ENUMERATED = re.compile(r"^\s*(?:[,;]|(?:and|or|nor|plus)\b|as well as\b)", re.IGNORECASE)
"""How an item begins that has others before it."""
_RELATIVE = re.compile(r"^[\s,(–—-]*(who|which|that|whose|where|when)\b\s*", re.IGNORECASE)
_ENDS = ".!?…。"
SEVERAL = 2
"""Parts of a predicate, or items, of which each is a claim; one alone belongs to its clause."""
FEWEST = 3
"""Words of a claim that was made of a part of a sentence; where one has less, the sentence stays whole."""
_PREPOSITIONS = PRONOUNS.words("prepositions") | QUESTIONS.words("prepositions")
_JOINING = frozenset("and or than as who which that".split())
_OPEN_ENDED = _PREPOSITIONS | QUESTIONS.words("determiners") | _JOINING
"""Words that no subject ends with."""
_MANY = frozenset("i you we they these those".split())
_ONE = frozenset("it he she this that".split())
_MODALS = WORDS.words("modals")
_HELPS = frozenset("is are has have".split())
"""Auxiliaries that a participle behind "and" shares; behind "was" it may be a past tense: "was cut and appeared"."""
_HAVE_TO = re.compile(r"\s+(?:has|have|had)\s+to\b")
_NO_VERBS = frozenset("provided based compared including besides always perhaps unless".split())
_GERUND = re.compile(r"\w*[aeiouy]\w*ing")
_PARTICIPLE = re.compile(r"\w+(?:ed|en|wn)|made|built|sent|sold|held|kept|paid|put|set|told|found|lost|read|cut")
_SINGULAR, _PLURAL = frozenset("is was has does".split()), frozenset("are were have do".split())
_PAST = WORDS.words("irregular_past")
_ADVERBS = re.compile(
    r"(?:\s*\b(?:then|also|later|never|always|only|usually|often|still|already|even)\b)+\s*", re.IGNORECASE
)


def capitalized(text: str) -> str:
    """The text with a capital at its beginning, of the same length."""
    first = text[:1].upper()
    return first + text[1:] if len(first) == 1 else text


def _statement(text: str) -> str:
    """A sentence of these words: a capital at its beginning, a stop at its end."""
    said = re.sub(r"\s+", " ", text).strip(" ,;:–—-")
    said = re.sub(r"\s+([,.;!?])", r"\1", said)
    if not said:
        return ""
    return capitalized(said) + ("" if said[-1] in _ENDS else ".")


def _bare(said: str) -> str:
    """Words without the commas, dashes or brackets that set them off."""
    bare = said.strip(" ,–—-.").removeprefix("(")
    return bare.rstrip(" )") if bare.count(")") > bare.count("(") else bare


def _first_word(text: str) -> str:
    found = re.match(r"\W*([\w'’]+)", _ADVERBS.sub("", text, count=1) if _ADVERBS.match(text) else text)
    return found[1].replace("’", "'") if found else ""


def _is_finite(word: str) -> bool:
    """Whether a word looks like a verb with person or tense: an auxiliary, "takes", "opened", "came"."""
    low = word.lower()
    return word == low not in _NO_VERBS and (
        AUXILIARY_WORD.fullmatch(low) is not None
        or low in _PAST
        or (low.endswith("ed") and len(low) > len("red"))
        or (low.endswith("s") and len(low) > len("its") and not low.endswith(("ss", "us", "is", "'s")))
    )


def _is_plain(word: str) -> bool:
    """Whether a word may be a verb without an ending, as behind "you" or "can"."""
    plain = word.isalpha() and word == word.lower() and not _GERUND.fullmatch(word)
    return plain and word not in _OPEN_ENDED | _MANY | _ONE


def _agrees(subject: str, verb: str) -> bool:
    own, word = subject.lower(), verb.lower().replace("n't", "")
    several = own.endswith("s") and not own.endswith(("ss", "us", "is", "'s"))
    if several and (word in _SINGULAR or (_is_finite(word) and word.endswith("s"))):
        return False
    if own in _MANY:
        return word not in _SINGULAR or own == "i"
    return own not in _ONE or word not in _PLURAL


def _predicate(clause: str, subject: str, said: str) -> str:
    """A predicate as a statement about the subject of the clause before; empty if that can't be told surely.

    "The mill is owned by the city and closed on Mondays" shares the auxiliary, "You can take it and bring it back" too.
    """
    at = clause.find(subject)
    whole = _ends_well(subject) and (at == 0 or (at > 0 and not clause[at - 1].isalnum()))
    verb, rest = _first_word(clause[at + len(subject) :]), _JOINED.sub("", said)
    following = _first_word(rest)
    many = subject.lower() in _MANY
    if not whole or not (_is_finite(verb) or (many and _is_plain(verb))) or not _agrees(subject, verb):
        return ""
    if AUXILIARY_WORD.fullmatch(following):
        return f"{subject} {rest}" if _agrees(subject, following) else ""
    if verb in _MODALS:
        return f"{subject} {verb} {rest}" if _is_plain(following) and not _is_finite(following) else ""
    if verb in _HELPS and _PARTICIPLE.fullmatch(following) and not _HAVE_TO.match(clause, at + len(subject)):
        return f"{subject} {verb} {rest}"
    sound = _is_plain(following) if many else _is_finite(following)
    return f"{subject} {rest}" if sound and not AUXILIARY_WORD.fullmatch(verb) else ""


def _ends_well(noun: str) -> bool:
    words = noun.lower().split()
    return bool(words) and words[-1] not in _OPEN_ENDED


def _of_noun(noun: str, said: str) -> str:
    """A relative clause or an apposition as a statement about its noun; empty if that can't be told surely."""
    if not _ends_well(noun) or noun.lower() in _MANY | _ONE:
        return ""
    match = _RELATIVE.match(said)
    if match is None:
        bare = _bare(said)
        return f"{noun} is {bare}" if bare.split()[:1] and bare.split()[0].lower() in ("a", "an", "the") else ""
    word, rest = match[1].lower(), _bare(said[match.end() :])
    if word == "whose":
        return f"{noun}'s {rest}"
    if word in {"where", "when"}:
        return f"{rest} {'at' if word == 'where' else 'in'} {noun}" if "," not in rest else ""
    verb = _first_word(rest)
    return f"{noun} {rest}" if _is_finite(verb) or (noun.lower().endswith("s") and _is_plain(verb)) else ""


def parts_of(text: str, marks: Marks, start: int, end: int) -> list[ClaimPart]:
    """The parts of a sentence, in its order; the sentence itself where nothing is marked in it, or not soundly."""
    inside = [(place, cut) for place, cut in marks.cuts if start < place < end]
    whole = ClaimPart(text[start:end].strip(), (start, end), marks.kind(start, end))
    found = _parts(text, marks, [(start, "clause"), *inside], end) if inside else [whole]
    claims = [part for part in found if part.kind == "claim"]
    if len(claims) > 1 and any(len(part.text.split()) < FEWEST for part in claims):
        return [whole]
    return found


def _parts(text: str, marks: Marks, borders: Sequence[tuple[int, Cut]], end: int) -> list[ClaimPart]:
    """The parts between borders; one that can't stand by itself is one more complement, or goes on."""
    found: list[ClaimPart] = []
    clauses: list[_Clause] = []
    for (a, begins), (b, _) in pairwise([*borders, (end, "rest")]):
        said = text[a:b]
        if not any(c.isalnum() for c in said):
            continue
        kind = marks.kind(a, b)
        cut = "rest" if _breaks_a_phrase(text[:a]) else begins
        subject = next((text[x:y] for x, y in marks.subjects if a <= x < b), "")
        noun = next((text[x:y] for x, y in reversed(marks.nouns) if x < a and y <= a + 2), "")
        if kind != "claim":
            found.append(ClaimPart(said.strip(), (a, b), kind))
        elif not clauses:
            clauses.append(_Clause(said if a == borders[0][0] else _JOINED.sub("", said), (a, b), subject))
        elif cut == "relative" and (stated := _of_noun(noun, said)):
            found.append(ClaimPart(_statement(stated), (a, b)))
        elif cut == "clause" and subject:
            clauses.append(_Clause(_JOINED.sub("", said), (a, b), subject))
        elif cut == "predicate" and (stated := _predicate(clauses[-1].text, clauses[-1].subject, said)):
            clauses.append(_Clause(stated, (a, b), clauses[-1].subject))
        elif cut == "item" and _is_item(clauses[-1], said):
            clauses[-1].items.append((said, (a, b)))
        elif (cut == "complement" or (cut == "relative" and clauses[-1].complements)) and _is_complement(said):
            before = clauses[-1].text + "".join(one for one, _ in clauses[-1].items)
            clauses[-1].complements.append((before, said, (a, b)))
        else:
            clauses[-1].go_on(said, b)
    found += [part for clause in clauses for part in clause.parts() if part.text]
    return sorted(found, key=lambda part: part.span)


def _breaks_a_phrase(before: str) -> bool:
    """Whether the words before a place want a noun behind them: "at the"."""
    found = re.search(r"([A-Za-z]+)\s*$", before)
    return found is not None and found[1].lower() in _OPEN_ENDED - _JOINING


def _is_item(clause: _Clause, said: str) -> bool:
    """Whether it is the first of an enumeration, with none among the words before it, or joined to the one before."""
    before = clause.items[-1][0] if clause.items else clause.text
    joined = _ENUMERATED.match(said) is not None or before.rstrip().endswith((",", ";"))
    return joined == bool(clause.items)


def _is_complement(said: str) -> bool:
    """Whether a part of a predicate is a phrase with a preposition, which may stand or be left out."""
    return _ENUMERATED.match(said.lstrip(" ,")) is None and _first_word(said).lower() in _PREPOSITIONS
