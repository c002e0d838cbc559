"""What word overlap and length alone make of a labelled row: a judge that doesn't beat it has measured nothing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from ragtriage.text import split_sentences

Row = Mapping[str, Any]
STOP = frozenset(
    "a about also an and are as at be been but by can could did do does for from had has have he her his how i if in "
    "into is it its more most no not of on or she should so such than that the their then there they this to was we "
    "were what when where which who whom why will with would you".split()
)
"""Words that say nothing about what a text is about."""
_QUESTION_MARK = "Question:"


def words(text: str) -> list[str]:
    """The words of a text but for stop words, in lower case."""
    return [word for word in re.findall(r"\w+", text.lower()) if word not in STOP]


def overlap(text: str, within: str) -> float:
    """The share of a text's words that occur in another, in [0, 1]."""
    own, there = words(text), set(words(within))
    return sum(word in there for word in own) / max(1, len(own))


def jaccard(a: str, b: str) -> float:
    """Shared words over all words of two texts, in [0, 1]."""
    left, right = set(words(a)), set(words(b))
    return len(left & right) / max(1, len(left | right))


def word_f1(a: str, b: str) -> float:
    """The F1 of two texts' words, stop words included, in [0, 1]."""
    left, right = (Counter(re.findall(r"\w+", text.lower())) for text in (a, b))
    return 2 * (left & right).total() / max(1, left.total() + right.total())


def _sentences(text: str) -> list[str]:
    return [one.text for one in split_sentences(text) if words(one.text)]


def _supported(row: Row) -> float:
    """Of a claim of several sentences the one that shares least with the sources, as for a judge."""
    sources = " ".join(row["sources"])
    return min((overlap(one, sources) for one in _sentences(row["claim"])), default=0.0)


def _answered(row: Row) -> float:
    question = row.get("question", row.get("query", "")).rpartition(_QUESTION_MARK)[2]
    return max((overlap(question, source) for source in row["sources"]), default=0.0)


def _similar(row: Row) -> float:
    if "response" not in row:
        return jaccard(row["a"], row["b"])
    parts = _sentences(row["response"])
    return max((jaccard(a, b) for i, a in enumerate(parts) for b in parts[:i]), default=0.0)


def _same_answer(row: Row) -> float:
    truth = [row["truth"]] if isinstance(row["truth"], str) else row["truth"]
    said = " ".join(re.findall(r"\w+", row["response"].lower()))
    true = [" ".join(re.findall(r"\w+", one.lower())) for one in truth]
    if any(one and one in said for one in true):
        return 1.0
    return 0.49 * max((overlap(one, row["response"]) for one in truth), default=0.0)


def _preference(row: Row) -> float:
    """Words shared with the reference; without one, those found in the sources; without these, those of the query."""
    if row.get("reference"):
        return word_f1(row["a"], row["reference"]) - word_f1(row["b"], row["reference"])
    if row.get("sources"):
        sources = " ".join(row["sources"])
        return overlap(row["a"], sources) - overlap(row["b"], sources)
    return overlap(row["query"], row["a"]) - overlap(row["query"], row["b"])


def _query(row: Row) -> str:
    return str(row.get("query", row.get("question", "")))


OVERLAP: Mapping[str, Callable[[Row], float]] = MappingProxyType(
    {
        "supported": _supported,
        "essential": lambda row: overlap(_query(row), row["text"]),
        "relevant": lambda row: overlap(_query(row), row["text"]),
        "answered": _answered,
        "similar": _similar,
        "same-answer": _same_answer,
        "preference": _preference,
    }
)
"""Task → word overlap's score of a row: the higher, the more it speaks for 1, or for `a`."""
LENGTH: Mapping[str, Callable[[Row], float]] = MappingProxyType(
    {
        "supported": lambda row: -float(len(row["claim"])),
        "essential": lambda row: float(len(row["text"])),
        "relevant": lambda row: float(len(row["text"])),
        "answered": lambda row: float(sum(map(len, row["sources"]))),
        "similar": lambda row: (
            float(len(row["response"])) if "response" in row else -float(abs(len(row["a"]) - len(row["b"])))
        ),
        "same-answer": lambda row: -float(len(row["response"])),
        "preference": lambda row: float(len(row["a"]) - len(row["b"])),
    }
)
"""Task → length's score of a row, in characters: a short claim is more often supported, a long text more often needed,
the longer of two answers is the better one."""


def lexical(task: str, row: Row) -> float:
    """Word overlap's score of a row."""
    return OVERLAP[task](_with_texts(row))


def by_length(task: str, row: Row) -> float:
    """Length's score of a row."""
    return LENGTH[task](_with_texts(row))


def _with_texts(row: Row) -> Row:
    """The row with its sources as a list of texts, in whichever way they were written."""
    sources = row.get("sources")
    match sources:
        case None:
            return row
        case str():
            return {**row, "sources": [sources]}
        case Sequence():
            return {**row, "sources": [one["text"] if isinstance(one, Mapping) else str(one) for one in sources]}
        case _:
            return row
