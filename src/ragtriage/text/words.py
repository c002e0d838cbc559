"""Words, numbers, names and small signs of a text that can be compared without a model."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Literal

from ragtriage.text.lexicon import lexicon

_WORDS = lexicon("words")
_QUESTIONS = lexicon("questions")

STOP = _WORDS.words("stop")
NEGATIONS = _WORDS.words("negations")
STRONG = _WORDS.words("strong")
WEAK = _WORDS.words("weak")
CONDITIONS = _WORDS.words("conditions")
LINKS = _WORDS.words("links")
OPENERS = _WORDS.words("openers")
MONTHS = frozenset("january february march april june july august september october november december".split())
WEEKDAYS = frozenset("monday tuesday wednesday thursday friday saturday sunday".split())
NUMBER_WORDS = {
    word: str(value)
    for value, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
} | {"thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "ninety": "90", "hundred": "100", "thousand": "1000"}
# "one" is an article or pronoun as often as a number, so it is compared as a word only.
del NUMBER_WORDS["one"]

_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+(?:['’][^\W\d_]+)?", re.UNICODE)
_CAUSE = _QUESTIONS.pattern("cause")
_MANNER = _QUESTIONS.pattern("manner")
_PLACE = re.compile(r"\b(?:in|at|near|from|on)\s+(?:the\s+)?[A-Z]")
_DATE = _QUESTIONS.pattern("time")

_SIGNS = {"when": _DATE, "why": _CAUSE, "how": _MANNER}

QuestionType = Literal["who", "when", "where", "number", "why", "how", "yesno", "what"]
QUESTION_TYPES: tuple[QuestionType, ...] = ("who", "when", "where", "number", "why", "how", "yesno", "what")
_TYPES: tuple[tuple[QuestionType, re.Pattern[str]], ...] = (
    (
        "number",
        re.compile(
            r"\bhow (?:many|much|long|old|far|tall|high|large|big|often|fast|deep|wide|heavy)\b"
            r"|\bwhat (?:number|percentage|share|age|price|amount)\b",
            re.IGNORECASE,
        ),
    ),
    ("when", re.compile(r"\bwhen\b|\b(?:what|which) (?:year|date|day|month|time|century|decade)\b", re.IGNORECASE)),
    (
        "who",
        re.compile(
            r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|man|woman|author|actor|singer|president|team|company)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "where",
        re.compile(r"\bwhere\b|\b(?:what|which) (?:country|city|town|state|place|location|region)\b", re.IGNORECASE),
    ),
    ("why", re.compile(r"\bwhy\b|\bwhat (?:is|was|are) the (?:reason|cause|purpose)", re.IGNORECASE)),
    ("how", re.compile(r"\bhow\b", re.IGNORECASE)),
    (
        "yesno",
        re.compile(
            r"^\W*(?:and |or |so |but |then )?(?:is|are|was|were|do|does|did|can|could|will|would"
            r"|should|shall|may|must|has|have|had|am)\b",
            re.IGNORECASE,
        ),
    ),
)


@lru_cache(maxsize=65536)
def fold(word: str) -> str:
    """Lower case, without accents and possessive."""
    plain = unicodedata.normalize("NFKD", word.lower().replace("’", "'"))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return plain.removesuffix("'s")


@lru_cache(maxsize=65536)
def stem(word: str) -> str:
    """A folded word without its commonest English endings; crude on purpose: both sides get the same."""
    if len(word) < 4 or not word.isalpha():
        return word
    for ending, rest in (
        ("ies", "y"),
        ("ied", "y"),
        ("sses", "ss"),
        ("ations", "at"),
        ("ation", "at"),
        ("ing", ""),
        ("edly", ""),
        ("ed", ""),
        ("ly", ""),
        ("es", ""),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + rest
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def number(token: str) -> str:
    """A number in one form: "1,896.50" → "1896.5"."""
    if re.fullmatch(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?", token):
        token = token.replace(",", "")
    token = token.rstrip(".,:")
    if "." in token and token.replace(".", "", 1).isdigit():
        token = token.rstrip("0").rstrip(".")
    return token.lstrip("0") or "0"


def tokens(text: str) -> list[str]:
    """Words and numbers in their order, as written."""
    return _TOKEN.findall(text)


def question_type(question: str) -> QuestionType:
    """What kind of answer a question wants; `what` if nothing more exact is known."""
    return next((kind for kind, pattern in _TYPES if pattern.search(question)), "what")


def holds_type(kind: QuestionType, text: str, *, names: bool, numbers: bool) -> bool:
    """Whether a text holds something of the kind that a question wants; always true for `what` and `yesno`.

    Args:
        kind: what is wanted.
        text: what is read.
        names: whether it holds a name that the question lacks.
        numbers: whether it holds a number that the question lacks.
    """
    if kind in _SIGNS:
        return (numbers if kind == "when" else False) or _SIGNS[kind].search(text) is not None
    return {"who": names, "number": numbers, "where": names and _PLACE.search(text) is not None}.get(kind, True)
