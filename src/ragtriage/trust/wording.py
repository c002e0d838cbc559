"""Words, numbers and names of a text, paraphrases by rules; what length and word overlap alone say of labelled rows."""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ragtriage.text.sentences import split_sentences
from ragtriage.text.words import IN_FIGURES, NUMBER_WORDS, STOP, fold, normalize_number, stem, tokens

_EMPTY = frozenset("per much many please tell say get yes".split())
"""Words that say as little about a topic as stop words do."""
NUMBER = re.compile(rf"(?<![\w.,]){IN_FIGURES}(?![\w])|(?<![\w.,]){IN_FIGURES}(?=(?:st|nd|rd|th|km|m|kg|%)\b)")
_NAME = re.compile(r"[A-Z][\w'’-]*[^\W\d_](?:\s+(?:of\s+|de\s+|van\s+|von\s+)?[A-Z][\w'’-]*[^\W\d_])*")


def content_words(text: str) -> list[str]:
    """The words and numbers that carry meaning, each in one form (folded, stemmed), in their order."""
    found = []
    for token in tokens(text):
        if token[0].isdigit():
            found.append(normalize_number(token))
            continue
        word = fold(token)
        if word in NUMBER_WORDS:
            found.append(NUMBER_WORDS[word])
        elif word not in STOP and word not in _EMPTY and len(word) > 1:
            found.append(stem(word))
    return found


def numbers(text: str) -> set[str]:
    """The numbers of a text, in digits or words, each in one form."""
    return {word for word in content_words(text) if word[0].isdigit()}


def names(text: str) -> list[str]:
    """Runs of capitalised words; a single one at the beginning of a sentence isn't taken for a name."""
    found = []
    for match in _NAME.finditer(text):
        before = text[: match.start()].rstrip()
        begins = not before or before[-1] in '.!?:\n#*|-•"“'
        first, _, rest = match[0].partition(" ")
        if rest or not begins:
            found.append(rest if begins and fold(first) in STOP else match[0])
    return found


def name_words(text: str) -> set[str]:
    """The words of a text's names, each in one form."""
    return {word for name in names(text) for word in content_words(name)}


_REWORDINGS: list[tuple[str, str]] = tomllib.loads(
    Path(__file__).with_name("rewordings.toml").read_text(encoding="utf-8")
)["rewordings"]
_LEADING = re.compile(r"^((?:In|On|At|During|Since|After|Before|From|By) [^,;:]{3,60}), (.+)\.$", re.DOTALL)
_TRAILING = re.compile(r"^(.{12,}?) ((?:in|since|during) (?:\d{4}|[A-Z][a-z]+ \d{4}|\d{1,2} [A-Z][a-z]+ \d{4}))\.$")
_LOWERED = re.compile(
    r"^(?:The|A|An|In|On|At|During|Since|After|Before|From|By|If|When|You|Your|There|All|Each|Every)\b"
)


def reworded(sentence: str) -> str:
    """The sentence with words and phrases exchanged or moved; "" where no rule applies.

    Numbers, names and negations stay as they are.
    """
    moved = sentence
    if leading := _LEADING.match(sentence):
        rest = leading[2]
        moved = f"{rest[0].upper()}{rest[1:]} {leading[1][0].lower()}{leading[1][1:]}."
    elif trailing := _TRAILING.match(sentence):
        time = trailing[2]
        moved = f"{time[0].upper()}{time[1:]}, {_lowered(trailing[1])}."
    found = _exchanged(moved)
    return found if found != sentence else ""


def paraphrased(sentence: str) -> str:
    """The sentence repeated, reworded where a rule applies, with an opening that says so."""
    return f"In other words: {reworded(sentence) or sentence}"


def _exchanged(text: str) -> str:
    """All words that have another form, exchanged in one pass, so that none undoes another."""
    spans: list[tuple[int, int, str]] = []
    for pattern, words in _REWORDINGS:
        for match in re.finditer(pattern, text):
            if all(match.end() <= start or match.start() >= end for start, end, _ in spans):
                spans.append((match.start(), match.end(), words))
    for start, end, words in sorted(spans, reverse=True):
        text = text[:start] + words + text[end:]
    return text


def _lowered(text: str) -> str:
    """With a small first letter, where the first word is no name."""
    return text[0].lower() + text[1:] if _LOWERED.match(text) else text


BaselineRow = Mapping[str, Any]
UNCOUNTED = frozenset(
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
    return [word for word in _all_words(text) if word not in UNCOUNTED]


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
