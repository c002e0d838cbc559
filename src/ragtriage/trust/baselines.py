"""What length and word overlap alone say of labelled rows: a judge has to beat them.

A score is the higher, the more it speaks for label 1 or for answer `a`.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import Any

from ragtriage.text.sentences import split_sentences

BaselineRow = Mapping[str, Any]
STOP = frozenset(
    "a about also an and are as at be been but by can could did do does for from had has have he her his how i if in "
    "into is it its more most no not of on or she should so such than that the their then there they this to was we "
    "were what when where which who whom why will with would you".split()
)
"""Words that say nothing about what a text is about."""
_QUESTION_MARK = "Question:"
OF_SOURCES = ("source_precision", "fact_precision", "source_query_coverage")
"""The metrics that are about the sources; the others are about the response."""


def words(text: str) -> list[str]:
    """The words of a text but for stop words, in lower case."""
    return [word for word in _all_words(text) if word not in STOP]


def overlap(text: str, within: str, split: Callable[[str], Sequence[str]] = words) -> float:
    """The share of a text's words that occur in another, in [0, 1]."""
    own, there = split(text), set(split(within))
    return sum(word in there for word in own) / max(1, len(own))


def word_f1(a: str, b: str) -> float:
    """The F1 of two texts' words, stop words included, in [0, 1]."""
    left, right = Counter(_all_words(a)), Counter(_all_words(b))
    return 2 * (left & right).total() / max(1, left.total() + right.total())


def sentences(text: str | None) -> list[str]:
    """The sentences of a text; none of no text."""
    return [one.text for one in split_sentences(text or "")]


def closest(texts: Sequence[str], split: Callable[[str], Sequence[str]] = words) -> float:
    """The highest Jaccard similarity of two texts: shared words over all words, in [0, 1]."""
    bags = [set(split(one)) for one in texts]
    return max((len(a & b) / max(1, len(a | b)) for a, b in combinations(bags, 2)), default=0.0)


def row_scores(task: str, row: BaselineRow) -> tuple[float, float]:
    """What word overlap and length, in characters, say of a labelled row.

    A short claim is more often supported, a long text more often needed, the longer of two answers is the better one.
    """
    row = _with_texts(row)
    overlapping, length = _OF_ROWS[task]
    return overlapping(row), float(length(row))


def _all_words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _supported(row: BaselineRow) -> float:
    """Of a claim of several sentences the one that shares least with the sources, as for a judge."""
    sources = " ".join(row["sources"])
    return min((overlap(one, sources) for one in sentences(row["claim"]) if words(one)), default=0.0)


def _answered(row: BaselineRow) -> float:
    question = row.get("question", row.get("query", "")).rpartition(_QUESTION_MARK)[2]
    return max((overlap(question, source) for source in row["sources"]), default=0.0)


def _same_answer(row: BaselineRow) -> float:
    truth = [row["truth"]] if isinstance(row["truth"], str) else row["truth"]
    said = " ".join(_all_words(row["response"]))
    if any(one and one in said for one in (" ".join(_all_words(one)) for one in truth)):
        return 1.0
    return 0.49 * max((overlap(one, row["response"]) for one in truth), default=0.0)


def _preference(row: BaselineRow) -> float:
    """Words shared with the reference; without one, those found in the sources; without these, those of the query."""
    if reference := row.get("reference"):
        return word_f1(row["a"], reference) - word_f1(row["b"], reference)
    if row.get("sources"):
        sources = " ".join(row["sources"])
        return overlap(row["a"], sources) - overlap(row["b"], sources)
    return overlap(row["query"], row["a"]) - overlap(row["query"], row["b"])


def _needed(row: BaselineRow) -> float:
    return overlap(str(row.get("query", row.get("question", ""))), row["text"])


def _similar(row: BaselineRow) -> float:
    if "response" in row:
        return closest([one for one in sentences(row["response"]) if words(one)])
    return closest([row["a"], row["b"]])


_NEEDED: tuple[Callable[[BaselineRow], float], Callable[[BaselineRow], int]] = (_needed, lambda row: len(row["text"]))
_OF_ROWS: Mapping[str, tuple[Callable[[BaselineRow], float], Callable[[BaselineRow], int]]] = MappingProxyType(
    {
        "supported": (_supported, lambda row: -len(row["claim"])),
        "essential": _NEEDED,
        "relevant": _NEEDED,
        "answered": (_answered, lambda row: sum(map(len, row["sources"]))),
        "similar": (
            _similar,
            lambda row: len(row["response"]) if "response" in row else -abs(len(row["a"]) - len(row["b"])),
        ),
        "same-answer": (_same_answer, lambda row: -len(row["response"])),
        "preference": (_preference, lambda row: len(row["a"]) - len(row["b"])),
    }
)
"""Task → word overlap's score of a row, and length's."""


def _with_texts(row: BaselineRow) -> BaselineRow:
    """The row with its sources as a list of texts, in whichever way they were written."""
    match row.get("sources"):
        case str() as text:
            return {**row, "sources": [text]}
        case Sequence() as sources:
            return {**row, "sources": [one["text"] if isinstance(one, Mapping) else str(one) for one in sources]}
        case _:
            return row
