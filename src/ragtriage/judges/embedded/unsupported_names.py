"""Names, months and weekdays of a claim that appear nowhere in its evidence.

An answer may name what everybody there knows, such as the company whose handbook it quotes, or write a name in full.
So a name counts only if none of its words appear in the evidence and a sentence with many of the claim's words has
another name. A month or a weekday counts by itself.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

from ragtriage.judges.embedded.calculated_dates import calculated_dates
from ragtriage.judges.embedded.readings import Sentence
from ragtriage.judges.embedded.rules import RULES
from ragtriage.text import words as vocabulary
from ragtriage.text.dates import DATE_NAMES, MONTHS, WEEKDAYS, names_in_ranges

_CAPITAL = r"[A-ZÀ-ÖØ-Þ][^\W\d_]*(?:['’][^\W\d_]+)?"
_NAME = re.compile(
    rf"(?<![\w@#/.\\$-]){_CAPITAL}(?:[ -](?:(?:of|the|de|van|von|der|and|&) )?{_CAPITAL})*(?![\w/\\(]|\.\w)"
)
"""Words with a capital that stand together; not those of a path, an address or a piece of code."""
_WORDS = re.compile(vocabulary.WORD)
_BEGINS = re.compile(r"(?:^\W*|[.!?:;|\n(\[\"“‘*_–—]\s*|^\W*\d+[.)]\W*)$")
"""What stands before a capital that only comes from beginning something."""
_BACK = 40
"""Letters before a name that are looked at."""
_HEADING = re.compile(r"\W*:")
_ACRONYM = re.compile(r"[A-Z]{2,}(?:['’]?s)?")
_PLAIN = RULES.words("no_names")
_FIRST = vocabulary.STOP | frozenset("under according during since per see before after while unlike within".split())
"""Words with a capital before a name that only begin a sentence."""
_SAME_COUNTRY = [frozenset(line.split()) for line in RULES.lines("same_country")]
_WRITTEN = re.compile(
    r"\b\d{4}[-/.](\d{1,2})[-/.]\d{1,2}\b|\b(\d{1,2})[/.-]\d{4}\b|\b(?:19|20)\d\d(\d\d)\d\d\b|\b(\d{1,2})[./-](\d{1,2})[./-](?:\d{4}|\d\d)\b"
)
"""A date in figures."""
_UPPER = re.compile(r"\b[A-Z]{2,}\b")
_DOTTED = re.compile(r"\b(?:[A-Z]\.){2,}")
_CUT = re.compile(r"\b[A-Z][a-z]{2,3}\b")
_MAY = re.compile(r"\bMay\b")
_ALIKE = 4
"""Letters at the beginning by which two words are forms of one name: Germany, German."""
_SHARED = 0.5
"""The share of a claim's other words from which on a sentence is about the same."""


def unsupported_names(
    claim: Sentence, sentences: Sequence[Sentence], known: Collection[str], texts: tuple[str, ...], response: str = ""
) -> tuple[str, ...]:
    """The names, months and days of a claim that nothing accounts for, as the claim writes them.

    No month or day where the claim denies something, and no name where only the claim does: what isn't so needn't stand
    anywhere.

    `known` are the stems of the evidence, `texts` evidence and query. A date that is worked out in the `response` that
    the claim was taken from, or from there, is accounted for.
    """
    told = calculated_dates(claim.text, texts, response)
    found: list[str] = []
    for name in _names(claim.text):
        dated = [word for word in name if _dated(word)]
        if len(dated) == len(name):
            reached = RULES["reaches"].search(claim.text) and any(map(RULES["lasts"].search, (claim.text, *texts)))
            words = " ".join(texts).lower()
            off = claim.negated or reached or any(one.lower() not in words for one in RULES["off"].findall(claim.text))
            found += (
                [] if off else [word for word in dated if _dated(word) not in told and not _has(word, known, texts)]
            )
        elif not (
            _ACRONYM.fullmatch(" ".join(name))
            or any(_has(word, known, texts) for word in name)
            or (len(name) > 1 and any("".join(word[0] for word in name) in _capitals(text) for text in texts))
        ):
            found += [" ".join(name)] if _otherwise(claim, name, sentences) else []
    return tuple(dict.fromkeys(found))


def _names(claim: str) -> Iterator[list[str]]:
    """The names in a claim, word by word; the first word of a sentence or item only where more follow it."""
    for match in _NAME.finditer(claim):
        words = [word for word in _WORDS.findall(match[0]) if word[0].isupper()]
        if _BEGINS.search(claim[max(0, match.start() - _BACK) : match.start()]):
            if _HEADING.match(claim, match.end()):
                continue
            words = words[1:] if len(words) == 1 or vocabulary.fold(words[0]) in _FIRST else words
        words = [word for word in words if len(word) > 1 and vocabulary.fold(word) not in _PLAIN]
        if words:
            yield words


def _has(word: str, known: Collection[str], texts: tuple[str, ...]) -> bool:
    """Whether a word of a name stands in evidence or query, in whatever form."""
    folded = _dated(word) or vocabulary.fold(word)
    words, glued = _words(texts)
    if any(folded in names_in_ranges(text) for text in texts):
        return True
    if folded == "may" or (folded in MONTHS and folded not in words):
        return any(folded in _months(text) for text in texts)
    if vocabulary.stem(folded) in known or folded in words or folded in vocabulary.STOP:
        return True
    if folded in WEEKDAYS:
        part = "weekend" if folded in {"saturday", "sunday"} else "weekday"
        return not words.isdisjoint({folded[:3], folded[:4], folded[:5], part, f"{part}s", "daily", "everyday"})
    return (
        any(folded in group and not words.isdisjoint(group) for group in _SAME_COUNTRY)
        or any(folded.startswith(short) for text in texts for short in _short(text))
        or (len(folded) > _ALIKE and folded in glued)
        or any(_alike(folded, other) for other in words)
    )


@lru_cache(8)
def _words(texts: tuple[str, ...]) -> tuple[frozenset[str], str]:
    """The distinct words of texts, and all of them without what is between them."""
    folded = [vocabulary.fold(word) for text in texts for word in _WORDS.findall(_dotless(text))]
    return frozenset(folded), "".join(folded)


@lru_cache(64)
def _capitals(text: str) -> frozenset[str]:
    """The words of a text in capitals, without their stops."""
    return frozenset(_UPPER.findall(_dotless(text)))


def _dotless(text: str) -> str:
    """A text with "US" for "U.S."."""
    return _DOTTED.sub(lambda found: found[0].replace(".", ""), text)


@lru_cache(64)
def _short(text: str) -> frozenset[str]:
    """The first three letters of short words with a capital, as names are cut: "Lib Dems", "Sept."."""
    return frozenset(word[:3].lower() for word in _CUT.findall(text) if word.lower() not in vocabulary.STOP)


@lru_cache(64)
def _months(text: str) -> frozenset[str]:
    """The months that a text names by a short form or in a date in figures."""
    short = _short(text)
    numbers = {int(group) for found in _WRITTEN.findall(text) for group in found if group}
    written = {name for number, name in enumerate(MONTHS, start=1) if number in numbers}
    written |= {name for name in MONTHS if name[:3] in short and name != "may"}
    return frozenset(written | ({"may"} if _MAY.search(text) else set()))


def _dated(word: str) -> str:
    """The month or day of the week that a word names, also several of them; empty if it names none."""
    folded = vocabulary.fold(word).removesuffix("s")
    return folded if folded in DATE_NAMES else ""


def _alike(one: str, other: str) -> bool:
    """Whether two words begin as forms of one do."""
    least = max(_ALIKE, min(len(one), len(other)) - 3)
    return one[:least] == other[:least]


def _otherwise(claim: Sentence, name: Sequence[str], sentences: Sequence[Sentence]) -> bool:
    """Whether a sentence says much of the claim with another name in it."""
    own = claim.stemset - {vocabulary.stem(vocabulary.fold(word)) for word in name}
    return bool(own) and any(
        len(own & sentence.stemset) >= _SHARED * len(own)
        and sentence.negated == claim.negated
        and not sentence.names <= own
        for sentence in sentences
    )
