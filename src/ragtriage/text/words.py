"""Words of a text in the form in which they are compared, and lists of English words."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ragtriage.text.lexicon import WORDS
from ragtriage.text.numbers import IN_FIGURES, normalize_number

STOP = WORDS.words("stop")
NEGATIONS = WORDS.words("negations")
STRONG = WORDS.words("strong")
WEAK = WORDS.words("weak")
CONDITIONS = WORDS.words("conditions")
LINKS = WORDS.words("links")
OPENERS = WORDS.words("openers")
WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)?"
"""A word, as a piece of regular expressions."""
_TOKEN = re.compile(rf"{IN_FIGURES}|{WORD}")
_ENDINGS = (
    ("ies", "y"), ("ied", "y"), ("sses", "ss"), ("ations", "at"), ("ation", "at"), ("ing", ""), ("edly", ""),
    ("ed", ""), ("ly", ""), ("es", ""), ("s", ""),
)  # fmt: skip


@lru_cache(maxsize=16384)
def fold(word: str) -> str:
    """Lower case, without accents and possessive."""
    plain = unicodedata.normalize("NFKD", word.lower().replace("’", "'"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return plain.removesuffix("'s")


@lru_cache(maxsize=16384)
def stem(word: str) -> str:
    """A folded word without its commonest English endings; crude on purpose: both sides get the same."""
    if len(word) < 4 or not word.isalpha():
        return word
    for ending, rest in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + rest
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def tokens(text: str) -> list[str]:
    """Words and numbers in their order, as written."""
    return _TOKEN.findall(text)


def token_stem(token: str) -> str:
    """A token as it is compared: a number in one form, a word folded and stemmed."""
    return normalize_number(token) if token[0].isdigit() else stem(fold(token))
