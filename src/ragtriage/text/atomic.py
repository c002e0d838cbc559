"""Atomic claims out of a sentence whose parts are marked: each part with the words that it needs to stand alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal

Span = tuple[int, int]
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
class Part:
    """One part of a sentence, as a statement by itself."""

    text: str
    span: Span
    """The part's own words."""
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
        """Add words to what was said last."""
        if self.complements:
            before, last, (start, _) = self.complements[-1]
            self.complements[-1] = (before, last + said, (start, end))
        elif self.items:
            last, (start, _) = self.items[-1]
            self.items[-1] = (last + said, (start, end))
        elif self.span[1] == end - len(said):
            self.text, self.span = self.text + said, (self.span[0], end)
        else:
            self.text, self.span = f"{self.text.rstrip(' ,')} {said.lstrip(' ,)–—')}", (self.span[0], end)

    def parts(self) -> Iterator[Part]:
        """The whole if it has no parts; else each of them with the words before the first."""
        alone = [*self.items, *((said, span) for _, said, span in self.complements)]
        if len(alone) < _SEVERAL:  # nothing that could be wrong by itself
            said = self.text + "".join(one for one, _ in alone)
            yield Part(_statement(said), (self.span[0], max([self.span[1], *(span[1] for _, span in alone)])))
            return
        base = self.text.rstrip(" ,")
        for said, span in self.items:
            # a single one is among the words before a complement, if it stands there
            if len(self.items) >= _SEVERAL or not any(said in before for before, *_ in self.complements):
                yield Part(_statement(f"{base} {_JOINED.sub('', said)}"), span)
        for before, said, span in self.complements:
            yield Part(_statement(f"{before.rstrip(' ,')} {_JOINED.sub('', said)}"), span)


_JOINED = re.compile(
    r"^[\s,;:–—-]*(?:(?:and|but|or|so|while|whereas|yet|plus|as well as)\b(?:\s+(?:then|also|later)\b)?)?[\s,]*",
    re.IGNORECASE,
)
"""What joins a part to the one before it."""
_RELATIVE = re.compile(r"^[\s,(–—-]*(who|which|that|whose|where|when)\b\s*", re.IGNORECASE)
_ENDS = ".!?…。"
_SEVERAL = 2
"""Parts of a predicate, or items, of which each is a claim; one alone belongs to its clause."""
_FEWEST = 3
"""Words of a claim that was made of a part of a sentence; where one has less, the sentence stays whole."""


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


def _of_noun(noun: str, said: str) -> str:
    """A relative clause or an apposition as a statement about its noun."""
    match = _RELATIVE.match(said)
    if match is None:
        return f"{noun} is {_bare(said)}"
    word, rest = match[1].lower(), _bare(said[match.end() :])
    if word == "whose":
        return f"{noun}'s {rest}"
    if word in {"where", "when"}:
        return f"{rest} {'at' if word == 'where' else 'in'} {noun}"
    return f"{noun} {rest}"


def parts_of(text: str, marks: Marks, start: int, end: int) -> list[Part]:
    """The parts of a sentence, in its order; the sentence itself where nothing is marked in it, or not soundly."""
    inside = [(place, cut) for place, cut in marks.cuts if start < place < end]
    whole = Part(text[start:end].strip(), (start, end), marks.kind(start, end))
    found = _parts(text, marks, [(start, "clause"), *inside], end) if inside else [whole]
    claims = [part for part in found if part.kind == "claim"]
    if len(claims) > 1 and any(len(part.text.split()) < _FEWEST for part in claims):
        return [whole]
    return found


def _parts(text: str, marks: Marks, borders: Sequence[tuple[int, Cut]], end: int) -> list[Part]:
    """The parts between borders; one that lacks its subject or noun is one more complement, or goes on."""
    found: list[Part] = []
    clauses: list[_Clause] = []
    for (a, cut), (b, _) in pairwise([*borders, (end, "rest")]):
        said = text[a:b]
        if not any(c.isalnum() for c in said):
            continue
        kind = marks.kind(a, b)
        subject = _subject(text, marks.subjects, a, b)
        noun = _before(text, marks.nouns, a)
        if kind != "claim":
            found.append(Part(said.strip(), (a, b), kind))
        elif not clauses:
            clauses.append(_Clause(said if a == borders[0][0] else _JOINED.sub("", said), (a, b), subject))
        elif cut == "relative" and noun:
            found.append(Part(_statement(_of_noun(noun, said)), (a, b)))
        elif cut == "clause" and subject:
            clauses.append(_Clause(_JOINED.sub("", said), (a, b), subject))
        elif cut == "predicate" and clauses[-1].subject:
            subject = clauses[-1].subject
            clauses.append(_Clause(f"{subject} {_JOINED.sub('', said)}", (a, b), subject))
        elif cut == "item":
            clauses[-1].items.append((said, (a, b)))
        elif cut == "complement" or (cut == "relative" and clauses[-1].complements):
            before = clauses[-1].text + "".join(one for one, _ in clauses[-1].items)
            clauses[-1].complements.append((before, said, (a, b)))
        else:
            clauses[-1].go_on(said, b)
    found += [part for clause in clauses for part in clause.parts() if part.text]
    return sorted(found, key=lambda part: part.span)


def _before(text: str, nouns: Sequence[Span], place: int) -> str:
    """The noun right before a place."""
    return next((text[a:b] for a, b in reversed(nouns) if a < place and b <= place + 2), "")


def _subject(text: str, subjects: Sequence[Span], start: int, end: int) -> str:
    """The first subject that begins in a stretch."""
    return next((text[a:b] for a, b in subjects if start <= a < end), "")
