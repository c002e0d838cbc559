"""Makes twins by program: a claim, its evidence, and the same with one detail changed so that it no longer follows.

A twin is made from a supported claim or from a sentence of a passage. Half of the changes are made in the claim, half
in the evidence: then it is the changed claim that is supported. So a claim by itself never tells which of the two it
is, and neither do the words of `twins.toml`.
"""

import random
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ragtriage.text.dates import WEEKDAYS
from ragtriage.text.lexicon import DETAILS, WORDS
from ragtriage.text.values import values
from ragtriage.text.words import content_words

_TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_MONTHS = (
    "January February March April May June July August September October November December".split()
)  # fmt: skip
_NAME = re.compile(
    r"(?<![.!?:] )(?<!^)(?<!\n)(?<![\w.-])[A-Z][\w&'’-]*[a-z][\w&'’-]*"
    r"(?: (?:of |de |van |the )?[A-Z][\w&'’-]+)*(?![\w.]\w)"
)
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w-]|[.,]\d)")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|may|might|must|should|will|would|does|do|did)\b(?! to\b|['’])( not\b)?"
)
_DENIED = re.compile(
    r"\b(is|are|was|were|has|have|had|can|could|may|might|must|should|will|would|does|do|did) not\b ?|\b(can)not\b ?"
)
_CONDITION = re.compile(
    r",? (?:if|unless|provided that|as long as|only when|except when|except for|except)\b[^,.;]{6,80}(?=[.,;]|$)"
)
_ADVERBIAL = re.compile(
    r" (?:in|on|at|by|for|within|after|before|until|since|from|with|through) [^,.;:()]{6,45}(?=[.,;]|$)"
)
_SHORTENED = dict(
    line.split()
    for line in (
        "is isn't", "are aren't", "was wasn't", "were weren't", "does doesn't", "do don't", "did didn't",
        "has hasn't", "have haven't", "can can't", "should shouldn't", "will won't",
    )
)  # fmt: skip
_SMALL_CHANGE = (0.5, 0.8, 0.9, 1.1, 1.2, 1.5, 2, 3, 10)
CLOSE = 0.5
"""Share of a twin's other words that a sentence with the new value may not hold: it might make the twin true."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One detail changed."""

    kind: str
    old: str
    new: str
    span: tuple[int, int]
    """In the claim."""
    hard: bool = False
    """Whether the new value stands in the evidence too."""
    both_ways: bool = True
    """Whether the same words can be exchanged in the evidence."""


@dataclass(frozen=True, slots=True)
class Twin:
    """Two readings that differ in one detail."""

    kind: str
    supported: tuple[str, tuple[str, ...]]
    """A claim and the sentences of its evidence."""
    altered: tuple[str, tuple[str, ...]]


@cache
def _pairs(name: str) -> tuple[tuple[re.Pattern[str], str, str], ...]:
    """Word → what stands in its place."""
    lines = [line.split("|") for line in _TABLES[name].strip("\n").split("\n")]
    if name == "opposites":
        lines += [[a, b] for line in (*WORDS.lines("opposites"), *DETAILS.lines("further_opposites"))
                  for a in line.split("|")[0].split() for b in line.split("|")[1].split()]  # fmt: skip
        lines = [[a, b] for a, b in lines if a not in ("even", "odd")]
        lines += [[b, a] for a, b in lines]
    if name == "roles":
        lines += [[b, a] for a, b in lines]
    return tuple((re.compile(rf"(?<![\w-]){re.escape(a)}(?![\w'’-])", re.IGNORECASE), a, b) for a, b in lines)


def _like(old: str, new: str) -> str:
    """The new word with a capital where the old one had one."""
    return new[:1].upper() + new[1:] if old[:1].isupper() and not old.isupper() else new


def _words(claim: str, name: str, kind: str, draw: random.Random) -> Iterator[Edit]:
    found = [(m, b) for form, _, b in _pairs(name) if (m := form.search(claim))]
    if found:
        m, new = draw.choice(found)
        yield Edit(kind, m[0], _like(m[0], new), m.span())


def _numbers(claim: str, evidence: str, draw: random.Random) -> Iterator[Edit]:
    """A number for another one of the passage, or for one nearby."""
    own = list(_NUMBER.finditer(claim))
    if not own:
        return
    m = draw.choice(own)
    others = sorted({o[0] for o in _NUMBER.finditer(evidence)} - {o[0] for o in own})
    year = len(m[0]) == 4 and m[0].isdigit() and m[0][:2] in ("17", "18", "19", "20")
    fits = [o for o in others if (len(o) == 4 and o[:2] in ("17", "18", "19", "20")) == year]
    if fits and draw.random() < 0.7:
        yield Edit("number", m[0], draw.choice(fits), m.span(), hard=True)
        return
    plain = m[0].replace(",", "")
    try:
        value = float(plain)
    except ValueError:
        return
    if year:
        new = str(int(value) + draw.choice([-10, -3, -2, -1, 1, 2, 4, 10]))
    elif value <= 12 and value == int(value):
        new = str(max(0, int(value) + draw.choice([-2, -1, 1, 2, 3])))
    elif value == int(value):
        new = (
            f"{int(value * draw.choice(_SMALL_CHANGE)):,}"
            if "," in m[0]
            else str(int(value * draw.choice(_SMALL_CHANGE)))
        )
    else:
        new = f"{value * draw.choice(_SMALL_CHANGE):.{len(plain.split('.')[-1])}f}"
    if new != m[0] and new not in others:
        yield Edit("number", m[0], new, m.span())


def _values(claim: str, evidence: str, draw: random.Random) -> Iterator[Edit]:
    """An amount, date, time or weekday for another of its kind in the passage; a month or weekday for any other."""
    own = list(values(claim))
    there = values(evidence)
    draw.shuffle(own)
    for one in own:
        others = sorted({d.text for d in there if d.kind == one.kind and d.text.lower() != one.text.lower()})
        if others:
            yield Edit(
                "date" if one.kind in ("date", "weekday", "time") else "number",
                one.text,
                draw.choice(others),
                one.span,
                hard=True,
            )
            return
    spans = [(m, list(_MONTHS)) for m in re.finditer("|".join(_MONTHS[:4] + _MONTHS[5:]), claim)]
    spans += [(m, [d.title() for d in WEEKDAYS]) for m in re.finditer("|".join(d.title() for d in WEEKDAYS), claim)]
    if spans:
        m, names = draw.choice(spans)
        yield Edit("date", m[0], draw.choice([n for n in names if n != m[0]]), m.span())


def _names(claim: str, evidence: str, draw: random.Random) -> Iterator[Edit]:
    """A name or term for another of the passage."""
    own = [m for m in _NAME.finditer(claim) if m[0] not in _MONTHS]
    others = sorted({m[0] for m in _NAME.finditer(evidence)} - {m[0] for m in own} - set(_MONTHS))
    others = [o for o in others if not any(set(o.split()) & set(m[0].split()) for m in own)]
    if own and others:
        m = draw.choice(own)
        alike = [o for o in others if len(o.split()) == len(m[0].split())] or others
        yield Edit("name", m[0], draw.choice(alike), m.span(), hard=True)


def _swapped(claim: str, draw: random.Random) -> Iterator[Edit]:
    """Two values or names of the claim exchanged."""
    for form in draw.sample([_NUMBER, _NAME], 2):
        found = list(form.finditer(claim))
        if len(found) >= 2:
            a, b = sorted(draw.sample(found, 2), key=lambda m: m.start())
            if (
                a[0] != b[0]
                and a.end() < b.start()
                and not re.fullmatch(r",? (?:and|or|to|-|–)? ?", claim[a.end() : b.start()])
            ):
                old = claim[a.start() : b.end()]
                yield Edit("swapped", old, b[0] + claim[a.end() : b.start()] + a[0], (a.start(), b.end()), hard=True)
                return


def _negated(claim: str, draw: random.Random) -> Iterator[Edit]:
    if m := _DENIED.search(claim):
        kept = (m[1] or m[2]) + " "
        yield Edit("negated", m[0], kept, m.span())
        return
    found = [m for m in _AUXILIARY.finditer(claim) if not m[2]]
    if found:
        m = found[0] if draw.random() < 0.8 else draw.choice(found)
        new = "cannot" if m[1] == "can" else f"{m[1]} not"
        if draw.random() < 0.35:
            new = _SHORTENED.get(m[1], new)
        elif m[1] in ("is", "are", "was", "were") and draw.random() < 0.3:
            new = f"{m[1]} {'no longer' if draw.random() < 0.5 else 'never'}"
        yield Edit("negated", m[0], new, m.span())


def _added(claim: str, evidence: str, draw: random.Random) -> Iterator[Edit]:
    """A clause that nothing supports, at the end of the claim."""
    end = len(claim.rstrip(' .!"”'))
    lines = _TABLES["clauses"].strip("\n").split("\n")
    clause = draw.choice(lines).replace("{n}", str(draw.choice([2, 3, 5, 7, 10, 14, 18, 24, 30, 60])))
    key = max(re.findall(r"\w+", clause), key=len).lower()
    if end == len(claim) - 1 and key not in evidence.lower() and key not in claim.lower():
        yield Edit("added", "", clause, (end, end), both_ways=False)


def _borrowed(claim: str, evidence: Sequence[str], draw: random.Random) -> Iterator[Edit]:
    """An adverbial of another sentence of the passage, at the end of the claim."""
    parts = [m[0] for s in evidence for m in _ADVERBIAL.finditer(s)]
    end = len(claim.rstrip(' .!"”'))
    parts = [p for p in parts if not set(re.findall(r"\w{4,}", p.lower())) & set(re.findall(r"\w{4,}", claim.lower()))]
    if parts and end == len(claim) - 1:
        yield Edit("added", "", draw.choice(parts), (end, end), hard=True, both_ways=False)


def _dropped(claim: str) -> Iterator[Edit]:
    if m := _CONDITION.search(claim):
        yield Edit("condition", m[0], "", m.span(), both_ways=False)


def edits(claim: str, evidence: Sequence[str], draw: random.Random) -> list[Edit]:
    """All kinds of change that can be made in a claim, one of each."""
    text = " ".join(evidence)
    made = (
        _numbers(claim, text, draw), _values(claim, text, draw), _names(claim, text, draw), _swapped(claim, draw),
        _negated(claim, draw), _words(claim, "opposites", "opposite", draw), _words(claim, "roles", "role", draw),
        _words(claim, "scope", "scope", draw), _words(claim, "modal", "modal", draw), _added(claim, text, draw),
        _borrowed(claim, evidence, draw), _dropped(claim),
    )  # fmt: skip
    return [edit for kind in made for edit in kind]


def _applied(claim: str, edit: Edit) -> str:
    start, end = edit.span
    before = claim[:start]
    if (article := re.search(r"\b([Aa]n?) $", before)) and edit.new:
        vowel = edit.new[:1].lower() in "aeiou"
        before = before[: article.start()] + article[1][0] + ("n " if vowel else " ")
    return re.sub(r"  +", " ", before + edit.new + claim[end:])


def _elsewhere(twin: str, edit: Edit, own: str, evidence: Sequence[str]) -> bool:
    """Whether another sentence may make the twin true: it has the new value, and most of the twin's other words."""
    if not edit.new:
        return False
    others = {w.key for w in content_words(twin)} - {w.key for w in content_words(edit.new)}
    for sentence in evidence:
        if sentence == own or edit.new.strip().lower() not in sentence.lower():
            continue
        there = {w.key for w in content_words(sentence)}
        if len(others & there) >= CLOSE * max(1, len(others)):
            return True
    return False


def _stands(value: str, text: str) -> bool:
    """Whether a value stands there in whole words."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text, re.IGNORECASE) is not None


def _exchanged(text: str, edit: Edit) -> str:
    """The evidence with the old and the new value in each other's place."""

    def other(m: re.Match[str]) -> str:
        return edit.new if m[0].lower() == edit.old.lower() else edit.old

    either = sorted({edit.old, edit.new}, key=len, reverse=True)
    return re.sub("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in either), other, text, flags=re.IGNORECASE)


def twins(claim: str, evidence: Sequence[str], draw: random.Random, most: int) -> Iterator[Twin]:
    """At most so many twins of a claim that the evidence supports, rare kinds of change first."""
    found = edits(claim, evidence, draw)
    # Nothing is easier to make than an addition, and few claims have a role or a condition.
    rank = {"added": 3.0, "negated": 1.5, "opposite": 1.3, "modal": 1.2}
    found.sort(key=lambda edit: draw.random() * rank.get(edit.kind, 1.0))
    words = {w.key for w in content_words(claim)}
    own = max(evidence, key=lambda s: len(words & {w.key for w in content_words(s)}))
    for edit in found[:most]:
        twin = _applied(claim, edit)
        if twin == claim or _elsewhere(twin, edit, own, evidence):
            continue
        turned = own if not edit.both_ways else _exchanged(own, edit)
        if turned != own and edit.old.lower() in own.lower() and draw.random() < 0.5 and _stands(edit.old, own):
            other = tuple(_exchanged(s, edit) if edit.hard or s == own else s for s in evidence)
            yield Twin(edit.kind, (twin, other), (claim, other))
        else:
            yield Twin(edit.kind, (claim, tuple(evidence)), (twin, tuple(evidence)))
