"""Which questions share a request: those about the same evidence, of one kind or several.

Grouping depends on nothing but the questions of one call, so the same call always makes the same requests, whatever
fails or arrives first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from typing import Literal, NamedTuple

from ragtriage.core.questions import Kind, Question

LONG = 800
"""Characters from which on a text that is asked about by itself is evidence of its own, not an item in a list."""

Label = Literal["source", "query", "response", "conversation"]

LEADING: Mapping[Label, tuple[Kind, ...]] = {"source": ("essential",), "response": ("questions",)}
"""The kinds that are asked about this evidence only if others are; they stand before those, so that wherever a group is
cut, they and one of the others are in the same request."""

ABOUT_THE_QUERY: tuple[Kind, ...] = ("essential", "relevant", "needed_sentences")
"""The kinds that need the query beside a source."""


class Evidence(NamedTuple):
    """The evidence that a question is asked about; questions with the same share a request."""

    label: Label
    texts: tuple[str, ...]
    """The evidence. Sources stand in an order that doesn't depend on the retriever's."""
    query: str = ""
    """The user's words, where a question needs them beside the evidence."""


@dataclass(frozen=True, slots=True)
class Request:
    """Questions that are asked together."""

    evidence: Evidence
    questions: tuple[Question, ...]
    """Distinct; those of `LEADING` first, else in the order in which they came."""


def group_questions(questions: Sequence[Question], batch_size: int) -> list[Request]:
    """Group questions by what they are asked about, into as few requests as possible.

    Leaving out whole requests changes no other one, so a run that goes on asks what it would have asked.

    Args:
        questions: in any order, about one case; equal ones are asked once.
        batch_size: the most questions in a request; a fuller group is cut into parts that differ by one at most.
    """
    distinct = list(dict.fromkeys(questions))
    groups: dict[Evidence, list[Question]] = {}
    for question, evidence in zip(distinct, _evidence_of_all(distinct, alone=batch_size == 1), strict=True):
        groups.setdefault(evidence, []).append(question)
    requests = []
    for evidence, asked in groups.items():
        asked.sort(key=lambda question: question.kind not in LEADING.get(evidence.label, ()))
        requests += [Request(_shown(evidence, part), part) for part in _parts(asked, batch_size)]
    return requests


@lru_cache(8)
def in_order(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Distinct texts in an order of their own, so that a verdict can't depend on how they were retrieved."""
    return tuple(sorted(set(texts), key=lambda text: hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()))


def _parts(asked: Sequence[Question], batch_size: int) -> Iterator[tuple[Question, ...]]:
    """Cut into equal parts, larger ones first: then any of them together would be cut in the same places again."""
    size, larger = divmod(len(asked), count := ceil(len(asked) / batch_size))
    start = 0
    for number in range(count):
        end = start + size + (number < larger)
        yield tuple(asked[start:end])
        start = end


def _shown(evidence: Evidence, part: Sequence[Question]) -> Evidence:
    """The evidence as these questions need it: a source without the query, if none of them is about the query."""
    about_query = evidence.label != "source" or any(question.kind in ABOUT_THE_QUERY for question in part)
    return evidence if about_query else Evidence(evidence.label, evidence.texts)


def _given(question: Question) -> Evidence | None:
    """The sources that a question names as its evidence; None if it names none."""
    match question.kind:
        case "facts":
            return Evidence("source", (question.subject,))
        case "needed_sentences":
            return Evidence("source", (question.subject,), question.query)
        case "supported":
            return Evidence("source", in_order(question.evidence))
        case "answered" | "holds" if not question.query:
            return Evidence("source", in_order(question.evidence))
        case _:
            return None


def _evidence_of_all(questions: Sequence[Question], *, alone: bool) -> list[Evidence]:
    """What each question is asked about, beside the others: some join others whose evidence shows more."""
    given = () if alone else filter(None, map(_given, questions))
    sources = {evidence.texts[0] for evidence in given if len(evidence.texts) == 1}
    placed = [_evidence_of(question, sources) for question in questions]
    if alone:
        return placed
    with_query: dict[tuple[Label, tuple[str, ...]], Evidence] = {}
    for evidence in placed:
        if evidence.query and evidence.label == "source":
            with_query.setdefault(("source", evidence.texts), evidence)
        elif evidence.query and evidence.label == "response":
            with_query.setdefault(("query", (evidence.query,)), evidence)
    return [
        # what else is about the query alone stays there: a response beside it could only mislead
        evidence if evidence.query or (evidence.label == "query" and question.kind != "questions")
        else with_query.get((evidence.label, evidence.texts), evidence)
        for question, evidence in zip(questions, placed, strict=True)
    ]  # fmt: skip


def _evidence_of(question: Question, sources: Collection[str]) -> Evidence:  # noqa: PLR0911  # one a kind of evidence
    """What a question is asked about; `sources` are those that others are asked about alone."""
    given = _given(question)
    if given:
        return given
    match question.kind:
        case "essential" | "relevant":
            if question.context:
                return Evidence("response", (question.context,), question.query)
            if len(question.subject) >= LONG or (question.kind == "essential" and question.subject in sources):
                return Evidence("source", (question.subject,), question.query)
            return Evidence("query", (question.query,))
        case "claims" | "declines" | "same_answer":
            return Evidence("response", (question.subject,), question.query)
        case "answered" | "holds":
            return Evidence("response", question.evidence, question.query)
        case "questions_answered_by" | "reworded" | "altered":
            return Evidence("response", (question.subject,))
        case "standalone":
            return Evidence("conversation", question.evidence, question.subject)
        case _:
            return Evidence("query", (question.subject,))
