"""What asks and what doesn't: greetings, courtesies, statements, requests, questions."""

from __future__ import annotations

from typing import Literal

from ragtriage.text.lexicon import lexicon

_WORDS = lexicon("words")
_QUESTIONS = lexicon("questions")

Manner = Literal["nothing", "statement", "request", "question"]

WH = _WORDS.regex("wh")
INVERTED = _WORDS.regex("inverted")
_NOTHING = _QUESTIONS.pattern("nothing")
_QUESTION = _QUESTIONS.pattern("question")
_REQUEST = _QUESTIONS.pattern("request")


def manner(sentence: str) -> Manner:
    """How a sentence of a query asks: not at all, by stating a problem, by a request, by a question."""
    said = sentence.strip()
    if not any(c.isalnum() for c in said) or (len(said) < 200 and _NOTHING.fullmatch(said)):
        return "nothing"
    if said.rstrip("\"'”’)*_ ").endswith(("?", "？", "؟")):
        return "question"
    if _REQUEST.match(said):
        return "request"
    return "question" if _QUESTION.match(said) else "statement"
