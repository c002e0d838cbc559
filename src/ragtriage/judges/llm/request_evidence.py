"""What a question is asked about: the evidence that the questions of a request share."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Literal, NamedTuple

from ragtriage.core.questions import Question

LONG = 800
"""Characters from which on a text that is asked about by itself is evidence of its own, not an item in a list."""

Label = Literal["source", "query", "response", "conversation"]


class Evidence(NamedTuple):
    """The evidence that a question is asked about; questions with the same share a request."""

    label: Label
    texts: tuple[str, ...]
    """The evidence. Sources stand in an order that doesn't depend on the retriever's."""
    query: str = ""
    """The user's words, where a question needs them beside the evidence."""


def the_source(question: Question) -> Evidence:
    """The source that is the question's subject; with the user's words only for what is asked about them."""
    return Evidence("source", (question.subject,))


def the_source_and_query(question: Question) -> Evidence:
    """The source that is the question's subject, and the user's words."""
    return Evidence("source", (question.subject,), question.query)


def the_sources(question: Question) -> Evidence:
    """The texts that the question's subject is held against."""
    return Evidence("source", in_order(question.evidence))


def the_texts(question: Question) -> Evidence:
    """A response to the user's words if the question has these, else sources."""
    return Evidence("response", question.evidence, question.query) if question.query else the_sources(question)


def the_response(question: Question) -> Evidence:
    """The response that is the question's subject."""
    return Evidence("response", (question.subject,), question.query)


def the_query(question: Question) -> Evidence:
    """The query that is the question's subject."""
    return Evidence("query", (question.subject,))


def the_conversation(question: Question) -> Evidence:
    """The messages before the query that is the question's subject."""
    return Evidence("conversation", question.evidence, question.subject)


def around_the_text(question: Question) -> Evidence:
    """The response that a text was taken from; else the text itself if it is long, or the query if it is short."""
    if question.context:
        return Evidence("response", (question.context,), question.query)
    if len(question.subject) >= LONG:
        return the_source_and_query(question)
    return Evidence("query", (question.query,))


@lru_cache(8)
def in_order(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Distinct texts in an order of their own, so that a verdict can't depend on how they were retrieved."""
    return tuple(sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()))
