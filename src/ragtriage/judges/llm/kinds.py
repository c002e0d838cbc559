"""The kinds of question that a language model is asked, one row each: about what, in which words, with which reply.

The words of a kind's instructions are in `prompts/KIND.md`. When the same question is sent in other words, or the same
reply is read another way, raise the versions of its kinds here: stored answers of an older version are asked again.
`tests/judges/llm/test_golden_requests.py` fails if a request or an answer changed and its version didn't.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from ragtriage.core.questions import Kind, Question
from ragtriage.judges.llm.fencing import quoted
from ragtriage.judges.llm.reply_forms import (
    CITING_VERDICT,
    QUOTING_VERDICT,
    STANDALONE,
    VERDICT,
    WRITTEN_QUESTIONS,
    ReplyForm,
    lists,
)

LONG = 800
"""Characters from which on a text that is asked about by itself is evidence of its own, not an item in a list."""

Label = Literal["source", "query", "response", "conversation"]


class SharedEvidence(NamedTuple):
    """The evidence that a question is asked about; questions with the same share a request."""

    label: Label
    texts: tuple[str, ...]
    """The evidence. Sources stand in an order that doesn't depend on the retriever's."""
    query: str = ""
    """The user's words, where a question needs them beside the evidence."""


def the_source(question: Question) -> SharedEvidence:
    """The source that is the question's subject; with the user's words only for what is asked about them."""
    return SharedEvidence("source", (question.subject,))


def the_source_and_query(question: Question) -> SharedEvidence:
    """The source that is the question's subject, and the user's words."""
    return SharedEvidence("source", (question.subject,), question.query)


def the_sources(question: Question) -> SharedEvidence:
    """The texts that the question's subject is held against."""
    return SharedEvidence("source", in_order(question.evidence))


def the_texts(question: Question) -> SharedEvidence:
    """A response to the user's words if the question has these, else sources."""
    return SharedEvidence("response", question.evidence, question.query) if question.query else the_sources(question)


def the_response(question: Question) -> SharedEvidence:
    """The response that is the question's subject."""
    return SharedEvidence("response", (question.subject,), question.query)


def the_query(question: Question) -> SharedEvidence:
    """The query that is the question's subject."""
    return SharedEvidence("query", (question.subject,))


def the_conversation(question: Question) -> SharedEvidence:
    """The messages before the query that is the question's subject."""
    return SharedEvidence("conversation", question.evidence, question.subject)


def around_the_text(question: Question) -> SharedEvidence:
    """The response that a text was taken from; else the text itself if it is long, or the query if it is short."""
    if question.context:
        return SharedEvidence("response", (question.context,), question.query)
    if len(question.subject) >= LONG:
        return the_source_and_query(question)
    return SharedEvidence("query", (question.query,))


@lru_cache(8)
def in_order(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Distinct texts in an order of their own, so that a verdict can't depend on how they were retrieved."""
    return tuple(sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()))


def _nothing(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # what is asked follows from the evidence
    """No more than the kind."""
    return ""


def _subject(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # the same beside any evidence
    """The text that is asked about."""
    return f": {quoted(question.subject)}"


def _subject_or_source(question: Question, about: SharedEvidence) -> str:
    """The text that is asked about, unless it is the evidence."""
    return ": the source as a whole" if about.label == "source" else _subject(question, about)


def _true_answers(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # the same beside any evidence
    """The answers that are known to be true, or the further responses."""
    which = "" if question.at is None else ", further responses"
    return f"{which}: {', '.join(quoted(truth) for truth in question.evidence)}"


def _count(question: Question, about: SharedEvidence) -> str:  # noqa: ARG001  # the same beside any evidence
    """How many questions are to be written."""
    return f": {question.at} questions"


@dataclass(frozen=True, slots=True)
class AskedKind:
    """How questions of one kind are asked, and how replies to them are read."""

    evidence: Callable[[Question], SharedEvidence]
    """What it is asked about."""
    item: Callable[[Question, SharedEvidence], str]
    """What stands behind its name in the list of questions."""
    reply: ReplyForm
    version: int = 1
    """Of everything but the words of its prompt."""
    about_query: bool = False
    """Whether it needs the query beside a source."""
    joins: Label | None = None
    """The evidence about which it is asked only if others are; it stands before those, so that wherever a group is cut,
    it and one of the others are in the same request."""


ASKED_KINDS: Mapping[Kind, AskedKind] = {
    "claims": AskedKind(the_response, _nothing, lists("claims", "remarks")),
    "facts": AskedKind(the_source, _nothing, lists("facts")),
    "questions": AskedKind(the_query, _nothing, lists("questions"), joins="response"),
    "essential": AskedKind(around_the_text, _subject_or_source, VERDICT, about_query=True, joins="source"),
    "relevant": AskedKind(around_the_text, _subject_or_source, VERDICT, about_query=True),
    "answered": AskedKind(the_texts, _subject, QUOTING_VERDICT),
    "supported": AskedKind(the_sources, _subject, CITING_VERDICT),
    "same_answer": AskedKind(the_response, _true_answers, VERDICT),
    "declines": AskedKind(the_response, _nothing, VERDICT),
    "standalone": AskedKind(the_conversation, _nothing, STANDALONE),
    "questions_answered_by": AskedKind(the_response, _count, WRITTEN_QUESTIONS),
    "needed_sentences": AskedKind(the_source_and_query, _nothing, lists("needed_sentences"), about_query=True),
    "holds": AskedKind(the_texts, _subject, VERDICT),
    "reworded": AskedKind(the_response, _nothing, lists("reworded")),
    "altered": AskedKind(the_response, _nothing, lists("altered")),
}
"""All but those that no model is asked: rules split sentences, embeddings compare."""
