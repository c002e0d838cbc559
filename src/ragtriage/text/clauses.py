"""Splits a sentence into clauses with their subjects where that is surely right; else it stays whole."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ragtriage.text.lexicon import CLAUSES
from ragtriage.text.pronouns import AUXILIARY, Subject, resolve, subject

_HIDDEN = re.compile(r"\([^()]{1,300}\)|\"[^\"]{1,300}\"|“[^“”]{1,300}”|`[^`]{1,300}`|\[[^\[\]]{1,300}\]")
_SEMICOLON = re.compile(r";[ ]+")
_AND_CLAUSE = re.compile(
    rf",[ ](?:and|but)[ ](?=(?:it|they|he|she|this|these|the|a|an|its|their|[A-Z])\b[^,;:]{{0,80}}\b{AUXILIARY}\b)"
)
_AND_VERB = re.compile(rf",?[ ]and[ ](?:(?:also|then|later)[ ])?(?={AUXILIARY}(?![\w'’])[ ](?!not\b))")
_RELATIVE = re.compile(r",[ ](who|which)[ ](?=(?:is|was|has|had)[ ])")
_NAME = re.compile(
    r"(?:(?P<before>[\w'’-]+)[ ])?(?P<name>(?:[Tt]he[ ])?[A-Z][\w'’.-]*(?:[ ](?:[A-Z][\w'’.-]*|of|de|van|von|der|the|"
    r"[IVX]{1,4}|\d{1,4})){0,6})$"
)
_BEFORE_WHO = CLAUSES.words("before_who")
_BEFORE_WHICH = CLAUSES.words("before_which")
_NOUNS = re.compile(
    r"(?P<verb>is|was)[ ](?P<first>(?:an?|the)[ ](?:[\w'’-]+[ ]){0,2}?[\w'’-]+)[ ]and[ ](?=(?:an?|the)[ ][\w'’-]+)"
)
_IN_NOUNS = CLAUSES.words("in_nouns")
_PRONOUN = re.compile(rf"(It|They|He|She)[ ]{AUXILIARY}(?![\w'’])")
_RELATIVE_END = re.compile(r"[,;]|\b(?:that|which|who|because|why)\b")
_DENIED = re.compile(r"\b(?:and|or|not|no|never)\b|n['’]t\b")
_MORE = re.compile(rf",|\b{AUXILIARY}\b")
_LONGEST = 600


@dataclass(frozen=True, slots=True)
class Clause:
    """One clause of a sentence: its place, and what it says by itself."""

    sentence: str
    start: int
    end: int
    carried: str = ""
    """The words filled in at its beginning: the subject, and the auxiliary that it shares."""
    kept: int = 0
    """Where the sentence's own words go on behind those filled in."""

    @property
    def text(self) -> str:
        """The clause with its subject; one that was cut off begins with a capital."""
        said = self.carried + self.sentence[self.kept : self.end]
        return capitalized(said) if self.carried or self.kept else said

    def split(self, at: int, behind: int, carried: str = "", skip: int = 0) -> tuple[Clause, Clause]:
        """Two clauses, cut where `text[at:behind]` stands; the second leaves out `skip` characters for `carried`."""
        shift = self.kept - len(self.carried)
        first = Clause(self.sentence, self.start, shift + at, self.carried, self.kept)
        return first, Clause(self.sentence, shift + behind, self.end, carried, shift + behind + skip)


def capitalized(text: str) -> str:
    """The text with a capital at its beginning, of the same length."""
    first = text[:1].upper()
    return first + text[1:] if len(first) == 1 else text


def _hide(text: str) -> str:
    """The text with everything in quotes and brackets blanked, so that nothing is split there."""
    return _HIDDEN.sub(lambda m: "x" * len(m[0]), text)


def _by_semicolon(sentence: str) -> list[Clause]:
    """The stretches between semicolons, if each is a main clause of its own."""
    hidden = _hide(sentence)
    whole = [Clause(sentence, 0, len(sentence))]
    cuts = [m.span() for m in _SEMICOLON.finditer(hidden)]
    if not cuts or ":" in hidden:
        return whole
    found = [
        Clause(sentence, a, b, kept=a)
        for a, b in zip([0, *(b for _, b in cuts)], [*(a for a, _ in cuts), len(sentence)], strict=True)
    ]
    for clause in found:
        said = _hide(clause.text)
        if CLAUSES["unsafe_start"].match(said) or said.count(" ") < 2:
            return whole
        if subject(said) is None and _PRONOUN.match(said) is None:
            return whole
    return found


def _coordinated(clause: Clause) -> list[Clause]:
    """Two clauses for "S is A, and T is B" and for "S is A and was B"."""
    text = clause.text
    hidden = _hide(text)
    first = subject(hidden)
    if first is None or ":" in hidden or CLAUSES["scope"].search(hidden):
        return [clause]
    first = Subject(text[: first.end], first.end, first.verb)
    if cut := _AND_CLAUSE.search(hidden, first.end):
        rest = capitalized(text[cut.end() :])
        pronoun = _PRONOUN.match(rest)
        if subject(_hide(rest)) is None and pronoun is None:
            return [clause]
        resolved = pronoun is not None and resolve(rest, first) != rest
        left, right = clause.split(
            *cut.span(), first.text if resolved else "", len(pronoun[1]) if resolved and pronoun else 0
        )
        return [*_verbs(left), *_coordinated(right)]
    return _verbs(clause)


def _verbs(clause: Clause) -> list[Clause]:
    """Two clauses with one subject for "S was A and is B" and for "S was made in A and sold in B"."""
    text = clause.text
    hidden = _hide(text)
    first = subject(hidden)
    if first is None:
        return [clause]
    said = text[: first.end]
    if cut := _AND_VERB.search(hidden, first.end):
        verb = hidden[cut.end() :].split(" ", 1)[0]
        between = hidden[first.end : cut.start()]
        if ", " in between or " and " in between or not _agrees(first, verb):
            return [clause]
        return list(clause.split(*cut.span(), f"{said} "))
    passive = CLAUSES["passive"].match(hidden, first.end + 1)
    cut = CLAUSES["and_participle"].search(hidden, passive.end()) if passive else None
    if passive is None or cut is None:
        return [clause]
    between = hidden[passive.end() : cut.start()]
    if "," in between or " and " in between or " or " in between or between.count(" ") > 8:
        return [clause]
    return list(clause.split(*cut.span(), f"{said} {text[first.end + 1 :].split(' ', 1)[0]} "))


def _agrees(found: Subject, verb: str) -> bool:
    """Whether a second verb can have the same subject."""
    number = Subject("", 0, verb.lower().replace("’", "'")).number
    return not number or not found.number or number == found.number


def _relative(clause: Clause) -> list[Clause]:
    """Two clauses for "…N, who was B", if N is a name that nothing else competes with."""
    text = clause.text
    hidden = _hide(text)
    cut = _RELATIVE.search(hidden)
    if cut is None or _RELATIVE_END.search(hidden, cut.end()):
        return [clause]
    name = _NAME.search(text[max(0, cut.start() - 120) : cut.start()])
    if name is None or _DENIED.search(hidden[: cut.start()]):
        return [clause]
    allowed = _BEFORE_WHO if cut[1] == "who" else _BEFORE_WHICH
    placed = cut[1] == "which" and CLAUSES["placed"].search(text[: cut.start()].removesuffix(name["name"]).rstrip())
    if (name["before"] not in allowed and not placed) or " of " in name["name"]:
        return [clause]
    return list(clause.split(*cut.span(), f"{name['name']} "))


def _nouns(clause: Clause) -> list[Clause]:
    """Two clauses for "S was a queen and the first wife of K"."""
    text = clause.text
    found = subject(text)
    if found is None or found.verb not in {"is", "was"} or CLAUSES["scope"].search(text):
        return [clause]
    cut = _NOUNS.match(text, found.end + 1)
    if cut is None or _IN_NOUNS & set(cut["first"].split()) or _MORE.search(text, cut.end()):
        return [clause]
    return list(clause.split(cut.end("first"), cut.end(), f"{found.text} {found.verb} "))


def clauses(sentence: str) -> list[Clause]:
    """The clauses of one sentence, in its order; a text is the sentence's own words plus a carried subject.

    Splits at semicolons between main clauses, between coordinated clauses and verbs of the same subject, before
    ", who/which is …" behind a name, and between nouns of "is a … and the …". A sentence with a condition, a reason or
    another word that reaches over the conjunction is never split there.
    """
    if len(sentence) > _LONGEST or "\n" in sentence:
        return [Clause(sentence, 0, len(sentence))]
    found = _by_semicolon(sentence)
    for rule in (_relative, _coordinated, _nouns):
        found = [part for clause in found for part in rule(clause)]
    return found
