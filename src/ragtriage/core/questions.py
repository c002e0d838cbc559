"""The closed vocabulary of questions that a judge may be asked.

Every question is one frozen value with the same five fields, so that it can be hashed, cached and grouped by shared
evidence; the functions below are the only way to write one, and say what each kind's fields hold.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal[
    "claims",
    "facts",
    "questions",
    "sentences",
    "essential",
    "relevant",
    "answered",
    "supported",
    "same_answer",
    "declines",
    "similarity",
    "standalone",
    "questions_answered_by",
    "needed_sentences",
    "holds",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
DECOMPOSITIONS: tuple[Kind, ...] = (
    "claims", "facts", "questions", "sentences", "standalone", "questions_answered_by", "needed_sentences",
)  # fmt: skip
"""The kinds that are answered with components (texts, found, written or picked); all others with a verdict."""


@dataclass(frozen=True, slots=True)
class Question:
    """One question to a judge; write it with the function that is named like its kind."""

    kind: Kind
    subject: str
    """The text that the question is about."""
    evidence: tuple[str, ...] = ()
    """What the subject is held against."""
    query: str = ""
    """The user's words, where they belong to the question."""
    context: str = ""
    """The text that the subject was taken from, so that pronouns can be understood."""
    at: int | None = None
    """Similarity: the place of the subject in the evidence, which is left out of the comparison. Writing questions: how
    many. Same answer: 0 where none of the evidence is known to be true, as it is further responses."""


def claims(text: str, query: str = "") -> Question:
    """Break a response or reference into stand-alone claims, remarks about the sources marked as such."""
    return Question("claims", text, query=query)


def facts(text: str, query: str = "") -> Question:
    """Break a source into stand-alone facts.

    The `query` that the source was retrieved for changes nothing about them. It keeps cases apart that share a source:
    a judge that asks about it once for each of them asks for the facts there too, whichever case comes first.
    """
    return Question("facts", text, query=query)


def questions(query: str) -> Question:
    """Break a query into stand-alone sub-questions; none if it asks nothing."""
    return Question("questions", query)


def sentences(text: str) -> Question:
    """Split a response into sentences."""
    return Question("sentences", text)


def essential(query: str, text: str, context: str = "", source: str = "") -> Question:
    """Does the text hold information that is essential to answer the query, or any part of it?

    The text is a source, a fact of one (`source`, so that a judge can read it there) or a claim (`context`: what it was
    taken from).
    """
    return Question("essential", text, (source,) if source else (), query=query, context=context)


def relevant(query: str, text: str, context: str = "") -> Question:
    """Is the text about what was asked, essential or not?"""
    return Question("relevant", text, query=query, context=context)


def answered(question: str, evidence: Sequence[str], context: str = "", query: str = "") -> Question:
    """Do these texts together hold the answer to the question? With a `query` the text is the response to it."""
    return Question("answered", question, tuple(evidence), query=query, context=context)


def supported(claim: str, evidence: Sequence[str], query: str = "", context: str = "") -> Question:
    """Do these texts together definitely support the whole claim?"""
    return Question("supported", claim, tuple(evidence), query=query, context=context)


def same_answer(query: str, truths: Sequence[str], response: str, *, drawn: bool = False) -> Question:
    """Does the response give a true answer? Any of `truths` will do.

    A response that declines gives none. Where `truths` are `drawn`, further responses that nobody knows to be true, it
    gives the same answer as one that declines too.
    """
    return Question("same_answer", response, tuple(truths), query=query, at=0 if drawn else None)


def declines(query: str, response: str) -> Question:
    """Does the response decline to answer, or say that it can't, instead of answering?"""
    return Question("declines", response, query=query)


def similarity(text: str, others: Sequence[str], at: int | None = None) -> Question:
    """How close is the text to the closest of the others (cosine), leaving out place `at`? Yes if it says the same."""
    return Question("similarity", text, tuple(others), at=at)


def standalone(query: str, history: Sequence[str]) -> Question:
    """Write the last query of a conversation so that it can be understood without it; one component.

    `history` has the messages before it, each with its speaker, for example `user: …`.
    """
    return Question("standalone", query, tuple(history))


def questions_answered_by(response: str, n: int) -> Question:
    """Write n questions that the response would answer; n components."""
    return Question("questions_answered_by", response, at=n)


def needed_sentences(query: str, text: str) -> Question:
    """Pick the sentences of a source that are needed to answer the query; none if it has no such sentence."""
    return Question("needed_sentences", text, query=query)


def holds(criterion: str, text: str, query: str = "") -> Question:
    """Does a user's own yes/no criterion hold for the text? With a `query` the text is the response to it."""
    return Question("holds", criterion, (text,), query=query)
