"""How a sentence asks, if at all, and what kind of answer a question wants."""

from __future__ import annotations

import re
from typing import Literal

from ragtriage.text.lexicon import QUESTIONS, WORDS

QuestionForm = Literal["nothing", "statement", "request", "question"]

WH = WORDS.regex("wh")
INVERTED = WORDS.regex("inverted")
_PLACE = re.compile(r"\b(?:in|at|near|from|on)\s+(?:the\s+)?[A-Z]")
_SIGNS = {"when": QUESTIONS["time"], "why": QUESTIONS["cause"], "how": QUESTIONS["manner"]}

QuestionType = Literal["who", "when", "where", "number", "why", "how", "yesno", "what"]
QUESTION_TYPES: tuple[QuestionType, ...] = ("who", "when", "where", "number", "why", "how", "yesno", "what")
_TRIED: tuple[QuestionType, ...] = ("number", "when", "who", "where", "why", "how", "yesno")
_TYPES = tuple((kind, QUESTIONS[f"asks_{kind}"]) for kind in _TRIED)


def question_form(sentence: str) -> QuestionForm:
    """How a sentence of a query asks: not at all, by stating a problem, by a request, by a question."""
    said = sentence.strip()
    if not any(c.isalnum() for c in said) or (len(said) < 200 and QUESTIONS["nothing"].fullmatch(said)):
        return "nothing"
    if said.rstrip("\"'”’)*_ ").endswith(("?", "？", "؟")):
        return "question"
    if QUESTIONS["request"].match(said):
        return "request"
    return "question" if QUESTIONS["question"].match(said) else "statement"


def question_type(question: str) -> QuestionType:
    """What kind of answer a question wants; `what` if nothing more exact is known."""
    return next((kind for kind, pattern in _TYPES if pattern.search(question)), "what")


def holds_type(kind: QuestionType, text: str, *, names: bool, numbers: bool) -> bool:
    """Whether a text holds something of the kind that a question wants; always true for `what` and `yesno`.

    `names` and `numbers` say whether it holds one that the question lacks.
    """
    if kind in _SIGNS:
        return (numbers if kind == "when" else False) or _SIGNS[kind].search(text) is not None
    return {"who": names, "number": numbers, "where": names and _PLACE.search(text) is not None}.get(kind, True)
