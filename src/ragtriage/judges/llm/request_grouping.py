"""Which questions share a request: those about the same evidence, of one kind or several.

Grouping depends on nothing but the questions of one call, so the same call always makes the same requests, whatever
fails or arrives first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from math import ceil

from ragtriage.core.questions import Question
from ragtriage.judges.llm.kinds import ASKED_KINDS
from ragtriage.judges.llm.request_evidence import Evidence, Label, the_source_and_query


@dataclass(frozen=True, slots=True)
class Request:
    """Questions that are asked together."""

    evidence: Evidence
    questions: tuple[Question, ...]
    """Distinct; those of kinds that only join others first, else in the order in which they came."""


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
        asked.sort(key=lambda question: ASKED_KINDS[question.kind].joins != evidence.label)
        requests += [Request(_shown(evidence, part), part) for part in _parts(asked, batch_size)]
    return requests


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
    about_query = evidence.label != "source" or any(ASKED_KINDS[question.kind].about_query for question in part)
    return evidence if about_query else Evidence(evidence.label, evidence.texts)


def _evidence_of_all(questions: Sequence[Question], *, alone: bool) -> list[Evidence]:
    """What each question is asked about, beside the others: some join others whose evidence shows more."""
    placed = [ASKED_KINDS[question.kind].evidence(question) for question in questions]
    if alone:
        return placed
    shown = {evidence.texts[0] for evidence in placed if evidence.label == "source" and len(evidence.texts) == 1}
    placed = [_joined(*pair, shown) for pair in zip(questions, placed, strict=True)]
    with_query: dict[tuple[Label, tuple[str, ...]], Evidence] = {}
    for evidence in placed:
        if evidence.query and evidence.label == "source":
            with_query.setdefault(("source", evidence.texts), evidence)
        elif evidence.query and evidence.label == "response":
            with_query.setdefault(("query", (evidence.query,)), evidence)
    return [
        # what else is about the query alone stays there: a response beside it could only mislead
        evidence if evidence.query or (evidence.label == "query" and ASKED_KINDS[question.kind].joins != "response")
        else with_query.get((evidence.label, evidence.texts), evidence)
        for question, evidence in zip(questions, placed, strict=True)
    ]  # fmt: skip


def _joined(question: Question, evidence: Evidence, shown: Collection[str]) -> Evidence:
    """A source in place of the query, where others are asked about the question's subject as a source."""
    joins = ASKED_KINDS[question.kind].joins == "source" and evidence.label == "query" and question.subject in shown
    return the_source_and_query(question) if joins else evidence
