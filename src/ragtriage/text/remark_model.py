"""How likely a clause is a remark, by its wording: a logistic regression on words in a row (`training/remarks.py`).

Rules know the common ways to say that the sources don't hold something; there are too many ways to write them all down.
What the clause is about doesn't matter, so words of the query and numbers are masked.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path

from ragtriage.text.lexicon import REMARKS

WEIGHTS = Path(__file__).with_name("remark_weights.txt")
"""The bias in the first line, then a line for each run of words: it, its weight for a lack, its weight for another
remark; parted by tabs."""
LONGEST_RUN = 3
"""Words of a run, at most."""
BIAS = "BIAS"
_ASKED, _NUMBER, _BEGIN, _END = "ASKED", "NUM", "BEGIN", "END"
_TOKEN = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?|\d[\d.,:]*|[?:;,]")
_HEADING = re.compile(r"^\W*(?:\w[\w'/&-]*+ ){0,5}\w[\w'/&-]*+:[*_ ]+(?=\S)")
"""What stands before the colon of a list item: "Pregnancy: …"."""
_PLAIN = REMARKS.words("common_words")
_ALIKE = 5
"""Letters at the beginning by which two words count as the same."""
_SHORTEST = 4
"""Letters of a word that can be what was asked for."""


def masked(clause: str, query: str = "") -> list[str]:
    """The words of a clause in small letters, without its heading; the query's own words and numbers by a mark each."""
    asked = {word[:_ALIKE] for word in _TOKEN.findall(_straight(query)) if _may_be_asked(word)}
    words = [_BEGIN]
    for token in _TOKEN.findall(_HEADING.sub("", _straight(clause))):
        word = _NUMBER if token[0].isdigit() else token
        if _may_be_asked(token) and token[:_ALIKE] in asked:
            word = _ASKED
        if word not in {_NUMBER, _ASKED} or word != words[-1]:
            words.append(word)
    return [*words, _END]


def _straight(text: str) -> str:
    return text.lower().replace("’", "'")


def _may_be_asked(word: str) -> bool:
    return len(word) >= _SHORTEST and word[0].isalpha() and word not in _PLAIN


def ngrams(words: list[str]) -> Iterator[str]:
    """All words, and words in a row, as `WEIGHTS` has them."""
    for length in range(1, LONGEST_RUN + 1):
        for start in range(len(words) - length + 1):
            yield " ".join(words[start : start + length])


@cache
def _weights() -> Mapping[str, tuple[float, float]]:
    lines = (line.split("\t") for line in WEIGHTS.read_text(encoding="utf-8").splitlines())
    return {run: (float(lack), float(other)) for run, lack, other in lines}


@lru_cache(4096)
def remark_probabilities(clause: str, query: str = "") -> tuple[float, float]:
    """How likely a clause says that the sources lack what was asked, and how likely it is another remark, in [0, 1].

    The two and the chance of a claim add up to 1. Another remark: a courtesy, where else to look, what the sources deal
    with.
    """
    weights = _weights()
    known = [weights[run] for run in dict.fromkeys(ngrams(masked(clause, query))) if run in weights]
    by = math.sqrt(len(known)) or 1.0
    odds = [math.exp(weights[BIAS][at] + sum(weight[at] for weight in known) / by) for at in (0, 1)]
    return odds[0] / (1 + sum(odds)), odds[1] / (1 + sum(odds))
