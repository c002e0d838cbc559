"""The kinds of question that a language model is asked, one row each: about what, in which words, with which reply.

The words of a kind's instructions are in `prompts/KIND.md`. When the same question is sent in other words, or the same
reply is read another way, raise the versions of its kinds here: stored answers of an older version are asked again.
`tests/judges/llm/test_golden_requests.py` fails if a request or an answer changed and its version didn't.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
from ragtriage.judges.llm.request_evidence import (
    Evidence,
    Label,
    around_the_text,
    the_conversation,
    the_query,
    the_response,
    the_source,
    the_source_and_query,
    the_sources,
    the_texts,
)


def _nothing(question: Question, about: Evidence) -> str:  # noqa: ARG001  # what is asked follows from the evidence
    """No more than the kind."""
    return ""


def _subject(question: Question, about: Evidence) -> str:  # noqa: ARG001  # the same beside any evidence
    """The text that is asked about."""
    return f": {quoted(question.subject)}"


def _subject_or_source(question: Question, about: Evidence) -> str:
    """The text that is asked about, unless it is the evidence."""
    return ": the source as a whole" if about.label == "source" else _subject(question, about)


def _true_answers(question: Question, about: Evidence) -> str:  # noqa: ARG001  # the same beside any evidence
    """The answers that are known to be true, or the further responses."""
    which = "" if question.at is None else ", further responses"
    return f"{which}: {', '.join(quoted(truth) for truth in question.evidence)}"


def _count(question: Question, about: Evidence) -> str:  # noqa: ARG001  # the same beside any evidence
    """How many questions are to be written."""
    return f": {question.at} questions"


@dataclass(frozen=True, slots=True)
class AskedKind:
    """How questions of one kind are asked, and how replies to them are read."""

    evidence: Callable[[Question], Evidence]
    """What it is asked about."""
    item: Callable[[Question, Evidence], str]
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
